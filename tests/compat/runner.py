"""Answers histories: one JSON object a line in (see calls.py), one out.

    python runner.py original|drop-in-log|drop-in-journal

`original` runs where ml-goodput-measurement is installed; its log is in memory, through the
argument that its own tests use. `drop-in-log` injects the same log into the drop-in;
`drop-in-journal` lets it record and read journals below HEADWAY_DIR.
"""

from __future__ import annotations

import datetime
import enum
import importlib
import itertools
import json
import logging
import sys
import tempfile
import types
from collections.abc import Callable
from typing import Any

import calls


class MemoryLog:
    """Entries in order of writing; an entry's log time is its own time."""

    def __init__(self, time_of: Callable[[dict[str, Any]], Any]) -> None:
        self.entries: list[dict[str, Any]] = []
        self.time_of = time_of

    def write_cloud_logging_entry(self, entry: dict[str, Any]) -> None:
        self.entries.append(json.loads(json.dumps(entry)))

    def flush(self) -> None:
        pass

    def read_cloud_logging_entries(
        self, start_time: Any = None, end_time: Any = None, last_entry_info: Any = None
    ) -> tuple[list[dict[str, Any]], tuple[Any, Any]]:
        found = []
        for number, entry in enumerate(self.entries):
            time = self.time_of(entry)
            if last_entry_info is not None:
                later = number > int(last_entry_info[1])
            else:
                later = start_time is None or time > start_time
            if later and (end_time is None or time <= end_time):
                found.append((number, entry))
        cursor = (self.time_of(found[-1][1]), str(found[-1][0])) if found else (None, None)
        return [dict(entry) for _, entry in found], cursor


def plain(value: Any) -> Any:
    """The value in JSON's types; keys of enumerations by name."""
    if isinstance(value, dict):
        return {plain(key): plain(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [plain(item) for item in value]
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, float) or hasattr(value, "dtype"):
        return float(value)
    return value


def attempt(question: Callable[[], Any]) -> Any:
    try:
        return plain(question())
    except ValueError:
        return "ValueError"


class Runner:
    def __init__(self, kind: str) -> None:
        self.original = kind == "original"
        self.journal = kind == "drop-in-journal"
        self.goodput = importlib.import_module("ml_goodput_measurement.src.goodput")
        self.elastic = importlib.import_module("ml_goodput_measurement.src.goodput_elastic")
        self.job_names = (f"job{i}" for i in itertools.count())

    def freeze(self, now: datetime.datetime) -> None:
        """Makes it `now` for the calculator."""
        if self.original:
            frozen = type("datetime", (datetime.datetime,), {"now": classmethod(lambda *_: now)})
            stand_in = types.SimpleNamespace(**vars(datetime))
            stand_in.datetime = frozen
            exclusion = importlib.import_module("ml_goodput_measurement.src.goodput_exclusion")
            self.goodput.datetime = exclusion.datetime = stand_in
        else:
            sources = importlib.import_module("ml_goodput_measurement.src._sources")
            sources.now = lambda: now

    def answer(self, history: calls.History) -> dict[str, Any]:
        log = None if self.journal else MemoryLog(self.goodput.get_timestamp_from_log_entry)
        name = next(self.job_names) if self.journal else "job"
        module = self.elastic if history["elastic"] else self.goodput
        recorder = self.elastic.ElasticGoodputRecorder(name, "log", True, log)
        checkpoint = recorder._sink.checkpoint if self.journal else log.entries.append
        for call in history["calls"]:
            calls.apply(call, recorder, checkpoint)
        self.freeze(calls.at(history["now"]))
        prefix = "Elastic" if history["elastic"] else ""
        new = getattr(module, f"{prefix}GoodputCalculator")
        with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
            answers = self.ask(new(name, "log", log, cache_dir=one), history)
            # Of one that has been asked before, the original does not take another ideal.
            fresh = new(name, "log", log, cache_dir=two)
            answers["configured"] = attempt(lambda: fresh.get_step_deviation(2.5))
        if self.journal:
            importlib.import_module("ml_goodput_measurement.src._sinks").forget_journal(name)
        return answers

    def ask(self, calculator: Any, history: calls.History) -> dict[str, Any]:
        windows = [(calls.at(low), calls.at(high)) for low, high in history["windows"]]
        answers = {
            "cumulative": attempt(lambda: calculator.get_job_goodput(True)),
            "details": plain(calculator.get_job_goodput_details()),
            "deviation": attempt(calculator.get_step_deviation),
            "windows": [
                attempt(lambda w=w: calculator.get_job_goodput_interval(*w)) for w in windows
            ],
            "window_details": [
                attempt(lambda w=w: calculator.get_interval_metric_details(*w)) for w in windows
            ],
            "without": [],
        }
        for cuts in history["exclusions"]:
            times = [(calls.at(low), calls.at(high)) for low, high in cuts]
            answer = attempt(lambda t=times: calculator.get_job_goodput_with_exclusions(t, True))
            answers["without"].append([answer, plain(calculator.get_job_goodput_details())])
        return answers


def main() -> None:
    logging.disable(logging.CRITICAL)
    runner = Runner(sys.argv[1])
    for line in sys.stdin:
        print(json.dumps(runner.answer(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
