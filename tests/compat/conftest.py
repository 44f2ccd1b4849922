"""The drop-in is imported from its sources; the package headway from this build."""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
DROP_IN = str(ROOT / "python" / "compat")

sys.path[:0] = [str(HERE), DROP_IN]
os.environ["PYTHONPATH"] = os.pathsep.join(
    [DROP_IN, *filter(None, [os.environ.get("PYTHONPATH")])]
)


@pytest.fixture(scope="session")
def original_python() -> str:
    """Python of an environment that holds the original, from the package index.

    Where it can't be had the test is skipped.
    """
    requirements = ROOT / "tools" / "requirements-original.txt"
    wanted = hashlib.sha256(requirements.read_bytes()).hexdigest()
    folder = ROOT / "build" / "original"
    mark = folder / "installed"
    folder.parent.mkdir(exist_ok=True)
    with open(folder.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # test programs run side by side
        if not mark.exists() or mark.read_text() != wanted:
            subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
            pip = [str(folder / "bin/python"), "-m", "pip", "install", "-q", "--no-deps"]
            done = subprocess.run([*pip, "-r", str(requirements)], capture_output=True, text=True)
            if done.returncode != 0:
                pytest.skip(f"the original can't be installed: {done.stderr.strip()[-300:]}")
            mark.write_text(wanted)
    return str(folder / "bin/python")
