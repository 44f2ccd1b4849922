"""Uploads a job's goodput while it runs."""

from __future__ import annotations

import contextlib
import datetime
import logging
import os
from typing import Any, Optional, Union

from headway._beside import Companion

from ml_goodput_measurement.src import (
    _notice,
    _sinks,
    _sources,
    gcp_metrics,
    goodput,
    goodput_utils,
)

BadputType = goodput_utils.BadputType
GCPMetrics = gcp_metrics.GCPMetrics
GCPOptions = goodput_utils.GCPOptions
GoodputCalculator = goodput.GoodputCalculator
GoodputType = goodput_utils.GoodputType
IntervalMetricType = goodput_utils.IntervalMetricType
IntervalWorkloadMetricDetails = goodput_utils.IntervalWorkloadMetricDetails
MetricType = goodput_utils.MetricType
MonitoringWindowType = goodput_utils.MonitoringWindowType
StepInfo = goodput_utils.StepInfo
UnproductiveTimeDict = goodput_utils.UnproductiveTimeDict
ValueType = gcp_metrics.ValueType
WorkloadMetricDetails = goodput_utils.WorkloadMetricDetails
ACTIVITY_EXCLUSION_LIST = goodput_utils.ACTIVITY_EXCLUSION_LIST

_TENSORBOARD_SUBDIRECTORY = "goodput"
_PROCESS_TERMINATION_TIMEOUT_SECONDS = 10

logger = logging.getLogger(__name__)


class _Uploader:
    """One thing that is uploaded, by a small process beside this one."""

    def __init__(self, what: str, job_name: str, arguments: list[str]) -> None:
        self.what = what
        self._job_name = job_name
        self._arguments = arguments
        self._companion: Optional[Companion] = None

    @property
    def running(self) -> bool:
        return self._companion is not None and self._companion.running

    def start(self, *more: str) -> None:
        if self.running:
            logger.warning("the upload of %s has been started already", self.what)
            return
        try:
            self._companion = Companion([*self._arguments, *_place(self._job_name), *more])
        except Exception as error:
            reason = error.args[-1] if error.args else error
            logger.warning("%s is not uploaded: %s", self.what, reason)

    def stop(self, seconds: float, final: bool, *more: str) -> None:
        if self._companion is None:
            if not final:
                return
            self.start(*more)  # for the final values alone
        companion, self._companion = self._companion, None
        if companion is None:
            return
        if not companion.stop(seconds, final):
            logger.warning("the final values of %s took more than %g s", self.what, seconds)
        for trouble in companion.troubles:
            logger.warning("uploading %s: %s", self.what, trouble)


