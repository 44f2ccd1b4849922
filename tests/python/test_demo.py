"""The demo: two real crashes, and a report that names them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import headway

ROOT = Path(__file__).resolve().parents[2]
STEPS = 150


@pytest.fixture
def output(tmp_path: Path) -> str:
    if shutil.which("headway") is None:
        pytest.skip("the command headway is not built")
    env = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "DEMO_DIR": str(tmp_path / "demo"),
        "DEMO_STEPS": str(STEPS),
        "DEMO_SEED": "3",
    }
    env.pop("UI", None)
    result = subprocess.run(
        [ROOT / "examples/demo/run"], env=env, capture_output=True, text=True, timeout=240
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_demo(output: str, tmp_path: Path) -> None:
    report = headway.report("demo", project="demo", dir=tmp_path / "demo/headway")
    assert report.state == "completed"
    assert sum(time.ns for time in report.categories) == report.elapsed_ns
    assert report.steps.count == STEPS and report.steps.max_productive_step == STEPS - 1
    assert [attempt.signal for attempt in report.attempts] == [9, 9, None]
    assert len(report.disruptions) == 2 and report.ns("wasted_progress") > 0

    # It died where the seed says and went on from the checkpoint before.
    killed = [int(step) for step in re.findall(r"step (\d+): killed", output)]
    resumed = [int(step) for step in re.findall(r"resumed after step (\d+)", output)]
    assert [d.step_reached for d in report.disruptions] == killed
    assert resumed == [49, 99]
    assert [d.resumed_from for d in report.disruptions] == [step + 1 for step in resumed]
    for category in ("checkpoint_save", "checkpoint_restore", "custom", "data_loading"):
        assert report.ns(category) > 0, category

    # A step that was repeated gave the same loss again: the restart lost nothing but time.
    losses: dict[str, set[str]] = {}
    for step, loss in re.findall(r"step +(\d+) +([\d.]+) bits", output):
        losses.setdefault(step, set()).add(loss)
    assert losses and all(len(values) == 1 for values in losses.values())
    assert "2 disruptions" in output
