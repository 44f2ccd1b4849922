"""Recorder and calculator."""

from __future__ import annotations

import datetime
import logging
import threading
from collections.abc import Callable
from typing import Any, Optional

from headway import _native

from ml_goodput_measurement.src import (
    _notice,
    _sinks,
    _sources,
    checkpoint_badput_calculator,
    exclusion_utils,
    goodput_cache,
    goodput_utils,
)
from ml_goodput_measurement.src._cloud import CloudLogger as _CloudLogger
from ml_goodput_measurement.src._result import Goodput, GoodputWithExclusions
from ml_goodput_measurement.src._time import from_seconds, to_seconds, utc

BadputType = goodput_utils.BadputType
CheckpointBadputCalculator = checkpoint_badput_calculator.CheckpointBadputCalculator
CheckpointLoggerOptions = checkpoint_badput_calculator.CheckpointLoggerOptions
GoodputCache = goodput_cache.GoodputCache
GoodputInfo = goodput_utils.GoodputInfo
GoodputType = goodput_utils.GoodputType
IntervalMetricType = goodput_utils.IntervalMetricType
IntervalWorkloadMetricDetails = goodput_utils.IntervalWorkloadMetricDetails
MetricType = goodput_utils.MetricType
StepInfo = goodput_utils.StepInfo
UnproductiveTimeDict = goodput_utils.UnproductiveTimeDict
WorkloadMetricDetails = goodput_utils.WorkloadMetricDetails
compute_ideal_step_time = goodput_utils.compute_ideal_step_time
get_extra_time_from_anomalous_steps = goodput_utils.get_extra_time_from_anomalous_steps
get_timestamp_from_log_entry = goodput_utils.get_timestamp_from_log_entry

_CLOUD_LOGGING_DEFAULT_RETENTION = datetime.timedelta(days=7)

_JOB_NAME = "job_name"
_STEP_COUNT = "step_count"
_STEP_START_TIME = "step_start_time"
_JOB_START_TIME = "job_start_time"
_JOB_END_TIME = "job_end_time"
_TPU_INIT_START_TIME = "tpu_init_start_time"
_TPU_INIT_END_TIME = "tpu_init_end_time"
_TRAINING_PREPARATION_START_TIME = "training_prep_start_time"
_TRAINING_PREPARATION_END_TIME = "training_prep_end_time"
_DATA_LOADING_START_TIME = "data_loading_start_time"
_DATA_LOADING_END_TIME = "data_loading_end_time"
_CUSTOM_BADPUT_EVENT_TYPE = "custom_badput_event_type"
_CUSTOM_BADPUT_EVENT_START_TIME = "custom_badput_event_start_time"
_CUSTOM_BADPUT_EVENT_END_TIME = "custom_badput_event_end_time"

logger = logging.getLogger(__name__)

_Time = Optional[datetime.datetime]


