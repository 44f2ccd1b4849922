"""A training program that calls the package as MaxText does; written from a description of it.

Usage: maxtext_like.py RUN DIRECTORY all|goodput|elastic
"""

from __future__ import annotations

import contextlib
import enum
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import training
from ml_goodput_measurement import goodput, monitoring


class GoodputEvent(enum.Enum):
    JOB = "job"
    TPU_INIT = "tpu_init"
    TRAINING_PREPARATION = "training_preparation"
    DATA_LOADING = "data_loading"
    STEP = "step"


@dataclass
class Config:
    run_name: str
    tensorboard_dir: str
    elastic: bool = False
    monitor_all: bool = False
    enable_goodput_recording: bool = True
    monitor_goodput: bool = True
    goodput_upload_interval_seconds: float = 0.2
    enable_pathways_goodput: bool = False
    ideal_step_seconds: float = 0.02
    step_deviation_interval_seconds: float = 0.2
    enable_gcp_goodput_metrics: bool = False
    enable_gcp_step_deviation_metrics: bool = False


def process_index() -> int:
    return 0


def elastic_modules() -> tuple[Any, Any]:
    from ml_goodput_measurement import goodput_elastic, monitoring_elastic

    return goodput_elastic, monitoring_elastic


def create_goodput_recorder(config: Config) -> Any:
    if not config.enable_goodput_recording:
        return None
    logger_name = f"goodput_{config.run_name}"
    if config.elastic:
        elastic, _ = elastic_modules()
        return elastic.ElasticGoodputRecorder(config.run_name, logger_name, process_index() == 0)
    return goodput.GoodputRecorder(config.run_name, logger_name, process_index() == 0)


@contextlib.contextmanager
def maybe_record_goodput(recorder: Any, event: GoodputEvent, *args: Any) -> Iterator[None]:
    def record(edge: str) -> None:
        method = getattr(recorder, f"record_{event.value}_{edge}_time", None)
        if method is not None:
            method(*args)

    record("start")
    yield
    record("end")


def create_monitor(config: Config) -> Any:
    options: dict[str, Any] = dict(
        job_name=config.run_name,
        logger_name=f"goodput_{config.run_name}",
        tensorboard_dir=config.tensorboard_dir,
        upload_interval=config.goodput_upload_interval_seconds,
        monitoring_enabled=True,
        include_badput_breakdown=True,
        include_step_deviation=True,
        configured_ideal_step_time=config.ideal_step_seconds,
        step_deviation_interval_seconds=config.step_deviation_interval_seconds,
    )
    flags: dict[str, Any] = dict(
        enable_gcp_goodput_metrics=config.enable_gcp_goodput_metrics,
        enable_gcp_step_deviation_metrics=config.enable_gcp_step_deviation_metrics,
    )
    if config.elastic:
        _, elastic = elastic_modules()
        return elastic.ElasticGoodputMonitor(**options, gcp_options=elastic.GCPOptions(**flags))
    return monitoring.GoodputMonitor(
        **options,
        pathway_enabled=config.enable_pathways_goodput,
        gcp_options=monitoring.GCPOptions(**flags),
    )


@contextlib.contextmanager
def maybe_monitor_goodput(config: Config) -> Iterator[None]:
    if not config.monitor_goodput or process_index() != 0:
        yield
        return
    monitor = create_monitor(config)
    try:
        monitor.start_goodput_uploader()
        yield
    finally:
        monitor.stop_goodput_uploader()


@contextlib.contextmanager
def maybe_monitor(config: Config) -> Iterator[None]:
    """With step deviations and rolling windows."""
    monitor = create_monitor(config)
    try:
        monitor.start_goodput_uploader()
        monitor.start_step_deviation_uploader()
        monitor.start_rolling_window_goodput_uploader([60, 3600])
        yield
    finally:
        monitor.stop_goodput_uploader()
        monitor.stop_step_deviation_uploader()
        monitor.stop_rolling_window_goodput_uploader()


def train(config: Config, recorder: Any) -> None:
    with maybe_record_goodput(recorder, GoodputEvent.TPU_INIT):
        time.sleep(0.02)
    with maybe_record_goodput(recorder, GoodputEvent.TRAINING_PREPARATION):
        time.sleep(0.02)
    if config.elastic:
        recorder.record_elastic_slice_counts(2, 2, 2)
    for step in range(training.STEPS):
        with maybe_record_goodput(recorder, GoodputEvent.DATA_LOADING):
            time.sleep(0.002)
        with maybe_record_goodput(recorder, GoodputEvent.STEP, step):
            training.work(step)
        if config.elastic and step == 5:
            recorder.record_elastic_wait_start_time("slice_down")
            time.sleep(0.05)
            recorder.record_elastic_wait_end_time("slice_down")


def main() -> None:
    training.begin()
    run, directory, what = sys.argv[1:]
    config = Config(run, directory, what == "elastic", what == "all")
    recorder = create_goodput_recorder(config)
    with (
        maybe_monitor(config) if config.monitor_all else maybe_monitor_goodput(config),
        maybe_record_goodput(recorder, GoodputEvent.JOB),
    ):
        train(config, recorder)
    training.end()


main()
