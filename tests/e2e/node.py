"""Node.js programs of ui/, run as they are written."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT

SECONDS = 240


def run_node(program: str, given: dict[str, Any], tmp_path: Path) -> str:
    """What a test of ui/tests prints; it finds `given` in the file that HEADWAY_TEST names."""
    node = os.environ.get("HEADWAY_NODE")  # with which this build made the page
    if node is None:
        pytest.skip("the page was not built (HEADWAY_UI), and with it goes what these tests need")
    path = tmp_path / "given.json"
    path.write_text(json.dumps(given))
    done = subprocess.run(
        [node, "--test", f"tests/{program}"],
        cwd=ROOT / "ui", env={**os.environ, "HEADWAY_TEST": str(path)},
        capture_output=True, text=True, timeout=SECONDS,
    )  # fmt: skip
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout
