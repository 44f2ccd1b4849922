"""Histories of recorder calls and questions, for the original and the drop-in alike.

Knows neither of them, so that it runs in the environment of either. A history is

    {"elastic": bool, "calls": [[METHOD, SECONDS, ARGUMENT...], ...], "now": SECONDS,
     "windows": [[FROM, TO], ...], "exclusions": [[[FROM, TO], ...], ...]}

with times in seconds after START. Random histories are well formed: what a job would record that is
now and then killed, restarted from a checkpoint, and given more or less time.
"""

from __future__ import annotations

import datetime
import random
from typing import Any

UTC = datetime.timezone.utc
START = datetime.datetime(2026, 1, 1, tzinfo=UTC)

History = dict[str, Any]
Call = list[Any]


def at(seconds: float) -> datetime.datetime:
    return START + datetime.timedelta(microseconds=round(seconds * 1e6))


def apply(call: Call, recorder: Any, checkpoint: Any) -> None:
    """Makes one call. ``checkpoint(dict)`` takes what Orbax reports."""
    method, seconds, *arguments = call
    time = at(seconds)
    if method == "step":
        recorder.record_step_start_time(arguments[0], time)
    elif method.startswith("custom_"):
        edge = method.removeprefix("custom_")
        getattr(recorder, f"record_custom_badput_event_{edge}_time")(time, arguments[0])
    elif method.startswith("wait_"):
        edge = method.removeprefix("wait_")
        getattr(recorder, f"record_elastic_wait_{edge}_time")(arguments[0], time)
    elif method == "slices":
        recorder.record_elastic_slice_counts(*arguments, time)
    elif method in ("save", "restore", "emergency_restore"):
        checkpoint(_report(method, time.timestamp(), *arguments))
    else:
        getattr(recorder, f"record_{method}_time")(time)


def _report(kind: str, time: float, step: int, directory: str, seconds: float) -> dict[str, Any]:
    """A save or restore as Orbax reports it."""
    report: dict[str, Any] = {"job_name": "job", "step": step, "event_type": kind}
    report["directory"] = directory
    if kind == "save":
        report |= {
            "reached_preemption": False,
            "synchronous": True,
            "wait_for_prev_start_time": time,
            "wait_for_prev_duration_secs": 0.0,
            "checkpointer_blocking_start_time": time,
            "checkpointer_blocking_duration_secs": seconds,
            "get_old_steps_start_time": time,
            "get_old_steps_duration_secs": 0.0,
            "checkpoint_manager_blocking_start_time": time,
            "checkpoint_manager_blocking_duration_secs": seconds,
        }
    else:
        report |= {
            "checkpointer_start_time": time,
            "checkpointer_duration_secs": seconds,
            "checkpoint_manager_start_time": time,
            "checkpoint_manager_duration_secs": seconds,
        }
    return report


class _Job:
    """A job as it goes; `calls` is what it records."""

    def __init__(self, rng: random.Random, elastic: bool) -> None:
        self.rng, self.elastic = rng, elastic
        self.time = 0.0
        self.calls: list[Call] = []
        self.step = rng.choice((0, 0, 0, 1, 5))

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def wait(self, low: float, high: float) -> None:
        self.time = round(self.time + self.rng.uniform(low, high), 6)

    def say(self, method: str, *arguments: Any) -> None:
        self.calls.append([method, self.time, *arguments])

    def span(self, name: str, longest: float, *arguments: Any, ends: float = 0.95) -> None:
        self.say(f"{name}_start", *arguments)
        self.wait(0, longest)
        if self.chance(ends):
            self.say(f"{name}_end", *arguments)

    def attempt(self, first: bool, last: bool) -> None:
        if first or self.chance(0.9):
            self.say("job_start")
        for name in ("tpu_init", "training_preparation"):
            if self.chance(0.7):
                self.wait(0, 2)
                self.span(name, 5)
        if self.chance(0.3):
            self._restore()
        loads = self.chance(0.6)
        usual = self.rng.choice((0.5, 2.0, 5.0))
        for i in range(self.rng.randint(0, 30)):
            if loads and self.chance(0.9):
                self.span("data_loading", usual / 3, ends=1)
            self.say("step", self.step)
            self.wait(usual * 0.9, usual * 1.1)
            if i == 0:
                self.wait(0, usual * 3)
            self._events(usual)
            self.step += 1 if self.chance(0.97) else self.rng.randint(2, 4)
        if self.chance(0.6 if last else 0.2):
            self.say("job_end")
        self.wait(0, 20)
        if self.chance(0.6):
            self.step = max(0, self.step - self.rng.randint(0, 6))
        elif self.chance(0.2):
            self.step = 0

    def _restore(self) -> None:
        kind = self.rng.choice(("restore", "emergency_restore"))
        seconds = round(self.rng.uniform(0, 3), 6)
        self.say(kind, self.step, self._directory(), seconds)
        self.wait(seconds, seconds)

    def _events(self, usual: float) -> None:
        if self.chance(0.1):
            name = self.rng.choice(("eval", "Eval", "sdc check"))
            self.span("custom", usual * 2, name, ends=0.9)
        if self.chance(0.08):
            seconds = round(self.rng.uniform(0, usual / 2), 6)
            for _ in range(self.rng.choice((1, 1, 2))):  # several processes may report it
                self.say("save", self.step, self._directory(), seconds)
            self.wait(seconds, seconds)
        if self.elastic and self.chance(0.08):
            self.span("wait", 5, self.rng.choice(("slice_down", "scale_up", "Scale_Up_2")))
            self.say("elastic_reinit_start")
            self.wait(0, 2)
            if self.chance(0.5):
                self.span("tpu_init", 5, ends=1)
            if self.chance(0.9):
                self.say("elastic_reinit_end")
        if self.elastic and self.chance(0.1):
            self.say("slices", *(self.rng.randint(0, 4) for _ in range(3)))

    def _directory(self) -> str:
        return self.rng.choice(("gs://bucket/run", "/local/run"))


def random_history(seed: int) -> History:
    rng = random.Random(seed)
    job = _Job(rng, elastic=rng.random() < 0.4)
    attempts = rng.randint(1, 5)
    for i in range(attempts):
        job.attempt(first=i == 0, last=i == attempts - 1)
    end = job.time
    windows = []
    for _ in range(4):
        low = rng.uniform(-5, end)
        windows.append([low, rng.uniform(low, end + 10)])
    exclusions = []
    for count in (0, rng.randint(1, 4)):
        cuts = []
        for _ in range(count):
            low = rng.uniform(-5, end)
            cuts.append([low, low + rng.uniform(0, end / 3)])
        exclusions.append(cuts)
    return {
        "elastic": job.elastic,
        "calls": job.calls,
        "now": end + rng.uniform(0, 50),
        "windows": windows,
        "exclusions": exclusions,
    }
