"""What the functions that read runs return. Plain values; the names are those of the report's JSON.

Durations are integer nanoseconds (``…_ns``) and exact. Instants are datetimes in UTC, cut to
microseconds; ``to_dict()`` has them in full. None means that a value can't be known.
"""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Iterator, Sequence
from typing import Any, overload

from headway import _html
from headway._time import duration, from_text

Instant = datetime.datetime


def _instant(text: str | None) -> Instant | None:
    return None if text is None else from_text(text)


@dataclasses.dataclass(frozen=True)
class CategoryTime:
    """Time of one category: what the run's elapsed time consists of.

    Attributes:
        category: For example "productive" or "wasted_progress".
        name: Of custom spans and productive phases, else empty.
        ns: How long.
        share: Of the elapsed time, 0..1.
    """

    category: str
    name: str
    ns: int
    share: float


@dataclasses.dataclass(frozen=True)
class Steps:
    """Statistics over a run's steps.

    Attributes:
        count: Steps that were completed and kept.
        max_productive_step: The highest of them.
        last_step: The step started last.
        ideal_ns: Normal work time of a step.
        p50_ns: Median of the steps' work times; so p90_ns, p99_ns, max_ns.
        deviation_ns: How much less regular the last steps are than those before.
    """

    count: int
    max_productive_step: int | None
    last_step: int | None
    ideal_ns: int | None
    p50_ns: int | None
    p90_ns: int | None
    p99_ns: int | None
    max_ns: int | None
    deviation_ns: int | None


@dataclasses.dataclass(frozen=True)
class Attempt:
    """One incarnation of the run's processes.

    Attributes:
        end_kind: "open", "clean", "failed", "exit" or "lost".
        exit_status: As a supervisor saw it, else as the program's failed end said.
        signal: That ended it, as a supervisor saw it.
        notice: It was told to stop: by this signal, or 0 by a preemption notice. None: it was not.
    """

    index: int
    start: Instant
    end: Instant | None
    end_kind: str
    exit_status: int | None
    signal: int | None
    notice: int | None
    first_step: int | None
    last_step: int | None


@dataclasses.dataclass(frozen=True)
class Disruption:
    """An attempt that ended against the run's will, and what it cost.

    Attributes:
        time: Last sign of life.
        step_reached: The step started last.
        resumed_from: The step with which training went on.
        wasted_ns: Productive time that was lost.
        downtime_ns: From the end to the next start.
        reinit_ns: From there to the first step.
        regained: When training was as far as before.
        exit_status: Of the attempt, as are signal and notice.
        cause: Probable reason: "notice", "hang", "signal", "exit_status", "failed" or "lost".
    """

    time: Instant
    step_reached: int | None
    resumed_from: int | None
    wasted_ns: int
    downtime_ns: int | None
    reinit_ns: int | None
    regained: Instant | None
    exit_status: int | None
    signal: int | None
    notice: int | None
    cause: str


@dataclasses.dataclass(frozen=True)
class Rollback:
    """Training went back on purpose.

    Attributes:
        from_step: The step started last before.
        to_step: The step it went back to.
        wasted_ns: Productive time that was given up.
        planned: By a restart after a clean end.
    """

    time: Instant
    from_step: int
    to_step: int
    wasted_ns: int
    planned: bool


@dataclasses.dataclass(frozen=True)
class Checkpointing:
    """Checkpoints and how often they would pay.

    Attributes:
        saves: How many were written.
        mean_blocking_ns: How long training stood still for one.
        interval_ns: From one to the next.
        advised_interval_ns: By Young's formula.
    """

    saves: int
    mean_blocking_ns: int | None
    interval_ns: int | None
    advised_interval_ns: int | None


@dataclasses.dataclass(frozen=True)
class Note:
    """Something that had to be guessed: a code, how often, and a sentence for people."""

    code: str
    count: int
    message: str


