"""Times as people give them, as headway records them and as entries hold them."""

from __future__ import annotations

import datetime

_UTC = datetime.timezone.utc
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=_UTC)
_MICROSECOND = datetime.timedelta(microseconds=1)


def _aware(time: datetime.datetime) -> datetime.datetime:
    """Without a zone it is UTC, as the documentation asks."""
    return time.replace(tzinfo=_UTC) if time.tzinfo is None else time


def utc(time: datetime.datetime) -> datetime.datetime:
    """The same instant in UTC, or the nearest that a datetime can be there."""
    try:
        return _aware(time).astimezone(_UTC)
    except OverflowError:  # within hours of year 1 or year 10000
        nearest = datetime.datetime.max if time.year > 5000 else datetime.datetime.min
        return nearest.replace(tzinfo=_UTC)


def now() -> datetime.datetime:
    return datetime.datetime.now(_UTC)


def to_ns(time: datetime.datetime) -> int:
    """Nanoseconds since the epoch."""
    return (_aware(time) - _EPOCH) // _MICROSECOND * 1000


def to_seconds(time: datetime.datetime) -> float:
    return _aware(time).timestamp()


def from_seconds(seconds: float) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(seconds, _UTC)
