"""What is told once."""

from __future__ import annotations

import logging

from headway import _native

_log = logging.getLogger("ml_goodput_measurement")
_told: set[tuple[str, str]] = set()


def disabled(what: str, job_name: object) -> None:
    """Tells that something is off, where that is no matter of course: in process 0, once a job."""
    key = (what, str(job_name))
    if key in _told:
        return
    _told.add(key)
    if not _native.environment_rank():
        _log.info("%s of %r is disabled in this process", what, job_name)
