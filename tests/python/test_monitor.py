"""headway.Monitor: a run's goodput goes out while it is recorded."""

from __future__ import annotations

import logging
import time
from pathlib import Path
from typing import Any

import headway
import pytest


def train(run: headway.Run, steps: int = 10) -> None:
    for step in range(steps):
        with run.step(step):
            time.sleep(0.02)


def test_a_monitor_tells_the_final_values(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "run.prom"
    run = headway.init(run="monitored", dir=str(tmp_path / "data"))
    monitor = headway.Monitor(
        run, every=0.05, windows=[60], prometheus_file=file, tensorboard=tmp_path / "tb"
    )
    with monitor:
        train(run)
        run.finish()
    assert 'headway_max_productive_step{project="default",run="monitored"} 9' in file.read_text()
    assert 'window="60s"' in file.read_text()
    assert len(list((tmp_path / "tb").iterdir())) == 1
    assert caplog.text == ""
    monitor.stop()  # again: nothing


def test_other_ranks_and_disabled_runs_upload_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ranked = headway.init(run="ranked", dir=str(tmp_path / "data"), rank=3, world_size=4)
    monkeypatch.setenv("HEADWAY_DISABLED", "1")
    off = headway.init(run="off", dir=str(tmp_path / "data"))
    for run in (ranked, off):
        with headway.Monitor(run, every=0.01, prometheus_file=tmp_path / "x.prom"):
            train(run, 3)
        run.finish()
    assert not (tmp_path / "x.prom").exists()


def test_what_goes_wrong_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.WARNING)
    run = headway.init(run="wrong", dir=str(tmp_path / "data"))
    with headway.Monitor(run, prometheus_file=tmp_path / "no" / "x.prom"):
        train(run, 2)
    assert str(tmp_path / "no") in caplog.text
    caplog.clear()
    monkeypatch.setattr("headway._beside.find_program", lambda: str(tmp_path / "headway"))
    with headway.Monitor(run, prometheus_file=tmp_path / "x.prom"):
        train(run, 2)
    assert str(tmp_path / "headway") in caplog.text
    run.finish()


@pytest.mark.parametrize("name", ["tensorboard", "prometheus_listen", "otlp"])
def test_an_empty_destination_is_told_and_the_others_go_on(
    name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "x.prom"
    run = headway.init(run="empty", dir=str(tmp_path / "data"))
    options: dict[str, Any] = {name: "", "prometheus_file": file}
    with headway.Monitor(run, **options):
        train(run, 2)
        run.finish()
    assert caplog.messages == [f"a monitor's {name} is empty: nothing is told there"]
    assert 'headway_max_productive_step{project="default",run="empty"} 1' in file.read_text()
