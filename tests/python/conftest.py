"""What every test of the package shares."""

from __future__ import annotations

import dataclasses
import json
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


@pytest.fixture
def headway_bin() -> Path:
    folder = os.environ.get("HEADWAY_BIN") or Path(headway.__file__).parents[2] / "bin"
    return Path(folder) / "headway"


@dataclasses.dataclass
class Span:
    kind: str
    begin_ns: int
    end_ns: int
    step: int | None
    thread: int  # 0: that of the program


def recorded(headway_bin: Path, run: str) -> tuple[list[Span], list[int]]:
    """The checkpoint spans of a run's lead, and the steps that were told to be safe."""
    done = subprocess.run(
        [str(headway_bin), "export", run, "--as", "jsonl"],
        capture_output=True, text=True, check=True,
    )
    spans: dict[int, Span] = {}
    saved: list[int] = []
    for line in done.stdout.splitlines():
        record = json.loads(line)
        kind, _, edge = record["type"].rpartition("_")
        if record.get("rank", 0) > 0:
            continue
        if record["type"] == "checkpoint_saved":
            saved.append(record["step"])
        elif kind in ("checkpoint_save", "checkpoint_restore") and edge == "start":
            spans[record["seq"]] = Span(
                kind, record["ts_ns"], 0, record.get("step"), record.get("thread", 0)
            )
        elif kind in ("checkpoint_save", "checkpoint_restore"):
            spans[record["begin_seq"]].end_ns = record["ts_ns"]
    return list(spans.values()), saved
