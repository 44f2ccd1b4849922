"""What every test of the command line shares."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "tests/scenario/examples"
SECONDS = 60


class Headway:
    """The program, with a data directory of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = folder / "data"
        program = shutil.which("headway", path=os.environ.get("HEADWAY_BIN")) or shutil.which(
            "headway"
        )
        assert program, "headway is not built"
        self.program = program
        self.environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("HEADWAY_", "SLURM_", "JOBSET_", "OMPI_", "PMI"))
            and name not in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "COLUMNS", "NO_COLOR")
        }
        self.environment["HEADWAY_DIR"] = str(self.data)
        self.environment["HEADWAY_NODE_DIR"] = str(folder / "node")

    def __call__(
        self, *arguments: str | Path | bytes, code: int | None = 0, **options: Any
    ) -> subprocess.CompletedProcess[str]:
        """Runs it; `code` is the exit code that is expected, None: any."""
        environment = {**self.environment, **options.pop("env", {})}
        command: list[Any] = [self.program, *arguments]
        result = subprocess.run(
            command,
            env=environment,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=SECONDS,
            check=False,
            **options,
        )
        if code is not None:
            assert result.returncode == code, (arguments, result.stdout, result.stderr)
        return result

    def json(self, *arguments: str | Path, **options: Any) -> Any:
        return json.loads(self(*arguments, "--json", **options).stdout)

    def start(self, *arguments: str | Path, **options: Any) -> subprocess.Popen[str]:
        environment = {**self.environment, **options.pop("env", {})}
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.PIPE)
        return subprocess.Popen(
            [self.program, *map(str, arguments)], env=environment, text=True, **options
        )

    def files(self) -> list[Path]:
        # Directories may go meanwhile, which Path.rglob does not take.
        found = (Path(where) / name for where, _, names in os.walk(self.data) for name in names)
        return sorted(path for path in found if path.is_file())


@pytest.fixture
def headway(tmp_path: Path) -> Headway:
    return Headway(tmp_path)


def wait_until(happened: Callable[[], Any], what: str) -> Any:
    """Waits for a condition, and says what did not happen."""
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        if result := happened():
            return result
        time.sleep(0.01)
    raise AssertionError(f"did not happen: {what}")
