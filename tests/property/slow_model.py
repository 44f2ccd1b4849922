"""A slow, obvious model of the time ledger, used as an oracle for the fast one.

Every query starts from the raw lines and does the whole accounting again: read the records known
at the as-of time, hand them to attempts, find out how each attempt ended, pair its spans, cut its
steps, split every step, decide which steps were lost, and paint every instant. Nothing is kept
between queries and nothing is incremental.

Two clocks are used. *Wall* time is what the lines say. *Net* time is wall time with everything the
user excluded taken out; all durations are net. Intervals go back to wall time at the very end.

All times and durations are integer nanoseconds. Intervals are half open, `[begin, end)`.
"""

from __future__ import annotations

import bisect
import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from math import isqrt
from typing import Any

SECOND = 1_000_000_000
DAY = 86_400 * SECOND
INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1
TIME_LIMIT = INT64_MAX // 2  # times beyond it are moved to it

# Kinds of span and the category that a blocking one takes. `elastic_wait` and `custom` also look at
# the name; `phase` and `async_data_loading` never block.
SPAN_KINDS = (
    "accelerator_init", "training_prep", "data_loading", "async_data_loading", "checkpoint_save",
    "checkpoint_restore", "custom", "phase", "elastic_wait", "elastic_reinit",
)  # fmt: skip
BEGINS = {kind + "_start": kind for kind in SPAN_KINDS}
ENDS = {kind + "_end": kind for kind in SPAN_KINDS}
POINT_TYPES = {
    "job_start", "job_end", "step_start", "step_end", "capacity", "checkpoint_saved", "heartbeat",
    "exit", "notice", "exclude", "rollback", "query",
}  # fmt: skip
TYPES = POINT_TYPES | set(BEGINS) | set(ENDS)

# A record of one of these between two steps says that going back to a small number, or repeating a
# number, is a return to a checkpoint rather than a counter that starts again.
RESTORE_TYPES = {"rollback"} | {
    kind + side
    for kind in ("checkpoint_restore", "training_prep", "elastic_reinit")
    for side in ("_start", "_end")
}

CLEAN_STATUS = ("ok", "success", "completed", "0")
SIGTERM = (15, "15", "SIGTERM", "TERM")


# ------------------------------------------------------------------------------
# Reading the event file
# ------------------------------------------------------------------------------


@dataclass(slots=True)
class Event:
    line: int
    text: str
    kind: str
    stated: int  # wall time as written
    time: int  # wall time as taken, after the monotonic clock and the writer's order
    step: int | None
    name: str
    rank: int
    ranked: bool  # the line said its rank
    writer: str
    attempt: int | None
    seq: int | None
    blocking: bool | None
    mono: int | None
    status: Any
    signal: Any
    begin: int | None  # `exclude` only
    end: int | None
    codes: tuple[str, ...] = ()  # notes this event gives rise to once it is known
    net: int = 0

    @property
    def who(self) -> tuple[int, str]:
        return (self.rank, self.writer)


class BadLine(ValueError):
    """A line that can't be understood; it is skipped and noted."""


class NotJson(BadLine):
    """A line that isn't JSON at all; the last one of a file was cut off by a crash."""


def _seconds_to_ns(value: int | Decimal) -> int:
    """Exact; what lies below a nanosecond is rounded to nearest, halves away from zero."""
    if isinstance(value, int):
        return value * SECOND
    sign, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        raise BadLine("not finite")
    mantissa = int("".join(map(str, digits)) or "0")
    shift = exponent + 9
    if mantissa == 0:
        magnitude = 0
    elif shift >= 0:
        if shift > 40:
            raise BadLine("time out of range")
        magnitude = mantissa * 10**shift
    elif -shift > len(digits) + 1:
        magnitude = 0
    else:
        unit = 10**-shift
        magnitude = (2 * mantissa + unit) // (2 * unit)
    return -magnitude if sign else magnitude


def _number(value: Any) -> int | Decimal:
    if isinstance(value, bool) or not isinstance(value, (int, Decimal)):
        raise BadLine("not a number")
    return value


