"""The original's log in Cloud Logging. Needs google-cloud-logging; nothing here is used without."""

from __future__ import annotations

import datetime
import functools
import json
import logging
from typing import Any, Optional

from ml_goodput_measurement.src._time import from_seconds, now, utc

_RETENTION = datetime.timedelta(days=7)
_PAGE = 1_000_000
_BEFORE_START = datetime.timedelta(seconds=10)

_Cursor = tuple[Optional[datetime.datetime], Optional[str]]


class CloudLogger:
    """Writes entries of one job to its log in the background, and reads them back.

    Args:
        job_name: Entries of other jobs are neither written nor read.
        log_name: The log.
        max_logs_retention_period: How far back the first reading goes: a timedelta or seconds;
            default 7 days.
        background_grace_period_s: How long an ending program waits for entries under way.
        background_batch_size: Entries sent at once.
        background_max_latency_s: How long an entry waits for others.
    """

    def __init__(
        self,
        job_name: str,
        log_name: str,
        max_logs_retention_period: datetime.timedelta | float | None = None,
        *,
        background_grace_period_s: float = 5.0,
        background_batch_size: int = 100,
        background_max_latency_s: float = 2.0,
    ) -> None:
        try:
            import google.cloud.logging  # type: ignore[import-not-found,unused-ignore]
            from google.cloud.logging_v2 import (  # type: ignore[import-not-found,unused-ignore]
                handlers,
            )
        except ImportError as error:
            raise ImportError(
                "HEADWAY_BACKEND=cloud-logging needs the package google-cloud-logging"
            ) from error

        self.job_name = job_name
        self.log_name = log_name
        self.job_start_time: Optional[datetime.datetime] = None
        self.retention_period = _period(max_logs_retention_period)
        client = google.cloud.logging.Client()
        self.project_id = client.project
        self.logger = client.logger(log_name)
        self._async_handler = handlers.CloudLoggingHandler(
            client=client,
            name=log_name,
            transport=functools.partial(
                handlers.transports.BackgroundThreadTransport,
                grace_period=background_grace_period_s,
                batch_size=background_batch_size,
                max_latency=background_max_latency_s,
            ),
        )
        # A logger of its own, so that two objects with one log do not write everything twice.
        self._async_logger = logging.getLogger(f"_ml_goodput_async.{log_name}.{id(self)}")
        self._async_logger.setLevel(logging.INFO)
        self._async_logger.addHandler(self._async_handler)
        self._async_logger.propagate = False

    def write_cloud_logging_entry(self, entry: Optional[dict[str, Any]]) -> None:
        """Sends an entry; None and entries of other jobs are left out."""
        if entry is not None and entry["job_name"] == self.job_name:
            self._async_logger.info(entry)

    def flush(self) -> None:
        """Waits until all entries so far have been sent."""
        self._async_handler.flush()

    def read_cloud_logging_entries(
        self,
        start_time: Optional[datetime.datetime] = None,
        end_time: Optional[datetime.datetime] = None,
        last_entry_info: Optional[tuple[datetime.datetime, str]] = None,
    ) -> tuple[list[dict[str, Any]], _Cursor]:
        """Entries in order of their log times, and where the next reading goes on.

        Args:
            start_time: Only later ones.
            end_time: Only up to it; None: now.
            last_entry_info: (time, id) of the last entry that was read: only later ones.
        """
        import google.cloud.logging

        found = list(
            self.logger.list_entries(
                filter_=self._get_filter_msg(start_time, end_time, last_entry_info),
                order_by=google.cloud.logging.ASCENDING,
                page_size=_PAGE,
            )
        )
        if found and last_entry_info and (found[0].timestamp, found[0].insert_id) == tuple(
            last_entry_info
        ):
            del found[0]
        payloads = [entry.payload for entry in found]
        for payload in payloads:
            if self.job_start_time is None and "job_start_time" in payload:
                self.job_start_time = from_seconds(payload["job_start_time"])
        cursor = (found[-1].timestamp, found[-1].insert_id) if found else (None, None)
        return payloads, cursor

    def _get_filter_msg(
        self,
        start_time: Optional[datetime.datetime],
        end_time: Optional[datetime.datetime],
        last_entry_info: Optional[tuple[datetime.datetime, str]],
    ) -> str:
        end = utc(end_time) if end_time is not None else now()
        parts = []
        if self.project_id:
            parts.append(f'logName="projects/{self.project_id}/logs/{self.log_name}"')
        parts.append("severity=INFO")
        parts.append(f"jsonPayload.job_name={json.dumps(self.job_name, ensure_ascii=False)}")
        parts.append(f'timestamp<="{end.isoformat()}"')
        entry_id = None
        if last_entry_info:
            start, entry_id = last_entry_info
        elif start_time is not None:
            start = utc(start_time)
        elif self.job_start_time is not None:
            start = utc(self.job_start_time) - _BEFORE_START
        else:
            start = end - self.retention_period
        at = start.isoformat()
        if entry_id:
            parts.append(
                f'(timestamp > "{at}" OR (timestamp = "{at}" AND insertId > "{entry_id}"))'
            )
        else:
            parts.append(f'timestamp>"{at}"')
        return " AND ".join(parts)


def _period(value: datetime.timedelta | float | None) -> datetime.timedelta:
    if not value:
        return _RETENTION
    return value if isinstance(value, datetime.timedelta) else datetime.timedelta(seconds=value)
