"""The helper for PyTorch: against the real one where there is one, and against a stand-in.

The package index has builds of PyTorch for this kind of machine only with gigabytes of CUDA, which
a test does not download. Debian's ``python3-torch`` will do: a Python that can import ``torch`` is
looked for in ``HEADWAY_TEST_TORCH_PYTHON`` and among the usual ones.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from conftest import recorded

import headway

# As much of PyTorch as is called, and as it calls itself: dcp.save() writes with torch.save().
STAND_IN = {
    "torch/__init__.py": """
        import pickle, time
        def save(obj, f, pickle_protocol=2):
            time.sleep(0.02)
            with open(f, "wb") as file:
                pickle.dump(obj, file, pickle_protocol)
        def load(f, map_location=None, *, weights_only=True):
            time.sleep(0.02)
            with open(f, "rb") as file:
                return pickle.load(file)
    """,
    "torch/distributed/__init__.py": "",
    "torch/distributed/checkpoint/__init__.py": """
        from torch.distributed.checkpoint.state_dict_saver import save, async_save, load
    """,
    "torch/distributed/checkpoint/state_dict_saver.py": """
        import concurrent.futures, os, torch
        pool = concurrent.futures.ThreadPoolExecutor(1)
        def save(state_dict, *, checkpoint_id=None):
            os.makedirs(checkpoint_id)
            for i in range(2):
                torch.save(state_dict, f"{checkpoint_id}/{i}")
            return "metadata"
        def async_save(state_dict, *, checkpoint_id=None):
            return pool.submit(save, state_dict, checkpoint_id=checkpoint_id)
        def load(state_dict, *, checkpoint_id=None):
            state_dict.update(torch.load(f"{checkpoint_id}/1"))
    """,
}

PLAIN = """
import sys
import headway

folder = sys.argv[1]
run = headway.init(run="torch")
assert "torch" not in sys.modules
run.step(0)
headway.torch.save({"a": 1}, folder + "/0.pt", step=0)
assert headway.torch.load(folder + "/0.pt", map_location="cpu", step=0) == {"a": 1}
run.step(1)
headway.torch.save({"a": 2}, folder + "/other.pt")  # says nothing of a step
try:
    headway.torch.save({"a": 3}, folder + "/no/such/folder", step=7)
    assert False
except (OSError, RuntimeError):
    pass
import torch
torch.save({"a": 4}, folder + "/unseen.pt")
originals = torch.save, torch.load
run.step(2)
with headway.torch.watch():
    headway.torch.watch()
    torch.save({"a": 5}, folder + "/seen.pt")
    assert torch.load(folder + "/seen.pt") == {"a": 5}
    headway.torch.save({"a": 6}, folder + "/2.pt", step=2)
    with run.checkpoint_save(step=2):
        torch.save({"a": 7}, folder + "/own.pt")
assert (torch.save, torch.load) == originals
with headway.torch.watch(load=False):
    torch.load(folder + "/seen.pt")
run.step(3)
run.finish()
torch.save({"a": 8}, folder + "/late.pt")
headway.torch.save({"a": 9}, folder + "/late.pt", step=3)
assert run.dropped == 0
"""
# kind, step; and what is safe
PLAIN_SPANS = [
    ("save", 0), ("restore", 0), ("save", None), ("save", 7),
    ("save", None), ("restore", None), ("save", 2), ("save", 2),
]
PLAIN_SAVED = [0, 2]

DISTRIBUTED = """
import sys
import headway

folder = sys.argv[1]
run = headway.init(run="torch")
run.step(0)
state = {"a": VALUE}
headway.torch.dcp_save(state, checkpoint_id=folder + "/0", step=0)
headway.torch.dcp_load(state, checkpoint_id=folder + "/0", step=0)
run.step(1)
future = headway.torch.dcp_async_save(state, checkpoint_id=folder + "/1", step=1)
getattr(future, "upload_completion", future).result()
run.step(2)
import torch.distributed.checkpoint as dcp
with headway.torch.watch():
    dcp.save(state, checkpoint_id=folder + "/2")
    dcp.load(state, checkpoint_id=folder + "/2")
run.step(3)
run.finish()
"""
DISTRIBUTED_SPANS = [
    ("save", 0), ("restore", 0), ("save", 1), ("save", None), ("restore", None),
]
DISTRIBUTED_SAVED = [0, 1]


def record(python: str, program: str, folder: Path, path: str = "") -> None:
    folder.mkdir()
    package = str(Path(headway.__file__).parents[1])
    done = subprocess.run(
        [python, "-c", program, str(folder)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [package, path]))},
        capture_output=True, text=True, timeout=120, check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]


def check(binary: Path, spans: list[tuple[str, int | None]], saved: list[int]) -> None:
    found, safe = recorded(binary, "torch")
    assert [(one.kind.removeprefix("checkpoint_"), one.step) for one in found] == spans
    assert safe == saved
    report = headway.report("torch")
    assert report.checkpointing.saves == [kind for kind, _ in spans].count("save")
    assert not [note for note in report.notes if note.code.startswith("span_")]


@pytest.fixture
def stand_in(tmp_path: Path) -> str:
    for name, text in STAND_IN.items():
        file = tmp_path / "stand_in" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text))
    return str(tmp_path / "stand_in")


@pytest.fixture(scope="module")
def torch_python() -> str:
    candidates = [os.environ.get("HEADWAY_TEST_TORCH_PYTHON"), sys.executable,
                  shutil.which("python3"), "/usr/bin/python3"]
    for python in filter(None, candidates):
        tried = subprocess.run([python, "-c", "import torch"], capture_output=True, check=False)
        if tried.returncode == 0:
            return python
    pytest.skip("no Python here can import torch; its wrapping is tested with a stand-in only")


def test_stand_in(stand_in: str, headway_bin: Path, tmp_path: Path) -> None:
    record(sys.executable, PLAIN, tmp_path / "c", stand_in)
    check(headway_bin, PLAIN_SPANS, PLAIN_SAVED)


def test_stand_in_distributed(stand_in: str, headway_bin: Path, tmp_path: Path) -> None:
    record(sys.executable, DISTRIBUTED.replace("VALUE", "1"), tmp_path / "c", stand_in)
    check(headway_bin, DISTRIBUTED_SPANS, DISTRIBUTED_SAVED)


def test_torch(torch_python: str, headway_bin: Path, tmp_path: Path) -> None:
    record(torch_python, PLAIN, tmp_path / "c")
    check(headway_bin, PLAIN_SPANS, PLAIN_SAVED)


def test_torch_distributed(torch_python: str, headway_bin: Path, tmp_path: Path) -> None:
    try_it = "import torch.distributed.checkpoint as dcp; dcp.save, dcp.async_save, dcp.load"
    tried = subprocess.run([torch_python, "-c", try_it], capture_output=True, check=False)
    if tried.returncode != 0:
        pytest.skip("this PyTorch has no torch.distributed.checkpoint.async_save")
    program = "import torch\n" + DISTRIBUTED.replace("VALUE", "torch.arange(1000.)")
    record(torch_python, program, tmp_path / "c")
    check(headway_bin, DISTRIBUTED_SPANS, DISTRIBUTED_SAVED)


def test_without_torch(tmp_path: Path) -> None:
    if subprocess.run([sys.executable, "-c", "import torch"], capture_output=True).returncode == 0:
        pytest.skip("torch is installed")
    with pytest.raises(ImportError):
        headway.torch.watch()
    headway.torch.unwatch()
