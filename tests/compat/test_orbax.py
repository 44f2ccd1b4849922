"""Saves and restores of the real Orbax in the drop-in's numbers, without Orbax's cloud logger."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from conftest import DROP_IN, ROOT
from environments import NotInstallable, environment

import headway

PROGRAM = """
import json, sys, time
from ml_goodput_measurement import goodput

recorder = goodput.GoodputRecorder("job", "log", logging_enabled=True)
recorder.record_job_start_time()
import numpy as np
import orbax.checkpoint as ocp

tree = {"a": np.arange(1_000_000.0)}
manager = ocp.CheckpointManager(sys.argv[1])
kinds = {"save": 0.0, "restore": 0.0}

def timed(kind, call):
    begin = time.perf_counter()
    call()
    kinds[kind] += time.perf_counter() - begin

recorder.record_step_start_time(0)
for step in range(1, 8):
    time.sleep(0.3)
    recorder.record_step_start_time(step)
    timed("save", lambda: manager.save(step, args=ocp.args.StandardSave(tree)))
timed("save", manager.wait_until_finished)
timed("restore", lambda: manager.restore(7, args=ocp.args.StandardRestore(tree)))
recorder.record_step_start_time(8)
manager.save(8, args=ocp.args.StandardSave(tree), force=True)
recorder.record_job_end_time()
manager.close()  # waits: the job's end stays its end

calculator = goodput.GoodputCalculator("job", "log")
calculator.get_job_goodput(include_badput_breakdown=True)
badput = calculator.get_job_goodput_details()["badput_time"]
print(json.dumps([kinds, {kind.name: seconds for kind, seconds in badput.items()}]))
"""


def run(folder: Path, **env: str) -> tuple[dict[str, float], dict[str, float]]:
    try:
        python = environment(ROOT / "build/orbax", ROOT / "tools/requirements-orbax.txt")
    except NotInstallable as error:
        pytest.skip(f"Orbax can't be installed: {error}")
    path = os.pathsep.join([str(Path(headway.__file__).parents[1]), DROP_IN])
    done = subprocess.run(
        [str(python), "-c", PROGRAM, str(folder / "checkpoints")],
        env={**os.environ, "PYTHONPATH": path, "HEADWAY_DIR": str(folder / "data"),
             "JAX_PLATFORMS": "cpu", **env},
        capture_output=True, text=True, timeout=240, check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    kinds, badput = json.loads(done.stdout.splitlines()[-1])
    return kinds, badput


def test_saves_and_restores_are_badput(tmp_path: Path) -> None:
    kinds, badput = run(tmp_path)
    save = badput["UNPRODUCTIVE_CHECKPOINT_SAVE_TIME"]
    restore = badput["UNPRODUCTIVE_CHECKPOINT_RESTORE_TIME"]
    assert kinds["save"] * 0.9 - 0.2 <= save
    assert kinds["restore"] * 0.9 - 0.05 <= restore <= kinds["restore"]
    report = headway.report("job", dir=tmp_path / "data")
    assert len(report.attempts) == 1 and report.state == "completed"
    assert report.checkpointing.saves == 9  # eight saves, and a wait


def test_off(tmp_path: Path) -> None:
    _, badput = run(tmp_path, HEADWAY_ORBAX="0")
    assert badput["UNPRODUCTIVE_CHECKPOINT_SAVE_TIME"] == 0
    assert badput["UNPRODUCTIVE_CHECKPOINT_RESTORE_TIME"] == 0
