"""The cache of the original's calculator, as an object of its own.

headway's calculator needs none: journals are read as they are. Nothing is written to disk, so a
left-over file, two processes with one job name and names with a ``/`` do no harm.
"""

from __future__ import annotations

import datetime
from typing import Any, Optional

from ml_goodput_measurement.src.goodput_utils import GoodputInfo, StepInfo

_Cursor = tuple[datetime.datetime, str]


class GoodputCache:
    """Entries of a job and what was last computed from them, in memory.

    Args:
        job_name: The job.
        cache_dir: Not used.
        gcs_path: Not used.
    """

    def __init__(
        self, job_name: str, cache_dir: str = "/tmp", gcs_path: Optional[str] = None
    ) -> None:
        self._job_name = job_name
        self.clear_cache()

    def clear_cache(self) -> None:
        """Forgets everything."""
        self._entries: list[Any] = []
        self._last_entry_info: Optional[_Cursor] = None
        self._goodput_info: Optional[GoodputInfo] = None
        self._step_info: Optional[StepInfo] = None
        self._job_start_time: Optional[datetime.datetime] = None
        self._job_end_time: Optional[datetime.datetime] = None

    def update_cached_entries(
        self, entries: list[Any], last_entry_info: Optional[_Cursor]
    ) -> None:
        """Appends entries, and keeps the place up to which the log was read."""
        for entry in entries:
            if self._job_start_time is None and "job_start_time" in entry:
                self._job_start_time = _instant(entry["job_start_time"])
            if "job_end_time" in entry:
                self._job_end_time = _instant(entry["job_end_time"])
        self._entries.extend(entries)
        if last_entry_info and last_entry_info[0] is not None:
            self.update_last_entry_info(last_entry_info)

    def update_last_entry_info(self, last_entry_info: _Cursor) -> None:
        """Keeps (timestamp, id) of the last entry that was read."""
        self._last_entry_info = last_entry_info

    def update_goodput_info(self, goodput_info: GoodputInfo) -> None:
        """Keeps what the whole job came to."""
        self._goodput_info = goodput_info

    def update_step_info(self, step_info: StepInfo) -> None:
        """Keeps ideal step time and deviations."""
        self._step_info = step_info

    def get_cached_entries(self) -> list[Any]:
        """All entries, oldest first."""
        return list(self._entries)

    def get_step_entries(self) -> list[Any]:
        """The entries of steps."""
        return [entry for entry in self._entries if "step_start_time" in entry]

    def get_goodput_info(self) -> Optional[GoodputInfo]:
        """What was kept last, or None."""
        return self._goodput_info

    def get_step_info(self) -> Optional[StepInfo]:
        """What was kept last, or None."""
        return self._step_info

    def get_job_start_time(self) -> Optional[datetime.datetime]:
        """The first job start, or None."""
        return self._job_start_time

    def get_job_end_time(self) -> Optional[datetime.datetime]:
        """The last job end, or None."""
        return self._job_end_time

    def get_last_entry_info(self) -> Optional[_Cursor]:
        """(timestamp, id) of the last entry that was read, or None."""
        return self._last_entry_info

    def is_cache_empty(self) -> bool:
        """Whether there is no entry."""
        return not self._entries

    def sync_to_gcs(self) -> None:
        """Does nothing: there is nothing to bring to safety that the journal does not hold."""


def _instant(seconds: float) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
