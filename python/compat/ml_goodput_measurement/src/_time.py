"""Times as people give them, as headway records them and as entries hold them."""

from __future__ import annotations

import datetime

_UTC = datetime.timezone.utc
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=_UTC)
_MICROSECOND = datetime.timedelta(microseconds=1)


def utc(time: datetime.datetime) -> datetime.datetime:
    """The same instant in UTC; without a zone it is UTC already, as the documentation asks."""
    return time.replace(tzinfo=_UTC) if time.tzinfo is None else time.astimezone(_UTC)


def now() -> datetime.datetime:
    return datetime.datetime.now(_UTC)


def to_ns(time: datetime.datetime) -> int:
    """Nanoseconds since the epoch."""
    return (utc(time) - _EPOCH) // _MICROSECOND * 1000


def to_seconds(time: datetime.datetime) -> float:
    return utc(time).timestamp()


def from_seconds(seconds: float) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(seconds, _UTC)