@dataclasses.dataclass(frozen=True)
class Report:
    """How the time of a run was spent; see :func:`headway.report`.

    ``print(report)`` shows a summary, and a notebook shows it with bars.

    Attributes:
        run: Its name.
        project: Its project.
        accounting: "exact".
        state: "not_started", "running", "restarting", "completed", "failed" or "interrupted".
        down_since: Since when an interrupted run has been down.
        start: First sign of life.
        end: Last one.
        as_of: The time for which the report holds.
        window: The stretch that was asked for, ``(begin, end)``; None: the whole run.
        elapsed_ns: What the categories add up to.
        excluded_ns: Time left out of the account.
        goodput: Productive share of the elapsed time, 0..1; 0 when no time has elapsed.
        categories: Where the time went, in descending order.
        data_loading_overlapped_ns: Data loading behind the device's work.
        goodput_if_loading_blocked: Goodput if that loading was waited for.
        slow_steps_ns: Productive time beyond twice the normal step.
        unsaved_ns: Productive time that a crash now would lose.
        scheduling_ns: From submission to the first attempt.
        steps: Statistics over steps.
        attempts: By start.
        disruptions: By time.
        rollbacks: By time.
        mtbf_ns: Mean time between disruptions.
        mttr_ns: Mean time until training was as far as before.
        checkpointing: Checkpoints.
        notes: What had to be guessed.
    """

    run: str
    project: str
    accounting: str
    state: str
    down_since: Instant | None
    start: Instant | None
    end: Instant | None
    as_of: Instant
    window: tuple[Instant, Instant] | None
    elapsed_ns: int
    excluded_ns: int
    goodput: float | None
    categories: tuple[CategoryTime, ...]
    data_loading_overlapped_ns: int
    goodput_if_loading_blocked: float | None
    slow_steps_ns: int
    unsaved_ns: int | None
    scheduling_ns: int | None
    steps: Steps
    attempts: tuple[Attempt, ...]
    disruptions: tuple[Disruption, ...]
    rollbacks: tuple[Rollback, ...]
    mtbf_ns: int | None
    mttr_ns: int | None
    checkpointing: Checkpointing
    notes: tuple[Note, ...]
    _data: dict[str, Any] = dataclasses.field(repr=False, compare=False, default_factory=dict)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Report:
        """The report whose JSON is ``data``."""
        plain = _known(cls, data)
        plain.update(
            down_since=_instant(data["down_since"]),
            start=_instant(data["start"]),
            end=_instant(data["end"]),
            as_of=from_text(data["as_of"]),
            window=_window(data["window"]),
            categories=tuple(CategoryTime(**_known(CategoryTime, c)) for c in data["categories"]),
            steps=Steps(**_known(Steps, data["steps"])),
            attempts=tuple(
                Attempt(
                    **{
                        **_known(Attempt, a),
                        "start": from_text(a["start"]),
                        "end": _instant(a["end"]),
                    }
                )
                for a in data["attempts"]
            ),
            disruptions=tuple(
                Disruption(
                    **{
                        **_known(Disruption, d),
                        "time": from_text(d["time"]),
                        "regained": _instant(d["regained"]),
                    }
                )
                for d in data["disruptions"]
            ),
            rollbacks=tuple(
                Rollback(from_text(r["time"]), r["from"], r["to"], r["wasted_ns"], r["planned"])
                for r in data["rollbacks"]
            ),
            checkpointing=Checkpointing(**_known(Checkpointing, data["checkpointing"])),
            notes=tuple(Note(**_known(Note, note)) for note in data["notes"]),
        )
        return cls(**plain, _data=data)

    def to_dict(self) -> dict[str, Any]:
        """The same as ``headway goodput RUN --json`` prints."""
        return dict(self._data)

    def ns(self, category: str) -> int:
        """Nanoseconds of ``category`` over all its names."""
        return sum(time.ns for time in self.categories if time.category == category)

    def __str__(self) -> str:
        if not self.elapsed_ns or self.goodput is None:
            return f"{self.project}/{self.run}: no time has elapsed, {self.state}"
        lines = [
            f"{self.project}/{self.run}: {self.goodput:.1%} goodput of "
            f"{duration(self.elapsed_ns)}, {self.state}"
        ]
        for time in self.categories:
            label = time.category + (f" {time.name}" if time.name else "")
            lines.append(f"  {label:<28}{time.share:>7.1%}  {duration(time.ns)}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return _html.report(self)


def _window(data: dict[str, str] | None) -> tuple[Instant, Instant] | None:
    return None if data is None else (from_text(data["begin"]), from_text(data["end"]))


@dataclasses.dataclass(frozen=True)
class TimelineInterval:
    """A stretch of time that is all of one category.

    Attributes:
        begin: Its first instant.
        end: The instant after its last.
        duration_ns: How long.
        category: As in CategoryTime.
        name: As in CategoryTime.
        attempt: Index of the attempt, None: none was alive.
        step: The step it belongs to, None: none.
    """

    begin: Instant
    end: Instant
    duration_ns: int
    category: str
    name: str
    attempt: int | None
    step: int | None


class Timeline(Sequence[TimelineInterval]):
    """The intervals of a run, in order; see :func:`headway.timeline`.

    A notebook shows it as a picture.
    """

    def __init__(self, intervals: Sequence[TimelineInterval], data: list[dict[str, Any]]) -> None:
        self._intervals = tuple(intervals)
        self._data = data

    @classmethod
    def from_list(cls, data: list[dict[str, Any]]) -> Timeline:
        """The timeline whose JSON is ``data``."""
        return cls(
            [
                TimelineInterval(
                    **{
                        **_known(TimelineInterval, interval),
                        "begin": from_text(interval["begin"]),
                        "end": from_text(interval["end"]),
                    }
                )
                for interval in data
            ],
            data,
        )

    def to_list(self) -> list[dict[str, Any]]:
        """The same as ``headway timeline RUN --json`` prints."""
        return list(self._data)

    @overload
    def __getitem__(self, index: int) -> TimelineInterval: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[TimelineInterval, ...]: ...
    def __getitem__(self, index: int | slice) -> TimelineInterval | tuple[TimelineInterval, ...]:
        return self._intervals[index]

    def __len__(self) -> int:
        return len(self._intervals)

    def __iter__(self) -> Iterator[TimelineInterval]:
        return iter(self._intervals)

    def __repr__(self) -> str:
        return f"<headway.Timeline, {len(self)} intervals>"

    def _repr_html_(self) -> str:
        return _html.timeline(self)


@dataclasses.dataclass(frozen=True)
class StepInterval:
    """One step that was started, and where its time went.

    Attributes:
        work_ns: The interval without blocking spans and excluded time.
        first: First of its attempt: it compiles and warms up.
        complete: Whether it was finished.
        retained: Whether its result was kept.
    """

    attempt: int
    step: int
    start: Instant
    end: Instant
    work_ns: int
    productive_ns: int
    wasted_ns: int
    data_loading_ns: int
    program_startup_ns: int
    step_stall_ns: int
    infrastructure_recovery_ns: int
    blocked_ns: int
    first: bool
    complete: bool
    retained: bool

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> StepInterval:
        """The step whose JSON is ``data``."""
        times = {"start": from_text(data["start"]), "end": from_text(data["end"])}
        return cls(**{**_known(cls, data), **times})


@dataclasses.dataclass(frozen=True)
class RunInfo:
    """A run in the list of runs.

    Attributes:
        run: What the other functions call it: its name, or ``NAME@START`` for an older one.
        project: Its project.
        uid: 32 hexadecimal digits.
        start: When it began.
        journals: How many processes have recorded.
        state: As in Report.
        goodput: As in Report.
        elapsed_ns: As in Report.
        last_step: The highest step that was started, None: none.
    """

    run: str
    project: str
    uid: str
    start: Instant
    journals: int
    state: str
    goodput: float | None
    elapsed_ns: int
    last_step: int | None

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> RunInfo:
        """The run whose JSON is ``data``."""
        return cls(**{**_known(cls, data), "start": from_text(data["start"])})


def _known(cls: type[Any], data: dict[str, Any]) -> dict[str, Any]:
    # A newer module may say more.
    names = {field.name for field in dataclasses.fields(cls)}
    return {name: value for name, value in data.items() if name in names}