class GoodputMonitor:
    """Uploads goodput, step deviations and goodput of rolling windows at their own intervals.

    Each ``start_…`` starts one small native process beside this one. It reads the job's journal,
    which costs the training nothing, and ends with this process, after it has uploaded the final
    values. In a process that does not record the job it asks the server that ``HEADWAY_SERVER``
    names for its records instead, on any machine. Where they go: event files in
    ``<tensorboard_dir>/goodput``, and Cloud Monitoring where ``gcp_options`` and the environment
    say so. Methods return None, and do nothing when monitoring is not enabled.

    Args:
        job_name: The job; headway's run of that name.
        logger_name: Not used: the journal is read, not the cloud log.
        tensorboard_dir: A local directory, ``gs://…`` or ``s3://…``; empty: the working directory,
            as in the original; None: no TensorBoard.
        upload_interval: Seconds between uploads.
        monitoring_enabled: Whether this process uploads: only process 0 of a job should.
        pathway_enabled: Means nothing, as in the original.
        include_badput_breakdown: Whether badput is uploaded by kind.
        include_step_deviation: Whether ``start_step_deviation_uploader`` does anything.
        configured_ideal_step_time: Seconds; None: computed from the steps.
        step_deviation_interval_seconds: Seconds between uploads of step deviations.
        gcp_options: How to reach Cloud Monitoring. Never changed.
        skip_final_flush: Whether stopping leaves the final values out.
        final_flush_timeout_seconds: How long stopping may take; None: as long as it takes.
        gcs_sync_interval_seconds: Not used: nothing is cached.
        cache_dir: Not used: nothing is cached.
        max_logs_retention_period: Not used: journals are read from their beginning.
    """

    _ELASTIC = False

    def __init__(
        self,
        job_name: str,
        logger_name: str,
        tensorboard_dir: str,
        upload_interval: int,
        monitoring_enabled: bool = False,
        pathway_enabled: bool = False,
        include_badput_breakdown: bool = False,
        include_step_deviation: bool = False,
        configured_ideal_step_time: Optional[float] = None,
        step_deviation_interval_seconds: int = 10,
        gcp_options: GCPOptions = GCPOptions(),  # noqa: B008
        skip_final_flush: bool = False,
        final_flush_timeout_seconds: Optional[float] = 10,
        gcs_sync_interval_seconds: int = 3600,
        cache_dir: str = "/tmp",
        max_logs_retention_period: Union[datetime.timedelta, float, None] = None,
    ) -> None:
        self._monitoring_enabled = bool(monitoring_enabled)
        self._include_step_deviation = include_step_deviation
        self._skip_final_flush = skip_final_flush
        self._final_flush_timeout_seconds = final_flush_timeout_seconds
        self._goodput: Optional[_Uploader] = None
        self._deviation: Optional[_Uploader] = None
        self._windows: Optional[_Uploader] = None
        if not self._monitoring_enabled:
            _notice.disabled("monitoring of goodput", job_name)
            return
        if os.environ.get("HEADWAY_DISABLED") == "1":
            self._monitoring_enabled = False
            return
        if "\0" in str(job_name):
            logger.warning("%r is not monitored: it can be no run's name", job_name)
            self._monitoring_enabled = False
            return
        try:
            backend, exact = _sinks.backend(), _sources.exact()
        except ValueError as error:
            logger.warning("%r is not monitored: %s", job_name, error)
            self._monitoring_enabled = False
            return
        if backend == "cloud-logging":
            logger.warning(
                "%r is not monitored: with HEADWAY_BACKEND=cloud-logging there is no journal to "
                "read; use HEADWAY_BACKEND=both",
                job_name,
            )
            self._monitoring_enabled = False
            return
        base = [
            "monitor",
            str(job_name),
            *self._project(),
            *["--accounting", "exact" if exact else "compat", "--tags", "incumbent"],
            *["--every", _duration(upload_interval, "upload_interval")],
            *(["--elastic"] if self._ELASTIC else []),
        ]
        if not include_badput_breakdown:
            base += ["--no-badput", *_left_out("badput_breakdown")]
        if configured_ideal_step_time is not None:
            base += ["--ideal-step", repr(float(configured_ideal_step_time))]
        if tensorboard_dir is not None:
            base += ["--tensorboard", _join(os.fspath(tensorboard_dir), _TENSORBOARD_SUBDIRECTORY)]
        cloud = _cloud_arguments(gcp_options)
        goodput_on = gcp_options.enable_gcp_goodput_metrics
        deviation_on = gcp_options.enable_gcp_step_deviation_metrics
        goodput_cloud = cloud if goodput_on else _left_out("gcp_goodput_metrics")
        deviation_cloud = cloud if deviation_on else _left_out("gcp_step_deviation_metrics")
        job = str(job_name)
        self._goodput = _Uploader(f"goodput of {job_name!r}", job, [*base, *goodput_cloud])
        self._windows = _Uploader(
            f"rolling goodput of {job_name!r}", job, [*base, "--windows-only", *goodput_cloud]
        )
        self._deviation = _Uploader(
            f"step deviations of {job_name!r}",
            job,
            [
                *base,
                "--step-deviation-only",
                "--step-deviation-every",
                _duration(step_deviation_interval_seconds, "step_deviation_interval_seconds"),
                *deviation_cloud,
            ],
        )
        logger.info(
            "goodput of %r goes to %s",
            job_name,
            " and ".join(
                [
                    *(
                        [f"TensorBoard in {tensorboard_dir or os.curdir}"]
                        if tensorboard_dir is not None
                        else []
                    ),
                    *([_cloud_words(gcp_options)] if goodput_on or deviation_on else []),
                ]
            )
            or "no destination",
        )

    def start_goodput_uploader(self) -> None:
        """Starts to upload goodput, and badput where it was asked for."""
        if self._monitoring_enabled and self._goodput is not None:
            self._goodput.start()

    def stop_goodput_uploader(self, skip_final_flush: Optional[bool] = None) -> None:
        """Uploads the final values and stops.

        Args:
            skip_final_flush: Whether the final values are left out; None: as constructed.
        """
        self._stop(self._goodput, skip_final_flush)

    def start_step_deviation_uploader(self) -> None:
        """Starts to upload how far each step is off the ideal step time."""
        if self._monitoring_enabled and self._deviation is not None:
            if not self._include_step_deviation:
                logger.info("step deviations are not uploaded: include_step_deviation is off")
                return
            self._deviation.start()

    def stop_step_deviation_uploader(self, skip_final_flush: Optional[bool] = None) -> None:
        """Uploads the final values and stops.

        Args:
            skip_final_flush: Whether the final values are left out; None: as constructed.
        """
        if self._include_step_deviation:
            self._stop(self._deviation, skip_final_flush)

    def start_rolling_window_goodput_uploader(self, rolling_windows_seconds: list[int]) -> None:
        """Starts to upload goodput of the latest stretches of time.

        Args:
            rolling_windows_seconds: How long each is.
        """
        if not self._monitoring_enabled or self._windows is None:
            return
        sizes = [int(size) for size in rolling_windows_seconds or [] if int(size) > 0]
        if not sizes:
            logger.warning(
                "no rolling window of a second or more is among %r: nothing is uploaded",
                rolling_windows_seconds,
            )
            return
        self._windows.start(*(word for size in sizes for word in ("--window", f"{size}s")))

    def stop_rolling_window_goodput_uploader(self, skip_final_flush: Optional[bool] = None) -> None:
        """Uploads the final values and stops.

        Args:
            skip_final_flush: Whether the final values are left out; None: as constructed.
        """
        if self._windows is not None and self._windows.running:
            self._stop(self._windows, skip_final_flush)

    def _stop(self, uploader: Optional[_Uploader], skip_final_flush: Optional[bool]) -> None:
        if not self._monitoring_enabled or uploader is None:
            return
        skip = self._skip_final_flush if skip_final_flush is None else skip_final_flush
        timeout = self._final_flush_timeout_seconds
        if skip:
            timeout = _PROCESS_TERMINATION_TIMEOUT_SECONDS
        seconds = _FOR_EVER if timeout is None else min(float(timeout), _FOR_EVER)
        uploader.stop(seconds, not skip)

    def __del__(self) -> None:
        # The interpreter may be half gone.
        with contextlib.suppress(Exception):
            for uploader in (self._goodput, self._deviation, self._windows):
                if uploader is not None and uploader.running:
                    self._stop(uploader, None)

    @staticmethod
    def _project() -> list[str]:
        project = os.environ.get("HEADWAY_PROJECT")
        return ["--project", project] if project else []


