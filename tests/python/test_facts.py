"""What a run records of its software and its machine by itself."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest

import headway
from headway import _facts

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def recorded(run: str = "r") -> dict[str, dict[str, Any]]:
    """Values by path, by class."""
    folder = os.environ.get("HEADWAY_BIN") or Path(headway.__file__).parents[2] / "bin"
    command = [Path(folder) / "headway", "config", run, "--json"]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return {
        one["class"]: {row["path"]: row["value"] for row in one["values"]}
        for one in json.loads(result.stdout)["classes"]
    }


def start() -> dict[str, dict[str, Any]]:
    return dict(_facts.at_start(set()))


def module(name: str, version: object) -> types.ModuleType:
    made = types.ModuleType(name)
    made.__version__ = version  # type: ignore[attr-defined]
    return made


def test_software_and_system_are_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XLA_FLAGS", "--xla_a=1")
    monkeypatch.setenv("NCCL_DEBUG", "INFO")
    monkeypatch.setenv("TPU_ACCELERATOR_TYPE", "v5p-8")
    monkeypatch.setenv("IMAGE_NAME", "registry/train:7")
    with headway.init(run="r", heartbeat=False, config={"lr": 1}) as run:
        assert run.dropped == 0
    found = recorded()
    assert found["user"] == {"lr": 1}
    software, system = found["software"], found["system"]
    assert software["python"] == ".".join(map(str, sys.version_info[:3]))
    assert software["headway"] == headway.__version__
    assert software["env.XLA_FLAGS"] == "--xla_a=1" and software["env.NCCL_DEBUG"] == "INFO"
    assert system["cpus"] == os.cpu_count() and system["memory_gib"] > 0
    assert system["kernel"] == "{0.sysname} {0.release} {0.machine}".format(os.uname())
    assert system["env.TPU_ACCELERATOR_TYPE"] == "v5p-8" and system["image"] == "registry/train:7"


def test_it_can_be_turned_off(monkeypatch: pytest.MonkeyPatch) -> None:
    headway.init(run="r", heartbeat=False, auto_config=False, config={"a": 1}).finish()
    assert set(recorded()) == {"user"}
    monkeypatch.setenv("HEADWAY_AUTO_CONFIG", "0")
    headway.init(run="s", heartbeat=False, config={"a": 1}).finish()
    assert set(recorded("s")) == {"user"}
    with pytest.raises(TypeError, match="auto_config must be a bool"):
        headway.init(run="r", auto_config=1)  # type: ignore[arg-type]


def test_nothing_is_imported() -> None:
    program = """
import sys
before = None
import headway
before = set(sys.modules)
with headway.init(run="r", heartbeat=False) as run:
    run.config({"lr": 1})
new = set(sys.modules) - before
heavy = {"jax", "torch", "tensorflow", "numpy", "platform", "subprocess", "socket"}
assert not new & heavy, new
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_versions_of_what_was_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in _facts.PACKAGES:
        monkeypatch.delitem(sys.modules, name, raising=False)
    assert "framework" not in start()["software"]

    class TorchVersion(str):
        def __str__(self) -> str:
            raise RuntimeError("code of somebody else")

    monkeypatch.setitem(sys.modules, "torch", module("torch", TorchVersion("2.5.1+cu124")))
    assert start()["software"]["packages"] == {"torch": "2.5.1+cu124"}
    assert start()["software"]["framework"] == "torch"
    monkeypatch.setitem(sys.modules, "jax", module("jax", "0.4.30"))
    assert start()["software"]["framework"] == "jax"


def test_no_code_of_a_module_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in _facts.PACKAGES:
        monkeypatch.delitem(sys.modules, name, raising=False)

    class Lazy(types.ModuleType):
        def __getattribute__(self, name: str) -> Any:
            raise AssertionError(f"{name} was asked for")

    monkeypatch.setitem(sys.modules, "jax", Lazy("jax"))
    monkeypatch.setitem(sys.modules, "torch", None)  # an import that is forbidden
    monkeypatch.setitem(sys.modules, "flax", module("flax", 7))
    monkeypatch.setitem(sys.modules, "optax", module("optax", "9" * 1000))
    lazy = types.ModuleType("transformers")
    vars(lazy)["_objects"] = {"__version__": "4.45.0"}
    monkeypatch.setitem(sys.modules, "transformers", lazy)
    assert start()["software"]["packages"] == {"optax": "9" * 100, "transformers": "4.45.0"}


def test_later_imports_are_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "jax", raising=False)
    run = headway.init(run="r", heartbeat=False)
    monkeypatch.setitem(sys.modules, "jax", module("jax", "0.4.30"))
    run.step(0)
    run.finish()
    assert recorded()["software"]["packages.jax"] == "0.4.30"
    told: set[str] = set()
    _facts.at_start(told)
    assert _facts.since(told) == {}


