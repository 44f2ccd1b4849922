"""Recorder and calculator of elastic jobs, whose set of slices changes."""

from __future__ import annotations

import datetime
from typing import Any, Optional, cast

from headway import _native

from ml_goodput_measurement.src import _sinks, goodput, goodput_utils

GoodputRecorder = goodput.GoodputRecorder

_Time = Optional[datetime.datetime]
_SliceRecord = tuple[float, int, int, int]


class ElasticGoodputRecorder(GoodputRecorder):
    """Also records slices, waiting for them, and starting anew with them."""

    def record_elastic_slice_counts(
        self,
        active_slices: int,
        total_slices: int,
        available_slices: int,
        timestamp: _Time = None,
    ) -> None:
        """How many slices train, were asked for, and could train now."""
        if self._sink is not None:
            self._sink.slices(
                int(active_slices), int(total_slices), int(available_slices), timestamp
            )

    def record_elastic_wait_start_time(self, event_type: str, start_time: _Time = None) -> None:
        """Waiting for slices begins; a type with "scale_up" in it waits for more of them."""
        if self._sink is not None:
            self._sink.begin(_sinks.ELASTIC_WAIT, event_type, start_time)

    def record_elastic_wait_end_time(self, event_type: str, end_time: _Time = None) -> None:
        """Waiting for slices ends."""
        if self._sink is not None:
            self._sink.end(_sinks.ELASTIC_WAIT, event_type, end_time)

    def record_elastic_reinit_start_time(self, start_time: _Time = None) -> None:
        """Starting anew with another set of slices begins."""
        if self._sink is not None:
            self._sink.begin(_sinks.ELASTIC_REINIT, "", start_time)

    def record_elastic_reinit_end_time(self, end_time: _Time = None) -> None:
        """Starting anew with another set of slices ends."""
        if self._sink is not None:
            self._sink.end(_sinks.ELASTIC_REINIT, "", end_time)


class ElasticGoodputCalculator(goodput.GoodputCalculator):
    """Also tells time lost to changes of slices, and how well slices were used."""

    _ELASTIC = True

    def get_interval_metric_details(
        self, interval_start: datetime.datetime, interval_end: datetime.datetime
    ) -> goodput_utils.ElasticIntervalWorkloadMetricDetails:
        details, efficiency = self._interval_details(interval_start, interval_end)
        result = cast(goodput_utils.ElasticIntervalWorkloadMetricDetails, details)
        if efficiency is not None:
            result["stepping_slice_efficiency"], result["available_slice_efficiency"] = efficiency
        return result

    def get_job_goodput_details(self) -> goodput_utils.ElasticWorkloadMetricDetails:
        result = cast(
            goodput_utils.ElasticWorkloadMetricDetails, super().get_job_goodput_details()
        )
        with self._lock:
            efficiency = self._source.efficiency(result["total_elapsed_time"])
        if efficiency is not None:
            result["stepping_slice_efficiency"], result["available_slice_efficiency"] = efficiency
        return result

    @staticmethod
    def _extract_slice_count_entries(entries: list[dict[str, Any]]) -> list[_SliceRecord]:
        """(time, active, available, total) of the entries with slices, by time."""
        records = [
            (
                entry["elastic_slice_counts_timestamp"],
                entry.get("active_slices", 0),
                entry.get("available_slices", 0),
                max(entry.get("total_slices", 1), 1),
            )
            for entry in entries
            if "elastic_slice_counts_timestamp" in entry
        ]
        return sorted(records, key=lambda record: record[0])

    @staticmethod
    def _compute_time_weighted_efficiency(
        slice_records: list[_SliceRecord], interval_start_ts: float, interval_end_ts: float
    ) -> tuple[float, float]:
        """(stepping, available), 0..1: means over the interval, weighted by time."""
        calculator = _native.CompatCalculator(True)
        calculator.add(
            [
                {
                    "elastic_slice_counts_timestamp": time,
                    "active_slices": active,
                    "available_slices": available,
                    "total_slices": total,
                }
                for time, active, available, total in slice_records
            ]
        )
        return calculator.efficiency(interval_start_ts, interval_end_ts) or (0.0, 0.0)