_FOR_EVER = 86_400.0


def _duration(seconds: Any, name: str) -> str:
    try:
        value = float(seconds)
    except (TypeError, ValueError, OverflowError):
        value = 0.0
    if not 0 < value < 1e9:
        logger.warning("%s is %r; once a second is used", name, seconds)
        value = 1.0
    return f"{max(10, round(value * 1000))}ms"


def _place(job_name: str) -> list[str]:
    """Where the job is read: as the calculators do, once it is known who records it."""
    server = _sources.server_of(job_name)
    if server:
        return ["--server", server]
    # With a directory it asks no server.
    return ["--dir", *_sources.dirs()] if os.environ.get("HEADWAY_SERVER") else []


def _left_out(what: str) -> list[str]:
    """Tells ``headway doctor`` what is missing on purpose."""
    return ["--left-out", what]


def _join(directory: str, name: str) -> str:
    if "://" in directory:
        bucket = directory.partition("://")[2].strip("/")
        # Without a bucket it is nothing, and the monitor says so.
        return directory.rstrip("/") + "/" + name if bucket else directory
    try:
        return os.path.join(os.path.abspath(directory), name)
    except OSError:  # the working directory is gone
        return os.path.join(directory, name)


def _cloud_words(options: GCPOptions) -> str:
    if options.project_id and options.location:
        return f"Cloud Monitoring of project {options.project_id}"
    return "Cloud Monitoring, if this machine is on Google Cloud"


def _cloud_arguments(options: GCPOptions) -> list[str]:
    """Where Cloud Monitoring is; what is None the monitor asks the machine for, where there is such
    a thing, and elsewhere it sends nothing there."""
    arguments = ["--cloud-monitoring", "--cloud-if-there"]
    for flag, value in (
        ("--cloud-project", options.project_id),
        ("--cloud-location", options.location),
        ("--replica", options.replica_id),
        ("--accelerator", options.acc_type),
        ("--cluster", options.cluster_name),
    ):
        if value is not None and str(value):
            arguments += [flag, str(value)]
    return arguments