class GoodputRecorder:
    """Records what a training job does.

    Every ``record_*`` method returns at once. Times without a zone are UTC; None is now. Recorders
    of one job in one process share its journal.

    Args:
        job_name: The job; headway's run of that name.
        logger_name: Name of the cloud log, where one is written.
        logging_enabled: Whether this process records: only process 0 of a job should.
        cloud_logger: An object with ``write_cloud_logging_entry(dict)`` and ``flush()`` that gets
            the original's entries instead of headway's journal.
        background_grace_period_s: Of the cloud log.
        background_batch_size: Of the cloud log.
        background_max_latency_s: Of the cloud log.

    Attributes:
        job_name: The job.
    """

    def __init__(
        self,
        job_name: str,
        logger_name: str,
        logging_enabled: bool = False,
        cloud_logger: Any = None,
        *,
        background_grace_period_s: float = 5.0,
        background_batch_size: int = 100,
        background_max_latency_s: float = 2.0,
    ) -> None:
        self.job_name = job_name
        self._cloud_logger: Any = None
        self._sink: Optional[_sinks.Sink] = None
        if not logging_enabled:
            _notice.disabled("recording of goodput", job_name)
            return
        if cloud_logger is not None:
            self._cloud_logger = cloud_logger
            self._sink = _sinks.EntrySink(job_name, cloud_logger)
            return
        backend = _backend()
        journal = None if backend == "cloud-logging" else _sinks.journal_of(str(job_name), self)
        if journal is not None:
            self._sink = journal
            if backend == "journal":
                return
        try:
            cloud_logger = _CloudLogger(
                job_name,
                logger_name,
                background_grace_period_s=background_grace_period_s,
                background_batch_size=background_batch_size,
                background_max_latency_s=background_max_latency_s,
            )
        except Exception as error:
            if journal is None:
                raise
            logger.warning("%r is recorded in the journal only, not in a log: %s", job_name, error)
            return
        self._cloud_logger = cloud_logger
        sink = _sinks.EntrySink(job_name, cloud_logger)
        self._sink = sink if journal is None else _sinks.BothSink(journal, sink)

    def flush(self) -> None:
        """Waits until what was recorded is where it belongs. In a journal it always is."""
        if self._sink is not None:
            self._sink.flush()

    def record_step_start_time(self, step: int, start_time: _Time = None) -> None:
        """A step starts; the step before it has ended.

        Args:
            step: Its number.
            start_time: When, in UTC; None: now.
        """
        if self._sink is not None:
            self._sink.step(int(step), start_time)

    def record_checkpoint_progress(self, step: int, checkpoint_start_time: _Time) -> None:
        """Does nothing, like the original."""

    def record_job_start_time(self, start_time: _Time = None) -> None:
        """The job starts or restarts."""
        if self._sink is not None:
            self._sink.job_start(start_time)

    def record_job_end_time(self, end_time: _Time = None) -> None:
        """The job is complete."""
        if self._sink is not None:
            self._sink.job_end(end_time)

    def record_tpu_init_start_time(self, start_time: _Time = None) -> None:
        """Initialising accelerators begins."""
        if self._sink is not None:
            self._sink.begin(_sinks.TPU_INIT, "", start_time)

    def record_tpu_init_end_time(self, end_time: _Time = None) -> None:
        """Initialising accelerators ends."""
        if self._sink is not None:
            self._sink.end(_sinks.TPU_INIT, "", end_time)

    def record_training_preparation_start_time(self, start_time: _Time = None) -> None:
        """Preparing to train (checkpoint manager, mesh, optimizer, …) begins."""
        if self._sink is not None:
            self._sink.begin(_sinks.TRAINING_PREP, "", start_time)

    def record_training_preparation_end_time(self, end_time: _Time = None) -> None:
        """Preparing to train ends."""
        if self._sink is not None:
            self._sink.end(_sinks.TRAINING_PREP, "", end_time)

    def record_data_loading_start_time(self, start_time: _Time = None) -> None:
        """Loading data begins."""
        if self._sink is not None:
            self._sink.begin(_sinks.DATA_LOADING, "", start_time)

    def record_data_loading_end_time(self, end_time: _Time = None) -> None:
        """Loading data ends."""
        if self._sink is not None:
            self._sink.end(_sinks.DATA_LOADING, "", end_time)

    def record_custom_badput_event_start_time(
        self, start_time: _Time = None, custom_badput_event_type: str = "unknown"
    ) -> None:
        """Something that blocks training begins: an evaluation, an SDC check."""
        if self._sink is not None:
            self._sink.begin(_sinks.CUSTOM, custom_badput_event_type, start_time)

    def record_custom_badput_event_end_time(
        self, end_time: _Time = None, custom_badput_event_type: str = "unknown"
    ) -> None:
        """It ends."""
        if self._sink is not None:
            self._sink.end(_sinks.CUSTOM, custom_badput_event_type, end_time)


