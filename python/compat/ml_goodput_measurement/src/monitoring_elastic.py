"""Uploads the goodput of an elastic job while it runs."""

from __future__ import annotations

import datetime
from typing import Optional, Union

from ml_goodput_measurement.src import goodput_elastic, goodput_utils, monitoring

ElasticGoodputCalculator = goodput_elastic.ElasticGoodputCalculator
BadputType = goodput_utils.BadputType
GCPOptions = goodput_utils.GCPOptions
MetricType = goodput_utils.MetricType
MonitoringWindowType = goodput_utils.MonitoringWindowType


class ElasticGoodputMonitor(monitoring.GoodputMonitor):
    """As ``GoodputMonitor``, with the kinds of badput of elastic jobs.

    Args:
        include_slice_efficiency: Whether slice efficiencies are uploaded, to Cloud Monitoring.

    The other arguments are those of ``GoodputMonitor``; there is no ``pathway_enabled``.
    """

    _ELASTIC = True

    def __init__(
        self,
        job_name: str,
        logger_name: str,
        tensorboard_dir: str,
        upload_interval: int,
        monitoring_enabled: bool = False,
        include_badput_breakdown: bool = False,
        include_step_deviation: bool = False,
        include_slice_efficiency: bool = False,
        configured_ideal_step_time: Optional[float] = None,
        step_deviation_interval_seconds: int = 10,
        gcp_options: GCPOptions = GCPOptions(),  # noqa: B008
        skip_final_flush: bool = False,
        final_flush_timeout_seconds: Optional[float] = 10,
        gcs_sync_interval_seconds: int = 3600,
        cache_dir: str = "/tmp",
        max_logs_retention_period: Union[datetime.timedelta, float, None] = None,
    ) -> None:
        self._include_slice_efficiency = include_slice_efficiency
        super().__init__(
            job_name,
            logger_name,
            tensorboard_dir,
            upload_interval,
            monitoring_enabled,
            True,
            include_badput_breakdown,
            include_step_deviation,
            configured_ideal_step_time,
            step_deviation_interval_seconds,
            gcp_options,
            skip_final_flush,
            final_flush_timeout_seconds,
            gcs_sync_interval_seconds,
            cache_dir,
            max_logs_retention_period,
        )
