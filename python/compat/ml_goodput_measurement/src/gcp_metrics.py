"""Metrics of Cloud Monitoring, for programs that send their own."""

from __future__ import annotations

import enum
import logging
import time
from typing import Any, Optional

_log = logging.getLogger(__name__)


class ValueType(enum.Enum):
    """Which field of a ``TypedValue`` holds a value."""

    BOOL = "bool_value"
    INT = "int64_value"
    DOUBLE = "double_value"
    STRING = "string_value"
    DISTRIBUTION = "distribution_value"


class GCPMetrics:
    """Sends points to Cloud Monitoring. Needs the package google-cloud-monitoring.

    The monitors of this package don't use it: what they send needs no package.

    Args:
        project_id: The project the metrics belong to.

    Raises:
        ImportError: google-cloud-monitoring is not installed.
    """

    def __init__(self, project_id: str) -> None:
        try:
            from google.cloud import (  # type: ignore[import-not-found,unused-ignore]
                monitoring_v3,
            )
        except ImportError as error:
            raise ImportError("GCPMetrics needs the package google-cloud-monitoring") from error
        self.project_id = project_id
        self.project_name = f"projects/{project_id}"
        self.client = monitoring_v3.MetricServiceClient()

    def create_time_series(
        self,
        metric_type: str,
        value: Any,
        value_type: ValueType,
        metric_labels: Optional[dict[str, str]] = None,
        resource_type: str = "global",
        resource_labels: Optional[dict[str, str]] = None,
        seconds: int = 0,
        nanos: int = 0,
    ) -> Any:
        """A ``monitoring_v3.TimeSeries`` with one point.

        Args:
            metric_type: Full name of the metric.
            value: The point's value.
            value_type: Its type.
            metric_labels: Labels of the metric.
            resource_type: Type of the monitored resource.
            resource_labels: Labels of the resource.
            seconds: The point's time since the epoch, whole seconds.
            nanos: And nanoseconds.
        """
        from google.cloud import monitoring_v3

        series = monitoring_v3.TimeSeries()
        series.metric.type = metric_type
        series.metric.labels.update(metric_labels or {})
        series.resource.type = resource_type
        series.resource.labels.update(resource_labels or {})
        series.points = [
            monitoring_v3.Point(
                {
                    "interval": monitoring_v3.TimeInterval(
                        {"end_time": {"seconds": seconds, "nanos": nanos}}
                    ),
                    "value": monitoring_v3.TypedValue({value_type.value: value}),
                }
            )
        ]
        return series

    def send_metrics(
        self, metrics: list[dict[str, Any]], context: Optional[dict[str, Any]] = None
    ) -> None:
        """Sends metrics, all with the time of the call. A refusal is logged.

        Args:
            metrics: Each with ``metric_type`` and ``value``, and where they matter ``value_type``
                (double), ``metric_labels``, ``resource_type`` and ``resource_labels``.
            context: Goes into the log message.
        """
        import google.api_core.exceptions  # type: ignore[import-not-found,unused-ignore]

        now = time.time()
        seconds = int(now)
        nanos = int((now - seconds) * 10**9)
        series = [
            self.create_time_series(
                metric["metric_type"],
                metric["value"],
                metric.get("value_type", ValueType.DOUBLE),
                metric.get("metric_labels"),
                metric.get("resource_type", "global"),
                metric.get("resource_labels"),
                seconds,
                nanos,
            )
            for metric in metrics
        ]
        try:
            self.client.create_time_series(name=self.project_name, time_series=series)
        except google.api_core.exceptions.GoogleAPIError as error:
            _log.error("metrics were not sent: %s", error)
            return
        _log.info(
            {"message": "Sent metrics to Cloud Monitoring", "metrics_count": len(series)}
            | (context or {})
        )
