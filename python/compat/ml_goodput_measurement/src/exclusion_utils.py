"""Intervals that are left out of the account."""

from __future__ import annotations

import datetime
import logging

_log = logging.getLogger(__name__)

_Interval = tuple[datetime.datetime, datetime.datetime]


def normalize_intervals(intervals: list[_Interval]) -> list[tuple[float, float]]:
    """Sorts intervals and joins those that overlap or touch.

    Args:
        intervals: (start, end) in UTC.

    Returns:
        (start, end) in POSIX seconds, in order, disjoint. An interval whose zone is not exactly
        ``datetime.timezone.utc``, or that ends before it has begun, is left out with a warning.
    """
    usable: list[_Interval] = []
    for start, end in intervals:
        if start.tzinfo != datetime.timezone.utc or end.tzinfo != datetime.timezone.utc:
            _log.warning("[%s, %s] is left out: its zone is not datetime.timezone.utc", start, end)
        elif start >= end:
            _log.warning("[%s, %s] is left out: it ends before it has begun", start, end)
        else:
            usable.append((start, end))
    joined: list[_Interval] = []
    for start, end in sorted(usable):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((start, end))
    return [(start.timestamp(), end.timestamp()) for start, end in joined]


def get_exclusion_overlap(
    start: float, end: float, exclusions: list[tuple[float, float]]
) -> float:
    """Seconds of [start, end) that lie within ``exclusions`` (disjoint)."""
    overlap = 0.0
    for left, right in exclusions:
        overlap += max(0.0, min(end, right) - max(start, left))
    return overlap
