"""What every test of the exporters shares."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "tests/scenario/examples"
SECONDS = 60

sys.path.insert(0, str(ROOT / "tools"))


def probe_command() -> str:
    return os.environ.get("HEADWAY_EXPORTER_PROBE", str(ROOT / "build/tests/exporter_probe"))


def probe(
    *arguments: str | bytes | Path, code: int = 0
) -> subprocess.CompletedProcess[bytes]:
    """Runs exporter_probe; exporter_probe.cc says how. `code` is the exit code that is expected."""
    done = subprocess.run(
        [probe_command(), *arguments], capture_output=True, timeout=SECONDS, check=False
    )
    assert done.returncode == code, (arguments, done.stderr)
    return done


def wait_until(happened: Callable[[], Any], what: str) -> Any:
    """Waits for a condition, and says what did not happen."""
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        if result := happened():
            return result
        time.sleep(0.01)
    raise AssertionError(f"did not happen: {what}")


class Server:
    """A MetricsServer in a process of its own."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "published"
        self.process = subprocess.Popen(
            [probe_command(), "serve", "127.0.0.1", "0"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline())

    def publish(self, text: bytes) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.file.write_bytes(text)
        self.process.stdin.write(f"{self.file}\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "published\n"

    def close(self) -> None:
        """Ends it as a program does that is done: with whatever connections there are."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        assert self.process.wait(SECONDS) == 0


@pytest.fixture
def server(tmp_path: Path) -> Any:
    server = Server(tmp_path)
    yield server
    server.close()
