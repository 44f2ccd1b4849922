"""What every test of the package shares."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import headway

Script = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty HEADWAY_DIR, and nothing else of headway or of a launcher in the environment."""
    for name in list(os.environ):
        if name.startswith(("HEADWAY_", "SLURM_", "JOBSET_")) or name in ("RANK", "WORLD_SIZE"):
            if name != "HEADWAY_BIN":
                monkeypatch.delenv(name)
    monkeypatch.setenv("HEADWAY_DIR", str(tmp_path / "data"))
    return tmp_path / "data"


@pytest.fixture
def run() -> Iterator[headway.Run]:
    """A run that records, without its heartbeat."""
    opened = headway.init(run="r", heartbeat=False)
    assert opened.enabled, opened.error
    yield opened
    opened.finish()


@pytest.fixture
def script(tmp_path: Path) -> Script:
    """Runs a program in a Python of its own; `text` follows the usual imports."""

    def execute(
        text: str,
        *arguments: str,
        options: tuple[str, ...] = (),
        env: dict[str, str] | None = None,
        timeout: float = 60,
    ) -> subprocess.CompletedProcess[str]:
        path = tmp_path / "program.py"
        head = "import os, signal, sys, threading, time\nimport headway\n"
        path.write_text(head + textwrap.dedent(text))
        return subprocess.run(
            [sys.executable, *options, str(path), *arguments],
            env={**os.environ, **(env or {})},
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    return execute
