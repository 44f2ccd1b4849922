"""A training program that calls the package as AXLearn does; written from a description of it.

Usage: axlearn_like.py RUN DIRECTORY
"""

from __future__ import annotations

import contextlib
import enum
import logging
import os
import sys
import time
from collections.abc import Iterator
from typing import Any

import training
from ml_goodput_measurement import goodput, monitoring


class EventType(enum.Enum):
    JOB = "job"
    STEP = "step"
    ACCELERATOR_INIT = "tpu_init"
    TRAINING_PREPARATION = "training_preparation"
    DATA_LOADING = "data_loading"
    CUSTOM_BADPUT_EVENT = "custom_badput_event"


class Event(enum.Enum):
    """Points in time: the older way."""

    START_JOB = "START_JOB"
    END_JOB = "END_JOB"
    START_STEP = "START_STEP"
    START_CUSTOM_BADPUT_EVENT = "START_CUSTOM_BADPUT_EVENT"
    END_CUSTOM_BADPUT_EVENT = "END_CUSTOM_BADPUT_EVENT"


class Recorder:
    """Two monitors of one job in one process, each with a directory of its own."""

    def __init__(self, name: str, upload_dir: str, windows: list[int]) -> None:
        self._name = name
        self._upload_dir = upload_dir
        self._windows = windows
        self._recorder: goodput.GoodputRecorder | None = None
        self._monitor: monitoring.GoodputMonitor | None = None
        self._rolling: monitoring.GoodputMonitor | None = None

    def _lazy(self) -> goodput.GoodputRecorder:
        if self._recorder is None:
            self._recorder = goodput.GoodputRecorder(
                job_name=self._name,
                logger_name=f"goodput_logger_{self._name}",
                logging_enabled=True,  # process 0
            )
        return self._recorder

    @contextlib.contextmanager
    def record_event(self, event: EventType, *args: Any, **kwargs: Any) -> Iterator[None]:
        self._call(f"record_{event.value}_start_time", *args, **kwargs)
        yield
        self._call(f"record_{event.value}_end_time", *args, **kwargs)

    def record(self, event: Event, *args: Any, **kwargs: Any) -> None:
        edge, _, name = event.value.lower().partition("_")
        self._call(f"record_{name}_{edge}_time", *args, **kwargs)

    def _call(self, method: str, *args: Any, **kwargs: Any) -> None:
        bound = getattr(self._lazy(), method, None)
        if bound is None:
            return
        try:
            bound(*args, **kwargs)
        except RuntimeError as error:
            logging.warning("failed to record: %s", error)

    def _create(self, directory: str) -> monitoring.GoodputMonitor:
        return monitoring.GoodputMonitor(
            job_name=self._name,
            logger_name=f"goodput_logger_{self._name}",
            tensorboard_dir=directory,
            upload_interval=0.2,  # type: ignore[arg-type]
            monitoring_enabled=True,
            include_badput_breakdown=True,
        )

    @contextlib.contextmanager
    def maybe_monitor_goodput(self) -> Iterator[None]:
        try:
            if self._monitor is None:
                self._monitor = self._create(self._upload_dir)
            self._monitor.start_goodput_uploader()
            yield
        finally:
            if self._monitor is not None:
                self._monitor.stop_goodput_uploader()

    @contextlib.contextmanager
    def maybe_monitor_rolling_window_goodput(self) -> Iterator[None]:
        try:
            if self._rolling is None:
                self._rolling = self._create(os.path.join(self._upload_dir, "rolling"))
            self._rolling.start_rolling_window_goodput_uploader(self._windows)
            yield
        finally:
            if self._rolling is not None:
                self._rolling.stop_rolling_window_goodput_uploader()

    @contextlib.contextmanager
    def maybe_monitor_all(self) -> Iterator[None]:
        with contextlib.ExitStack() as stack:
            stack.enter_context(self.maybe_monitor_goodput())
            stack.enter_context(self.maybe_monitor_rolling_window_goodput())
            yield


def main() -> None:
    training.begin()
    run, directory = sys.argv[1:]
    recorder = Recorder(run, directory, [3600])
    with recorder.maybe_monitor_all():
        recorder.record(Event.START_JOB)
        with recorder.record_event(EventType.ACCELERATOR_INIT):
            time.sleep(0.02)
        with recorder.record_event(EventType.TRAINING_PREPARATION):
            time.sleep(0.02)
        for step in range(training.STEPS):
            with recorder.record_event(EventType.DATA_LOADING):
                time.sleep(0.002)
            if step % 2:
                recorder.record(Event.START_STEP, step)
                training.work(step)
            else:
                with recorder.record_event(EventType.STEP, step):
                    training.work(step)
            if step == 3:
                with recorder.record_event(
                    EventType.CUSTOM_BADPUT_EVENT, custom_badput_event_type="CUSTOM_EVAL"
                ):
                    time.sleep(0.05)
            if step == 6:
                recorder.record(
                    Event.START_CUSTOM_BADPUT_EVENT, custom_badput_event_type="SDC_CHECK"
                )
                time.sleep(0.03)
                recorder.record(Event.END_CUSTOM_BADPUT_EVENT, custom_badput_event_type="SDC_CHECK")
        recorder.record(Event.END_JOB)
    training.end()


main()
