"""Where records come from: headway's journals, or the original's log entries."""

from __future__ import annotations

import dataclasses
import datetime
import logging
import os
from typing import TYPE_CHECKING, Any, Optional, Protocol

from headway import Error, _native

from ml_goodput_measurement.src import _sinks
from ml_goodput_measurement.src._time import now, to_seconds, utc
from ml_goodput_measurement.src.goodput_utils import BadputType, UnproductiveTimeDict

if TYPE_CHECKING:
    from headway import _server

_log = logging.getLogger(__name__)

Exclusions = list[tuple[float, float]]


@dataclasses.dataclass(slots=True)
class Answer:
    """What a query came to: seconds, and goodput in percent."""

    goodput: float
    total: float
    productive: float
    unproductive: UnproductiveTimeDict
    max_step: int
    last_step: int
    disruptions: int
    excluded: float

    @classmethod
    def of(cls, values: tuple[Any, ...]) -> Answer:
        goodput, total, productive, badput, *rest = values
        unproductive = {BadputType(kind): value for kind, value in badput.items()}
        return cls(goodput, total, productive, unproductive, *rest)


@dataclasses.dataclass(slots=True)
class Window:
    """What is said about an interval; one may be known without the other."""

    answer: Optional[Answer]
    problem: str  # why there is none
    efficiency: Optional[tuple[float, float]]  # stepping, available


class Source(Protocol):
    """All raise ``headway._native.Error`` for what can't be known."""

    def refresh(self) -> None: ...

    def cumulative(self) -> Answer: ...

    def window(self, start: datetime.datetime, end: datetime.datetime) -> Window: ...

    def without(self, exclusions: Exclusions) -> tuple[Answer, dict[int, float]]: ...

    def step_times(self) -> tuple[dict[int, float], Optional[float]]: ...

    def efficiency(self, seconds: float) -> Optional[tuple[float, float]]: ...


class _CalculatorSource:
    """Asks the native calculator; who derives from it fills it."""

    def __init__(self, elastic: bool) -> None:
        self._elastic = elastic
        self._calculator = _native.CompatCalculator(elastic)
        self._start_missing = False  # that was told

    def refresh(self) -> None:
        raise NotImplementedError

    # What "now" is, is asked after reading: no record may be later.

    def cumulative(self) -> Answer:
        self.refresh()
        time = to_seconds(now())
        if exact():
            self._tell_missing_start()
            return Answer.of(self._calculator.exact(time, None, []))
        return Answer.of(self._calculator.cumulative(time))

    def without(self, exclusions: Exclusions) -> tuple[Answer, dict[int, float]]:
        self.refresh()
        time = to_seconds(now())
        if exact():
            self._tell_missing_start()
            answer = self._calculator.exact(time, None, exclusions)
            return Answer.of(answer), self._calculator.step_seconds()
        answer, times = self._calculator.without(exclusions, time)
        return Answer.of(answer), times

    def step_times(self) -> tuple[dict[int, float], Optional[float]]:
        return self._calculator.step_seconds(), self._calculator.ideal_step_seconds()

    def efficiency(self, seconds: float) -> Optional[tuple[float, float]]:
        start = self._calculator.job_start()
        if start is None:
            return None
        return self._calculator.efficiency(start, start + seconds)

    def _tell_missing_start(self) -> None:
        if self._start_missing or self._calculator.job_start() is not None:
            return
        self._start_missing = True
        _log.warning("no job start is among the records; the numbers are of what they tell of")

    def _window_of(
        self,
        calculator: _native.CompatCalculator,
        start: datetime.datetime,
        end: datetime.datetime,
    ) -> Window:
        window = to_seconds(start), to_seconds(end)
        if exact():
            self._tell_missing_start()
            answer = Answer.of(calculator.exact(to_seconds(now()), window, []))
            problem = "" if answer.total else "the job did not run within the interval"
            return Window(answer if answer.total else None, problem, calculator.efficiency(*window))
        said, efficiency = calculator.window(*window)
        if isinstance(said, str):
            return Window(None, said, efficiency)
        return Window(Answer.of(said), "", efficiency)


class JournalSource(_CalculatorSource):
    """The newest run of the job's name, read anew for each question.

    Its records are asked of the server that ``HEADWAY_SERVER`` names, unless this process makes
    them: else they come from journals of this machine.
    """

    def __init__(self, job_name: str, elastic: bool) -> None:
        super().__init__(elastic)
        self._job_name = job_name

    def refresh(self) -> None:
        calculator = _native.CompatCalculator(self._elastic)
        project = os.environ.get("HEADWAY_PROJECT") or "default"
        server = server_of(self._job_name)
        if server:
            calculator.load_records(_records_of(server, project, self._job_name))
        else:
            calculator.load(dirs(), project, self._job_name)
        self._calculator = calculator

    def window(self, start: datetime.datetime, end: datetime.datetime) -> Window:
        self.refresh()
        return self._window_of(self._calculator, start, end)


class LogSource(_CalculatorSource):
    """A reader of the original's entries. What has been read is kept, and not asked for again."""

    def __init__(self, reader: Any, elastic: bool) -> None:
        super().__init__(elastic)
        self._reader = reader
        self._cursor: Any = None

    def refresh(self) -> None:
        if self._cursor is None:
            entries, cursor = self._reader.read_cloud_logging_entries()
        else:
            time = now()
            if time <= self._cursor[0]:
                return
            entries, cursor = self._reader.read_cloud_logging_entries(
                start_time=self._cursor[0], end_time=time, last_entry_info=self._cursor
            )
        self._add(self._calculator, entries)
        if cursor is not None and cursor[0] is not None:
            self._cursor = cursor

    def window(self, start: datetime.datetime, end: datetime.datetime) -> Window:
        entries, _ = self._reader.read_cloud_logging_entries(
            start_time=utc(start), end_time=utc(end)
        )
        if exact():  # what came before the interval matters, too
            self.refresh()
            return self._window_of(self._calculator, start, end)
        calculator = _native.CompatCalculator(self._elastic)
        self._add(calculator, entries)
        return self._window_of(calculator, start, end)

    @staticmethod
    def _add(calculator: _native.CompatCalculator, entries: list[dict[str, Any]]) -> None:
        unusable = calculator.add(entries)
        if unusable:
            _log.warning("%d of %d log entries can't be used and are left out", unusable,
                         len(entries))


def exact() -> bool:
    """``HEADWAY_ACCOUNTING``: "compat" (the default) or "exact"."""
    chosen = os.environ.get("HEADWAY_ACCOUNTING", "").strip().lower() or "compat"
    if chosen not in ("compat", "exact"):
        raise ValueError(f"HEADWAY_ACCOUNTING must be compat or exact, not {chosen!r}")
    return chosen == "exact"


def _records_of(server: str, project: str, run: str) -> list[_server.RecordPage]:
    from headway import _server  # what it needs costs an import some 30 ms

    try:
        return list(_server.Server(server).records(project, run))
    except Error as error:
        raise _native.Error(error.code, str(error)) from error


def server_of(job_name: str) -> str:
    """Where the job's records are asked for: the server of ``HEADWAY_SERVER``; empty: here."""
    server = os.environ.get("HEADWAY_SERVER", "")
    return "" if _sinks.records(job_name) else server


def dirs() -> list[str]:
    """Where this machine's journals lie."""
    return [os.environ.get("HEADWAY_DIR") or os.path.expanduser("~/.headway")]