def test_a_program_that_does_not_finish_tells_its_imports(tmp_path: Path) -> None:
    program = """
import sys, types
import headway
run = headway.init(run="r", heartbeat=False)
jax = types.ModuleType("jax")
jax.__version__ = "0.4.30"
sys.modules["jax"] = jax
"""
    subprocess.run([sys.executable, "-c", program], check=True, cwd=tmp_path)
    software = recorded()["software"]
    assert software["packages.jax"] == "0.4.30" and software["framework"] == "jax"


def git(folder: Path, head: str) -> Path:
    (folder / ".git/refs/heads").mkdir(parents=True)
    (folder / ".git/HEAD").write_text(head)
    return folder / ".git"


def test_the_commit_is_read_from_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = tmp_path / "a/b"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    place = git(tmp_path, "ref: refs/heads/main\n")
    assert _facts._git() == {"branch": "main"}  # nothing was committed
    (place / "packed-refs").write_text(f"# pack-refs\n{'f' * 40} refs/heads/x\n{COMMIT} "
                                       "refs/heads/main\n")
    assert _facts._git() == {"commit": COMMIT, "branch": "main"}
    (place / "refs/heads/main").write_text("e" * 40 + "\n")
    assert _facts._git() == {"commit": "e" * 40, "branch": "main"}
    (place / "HEAD").write_text(COMMIT + "\n")
    assert _facts._git() == {"commit": COMMIT}


def test_the_commit_of_a_worktree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = git(tmp_path / "main", "ref: refs/heads/main\n")
    (place / "refs/heads/side").write_text(COMMIT)
    (place / "worktrees/side").mkdir(parents=True)
    (place / "worktrees/side/HEAD").write_text("ref: refs/heads/side\n")
    (place / "worktrees/side/commondir").write_text("../..\n")
    (tmp_path / "side").mkdir()
    (tmp_path / "side/.git").write_text(f"gitdir: {place}/worktrees/side\n")
    monkeypatch.chdir(tmp_path / "side")
    assert _facts._git() == {"commit": COMMIT, "branch": "side"}


@pytest.mark.parametrize(
    "head", ["", "\0", "ref: ", "ref: ../../etc/passwd", "ref: refs/../x", "x" * 10_000, "A" * 40]
)
def test_what_is_no_head_is_left_out(
    head: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(tmp_path, head)
    monkeypatch.chdir(tmp_path)
    assert "git" not in start()["software"]


def test_a_pipe_in_the_place_of_a_file_waits_for_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = git(tmp_path, "x")
    (place / "HEAD").unlink()
    os.mkfifo(place / "HEAD")
    monkeypatch.chdir(tmp_path)
    assert "git" not in start()["software"]


def test_nothing_raises(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> Any:
        raise OSError("refused")

    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    for name in ("cpu_count", "sched_getaffinity", "sysconf", "uname", "access"):
        monkeypatch.setattr(os, name, refuse)
    found = start()
    assert "python" in found["software"] and "git" not in found["software"]
    assert not {"cpus", "memory_gib", "kernel", "devices"} & set(found["system"])
    monkeypatch.setattr(_facts, "at_start", refuse)
    monkeypatch.setattr(_facts, "since", refuse)
    run = headway.init(run="r", heartbeat=False, dir=tmp_path / "data", config={"a": 1})
    assert run.enabled
    run.finish()


def test_hostile_variables_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    for i in range(1000):
        monkeypatch.setenv(f"NCCL_{i:04}", "x")
    monkeypatch.setenv("XLA_FLAGS", "é" * 30_000)
    os.environb[b"LIBTPU_INIT_ARGS"] = b"\xff\xfe"
    try:
        found = start()["software"]["env"]
        assert len(found["XLA_FLAGS"]) == 16_384
        assert sum(name.startswith("NCCL_") for name in found) == 256
        run = headway.init(run="r", heartbeat=False)
        run.finish()
        assert recorded()["software"]["env.LIBTPU_INIT_ARGS"] == "??"
    finally:
        del os.environb[b"LIBTPU_INIT_ARGS"]


def test_what_it_does_to_the_system(tmp_path: Path) -> None:
    git(tmp_path, "ref: refs/heads/main\n")
    program = """
import os, sys
from headway import _facts
events = []
sys.addaudithook(lambda name, arguments: events.append((name, arguments)))
_facts.at_start(set())
_facts.since(set())
for name, arguments in events:
    known = name == "open" and ".git" in arguments[0] or name == "object.__getattr__"
    assert known, (name, arguments)
assert any(name == "open" for name, _ in events)
"""
    subprocess.run([sys.executable, "-c", program], check=True, cwd=tmp_path)
