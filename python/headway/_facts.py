"""What a run says of its software and its machine by itself, when it begins.

Only what is at hand: modules that the program has imported, variables, the kernel, a few names
below ``/dev`` and ``.git``. Nothing is imported or executed, no attribute is looked up that could
run code, and every part that fails is left out.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import Any

from headway import _native

#: What a framework is called, in the order in which one of them is taken for the program's.
FRAMEWORKS = ("jax", "torch", "tensorflow")
PACKAGES = (
    *FRAMEWORKS,
    "jaxlib",
    "libtpu",
    "flax",
    "optax",
    "orbax",
    "maxtext",
    "transformers",
    "accelerate",
    "deepspeed",
    "lightning",
    "torchtitan",
    "vllm",
    "numpy",
)
_SOFTWARE_VARIABLES = ("XLA_FLAGS", "LIBTPU_INIT_ARGS", "JAX_PLATFORMS", "PYTORCH_CUDA_ALLOC_CONF")
_SOFTWARE_PREFIX = "NCCL_"
_SYSTEM_VARIABLES = (
    "TPU_ACCELERATOR_TYPE",
    "TPU_NAME",
    "TPU_TOPOLOGY",
    "CUDA_VISIBLE_DEVICES",
    "NVIDIA_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
)
_IMAGE_VARIABLES = (
    "CONTAINER_IMAGE",
    "IMAGE_NAME",
    "DOCKER_IMAGE",
    "APPTAINER_CONTAINER",
    "SINGULARITY_CONTAINER",
)
_DEVICES = {"nvidia": "/dev/nvidia{}", "accel": "/dev/accel{}"}
_DEVICES_LOOKED_FOR = 16
_TEXT_CHARACTERS = 16_384  # of a variable
_VARIABLES = 256
_GIT_PARENTS = 32
_GIT_SECONDS = 0.003  # beyond it nothing further is read
_GIT_FILE_BYTES = 4096
_GIT_PACKED_BYTES = 1 << 18


def wanted() -> bool:
    """Whether the user has not said no."""
    return os.environ.get("HEADWAY_AUTO_CONFIG", "").strip() != "0"


def at_start(told: set[str]) -> list[tuple[str, dict[str, Any]]]:
    """Class and values of what is recorded when a run begins; ``told`` gets the packages."""
    software: dict[str, Any] = {}
    _put(software, "python", _python)
    software["headway"] = _native.VERSION
    _add_packages(software, told)
    _put(software, "env", lambda: _variables(_SOFTWARE_VARIABLES, _SOFTWARE_PREFIX))
    _put(software, "git", _git)
    system: dict[str, Any] = {}
    _put(system, "cpus", os.cpu_count)
    _put(system, "cpus_usable", lambda: len(os.sched_getaffinity(0)))
    _put(system, "memory_gib", _memory_gib)
    _put(system, "kernel", _kernel)
    _put(system, "devices", _devices)
    _put(system, "env", lambda: _variables(_SYSTEM_VARIABLES))
    _put(system, "image", _image)
    return [("software", software), ("system", system)]


def since(told: set[str]) -> dict[str, Any]:
    """What of the software has been imported since, which ``told`` gets; empty: nothing."""
    software: dict[str, Any] = {}
    if any(name in sys.modules and name not in told for name in PACKAGES):
        _add_packages(software, told)
    return software


def _put(values: dict[str, Any], key: str, learn: Callable[[], Any]) -> None:
    try:
        value = learn()
    except Exception:
        return
    if value is not None and value != {}:
        values[key] = value


def _python() -> str:
    return "{}.{}.{}".format(*sys.version_info[:3])


def _add_packages(software: dict[str, Any], told: set[str]) -> None:
    packages = {}
    for name in PACKAGES:
        if name in told or name not in sys.modules:
            continue
        told.add(name)
        try:
            version = _version_of(sys.modules[name])
        except Exception:
            continue
        if version is not None:
            packages[name] = version
    for name in FRAMEWORKS:
        if name in told:
            software["framework"] = name
            break
    if packages:
        software["packages"] = packages


def _version_of(module: object) -> str | None:
    """``__version__`` as it lies in the module, for a module may run code when it is asked."""
    inside = object.__getattribute__(module, "__dict__")
    if type(inside) is not dict:
        return None
    version = inside.get("__version__")
    if version is None:  # modules of transformers are made when they are asked for
        later = inside.get("_objects")
        version = later.get("__version__") if type(later) is dict else None
    if not isinstance(version, str):
        return None
    return str.__str__(version)[:100]


def _variables(names: tuple[str, ...], prefix: str | None = None) -> dict[str, str]:
    wanted_names = list(names)
    if prefix is not None:
        wanted_names += sorted(name for name in os.environ if name.startswith(prefix))[:_VARIABLES]
    values = {}
    for name in wanted_names:
        value = os.environ.get(name)
        if value is not None:
            values[name] = value[:_TEXT_CHARACTERS]
    return values


def _memory_gib() -> int:
    return round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / (1 << 30))


def _kernel() -> str:
    system = os.uname()
    return f"{system.sysname} {system.release} {system.machine}"


def _devices() -> dict[str, int]:
    counts = {}
    for kind, path in _DEVICES.items():
        count = sum(os.access(path.format(i), os.F_OK) for i in range(_DEVICES_LOOKED_FOR))
        if count:
            counts[kind] = count
    return counts


def _image() -> str | None:
    for name in _IMAGE_VARIABLES:
        if image := os.environ.get(name):
            return image[:_TEXT_CHARACTERS]
    return None


def _git() -> dict[str, str] | None:
    """The commit of the working directory, from the files of git alone."""
    until = time.monotonic() + _GIT_SECONDS
    folder = os.getcwd()
    for _ in range(_GIT_PARENTS):
        found = os.path.join(folder, ".git")
        if os.path.exists(found):
            return _head(found, until)
        above = os.path.dirname(folder)
        if above == folder or time.monotonic() > until:
            return None
        folder = above
    return None


def _head(git: str, until: float) -> dict[str, str] | None:
    if not os.path.isdir(git):  # of a worktree or a submodule: "gitdir: PATH"
        text = _read(git, _GIT_FILE_BYTES)
        if not text.startswith("gitdir:"):
            return None
        git = os.path.join(os.path.dirname(git), text[len("gitdir:") :].strip())
    head = _read(os.path.join(git, "HEAD"), _GIT_FILE_BYTES).strip()
    if not head.startswith("ref:"):
        return {"commit": head} if _is_commit(head) else None
    ref = head[len("ref:") :].strip()
    if not ref.startswith("refs/") or ".." in ref:
        return None
    answer = {"branch": ref.removeprefix("refs/heads/")}
    shared = git
    if os.path.exists(common := os.path.join(git, "commondir")):
        shared = os.path.join(git, _read(common, _GIT_FILE_BYTES).strip())
    for folder in (git, shared):
        path = os.path.join(folder, ref)
        if time.monotonic() > until:
            return answer
        if os.path.exists(path):
            commit = _read(path, _GIT_FILE_BYTES).strip()
            return {"commit": commit, **answer} if _is_commit(commit) else answer
    packed = os.path.join(shared, "packed-refs")
    if os.path.exists(packed) and time.monotonic() < until:
        for line in _read(packed, _GIT_PACKED_BYTES).splitlines():
            commit, _, name = line.partition(" ")
            if name == ref and _is_commit(commit):
                return {"commit": commit, **answer}
    return answer


def _is_commit(text: str) -> bool:
    return len(text) in (40, 64) and all(c in "0123456789abcdef" for c in text)


def _read(path: str, limit: int) -> str:
    # A pipe in the place of a file is not waited for.
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        return os.read(fd, limit).decode(errors="replace")
    finally:
        os.close(fd)
