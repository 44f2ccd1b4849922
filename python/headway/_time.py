"""Times as people give them, in the words of the command line."""

from __future__ import annotations

import datetime
from typing import TypeAlias

#: RFC 3339, ``"@NS"`` or ``"+1h30m"`` from the run's start; an int of nanoseconds since the epoch;
#: a datetime (without a zone: local time); a timedelta from the run's start.
Time: TypeAlias = "str | int | datetime.datetime | datetime.timedelta"

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
_MICROSECOND = datetime.timedelta(microseconds=1)


def to_ns(time: datetime.datetime) -> int:
    """Nanoseconds since the epoch, exactly."""
    aware = time if time.tzinfo is not None else time.astimezone(datetime.timezone.utc)
    return (aware - _EPOCH) // _MICROSECOND * 1000


def to_text(time: Time) -> str:
    """``time`` as the command line takes it.

    >>> to_text(datetime.timedelta(minutes=90))
    '+5400000000000ns'
    >>> to_text(datetime.datetime(1970, 1, 1, 0, 0, 1, tzinfo=datetime.timezone.utc))
    '@1000000000'
    """
    if isinstance(time, str):
        return time
    if isinstance(time, datetime.datetime):
        return f"@{to_ns(time)}"
    if isinstance(time, datetime.timedelta):
        return f"+{time // _MICROSECOND * 1000}ns"
    if isinstance(time, int):
        return f"@{time}"
    raise TypeError(f"a time is a str, int, datetime or timedelta, not {type(time).__name__}")


def from_text(text: str) -> datetime.datetime:
    """The instant of a report's JSON, cut to microseconds.

    >>> from_text("2026-01-01T00:00:00.123456789Z").microsecond
    123456
    """
    return datetime.datetime.fromisoformat(text[:26] + "+00:00")


def duration(ns: int) -> str:
    """A duration for people.

    >>> duration(1_500_000_000), duration(3_725_000_000_000), duration(2_000)
    ('1.500 s', '1 h 02 min', '2 µs')
    """
    if ns < 0:
        return "-" + duration(-ns)
    for unit, size in (("ns", 1), ("µs", 1_000), ("ms", 1_000_000)):
        if ns < size * 1000:
            return f"{ns / size:.3g} {unit}"
    seconds = ns / 1e9
    if seconds < 100:
        return f"{seconds:.3f} s"
    minutes = round(seconds / 60)
    if seconds < 3600:
        return f"{int(seconds) // 60} min {int(seconds) % 60:02d} s"
    if minutes < 24 * 60:
        return f"{minutes // 60} h {minutes % 60:02d} min"
    return f"{minutes // 1440} d {minutes // 60 % 24:02d} h"