def _integer(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise BadLine("not an integer")
    if not INT64_MIN <= value <= INT64_MAX:
        raise BadLine("out of range")
    return value


def _time_of(obj: dict[str, Any], seconds: str, nanoseconds: str) -> int | None:
    """The time under either spelling; the integer one counts when both are there."""
    time = None
    if obj.get(seconds) is not None:
        time = _integer(_seconds_to_ns(_number(obj[seconds])))
    if obj.get(nanoseconds) is not None:
        time = _integer(obj[nanoseconds])
    return time


def _no_constant(_: str) -> Any:
    raise NotJson("no such number in JSON")


def _load(text: str) -> dict[str, Any]:
    try:
        obj = json.loads(text, parse_float=Decimal, parse_constant=_no_constant)
    except (ValueError, ArithmeticError, RecursionError) as error:
        raise NotJson("not JSON") from error
    if not isinstance(obj, dict):
        raise BadLine("not an object")
    return obj


def _event(number: int, text: str, obj: dict[str, Any]) -> Event:
    def whole(key: str) -> int | None:
        return None if obj.get(key) is None else _integer(obj[key])

    kind = obj["type"]
    stated = _time_of(obj, "ts", "ts_ns")
    if stated is None:
        raise BadLine("no time")
    name, writer, blocking = obj.get("name"), obj.get("writer"), obj.get("blocking")
    if not isinstance(name, (str, type(None))) or not isinstance(writer, (str, type(None))):
        raise BadLine("name or writer is not a string")
    if not isinstance(blocking, (bool, type(None))):
        raise BadLine("blocking is not a bool")
    rank = whole("rank")
    if rank is not None and rank < 0:
        rank = None  # not known
    event = Event(
        line=number, text=text, kind=kind, stated=stated, time=stated, step=whole("step"),
        name=name or "", rank=rank or 0, ranked=rank is not None,
        writer=writer if writer is not None else f"rank{rank or 0}", attempt=whole("attempt"),
        seq=whole("seq"), blocking=blocking, mono=_time_of(obj, "mono", "mono_ns"),
        status=obj.get("status"), signal=obj.get("signal"),
        begin=_time_of(obj, "from", "from_ns"), end=_time_of(obj, "to", "to_ns"),
    )  # fmt: skip
    if kind in ("step_start", "checkpoint_saved", "rollback") and event.step is None:
        raise BadLine("no step")
    if kind in ("step_start", "step_end", "checkpoint_saved", "rollback"):
        if event.step is not None and not 0 <= event.step < INT64_MAX:
            raise BadLine("no such step")
    if kind == "exit" and event.status is None and event.signal in (None, 0):
        raise BadLine("no status and no signal")
    if kind == "exclude" and event.begin is None:
        raise BadLine("no begin")
    if kind == "exclude" and event.end is not None and event.end < event.begin:
        raise BadLine("ends before it begins")
    return event


def _read(lines: Iterable[str]) -> tuple[list[Event], Counter[str]]:
    """All events in their order, and the notes about lines that could not be used."""
    notes: Counter[str] = Counter()
    texts = [(number, line.strip()) for number, line in enumerate(lines, 1)]
    texts = [(number, text) for number, text in texts if text]
    seen: set[str] = set()
    by_id: dict[str, Event] = {}
    events: list[Event] = []
    for position, (number, text) in enumerate(texts):
        try:
            obj = _load(text)
        except BadLine:
            notes["torn_tail" if position == len(texts) - 1 else "bad_line"] += 1
            continue
        key = None if obj.get("insert_id") is None else repr(obj["insert_id"])
        kind = obj.get("type")
        if isinstance(kind, str) and kind not in TYPES:
            notes["unknown_type"] += 1
            continue
        try:
            if not isinstance(kind, str):
                raise BadLine("no type")
            event = _event(number, text, obj)
        except BadLine:
            notes["bad_line"] += 1
            continue
        if text in seen:
            continue
        seen.add(text)
        if key is None:
            events.append(event)
        elif key not in by_id or (event.stated, text) < (by_id[key].stated, by_id[key].text):
            by_id[key] = event
    events += by_id.values()
    _assign_attempts(events)
    return _ordered(events), notes


def _assign_attempts(events: list[Event]) -> None:
    """Where some lines name their attempt, the others belong to the one that opened last before."""
    recorded = [e for e in events if e.kind not in ("query", "exclude")]
    begin_of: dict[int, int] = {}
    for event in recorded:
        if event.attempt is not None:
            begin = begin_of.get(event.attempt, event.stated)
            begin_of[event.attempt] = min(begin, event.stated)
    opened = sorted((begin, attempt) for attempt, begin in begin_of.items())
    for event in recorded:
        if opened and event.attempt is None:
            before = [attempt for begin, attempt in opened if begin <= event.stated]
            event.attempt = before[-1] if before else opened[0][1]


def _ordered(events: list[Event]) -> list[Event]:
    """Gives every event the time it is taken at and sorts them all: (time, writer, sequence)."""
    said_by_user = [e for e in events if e.kind in ("query", "exclude")]
    groups: dict[tuple[int | None, int, str], list[Event]] = {}
    for event in sorted(events, key=lambda e: e.line):
        if event.kind not in ("query", "exclude"):
            groups.setdefault((event.attempt, event.rank, event.writer), []).append(event)
    keyed: list[tuple[tuple[Any, ...], Event]] = []
    for (attempt, rank, writer), group in groups.items():
        _note_seq_conflicts(group)
        by_seq = all(e.seq is not None for e in group)
        if by_seq:
            group.sort(key=lambda e: (e.seq, e.stated, e.line))
        _apply_monotonic_clock(group)
        if not by_seq:
            group.sort(key=lambda e: (e.time, e.line))
        if by_seq:
            for before, event in zip(group, group[1:]):
                if event.time < before.time:
                    event.time = before.time
                    event.codes += ("out_of_order",)
            place = -1 if attempt is None else attempt
            for position, event in enumerate(group):
                taken = _in_range(event.time)
                keyed.append(((taken, rank, writer, 1, place, position), event))
        else:
            for event in group:
                taken = _in_range(event.time)
                keyed.append(((taken, rank, writer, 0, event.time, event.line), event))
    for _, event in keyed + [((), event) for event in said_by_user]:
        if event.time != _in_range(event.time):
            event.time = _in_range(event.time)
            if event.kind not in ("query", "exclude"):
                event.codes += ("time_range",)
    keyed.sort(key=lambda pair: pair[0])
    return [event for _, event in keyed] + sorted(said_by_user, key=lambda e: (e.time, e.line))


def _in_range(time: int) -> int:
    return max(-TIME_LIMIT, min(TIME_LIMIT, time))


def _note_seq_conflicts(group: list[Event]) -> None:
    seen: set[int] = set()
    for event in sorted(group, key=lambda e: (e.stated, e.text)):
        if event.seq is not None and event.seq in seen:
            event.codes += ("seq_conflict",)
        elif event.seq is not None:
            seen.add(event.seq)


def _apply_monotonic_clock(group: list[Event]) -> None:
    """Lines with a monotonic clock advance by it from the process's first such line.

    A process begins at a `job_start`, where the clock goes back although wall time does not, and
    where both have moved against each other by more than a day.
    """
    process: list[Event] = []
    for event in group:
        if event.mono is None:
            continue
        if process:
            last = process[-1]
            assert last.mono is not None
            moved = abs((event.time - event.mono) - (last.time - last.mono))
            restarted = event.mono < last.mono and moved > SECOND
            if event.kind == "job_start" or restarted or moved > DAY:
                _anchor(process)
                process = []
        process.append(event)
    if process:
        _anchor(process)


def _anchor(process: list[Event]) -> None:
    process.sort(key=lambda e: e.mono or 0)
    first = process[0]
    assert first.mono is not None
    offset = first.time - first.mono
    drift = 0
    for event in process:
        assert event.mono is not None
        stated, event.time = event.time, offset + event.mono
        if abs(stated - event.time - drift) > SECOND:
            event.codes += ("clock_step",)
            drift = stated - event.time


def parse(lines: Iterable[str]) -> list[Event]:
    """The usable events of a file, duplicates gone, each at the time it is taken at, in order.

    The user's `query` and `exclude` events come last: they belong to no writer.
    """
    return _read(lines)[0]


# ------------------------------------------------------------------------------
# Net time
# ------------------------------------------------------------------------------


class NetClock:
    """Wall time without what the user excluded."""

    def __init__(self, excluded: Iterable[tuple[int, int]]) -> None:
        self.excluded: list[tuple[int, int]] = []
        for begin, end in sorted(excluded):
            if begin >= end:
                continue
            if self.excluded and begin <= self.excluded[-1][1]:
                self.excluded[-1] = (self.excluded[-1][0], max(end, self.excluded[-1][1]))
            else:
                self.excluded.append((begin, end))

    def net(self, wall: int) -> int:
        return wall - sum(min(wall, end) - begin for begin, end in self.excluded if begin < wall)

    def is_excluded(self, wall: int) -> bool:
        return any(begin <= wall < end for begin, end in self.excluded)

    def earliest(self, wall: int) -> int:
        """The earliest wall time with the same net time."""
        return next((begin for begin, end in self.excluded if begin <= wall <= end), wall)

    def open_stretches(self, begin: int, end: int) -> list[tuple[int, int]]:
        """The parts of wall `[begin, end)` that are not excluded."""
        stretches, at = [], begin
        for left, right in self.excluded:
            if right <= at or left >= end:
                continue
            if left > at:
                stretches.append((at, left))
            at = right
        if at < end:
            stretches.append((at, end))
        return stretches


# ------------------------------------------------------------------------------
# Attempts
# ------------------------------------------------------------------------------


@dataclass
class Attempt:
    ident: tuple[str, int] = ("", 0)  # its key, or the position of the record that opened it
    stream: int = 0  # of the writer that leads it, see Writers
    events: list[Event] = field(default_factory=list)
    heard: set[tuple[int, str]] = field(default_factory=set)  # also who is ignored after the end
    lead: tuple[int, str] | None = None
    lead_seen: bool = False  # a writer that may open attempts has recorded here
    pending: bool = False  # other ranks' part of an attempt whose lead hasn't recorded yet
    no_lead: bool = False  # led by a rank above 0 for want of a better one
    rivals: int = 0  # further writers that claim the lead
    implicit: bool = False
    has_job_start: bool = False  # the lead's
    started: set[int | str] = field(default_factory=set)  # see Writers.part
    steps_seen: int = 0
    last_step: int = 0
    events_since_step: int = 0  # position in `events` of the last step start
    restore_since_step: bool = False
    in_reinit: bool = False
    end_event: Event | None = None
    exit_event: Event | None = None
    notice_event: Event | None = None  # the first one before the end, of any writer
    # Known once all events are handed out:
    start: int = 0  # wall
    start_net: int = 0
    end: int = 0  # wall, on the attempt's own clock
    end_net: int = 0
    cut_net: int = 0  # where the next attempt's start cuts it
    cut: int = 0
    end_kind: str = "open"
    steps: list[Step] = field(default_factory=list)
    pieces: list[Piece] = field(default_factory=list)
    disruption: Disruption | None = None

    @property
    def fresh(self) -> bool:
        return not self.has_job_start and self.steps_seen == 0

    def lead_events(self) -> list[Event]:
        return [e for e in self.events if e.who == self.lead]

    def add(self, event: Event, part: int | str) -> None:
        self.events.append(event)
        kind = event.kind
        if kind == "job_start":
            self.started.add(part)
        if kind == "notice" and self.notice_event is None and self.end_event is None:
            self.notice_event = event
        if kind == "exit" and (event.rank == 0 or event.who == self.lead):
            if self.exit_event is None:
                self.exit_event = event
            # What the lead has not begun can't end.
            begun = self.lead is not None and any(e.who == self.lead for e in self.events)
            if self.end_event is None and begun:
                self.end_event = event
        if event.who != self.lead:
            return
        if kind == "job_start":
            self.has_job_start = True
        elif kind == "job_end":
            self.end_event = event
        elif kind == "step_start":
            assert event.step is not None
            self.steps_seen += 1
            self.last_step = event.step
            self.events_since_step = len(self.events) - 1
            self.restore_since_step = self.in_reinit = False
        elif kind in RESTORE_TYPES:
            self.restore_since_step = True
            if kind == "elastic_reinit_start":
                self.in_reinit = True
            elif kind == "elastic_reinit_end":
                self.in_reinit = False


def _is_work(event: Event) -> bool:
    return event.kind == "step_start" or event.kind in BEGINS


class Writers:
    """Who may lead: rank 0 before writers that say no rank, before ranks 1, 2, ...

    Un-ranked writers of a file without attempt keys fall into streams: the writers of one stream
    record the same attempts and the earliest leads them, and each stream has attempts of its own.
    In any other file all writers of the best class may open attempts, in one stream.
    """

    def __init__(self, events: list[Event]) -> None:
        self.events = events
        # A line without `rank` is rank 0's, unless it names a writer: then nobody said its rank.
        self.unranked = {e.who for e in events if e.who[1] != f"rank{e.who[0]}"}
        self.unranked -= {e.who for e in events if e.ranked}
        self.best = min((self.order(e.who) for e in events), default=0)
        self.stream_of: dict[tuple[int, str], int] = {}
        self.leads: set[tuple[int, str]] = {e.who for e in events if self.order(e.who) == self.best}
        self.grouped = self.best == 1 and all(e.attempt is None for e in events)
        if self.grouped:
            self._group()

    def order(self, who: tuple[int, str]) -> int:
        if who in self.unranked:
            return 1
        return 0 if who[0] == 0 else 1 + who[0]

    def stream(self, who: tuple[int, str]) -> int:
        return self.stream_of.get(who, 0)

    def part(self, who: tuple[int, str]) -> int | str:
        """What starts once in an attempt: a rank, or an un-ranked writer."""
        return who[1] if who in self.unranked else who[0]

    def first_of(self, events: list[Event]) -> tuple[int, str]:
        """The best of the writers of these events, the earliest among equals."""
        return min((e.who for e in events), key=self.order)

    def _group(self) -> None:
        own: dict[tuple[int, str], list[int]] = {}
        for position, event in enumerate(self.events):
            if event.who in self.unranked:
                own.setdefault(event.who, []).append(position)
        writers = list(own)  # the earliest first
        self.stream_of = {who: i for i, who in enumerate(writers)}
        for j, later in enumerate(writers):
            for earlier in writers[:j]:
                if self._together(own[earlier], own[later]):
                    old, new = self.stream_of[later], self.stream_of[earlier]
                    old, new = max(old, new), min(old, new)
                    for who, stream in self.stream_of.items():
                        if stream == old:
                            self.stream_of[who] = new
        self.leads = {writers[stream] for stream in self.stream_of.values()}

    def _together(self, first: list[int], second: list[int]) -> bool:
        """Whether two un-ranked writers, given by the positions of their records, are one's."""
        events = self.events
        if events[first[0]].time == events[second[0]].time:
            return self._goes_on_into(first, second) or self._goes_on_into(second, first)
        return self._goes_on_into(first, second)

    def _goes_on_into(self, first: list[int], second: list[int]) -> bool:
        events = self.events
        first_steps = [i for i in first if events[i].kind == "step_start"]
        second_steps = [i for i in second if events[i].kind == "step_start"]
        if second_steps and events[first[-1]].time > events[second_steps[0]].time:
            return True
        if events[second[0]].net - events[first[0]].net > 60 * SECOND:
            return False
        if events[first[-1]].time < events[second[0]].time:
            return False
        if not first_steps or not second_steps:
            return True
        a = [events[i].step or 0 for i in first_steps]
        b = [events[i].step or 0 for i in second_steps]
        return max(a) <= b[0] and max(b) <= a[0]


class Assigner:
    """Hands each event to its attempt.

    Two things are seen only later: that a silence had ended when a step goes back after it (the
    attempt opens at the record that ended it), and who leads an attempt that the usual lead never
    records in. So the events are gone through again with that decided beforehand, until nothing
    new turns up.
    """

    def __init__(self, events: list[Event]) -> None:
        self.events = events
        self.writers = Writers(events)
        self.openings: dict[int, int] = {}  # positions at which a silence ended, and the stream's
        self.decided: dict[tuple[str, int], tuple[int, str]] = {}  # leads, by Attempt.ident
        by_key: dict[int, list[Event]] = {}
        for event in events:
            if event.attempt is not None:
                by_key.setdefault(event.attempt, []).append(event)
        for key, own in by_key.items():
            self.decided["key", key] = self.writers.first_of(own)
        self.attempts: list[Attempt] = []
        self.notes: Counter[str] = Counter()
        while not self._pass():
            pass
        for attempt in self.attempts:
            self._judge(attempt)

    def _pass(self) -> bool:
        """One walk over all events; False when it found something to decide beforehand."""
        self.attempts, self.notes = [], Counter()
        self.open: dict[int, Attempt] = {}  # by stream
        self.latest: Attempt | None = None  # the last that was opened in any stream
        # By stream: the next attempt, of which only other ranks are here, and who they are.
        self.waiting: dict[int, Attempt] = {}
        self.waiting_parts: dict[int, set[int | str]] = {}
        self.by_key: dict[int, Attempt] = {}
        for position, event in enumerate(self.events):
            if event.attempt is not None:
                attempt = self.by_key.get(event.attempt)
                if attempt is None:
                    attempt = self._open_next(("key", event.attempt), 0, implicit=False)
                    self.by_key[event.attempt] = attempt
            else:
                found = self._silent_opening(position)
                if found is not None:
                    self.openings[found] = self.writers.stream(event.who)
                    return False
                attempt = self._route(position)
            if not self._lead_is_settled(attempt, event):
                return False
            attempt.heard.add(event.who)
            if attempt.end_event is not None and event.kind != "exit":
                told = event.kind not in ("heartbeat", "log")  # the others tell of no time
                self.notes["after_end"] += event.who == attempt.lead and told
                continue
            attempt.add(event, self.writers.part(event.who))
            if event is attempt.exit_event and event is not attempt.end_event:
                self.notes["failed_after_end"] += _clean(attempt.end_event) and not _clean(event)
        for attempt in self.attempts:
            attempt.pending = self._is_waiting(attempt)
            if attempt.lead is None and not attempt.pending:
                self.decided[attempt.ident] = self.writers.first_of(attempt.events)
                return False
        return True

    def _lead_is_settled(self, attempt: Attempt, event: Event) -> bool:
        """Makes the writer lead where nobody does; False when it should have led all along."""
        order = self.writers.order
        if self._may_open(event):
            attempt.lead_seen = True
            if attempt.lead is None and not self._is_waiting(attempt):
                attempt.lead = event.who
        if attempt.lead is None or order(event.who) >= order(attempt.lead):
            return True
        self.decided[attempt.ident] = event.who
        return False

    def _judge(self, attempt: Attempt) -> None:
        if attempt.lead is None:
            return
        order = self.writers.order(attempt.lead)
        attempt.no_lead = order > 1
        if not attempt.no_lead:
            equals = {who for who in attempt.heard if self.writers.order(who) == order}
            attempt.rivals = len(equals - {attempt.lead})

    def _is_waiting(self, attempt: Attempt) -> bool:
        return any(attempt is waiting for waiting in self.waiting.values())

    def _may_open(self, event: Event) -> bool:
        return event.who in self.writers.leads

    def _new(self, ident: tuple[str, int]) -> Attempt:
        self.attempts.append(Attempt(ident))
        return self.attempts[-1]

    def _open_next(self, ident: tuple[str, int], stream: int, implicit: bool) -> Attempt:
        waiting = self.waiting.pop(stream, None)
        self.waiting_parts.pop(stream, None)
        attempt = self._new(ident) if waiting is None else waiting
        attempt.ident, attempt.stream, attempt.implicit = ident, stream, implicit
        attempt.lead = self.decided.get(ident)
        self.notes["implicit_attempt"] += implicit
        self.open[stream] = self.latest = attempt
        return attempt

    def _route(self, position: int) -> Attempt:
        """The attempt of an event that doesn't name one."""
        event = self.events[position]
        if position in self.openings:
            return self._open_next(("at", position), self.openings[position], implicit=True)
        if not self._may_open(event):
            return self._route_other(position)
        stream = self.writers.stream(event.who)
        now = self.open.get(stream)
        if now is None and self.latest is not None and not self.latest.lead_seen:
            now = self.open[stream] = self.latest  # other ranks were here first
            now.stream = stream
        if now is None:
            return self._open_next(("at", position), stream, implicit=False)
        opens = self._would_open(position, now)
        if opens is None:
            return now
        return self._open_next(("at", position), stream, implicit=opens == "implicit")

    def _would_open(self, position: int, now: Attempt) -> str | None:
        """Whether this record of a leading writer begins an attempt, silences aside."""
        event = self.events[position]
        ended = now.end_event is not None
        if event.kind == "job_start":
            return None if now.fresh and not ended else "explicit"
        if ended and _is_work(event):
            return "implicit"
        if event.kind == "accelerator_init_start" and event.who == now.lead:
            if now.steps_seen and not now.in_reinit:
                return "implicit"
        return None

    def _route_other(self, position: int) -> Attempt:
        event, part = self.events[position], self.writers.part(self.events[position].who)
        now = self.open.get(self.writers.stream_of.get(event.who, -1), self.latest)
        if now is None:
            return self._open_next(("at", position), self.writers.stream(event.who), implicit=False)
        ahead = self.waiting_parts.setdefault(now.stream, set())
        if event.kind == "job_start" and part not in ahead:
            again = part in now.started
            if not now.lead_seen:
                if again:
                    return self._open_next(("at", position), now.stream, implicit=False)
            elif again or self._lead_moves_on(position, now):
                ahead.add(part)
        if part not in ahead:
            return now
        if now.stream not in self.waiting:
            self.waiting[now.stream] = self._new(("at", position))
        return self.waiting[now.stream]

    def _lead_moves_on(self, position: int, now: Attempt) -> bool:
        """Whether the lead records no more in the attempt, but opens another later."""
        ended = now.end_event is not None
        for later in range(position + 1, len(self.events)):
            event = self.events[later]
            if event.attempt is not None:
                target = self.by_key.get(event.attempt)
                if event.who != self.decided["key", event.attempt]:
                    continue
                if target is None:
                    return True
                if target is now and not ended:
                    return False
            elif later in self.openings:
                return True
            elif self._may_open(event):
                if self.writers.stream(event.who) != now.stream:
                    continue
                if self._would_open(later, now) is not None:
                    return True
                if not ended:
                    return False
        return False

    def _silent_opening(self, position: int) -> int | None:
        """Where the silence before a step that goes back or repeats ended, if long enough."""
        event = self.events[position]
        now = self.open.get(self.writers.stream(event.who))
        if event.kind != "step_start" or now is None or event.who != now.lead:
            return None
        if position in self.openings or now.end_event is not None or not now.steps_seen:
            return None
        assert event.step is not None
        if event.step > now.last_step or (event.step <= 1 and not now.restore_since_step):
            return None
        baseline = self._baseline(now)
        if baseline is None:
            return None
        since = now.events[now.events_since_step :] + [event]
        spans = resolve_spans(now.lead_events(), event.net)
        closed = [(s.begin, s.end) for s in spans if s.closed_by == "end"]
        longest, ended_by = -1, event
        for before, after in zip(since, since[1:]):
            gap = after.net - before.net - _covered(closed, before.net, after.net)
            if gap > longest:
                longest, ended_by = gap, after
        if longest <= stall_bound(baseline):
            return None
        if ended_by.attempt is not None:
            ended_by = event
        return next(i for i, e in enumerate(self.events) if e is ended_by)

    def _baseline(self, now: Attempt) -> int | None:
        """The normal step duration at this point of the open attempt.

        Earlier attempts of the same stream and run hand theirs on.
        """
        handed: int | None = None
        own = next(run for run in _split_runs(self.attempts) if any(a is now for a in run))
        for attempt in own:
            if attempt.stream != now.stream:
                continue
            end_net = attempt.events[-1].net if attempt.events else 0
            steps, _ = cut_steps(attempt.lead_events(), end_net, _clean(attempt.end_event))
            measure(steps, resolve_spans(attempt.lead_events(), end_net), end_net, end_net)
            handed = Baseline(handed, Counter()).run(steps)
            if attempt is now:
                break
        return handed


def _covered(intervals: list[tuple[int, int]], begin: int, end: int) -> int:
    """How much of `[begin, end)` the union of the intervals covers."""
    total, at = 0, begin
    for left, right in sorted(intervals):
        left, right = max(left, at), min(right, end)
        if left < right:
            total += right - left
            at = right
    return total


def _clean(event: Event | None) -> bool:
    if event is None:
        return False
    status = event.status
    zero = isinstance(status, (int, Decimal)) and not isinstance(status, bool) and status == 0
    if event.kind == "exit":
        return zero and event.signal in (None, 0)
    return status is None or zero or status in CLEAN_STATUS


def _find_ends(attempts: list[Attempt], as_of: int, net: NetClock, notes: Counter[str]) -> None:
    """Start, end and kind of end of every attempt; `attempts` are in order of start."""
    if attempts and not attempts[0].has_job_start:
        numbers = [e.step for e in attempts[0].lead_events() if e.kind == "step_start"]
        notes["start_missing"] += bool(numbers) and numbers[0] is not None and numbers[0] > 1
    for attempt in attempts:
        is_last = attempt is attempts[-1]
        last_sign = max(e.time for e in attempt.events)
        if attempt.end_event is not None:
            attempt.end = attempt.end_event.time
            if _clean(attempt.end_event):
                attempt.end_kind = "clean"
            else:
                attempt.end_kind = "exit" if attempt.end_event.kind == "exit" else "failed"
        elif not is_last:
            attempt.end, attempt.end_kind = last_sign, "lost"
        elif _presumed_lost(attempt, net.net(as_of)):
            attempt.end, attempt.end_kind = last_sign, "lost"
            notes["presumed_lost"] += 1
        else:
            attempt.end, attempt.end_kind = as_of, "open"
        attempt.end = max(attempt.end, attempt.start)
        attempt.end_net = net.net(attempt.end)
        attempt.cut, attempt.cut_net = attempt.end, attempt.end_net
        if not attempt.has_job_start:
            notes["no_job_start"] += 1
        notes["several_leads"] += attempt.rivals
        notes["no_lead"] += attempt.no_lead
    for attempt, following in zip(attempts, attempts[1:]):
        if attempt.end_net > following.start_net:
            notes["clock_overlap"] += 1
            attempt.cut, attempt.cut_net = following.start, following.start_net
        elif attempt.end > following.start:
            attempt.cut = following.start


def _presumed_lost(attempt: Attempt, as_of_net: int) -> bool:
    beats = [e.net for e in attempt.events if e.kind == "heartbeat"]
    if len(beats) < 2:
        return False
    gap = floor_median([after - before for before, after in zip(beats, beats[1:])])
    last_sign = max(e.net for e in attempt.events)
    return as_of_net - last_sign >= max(60 * SECOND, 5 * gap)


# ------------------------------------------------------------------------------
# Spans and steps of one attempt
# ------------------------------------------------------------------------------


@dataclass(slots=True)
class Span:
    kind: str
    name: str
    blocking: bool | None
    begin: int  # net
    position: int  # of the begin among the lead's events
    end: int = 0
    end_position: int = 0
    closed_by: str = ""  # end, begin, step, attempt

    @property
    def role(self) -> str:
        """block: takes time; load: overlappable loading; aside: loading beside the work; phase."""
        if self.kind == "phase":
            return "phase"
        if self.kind == "async_data_loading":
            return "aside"
        if self.kind == "data_loading" and self.blocking is not True:
            return "load" if self.blocking is None else "aside"
        return "none" if self.blocking is False else "block"

    @property
    def category(self) -> tuple[str, str]:
        if self.kind == "custom":
            return ("custom", self.name.upper())
        if self.kind == "elastic_wait":
            return ("elastic_scale_up" if self.name == "scale_up" else "elastic_slice_down", "")
        return (self.kind, "")


def resolve_spans(
    lead_events: list[Event], end: int, notes: Counter[str] | None = None, is_open: bool = False
) -> list[Span]:
    """Pairs begins with ends and closes what was left open; `end` is the attempt's (net)."""
    spans: list[Span] = []
    pending: dict[tuple[str, str], Span] = {}
    step_positions = [i for i, e in enumerate(lead_events) if e.kind == "step_start"]

    def close_at_guess(span: Span, next_begin: int | None) -> None:
        after = bisect.bisect_right(step_positions, span.position)
        next_step = step_positions[after] if after < len(step_positions) else None
        if next_step is not None and (next_begin is None or next_step < next_begin):
            span.end_position, span.closed_by = next_step, "step"
        elif next_begin is not None:
            span.end_position, span.closed_by = next_begin, "begin"
        else:
            span.end_position, span.closed_by = len(lead_events), "attempt"
            span.end = end
            return
        span.end = lead_events[span.end_position].net

    for position, event in enumerate(lead_events):
        if event.kind in BEGINS:
            kind = BEGINS[event.kind]
            span = Span(kind, event.name, event.blocking, event.net, position)
            older = pending.get((kind, event.name))
            if older is not None:
                close_at_guess(older, position)
            pending[(kind, event.name)] = span
            spans.append(span)
        elif event.kind in ENDS:
            ended = pending.pop((ENDS[event.kind], event.name), None)
            if ended is not None:
                ended.end, ended.end_position, ended.closed_by = event.net, position, "end"
            elif notes is not None:
                notes["span_unopened"] += 1
    for span in pending.values():
        close_at_guess(span, None)
    if notes is not None:
        for span in spans:
            still_running = span.closed_by == "attempt" and is_open
            notes["span_unclosed"] += span.closed_by != "end" and not still_running
    return spans


@dataclass(eq=False)
class Step:
    number: int  # as recorded
    begin: int  # net
    begin_wall: int
    position: int  # among the lead's events
    end: int = 0
    end_wall: int = 0
    complete: bool = False
    first: bool = False  # first of the attempt or after an elastic_reinit
    restore_before: bool = False
    interval_loading: int = 0  # time of the interval with any loading in it
    work: list[Piece] = field(default_factory=list)
    w: int = 0
    d: int = 0
    baseline: int | None = None
    excess: int = 0
    stalled: bool = False
    data_loading: int = 0
    program_startup: int = 0
    productive: int = 0
    step_stall: int = 0
    index: int = 0  # number with the offset of counters that started again
    wasted: bool = False
    charged_to: Disruption | Rollback | None = None
    evident: bool = False  # incomplete, but the next attempt went on right after it

    @property
    def retained(self) -> bool:
        return (self.complete or self.evident) and not self.wasted


def cut_steps(
    lead_events: list[Event], end: int, clean: bool, end_wall: int = 0
) -> tuple[list[Step], list[tuple[int, int]]]:
    """Step intervals, and (position, step) of every `checkpoint_saved`; `end` is net."""
    steps: list[Step] = []
    saved: list[tuple[int, int]] = []
    hard_end = False
    restore = False
    for position, event in enumerate(lead_events):
        if event.kind == "step_start":
            if steps and not hard_end:
                _end_step(steps[-1], event)
            assert event.step is not None
            step = Step(event.step, event.net, event.time, position, restore_before=restore)
            step.first = not steps
            steps.append(step)
            hard_end = restore = False
        elif event.kind == "step_end":
            if steps and not hard_end and event.step in (None, steps[-1].number):
                _end_step(steps[-1], event)
                hard_end = True
        elif event.kind == "checkpoint_saved":
            assert event.step is not None
            saved.append((position, event.step))
        elif event.kind in RESTORE_TYPES:
            restore = True
    if steps and not hard_end:
        steps[-1].end, steps[-1].end_wall, steps[-1].complete = end, end_wall, clean
    return steps, saved


def _end_step(step: Step, event: Event) -> None:
    step.end, step.end_wall, step.complete = event.net, event.time, True


@dataclass(eq=False, slots=True)
class Piece:
    """A stretch of net time over which nothing changes."""

    begin: int
    end: int
    category: str
    name: str = ""
    loading: bool = False  # overlappable loading is under way
    aside: bool = False  # loading that never takes time is under way
    phase: str | None = None
    step: Step | None = None  # whose work it is
    fate: Step | None = None  # whose fate a productive piece shares

    @property
    def overlapped(self) -> bool:
        return self.category != "data_loading" and (self.aside or self.loading)

    def part(self, begin: int, end: int, category: str) -> Piece:
        name = self.phase or "" if category == "productive" else ""
        return Piece(
            begin, end, category, name, self.loading, self.aside, self.phase, self.step, self.fate
        )


def measure(steps: list[Step], spans: list[Span], start: int, end: int) -> list[Piece]:
    """Cuts the attempt at every change and says what each stretch is; `step_work` is split later.

    Fills in the work pieces, `w`, `d` and the first-step marks of the steps.
    """
    for span in spans:
        if span.kind == "elastic_reinit":
            after = [s for s in steps if s.position >= span.end_position]
            if after:
                after[0].first = True
    points = {start, end}
    points.update(t for span in spans for t in (span.begin, span.end))
    points.update(t for step in steps for t in (step.begin, step.end))
    cuts = sorted(points)
    coming = sorted((s for s in spans if s.begin < s.end), key=lambda s: s.position)
    active: list[Span] = []
    pieces: list[Piece] = []
    next_span = started = 0
    for left, right in zip(cuts, cuts[1:]):
        while next_span < len(coming) and coming[next_span].begin <= left:
            active.append(coming[next_span])
            next_span += 1
        active = [s for s in active if s.end > left]
        while started < len(steps) and steps[started].begin <= left:
            started += 1
        last = steps[started - 1] if started else None
        inside = last if last is not None and left < last.end else None
        piece = _classify(left, right, active, inside)
        if piece.category == "?":
            if piece.phase is not None:
                piece.category, piece.name = "productive", piece.phase
                piece.fate = last if last is not None else (steps[0] if steps else None)
            else:
                piece.category = "program_startup" if last is None else "other"
        if inside is not None:
            if any(s.kind in ("data_loading", "async_data_loading") for s in active):
                inside.interval_loading += right - left
            if piece.category == "step_work":
                piece.step = piece.fate = inside
                inside.work.append(piece)
                inside.w += right - left
                inside.d += (right - left) * piece.loading
        pieces.append(piece)
    return pieces


def _classify(left: int, right: int, active: list[Span], inside: Step | None) -> Piece:
    """Rules 2 and 3; '?' leaves the piece to rule 4. `active` is in order of begin."""
    blocking = [s for s in active if s.role == "block"]
    loading = any(s.role == "load" for s in active)
    aside = any(s.role == "aside" for s in active)
    phases = [s for s in active if s.role == "phase"]
    piece = Piece(left, right, "?", aside=aside, phase=phases[-1].name if phases else None)
    if blocking:
        piece.category, piece.name = blocking[-1].category
    elif inside is not None:
        piece.category, piece.loading = "step_work", loading
    elif loading:
        piece.category = "data_loading"
    return piece


# ------------------------------------------------------------------------------
# Splitting the work time of the steps
# ------------------------------------------------------------------------------


def floor_median(values: list[int]) -> int:
    ordered = sorted(values)
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return (ordered[middle - 1] + ordered[middle]) // 2


def stall_bound(baseline: int) -> int:
    return max(10 * baseline, baseline + min(60 * SECOND, 50 * baseline))


def _excess(w: int, baseline: int) -> int:
    return w - baseline if 16 * w > 17 * baseline else 0


class Baseline:
    """The normal step duration of one attempt, step after step."""

    def __init__(self, handed: int | None, notes: Counter[str]) -> None:
        self.before = handed  # the previous attempt's, or the one before an elastic_reinit
        self.notes = notes
        self._restart()

    def _restart(self) -> None:
        self.own: int | None = None
        self.waiting: list[Step] = []  # the first later steps, until there are three
        self.unjudged: list[Step] = []  # zero-length steps seen before there was a baseline
        self.window: list[int] = []
        self.entered = 0  # steps that went into the window since the restart
        self.row: list[Step] = []  # completed later steps in order, since the restart

    def current(self) -> int | None:
        if self.own is not None:
            return self.own
        if self.before is not None or not self.waiting:
            return self.before
        return min(step.w for step in self.waiting)

    def run(self, steps: list[Step]) -> int | None:
        """Splits every later step of an attempt; returns the baseline handed on to the next.

        A first step is left with the baseline that stood before it.
        """
        for step in steps:
            if step.first:
                self._settle()
                self.before = step.baseline = self.current()
                self._restart()
            elif step.complete:
                self._see(step)
            else:
                split_later(step, self.current())
        self._settle()
        return self.current()

    def _settle(self) -> None:
        """The stretch is over: steps that waited in vain take what there is."""
        if self.own is None and self.before is None and self.waiting:
            self.notes["weak_baseline"] += 1
        if self.own is None:
            for step in self.waiting:
                split_later(step, self.current())
        for step in self.unjudged:
            split_later(step, self.current())

    def _see(self, step: Step) -> None:
        if step.w == 0:
            self.unjudged.append(step)
            self.row.append(step)
            return
        if self.own is None:
            self.waiting.append(step)
            if len(self.waiting) == 3:
                self._start_from(self.waiting)
            return
        split_later(step, self.own)
        self.row.append(step)
        three_stalls = len(self.row) >= 3 and all(s.stalled for s in self.row[-3:])
        all_late = len(self.row) >= 32 and all(s.excess > 0 for s in self.row[-32:])
        if three_stalls or all_late:
            self.notes["baseline_shift"] += 1
            self._start_from(self.row[-3:])
        else:
            self._enter(step)

    def _start_from(self, three: list[Step]) -> None:
        normal = floor_median([s.w for s in three])
        self.window, self.entered, self.row = [], 0, []
        self.own = normal
        for step in three:
            split_later(step, normal)
            self.row.append(step)
            self._enter(step)

    def _enter(self, step: Step) -> None:
        if step.stalled:
            return
        self.window.append(step.w - step.data_loading)
        self.entered += 1
        if self.entered <= 32 or self.entered % 32 == 0:
            self.own = floor_median(self.window[-101:])


def split_later(step: Step, baseline: int | None) -> None:
    step.baseline = baseline
    step.stalled, step.excess, step.data_loading, step.step_stall = False, 0, 0, 0
    step.productive = step.w
    if baseline is None:
        return
    step.excess = _excess(step.w, baseline)
    step.data_loading = min(step.d, step.excess)
    x = step.w - step.data_loading
    if x > stall_bound(baseline):
        step.stalled = True
        step.step_stall = x - baseline
    step.productive = x - step.step_stall


def split_first(step: Step, following: list[Step], only_step_of_clean_run: bool) -> None:
    """`following` are the steps of the attempt after this one, already split."""
    evidence = [s.productive for s in following if not s.first and s.complete and s.w > 0][:5]
    if evidence:
        step.baseline = floor_median(evidence)
    if step.baseline is not None:
        step.excess = _excess(step.w, step.baseline)
        step.data_loading = min(step.d, step.excess)
        step.program_startup = step.excess - step.data_loading
    else:
        step.data_loading = step.d
        step.program_startup = 0 if only_step_of_clean_run else step.w - step.d
    step.productive = step.w - step.data_loading - step.program_startup


def lay_out(step: Step) -> list[Piece]:
    """The step's work pieces with the parts of its split laid over them."""
    data_loading, tail = step.data_loading, "step_stall"
    sizes = [("program_startup", step.program_startup), ("productive", step.productive)]
    if step.evident and not step.first and step.baseline is not None:
        data_loading, tail = 0, "infrastructure_recovery"
        sizes = [("productive", min(step.baseline, step.w))]
    loading: list[Piece] = []
    rest: list[Piece] = []
    for piece in reversed(step.work):
        cut = piece.end
        if piece.loading:
            cut -= min(data_loading, piece.end - piece.begin)
            data_loading -= piece.end - cut
        if cut < piece.end:
            loading.append(piece.part(cut, piece.end, "data_loading"))
        if piece.begin < cut:
            rest.append(piece.part(piece.begin, cut, "step_work"))
    parts = loading
    for piece in reversed(rest):
        at = piece.begin
        while at < piece.end:
            while sizes and sizes[0][1] == 0:
                sizes.pop(0)
            category, size = sizes[0] if sizes else (tail, piece.end - at)
            taken = min(size, piece.end - at)
            parts.append(piece.part(at, at + taken, category))
            at += taken
            if sizes:
                sizes[0] = (category, size - taken)
    return sorted(parts, key=lambda p: p.begin)


# ------------------------------------------------------------------------------
# Restarts, rollbacks, waste
# ------------------------------------------------------------------------------


@dataclass(eq=False)
class Disruption:
    time: int
    attempt: int
    step_reached: int | None = None
    resumed_from: int | None = None
    regained: int | None = None
    wasted: int = 0


@dataclass(eq=False)
class Rollback:
    time: int
    origin: int
    target: int
    planned: bool
    wasted: int = 0


class Progress:
    """Numbers the steps of a run and decides which of them were lost to what."""

    def __init__(self, attempts: list[Attempt], notes: Counter[str]) -> None:
        self.attempts = attempts
        self.notes = notes
        self.offset = 0
        self.highest: int | None = None
        self.started: list[Step] = []
        self.rollbacks: list[Rollback] = []
        self.offset_after: dict[int, int] = {}  # id of a step -> offset in force from it on
        previous: int | None = None
        for k, attempt in enumerate(attempts):
            if not attempt.steps:
                continue
            self._first_of_attempt(previous, k)
            self._within_attempt(attempt.steps)
            previous = k
        self._tail(previous)

    def _place(self, step: Step, index: int) -> None:
        step.index = index
        self.highest = index if self.highest is None else max(self.highest, index)
        self.started.append(step)
        self.offset_after[id(step)] = self.offset

    def _waste_from(self, index: int, charge: Disruption | Rollback | None) -> None:
        for step in self.started:
            if not step.wasted and step.index >= index:
                step.wasted, step.charged_to = True, charge

    def _first_of_attempt(self, previous: int | None, k: int) -> None:
        step = self.attempts[k].steps[0]
        r = step.number + self.offset
        if previous is not None:
            last = self.attempts[previous].steps[-1]
            if r > last.index + 1:
                self.notes["step_gap"] += 1
            elif r == last.index + 1 and not last.complete:
                last.evident = True
            self._waste_from(r, self._charge(previous, k, r, last))
        self._place(step, r)

    def _charge(self, previous: int, k: int, r: int, last: Step) -> Disruption | Rollback | None:
        between = [a.disruption for a in self.attempts[previous:k] if a.disruption is not None]
        ended = self.attempts[previous].disruption
        if not last.complete and ended is not None:
            return ended
        if between:
            return between[-1]
        if not any(not s.wasted and s.index >= r for s in self.started):
            return None
        rollback = Rollback(self.attempts[k].steps[0].begin_wall, last.index, r, planned=True)
        self.rollbacks.append(rollback)
        return rollback

    def _within_attempt(self, steps: list[Step]) -> None:
        for i in range(1, len(steps)):
            before, step = steps[i - 1], steps[i]
            if step.number > before.number:
                self._place(step, step.number + self.offset)
                continue
            if step.number < before.number:
                counter = step.number <= 1 and not step.restore_before
            else:
                counter = not step.restore_before and _times_in_a_row(steps, i) >= 3
            if counter:
                assert self.highest is not None
                self.notes["step_reset"] += 1
                self.offset = self.highest + 1 - step.number
            else:
                r = step.number + self.offset
                rollback = Rollback(step.begin_wall, before.index, r, planned=False)
                self.rollbacks.append(rollback)
                self._waste_from(r, rollback)
            self._place(step, step.number + self.offset)

    def _tail(self, previous: int | None) -> None:
        """The in-flight step of the last attempt that has steps."""
        if previous is None:
            return
        attempt = self.attempts[previous]
        last = attempt.steps[-1]
        if not last.complete and attempt.end_kind != "open":
            last.wasted, last.charged_to = True, attempt.disruption


def _times_in_a_row(steps: list[Step], i: int) -> int:
    """How often step i's number is started in a row around it, no restore record between."""
    left = i
    while left > 0 and steps[left - 1].number == steps[i].number and not steps[left].restore_before:
        left -= 1
    right = i
    while right + 1 < len(steps) and steps[right + 1].number == steps[i].number:
        if steps[right + 1].restore_before:
            break
        right += 1
    return right - left + 1


# ------------------------------------------------------------------------------
# The whole run
# ------------------------------------------------------------------------------


@dataclass(slots=True)
class Stretch:
    """A piece of the partition in wall time."""

    begin: int
    end: int
    category: str
    name: str
    overlapped: bool
    piece: Piece | None


class Run:
    """Everything known at as-of about the newest run in the file (or the `which`-th)."""

    def __init__(self, lines: Iterable[str], as_of: int | None, which: int = -1) -> None:
        events, self.notes = _read(lines)
        self._know(events, as_of)
        for event in self.events:
            event.net = self.net.net(event.time)
            self.notes.update(event.codes)
        assigner = Assigner(self.events)
        self.writers = assigner.writers
        self.notes.update(assigner.notes)
        for attempt in assigner.attempts:
            _set_start(attempt)
        runs = _split_runs(_by_start(assigner))
        self.run_count = len(runs)
        self.runs = runs
        self.attempts = runs[which] if runs else []
        if self.run_count > 1:
            self.notes["run_name_reused"] += self.run_count - 1
        self.stretches: list[Stretch] = []
        self.rollbacks: list[Rollback] = []
        self.disruptions: list[Disruption] = []
        self.spans: list[list[Span]] = []
        self.saved_index: int | None = None
        if self.attempts:
            self._account()

    def _know(self, events: list[Event], as_of: int | None) -> None:
        recorded = [e for e in events if e.kind not in ("query", "exclude")]
        queries = [e.time for e in events if e.kind == "query"]
        excludes = [e for e in events if e.kind == "exclude"]
        if as_of is None and queries:
            as_of = max(queries)
        if as_of is None:
            as_of = max((e.time for e in recorded), default=0)
        else:
            # The question is about an earlier time; what the user said later wasn't known then.
            excludes = [e for e in excludes if e.time <= as_of]
        self.as_of = as_of
        self.events = [e for e in recorded if e.time <= as_of]
        self.net = NetClock((e.begin or 0, as_of if e.end is None else e.end) for e in excludes)

    def _account(self) -> None:
        attempts = self.attempts
        _find_ends(attempts, self.as_of, self.net, self.notes)
        self.start, self.end = attempts[0].start, max(attempts[-1].cut, attempts[0].start)
        for attempt in attempts:
            lead = attempt.lead_events()
            is_open = attempt.end_kind == "open"
            clean = attempt.end_kind == "clean"
            spans = resolve_spans(lead, attempt.end_net, self.notes, is_open)
            attempt.steps, _ = cut_steps(lead, attempt.end_net, clean, attempt.end)
            attempt.pieces = measure(attempt.steps, spans, attempt.start_net, attempt.end_net)
            self.spans.append(spans)
        if not any(a.steps for a in attempts):
            self.notes["no_steps"] += 1
        self._split_steps()
        self._find_disruptions()
        progress = Progress(attempts, self.notes)
        self.rollbacks = progress.rollbacks
        self._find_saved(progress)
        self._follow_disruptions()
        self._paint()
        self._note_input_bound()

    def _split_steps(self) -> None:
        total = sum(len(a.steps) for a in self.attempts)
        only = total == 1 and self.attempts[-1].end_kind == "clean"
        handed: int | None = None
        for attempt in self.attempts:
            handed = Baseline(handed, self.notes).run(attempt.steps)
            for i, step in enumerate(attempt.steps):
                if step.first:
                    split_first(step, attempt.steps[i + 1 :], only)
                self.notes["no_baseline"] += step.baseline is None and step.w > 0

    def _find_disruptions(self) -> None:
        for k, attempt in enumerate(self.attempts):
            signal = attempt.exit_event.signal if attempt.exit_event is not None else None
            told = attempt.notice_event is not None or signal in SIGTERM
            stopped = attempt.end_kind == "clean" and told
            if attempt.end_kind not in ("failed", "exit", "lost") and not stopped:
                continue
            if self.net.is_excluded(attempt.end):
                continue
            attempt.disruption = Disruption(attempt.end, k)
            self.disruptions.append(attempt.disruption)

    def _find_saved(self, progress: Progress) -> None:
        """The step of the last `checkpoint_saved`, with the offset then in force."""
        offset = 0
        for attempt in self.attempts:
            steps = list(attempt.steps)
            for position, event in enumerate(attempt.lead_events()):
                if steps and steps[0].position == position:
                    offset = progress.offset_after[id(steps.pop(0))]
                elif event.kind == "checkpoint_saved":
                    assert event.step is not None
                    self.saved_index = event.step + offset

    def _follow_disruptions(self) -> None:
        for disruption in self.disruptions:
            before = [s for a in self.attempts[: disruption.attempt + 1] for s in a.steps]
            after = [s for a in self.attempts[disruption.attempt + 1 :] for s in a.steps]
            disruption.step_reached = before[-1].index if before else None
            disruption.resumed_from = after[0].index if after else None
            reached = disruption.step_reached
            for step in after:
                if step.complete and (reached is None or step.index >= reached):
                    disruption.regained = self.net.earliest(step.end_wall)
                    break

    def _paint(self) -> None:
        """Lays all pieces end to end in net time, then maps them back to wall time."""
        tiles: list[Piece] = []
        at = self.attempts[0].start_net
        for attempt in self.attempts:
            if attempt.start_net > at:
                tiles.append(Piece(at, attempt.start_net, "infrastructure_recovery"))
            at = max(at, attempt.cut_net)
            pieces = [p for p in attempt.pieces if p.step is None]
            for step in attempt.steps:
                pieces.extend(lay_out(step))
            for piece in sorted(pieces, key=lambda p: p.begin):
                piece.end = min(piece.end, attempt.cut_net)
                if piece.begin >= piece.end:
                    continue
                if piece.category == "productive" and piece.fate is not None and piece.fate.wasted:
                    piece.category, piece.name = "wasted_progress", ""
                    if piece.fate.charged_to is not None:
                        piece.fate.charged_to.wasted += piece.end - piece.begin
                tiles.append(piece)
        self.stretches = self._to_wall(tiles)

    def _to_wall(self, tiles: list[Piece]) -> list[Stretch]:
        out: list[Stretch] = []
        waiting = list(reversed(tiles))
        for left, right in self.net.open_stretches(self.start, self.end):
            at = left
            while at < right:
                tile = waiting[-1]
                taken = min(right - at, tile.end - tile.begin)
                out.append(Stretch(at, at + taken, tile.category, tile.name, tile.overlapped, tile))
                at += taken
                tile.begin += taken
                if tile.begin == tile.end:
                    waiting.pop()
        assert not waiting, "the pieces must tile the elapsed time"
        return out

    def _note_input_bound(self) -> None:
        complete = [s for a in self.attempts for s in a.steps if s.complete][-101:]
        if not complete:
            return
        interval = floor_median([s.end - s.begin for s in complete])
        loading = floor_median([s.interval_loading for s in complete])
        if interval > 0 and 10 * loading >= 9 * interval:
            self.notes["input_bound"] += 1


def _set_start(attempt: Attempt) -> None:
    """An attempt begins at its lead's first record; without a job start, at anyone's."""
    first = attempt.lead_events()[0] if attempt.has_job_start else attempt.events[0]
    attempt.start, attempt.start_net = first.time, first.net


def _by_start(assigner: Assigner) -> list[Attempt]:
    """By start; of one instant by number, when the lead began, when they end, then by the lead."""
    attempts = assigner.attempts
    began: dict[tuple[int, str], int] = {}
    for event in assigner.events:
        began.setdefault(event.who, event.time)
    latest: dict[Any, int] = {}  # end in each stream so far
    keys: dict[int, tuple[Any, ...]] = {}
    for place, attempt in enumerate(attempts):
        kind, number = attempt.ident
        end = attempt.end_event
        until = max(e.time for e in attempt.events) if end is None else end.time
        stream = attempt.ident if kind == "key" else attempt.stream
        until = latest[stream] = max(until, latest.get(stream, until))
        index = number if kind == "key" else -1
        lead = attempt.lead if assigner.writers.grouped and attempt.lead is not None else None
        led = 0 if lead is None else began[lead]
        keys[id(attempt)] = (attempt.start, index, led, until, lead or (0, ""), place)
    return sorted(attempts, key=lambda a: keys[id(a)])


def _split_runs(attempts: list[Attempt]) -> list[list[Attempt]]:
    """A clean end and then a start from the first step, nothing restored, is another run."""
    runs: list[list[Attempt]] = []
    run: list[Attempt] = []
    clean_at: int | None = None  # of the last attempt with steps in `run`, if it ended cleanly
    for attempt in attempts:
        lead = attempt.lead_events()
        steps = [i for i, e in enumerate(lead) if e.kind == "step_start"]
        if steps and clean_at is not None:
            number = lead[steps[0]].step
            restored = any(e.kind.startswith("checkpoint_restore_") for e in lead[: steps[0]])
            assert number is not None
            ended = run[clean_at].end_event
            assert ended is not None
            # One that worked before the clean end ran beside it.
            after = lead[steps[0]].time >= ended.time
            if number <= 1 and not restored and after:
                runs.append(run[: clean_at + 1])
                run = run[clean_at + 1 :]
        run.append(attempt)
        if steps:
            end = attempt.end_event
            clean_at = len(run) - 1 if _clean(end) else None
    if run:
        runs.append(run)
    return runs


# ------------------------------------------------------------------------------
# Answers
# ------------------------------------------------------------------------------


def _clip(
    stretches: list[Stretch], window: tuple[int, int] | None
) -> list[tuple[int, int, Stretch]]:
    if window is None:
        return [(s.begin, s.end, s) for s in stretches]
    low, high = window
    clipped = [(max(s.begin, low), min(s.end, high), s) for s in stretches]
    return [(begin, end, s) for begin, end, s in clipped if begin < end]


def partition(
    lines: Iterable[str],
    as_of_ns: int | None = None,
    window: tuple[int, int] | None = None,
    which: int = -1,
) -> list[tuple[int, int, str, str]]:
    """Disjoint `(begin, end, category, name)` in order; neighbours of one category are joined.

    They tile the run's elapsed wall time within the window, excluded time cut out.
    """
    run = Run(lines, as_of_ns, which)
    out: list[tuple[int, int, str, str]] = []
    for begin, end, s in _clip(run.stretches, window):
        if out and out[-1][1] == begin and out[-1][2:] == (s.category, s.name):
            out[-1] = (out[-1][0], end, s.category, s.name)
        else:
            out.append((begin, end, s.category, s.name))
    return out


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def report(
    lines: Iterable[str],
    as_of_ns: int | None = None,
    window: tuple[int, int] | None = None,
    which: int = -1,
) -> dict[str, Any]:
    """The report of the newest run in the file, times as integers of nanoseconds.

    `window` clips the partition and what is summed from it; steps, attempts, disruptions and
    rollbacks are always those of the whole run. Step quantiles are exact (nearest rank) and are
    those of all complete steps, first and wasted ones included.
    """
    run = Run(lines, as_of_ns, which)
    tiles = _clip(run.stretches, window)
    sums: dict[tuple[str, str], int] = {("productive", ""): 0}
    overlapped = 0
    for begin, end, s in tiles:
        sums[(s.category, s.name)] = sums.get((s.category, s.name), 0) + end - begin
        overlapped += (end - begin) * s.overlapped
    elapsed = sum(sums.values())
    productive = sum(ns for (category, _), ns in sums.items() if category == "productive")
    attempts = run.attempts
    last_kind = attempts[-1].end_kind if attempts else "none"
    states = {"none": "not_started", "open": "running", "clean": "completed", "lost": "interrupted"}
    start = run.start if attempts else None
    end_of_run = run.end if attempts else None
    low, high = (start, end_of_run) if attempts else (0, 0)
    if window is not None and attempts:
        low, high = max(run.start, window[0]), max(run.start, min(run.end, window[1]))
    assert low is not None and high is not None
    mtbf, mttr = _reliability(run)
    return {
        "run": "",
        "project": "default",
        "accounting": "exact",
        "state": states.get(last_kind, "failed"),
        "down_since": end_of_run if last_kind == "lost" else None,
        "start": start,
        "end": end_of_run,
        "as_of": run.as_of,
        "elapsed_ns": elapsed,
        "excluded_ns": max(0, high - low) - elapsed,
        "goodput": _ratio(productive, elapsed) if attempts else None,
        "categories": [
            {"category": category, "name": name, "ns": ns, "share": _ratio(ns, elapsed)}
            for (category, name), ns in sorted(sums.items(), key=lambda item: (-item[1], item[0]))
        ],
        "data_loading_overlapped_ns": overlapped,
        "goodput_if_loading_blocked": (
            _ratio(max(0, productive - overlapped), elapsed)
            if elapsed and 10 * overlapped >= elapsed
            else None
        ),
        "slow_steps_ns": _slow_steps(run),
        "unsaved_ns": _unsaved(run),
        "scheduling_ns": None,
        "steps": _step_statistics(run),
        "attempts": [_attempt_entry(i, a) for i, a in enumerate(attempts)],
        "disruptions": [_disruption_entry(run, d) for d in run.disruptions],
        "rollbacks": [
            {
                "time": r.time,
                "from": r.origin,
                "to": r.target,
                "wasted_ns": r.wasted,
                "planned": r.planned,
            }
            for r in sorted(run.rollbacks, key=lambda r: r.time)
        ],
        "mtbf_ns": mtbf,
        "mttr_ns": mttr,
        "checkpointing": _checkpointing(run, mtbf),
        "notes": [
            {"code": code, "count": count} for code, count in sorted(run.notes.items()) if count
        ],
    }


def _how_it_ended(attempt: Attempt) -> dict[str, int | None]:
    status = signal = notice = None
    end = attempt.end_event
    if attempt.exit_event is not None:
        status, signal = attempt.exit_event.status, attempt.exit_event.signal
    elif end is not None and end.kind == "job_end" and type(end.status) is int and end.status > 0:
        status = end.status
    if attempt.notice_event is not None:
        notice = attempt.notice_event.signal or 0
    return {"exit_status": status, "signal": signal, "notice": notice}


def _cause(attempt: Attempt) -> str:
    how = _how_it_ended(attempt)
    if how["notice"] is not None:
        return "notice"
    last = attempt.steps[-1] if attempt.steps else None
    if attempt.end_kind == "lost" or how["signal"] in (9, "SIGKILL"):
        if last is not None and not last.complete and last.stalled and not last.evident:
            return "hang"
    if how["signal"]:
        return "signal"
    if how["exit_status"]:
        return "exit_status"
    return "lost" if attempt.end_kind == "lost" else "failed"


def _attempt_entry(index: int, attempt: Attempt) -> dict[str, Any]:
    return {
        "index": index,
        "start": attempt.start,
        "end": attempt.cut,
        "end_kind": attempt.end_kind,
        **_how_it_ended(attempt),
        "first_step": attempt.steps[0].index if attempt.steps else None,
        "last_step": attempt.steps[-1].index if attempt.steps else None,
    }


def _disruption_entry(run: Run, disruption: Disruption) -> dict[str, Any]:
    attempt = run.attempts[disruption.attempt]
    later = run.attempts[disruption.attempt + 1 :]
    downtime = reinit = None
    if later:
        following = later[0]
        downtime = max(0, following.start_net - attempt.end_net)
        up_to = following.steps[0].begin if following.steps else following.cut_net
        reinit = up_to - following.start_net
    return {
        "time": disruption.time,
        "step_reached": disruption.step_reached,
        "resumed_from": disruption.resumed_from,
        "wasted_ns": disruption.wasted,
        "downtime_ns": downtime,
        "reinit_ns": reinit,
        "regained": disruption.regained,
        **_how_it_ended(attempt),
        "cause": _cause(attempt),
    }


def _reliability(run: Run) -> tuple[int | None, int | None]:
    if not run.disruptions:
        return None, None
    alive = sum(a.cut_net - a.start_net for a in run.attempts)
    repairs = [
        max(0, run.net.net(d.regained) - run.net.net(d.time))
        for d in run.disruptions
        if d.regained is not None
    ]
    mttr = sum(repairs) // len(repairs) if repairs else None
    return alive // len(run.disruptions), mttr


def _slow_steps(run: Run) -> int:
    total = 0
    for attempt in run.attempts:
        for step in attempt.steps:
            if step.first or step.stalled or step.wasted or step.evident or step.baseline is None:
                continue
            total += max(0, step.w - step.data_loading - 2 * step.baseline)
    return total


def _unsaved(run: Run) -> int | None:
    if run.saved_index is None:
        return None
    total = 0
    for s in run.stretches:
        step = s.piece.step if s.piece is not None else None
        if step is not None and s.category == "productive" and step.retained:
            total += (s.end - s.begin) * (step.index > run.saved_index)
    return total


def _nearest_rank(ordered: list[int], percent: int) -> int:
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]