class GoodputCalculator:
    """Says how much of a job's time made progress, and where the rest went.

    Safe to use from several threads and in several processes at once.

    Args:
        job_name: The job; headway's run of that name.
        logger_name: Name of the cloud log, where one is read.
        cloud_logger: An object with ``read_cloud_logging_entries(start_time, end_time,
            last_entry_info)`` that is read instead of headway's journals.
        using_pathways: Kept as an attribute; means nothing, as in the original.
        max_logs_retention_period: How far back a cloud log is read: a timedelta, or seconds.
            Journals are read from their beginning.
        gcs_path: Not used: nothing is cached.
        cache_dir: Not used: nothing is cached.

    Attributes:
        job_name: The job.
        using_pathways: As given.
    """

    _ELASTIC = False

    def __init__(
        self,
        job_name: str,
        logger_name: str,
        cloud_logger: Any = None,
        using_pathways: bool = False,
        max_logs_retention_period: Optional[datetime.timedelta] = None,
        gcs_path: Optional[str] = None,
        cache_dir: str = "/tmp",
    ) -> None:
        self.job_name = job_name
        self.using_pathways = using_pathways
        self._lock = threading.RLock()
        if cloud_logger is None and _sinks.backend() == "cloud-logging":
            cloud_logger = _CloudLogger(job_name, logger_name, max_logs_retention_period)
        self._cloud_logger: Any = cloud_logger
        self._source: _sources.Source = (
            _sources.JournalSource(str(job_name), self._ELASTIC)
            if cloud_logger is None
            else _sources.LogSource(cloud_logger, self._ELASTIC)
        )
        self._goodput_cache = GoodputCache(job_name)
        self._steps: Optional[Callable[[], StepInfo]] = None
        self._last_details: _Time = None

    def sync_to_gcs(self) -> None:
        """Does nothing: there is no cache to bring to safety."""

    def get_job_goodput(
        self,
        include_badput_breakdown: bool = False,
        configured_ideal_step_time: Optional[float] = None,
    ) -> tuple[float, UnproductiveTimeDict, int]:
        """Goodput of the whole job up to now.

        Args:
            include_badput_breakdown: Whether the second item is filled.
            configured_ideal_step_time: Seconds; None: computed from the steps.

        Returns:
            Goodput in percent; badput in percent by kind, or {}; the last productive step. The
            tuple also formats and converts as its first item.

        Raises:
            ValueError: No job start was recorded, or the records contradict each other.
        """
        with self._lock:
            answer = self._ask(lambda source: source.cumulative())
            self._keep(answer)
            self._steps = lambda: self._step_info(configured_ideal_step_time)
        breakdown = self._breakdown(answer) if include_badput_breakdown else {}
        return Goodput((answer.goodput, breakdown, answer.max_step))

    def get_job_goodput_interval(
        self, interval_start: datetime.datetime, interval_end: datetime.datetime
    ) -> tuple[float, UnproductiveTimeDict, int, float, int]:
        """Goodput of an interval.

        Args:
            interval_start: Without a zone it is UTC.
            interval_end: Likewise.

        Returns:
            Goodput in percent; badput in percent by kind; the last productive step; seconds in all;
            number of disruptions.

        Raises:
            ValueError: Nothing was recorded in the interval, or it contradicts itself.
        """
        if interval_start is None or interval_end is None:
            raise ValueError("an interval has a start and an end")
        window = self._interval(interval_start, interval_end)
        answer = window.answer
        if answer is None:
            raise ValueError(window.problem)
        return Goodput(
            (
                answer.goodput,
                self._breakdown(answer),
                answer.max_step,
                answer.total,
                answer.disruptions,
            )
        )

    def get_job_goodput_with_exclusions(
        self,
        exclusion_intervals: list[tuple[datetime.datetime, datetime.datetime]],
        include_badput_breakdown: bool = False,
        configured_ideal_step_time: Optional[float] = None,
    ) -> tuple[float, UnproductiveTimeDict, int, float]:
        """Goodput of the whole job without some stretches of time.

        Args:
            exclusion_intervals: (start, end); zone ``datetime.timezone.utc``.
            include_badput_breakdown: Whether the second item is filled.
            configured_ideal_step_time: Seconds; None: computed from what is left of the steps.

        Returns:
            Goodput in percent; badput in percent by kind, or {}; the last productive step; seconds
            that were excluded. All of it excluded: (0.0, {}, step, seconds).
        """
        exclusions = exclusion_utils.normalize_intervals(exclusion_intervals)
        with self._lock:
            answer, times = self._ask(lambda source: source.without(exclusions))
            if answer.total == 0.0:
                return GoodputWithExclusions((0.0, {}, answer.max_step, answer.excluded))
            self._keep(answer)
            ideal = configured_ideal_step_time or compute_ideal_step_time(list(times.values()))
            if ideal is not None:
                info = StepInfo(ideal, {step: time - ideal for step, time in times.items()})
                self._steps = lambda: info
        breakdown = self._breakdown(answer) if include_badput_breakdown else {}
        return GoodputWithExclusions(
            (answer.goodput, breakdown, answer.max_step, answer.excluded)
        )

    def get_step_deviation(
        self, configured_ideal_step_time: Optional[float] = None
    ) -> dict[int, float]:
        """How far each step's time is from the ideal one, in seconds.

        Raises:
            ValueError: There is no complete step, or no ideal step time.
        """
        with self._lock:
            self._ask(lambda source: source.refresh())
            info = self._step_info(configured_ideal_step_time)
            self._steps = lambda: info
            return info.step_deviations

    def get_job_goodput_details(self) -> WorkloadMetricDetails:
        """What the last call for the whole job came to, in seconds; zeros before the first."""
        with self._lock:
            info = self._goodput_cache.get_goodput_info()
            if info is None:
                logger.warning("no goodput has been asked for yet")
                return {
                    "goodput_time": {},
                    "badput_time": {},
                    "max_productive_step": 0,
                    "total_elapsed_time": 0.0,
                    "disruption_count": 0,
                    "step_time_deviation": {},
                    "ideal_step_time": 0.0,
                    "total_excluded_time": 0.0,
                }
            steps = StepInfo(0.0, {})
            if self._steps is not None:
                try:
                    steps = self._steps()
                except ValueError as error:
                    logger.info("no step times: %s", error)
            return {
                "goodput_time": {GoodputType.TOTAL: info.total_productive_time},
                "badput_time": info.total_unproductive_time,
                "max_productive_step": info.max_productive_step,
                "total_elapsed_time": info.total_elapsed_time,
                "disruption_count": info.number_of_disruptions,
                "step_time_deviation": steps.step_deviations,
                "ideal_step_time": steps.ideal_step_time,
                "total_excluded_time": 0.0,
            }

    def get_interval_metric_details(
        self, interval_start: datetime.datetime, interval_end: datetime.datetime
    ) -> IntervalWorkloadMetricDetails:
        """Goodput and badput of an interval, in percent; {} where they can't be known."""
        details, _ = self._interval_details(interval_start, interval_end)
        return details

    def _interval_details(
        self, start: datetime.datetime, end: datetime.datetime
    ) -> tuple[IntervalWorkloadMetricDetails, Optional[tuple[float, float]]]:
        details: IntervalWorkloadMetricDetails = {
            "interval_goodput": {},
            "interval_badput": {},
            "interval_size": int((utc(end) - utc(start)).total_seconds()),
        }
        try:
            window = self._interval(start, end)
        except ValueError as error:
            logger.warning("no goodput of %s to %s: %s", start, end, error)
            return details, None
        if window.answer is None:
            logger.warning("no goodput of %s to %s: %s", start, end, window.problem)
        else:
            details["interval_goodput"] = {GoodputType.TOTAL: window.answer.goodput}
            details["interval_badput"] = self._breakdown(window.answer)
        return details, window.efficiency

    def _interval(self, start: datetime.datetime, end: datetime.datetime) -> _sources.Window:
        with self._lock:
            window: _sources.Window = self._ask(lambda source: source.window(start, end))
            return window

    def _ask(self, question: Callable[[_sources.Source], Any]) -> Any:
        try:
            return question(self._source)
        except _native.Error as error:
            raise ValueError(str(error.args[-1])) from error

    def _keep(self, answer: _sources.Answer) -> None:
        self._goodput_cache.update_goodput_info(
            GoodputInfo(
                total_productive_time=answer.productive,
                total_elapsed_time=answer.total,
                total_unproductive_time=answer.unproductive,
                max_productive_step=answer.max_step,
                last_recorded_step=answer.last_step,
                number_of_disruptions=answer.disruptions,
                total_excluded_time=answer.excluded,
            )
        )

    def _step_info(self, configured_ideal: Optional[float]) -> StepInfo:
        seconds, ideal = self._source.step_times()
        if not seconds:
            raise ValueError("no step is complete yet")
        if configured_ideal is not None:
            ideal = configured_ideal
        if not ideal:
            raise ValueError(
                "no ideal step time: all steps took less than 1 s; configure one "
                "(configured_ideal_step_time)"
            )
        return StepInfo(ideal, {step: abs(time - ideal) for step, time in seconds.items()})

    def _breakdown(self, answer: _sources.Answer) -> UnproductiveTimeDict:
        """Percent by kind; kinds of elastic jobs in their calculator only."""
        kinds = [kind for kind in BadputType if self._ELASTIC or kind not in _ELASTIC_KINDS]

        def percent(seconds: float) -> float:
            whole = seconds == answer.total and not _sources.exact()
            return 0.0 if whole or not 0 < seconds <= answer.total else seconds / answer.total * 100

        breakdown: UnproductiveTimeDict = {}
        for kind in kinds:
            value = answer.unproductive.get(kind, 0.0)
            if kind is BadputType.CUSTOM_BADPUT_EVENTS:
                custom = value if isinstance(value, dict) else {}
                breakdown[kind] = {name: percent(seconds) for name, seconds in custom.items()}
            else:
                assert isinstance(value, float)
                breakdown[kind] = percent(value)
        return breakdown


def _backend() -> str:
    """The backend to record into; a word that is none must not stop training."""
    try:
        return _sinks.backend()
    except ValueError as error:
        logger.warning("%s; records go to a journal", error)
        return "journal"


_ELASTIC_KINDS = (
    BadputType.ELASTIC_SLICE_DOWN,
    BadputType.ELASTIC_SCALE_UP,
    BadputType.ELASTIC_REINITIALIZATION,
)


def __getattr__(name: str) -> Any:
    if name == "GoodputMonitor":  # documented here, and it needs this module
        from ml_goodput_measurement.src import monitoring

        return monitoring.GoodputMonitor
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