def _mean_up_to(values: list[int], limit: int) -> int | None:
    low = [value for value in values if value <= limit]
    return sum(low) // len(low) if low else None


def deviation(works: list[int], ideal: int) -> int:
    """How much less regular the last steps are than those before, by the ideal step time."""
    away = [abs(w - ideal) for w in works]
    recent, older = away[-100:], away[-1100:-100]
    usual = floor_median(older) if len(older) >= 100 else 0
    return max(0, _nearest_rank(sorted(recent), 90) - usual)


def _step_statistics(run: Run) -> dict[str, Any]:
    steps = [s for a in run.attempts for s in a.steps]
    retained = [s for s in steps if s.retained]
    entry: dict[str, Any] = {
        "count": len(retained),
        "max_productive_step": max((s.index for s in retained), default=None),
        "last_step": steps[-1].index if steps else None,
        "ideal_ns": None, "p50_ns": None, "p90_ns": None, "p99_ns": None, "max_ns": None,
        "deviation_ns": None,
    }  # fmt: skip
    works = [s.w for s in steps if s.complete]
    if not works:
        return entry
    ordered = sorted(works)
    median = floor_median(works)
    spread = floor_median([abs(w - median) for w in works])
    ideal = _mean_up_to(works, median + 3 * spread) or 0
    # The ledger knows median and spread to within 0.1 %: a step at the limit may be in or out.
    slack = (median + 3 * spread) // 250
    limits = (median + 3 * spread + by for by in (-slack, slack))
    means = [_mean_up_to(works, limit) for limit in limits]
    alternatives = [ideal if mean is None else mean for mean in means]
    entry.update(
        ideal_ns=ideal,
        ideal_ns_between=sorted(alternatives),
        p50_ns=_nearest_rank(ordered, 50),
        p90_ns=_nearest_rank(ordered, 90),
        p99_ns=_nearest_rank(ordered, 99), max_ns=ordered[-1],
        deviation_ns=deviation(works, ideal), works_ns=works,
    )  # fmt: skip
    return entry


def _checkpointing(run: Run, mtbf: int | None) -> dict[str, Any]:
    """Saves of the lead. `interval_ns` is the mean distance between the begins of the saves."""
    saves = blocking = 0
    gaps: list[int] = []  # within attempts
    for attempt, spans in zip(run.attempts, run.spans):
        of_attempt = [
            span for span in spans
            if span.kind == "checkpoint_save" and span.begin <= attempt.cut_net
        ]  # fmt: skip
        begins = sorted(span.begin for span in of_attempt)
        gaps += [after - before for before, after in zip(begins, begins[1:])]
        saves += len(of_attempt)
        blocking += sum(span.role == "block" for span in of_attempt)
    spent = sum(s.end - s.begin for s in run.stretches if s.category == "checkpoint_save")
    mean = spent // blocking if blocking else None
    spacing = sum(gaps) // len(gaps) if gaps else None
    return {
        "saves": saves,
        "mean_blocking_ns": mean,
        "interval_ns": spacing,
        "advised_interval_ns": (
            isqrt(2 * mean * mtbf) if mean is not None and mtbf is not None else None
        ),
    }
