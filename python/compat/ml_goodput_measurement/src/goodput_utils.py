"""Types and small functions shared by the other modules."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import logging
import os
import statistics
import urllib.error
import urllib.request
from typing import Any, Optional, TypedDict, Union

from headway import _native

_log = logging.getLogger(__name__)


@dataclasses.dataclass
class GCPOptions:
    """How to reach Cloud Monitoring; what is None comes from the metadata server.

    Attributes:
        project_id: Project of the metrics.
        location: Zone or region of the workload.
        replica_id: Which replica of the workload this is.
        acc_type: Accelerator, as a label.
        cluster_name: Cluster, as a label.
        enable_gcp_goodput_metrics: Whether goodput and badput are uploaded.
        enable_gcp_step_deviation_metrics: Whether step deviations are uploaded.
    """

    project_id: Optional[str] = None
    location: Optional[str] = None
    replica_id: str = "0"
    acc_type: Optional[str] = None
    cluster_name: Optional[str] = None
    enable_gcp_goodput_metrics: bool = True
    enable_gcp_step_deviation_metrics: bool = True


class MetricType(enum.Enum):
    """Metrics of the whole job."""

    GOODPUT_TIME = "goodput_time"
    BADPUT_TIME = "badput_time"
    MAX_PRODUCTIVE_STEP = "max_productive_step"
    TOTAL_ELAPSED_TIME = "total_elapsed_time"
    DISRUPTION_COUNT = "disruption_count"
    STEP_TIME_DEVIATION = "step_time_deviation"
    IDEAL_STEP_TIME = "ideal_step_time"
    TOTAL_EXCLUDED_TIME = "total_excluded_time"


class IntervalMetricType(enum.Enum):
    """Metrics of an interval."""

    INTERVAL_GOODPUT = "interval_goodput"
    INTERVAL_BADPUT = "interval_badput"
    INTERVAL_SIZE = "interval_size"


class GoodputType(enum.Enum):
    """Productive time; there is one kind."""

    TOTAL = 1


class BadputType(enum.Enum):
    """Where unproductive time goes. ``headway goodput --help`` has the exact categories."""

    TPU_INITIALIZATION = 1
    TRAINING_PREP = 2
    PROGRAM_STARTUP = 3
    DATA_LOADING_SYNC = 4
    DATA_LOADING_ASYNC = 5
    UNPRODUCTIVE_CHECKPOINT_SAVE_TIME = 6
    UNPRODUCTIVE_CHECKPOINT_RESTORE_TIME = 7
    WASTED_PROGRESS_FROM_DISRUPTION = 8
    INFRASTRUCTURE_RECOVERY_FROM_DISRUPTION = 9
    CUSTOM_BADPUT_EVENTS = 10
    OTHER = 11
    ELASTIC_SLICE_DOWN = 12
    ELASTIC_SCALE_UP = 13
    ELASTIC_REINITIALIZATION = 14


UnproductiveTimeDict = dict[BadputType, Union[float, dict[str, float]]]


class WorkloadMetricDetails(TypedDict):
    """The whole job, in seconds."""

    goodput_time: dict[GoodputType, float]
    badput_time: UnproductiveTimeDict
    max_productive_step: int
    total_elapsed_time: float
    disruption_count: int
    step_time_deviation: dict[int, float]
    ideal_step_time: float
    total_excluded_time: float


class IntervalWorkloadMetricDetails(TypedDict):
    """An interval, in percent; its size in seconds."""

    interval_goodput: dict[GoodputType, float]
    interval_badput: UnproductiveTimeDict
    interval_size: int


class ElasticWorkloadMetricDetails(WorkloadMetricDetails, total=False):
    """With slice efficiencies, 0..1, once slices were recorded."""

    stepping_slice_efficiency: float
    available_slice_efficiency: float


class ElasticIntervalWorkloadMetricDetails(IntervalWorkloadMetricDetails, total=False):
    """With slice efficiencies, 0..1, where slices were recorded."""

    stepping_slice_efficiency: float
    available_slice_efficiency: float


class MonitoringWindowType(enum.Enum):
    """What an uploaded metric is about."""

    CUMULATIVE = "cumulative"
    INTERVAL = "interval"


#: Badput that takes no time from training.
ACTIVITY_EXCLUSION_LIST = ["DATA_LOADING_ASYNC"]

#: What a machine type has in its name, and the accelerator that tells: the first hit counts.
MACHINE_TYPE_TO_ACCELERATOR_TYPE_MAPPING = {
    "tpu7x": "TPU-7x",
    "ct6e": "TPU-v6e",
    "ct5p": "TPU-v5p",
    "ct5lp": "TPU-v5e",
    "ct5l": "TPU-v5e",
    "ct4p": "TPU-v4p",
    "ct3p": "TPU-v3",
    "ct3": "TPU-v3",
    "tpu-v2": "TPU-v2",
    "tpu": "TPU",
    "a3-edgegpu": "NVIDIA-H100",
    "a3-highgpu": "NVIDIA-H100",
    "a3-megagpu": "NVIDIA-H100",
    "a3-ultragpu": "NVIDIA-H200",
    "a2": "NVIDIA-A100",
    "gpu": "GPU",
}


class GoodputInfo:
    """What the last query of the whole job came to, in seconds."""

    def __init__(
        self,
        total_productive_time: float = 0.0,
        total_elapsed_time: float = 0.0,
        total_unproductive_time: Optional[UnproductiveTimeDict] = None,
        max_productive_step: int = 0,
        last_recorded_step: int = 0,
        last_updated_timestamp: Optional[datetime.datetime] = None,
        number_of_disruptions: int = 0,
        total_excluded_time: float = 0.0,
    ) -> None:
        self.total_productive_time = total_productive_time
        self.total_elapsed_time = total_elapsed_time
        self.total_unproductive_time: UnproductiveTimeDict = total_unproductive_time or {}
        self.max_productive_step = max_productive_step
        self.last_recorded_step = last_recorded_step
        self.last_updated_timestamp = last_updated_timestamp or datetime.datetime.now(
            datetime.timezone.utc
        )
        self.number_of_disruptions = number_of_disruptions
        self.total_excluded_time = total_excluded_time


class StepInfo:
    """Ideal step time and how far each step is off, in seconds."""

    def __init__(self, ideal_step_time: float, step_deviations: dict[int, float]) -> None:
        self.ideal_step_time = ideal_step_time
        self.step_deviations = step_deviations


def compute_percentile(values: list[float], percentile: float) -> float:
    """The percentile (0..100) by linear interpolation; 0.0 without values."""
    if not values:
        return 0.0
    ordered = sorted(values)
    place = (len(ordered) - 1) * (percentile / 100.0)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


_RECENT = 100
_BASELINE = 1000


def compute_step_deviation_from_baseline(
    step_time_deviation: dict[int, float],
    mode: MonitoringWindowType = MonitoringWindowType.CUMULATIVE,
    recent_window_size: int = _RECENT,
    baseline_window_size: int = _BASELINE,
    spike_percentile: int = 90,
) -> float:
    """How much recent steps are off, in seconds.

    Args:
        step_time_deviation: Deviation by step, oldest first.
        mode: CUMULATIVE: against the median of the steps before; INTERVAL: as they are.
        recent_window_size: Steps that are recent.
        baseline_window_size: Steps before them.
        spike_percentile: Percentile of the recent steps that counts.

    Returns:
        The mean as long as there are fewer than 100 steps, then the percentile of the recent ones;
        where there are enough before them, less their median.

    Raises:
        ValueError: ``mode`` is neither.
    """
    if not step_time_deviation:
        return 0.0
    off = [abs(deviation) for deviation in step_time_deviation.values()]
    if len(off) < _RECENT:
        return statistics.fmean(off)
    if mode not in (MonitoringWindowType.CUMULATIVE, MonitoringWindowType.INTERVAL):
        raise ValueError(f"unsupported mode: {mode}")
    recent = off[-recent_window_size:]
    spike = compute_percentile(recent, spike_percentile)
    if mode == MonitoringWindowType.INTERVAL:
        return spike
    if len(off) < recent_window_size + baseline_window_size:
        return spike
    baseline = off[-(recent_window_size + baseline_window_size) : -recent_window_size]
    return spike - statistics.median(baseline) if baseline else spike


def compute_ideal_step_time(step_times: list[float]) -> Optional[float]:
    """Mean of the times up to median + 3 median absolute deviations; those below 1 s are left out.

    None when that leaves none.
    """
    return _native.ideal_step_time(step_times)


def _split_anomalies(step_times: list[float]) -> tuple[list[float], list[float]]:
    median = statistics.median(step_times)
    spread = statistics.median([abs(time - median) for time in step_times])
    limit = median + spread * 3
    return [t for t in step_times if t > limit], [t for t in step_times if t <= limit]


def get_anomalous_and_normal_step_times(
    step_times: list[Any],
) -> tuple[list[Any], list[Any]]:
    """The times beyond median + 3 median absolute deviations, and the others."""
    return _split_anomalies(step_times)


def get_extra_time_from_anomalous_steps(step_times: list[Any]) -> float:
    """By how much the anomalous times exceed the mean of the others, in all."""
    anomalous, normal = _split_anomalies(step_times)
    return sum(anomalous) - len(anomalous) * statistics.fmean(normal)


def get_timestamp_from_log_entry(entry: dict[str, Any]) -> Optional[datetime.datetime]:
    """The entry's time: the first value whose key has "time" in it; None without one."""
    for key, value in entry.items():
        if "time" in key and value is not None:
            return datetime.datetime.fromtimestamp(value, datetime.timezone.utc)
    return None


def _metadata_host() -> str:
    return os.environ.get("GCE_METADATA_HOST", "metadata.google.internal")


def get_gcp_metadata(
    category: str, attribute: str, timeout: float = 5, retries: int = 3
) -> Optional[str]:
    """Asks the metadata server of Google Cloud.

    Args:
        category: "instance" or "project".
        attribute: What to ask for, such as "id" or "zone".
        timeout: Seconds for one try.
        retries: Further tries after an answer that asks for them (429, 5xx).

    Returns:
        The answer, or None where there is none.
    """
    url = f"http://{_metadata_host()}/computeMetadata/v1/{category}/{attribute}"
    request = urllib.request.Request(url, headers={"Metadata-Flavor": "Google"})
    reason: Exception | None = None
    for _ in range(retries + 1):
        try:
            with urllib.request.urlopen(request, timeout=timeout) as response:
                return str(response.read().decode())
        except urllib.error.HTTPError as error:
            reason = error
            if error.code not in (429, 500, 502, 503, 504):
                break
        except (OSError, ValueError) as error:
            reason = error
            break
    _log.warning("no metadata %s/%s: %s", category, attribute, reason)
    return None


def get_gcp_project_id() -> Optional[str]:
    """Project of this machine, or None."""
    return get_gcp_metadata("project", "project-id")


def get_node_zone() -> Optional[str]:
    """Zone of this machine, or None."""
    path = get_gcp_metadata("instance", "zone")
    return path.rsplit("/", 1)[-1] if path else None


def get_accelerator_type() -> str:
    """Accelerator that the machine type tells of, or "UNKNOWN"."""
    path = get_gcp_metadata("instance", "machine-type")
    machine = path.rsplit("/", 1)[-1].lower() if path else ""
    for part, accelerator in MACHINE_TYPE_TO_ACCELERATOR_TYPE_MAPPING.items():
        if machine and part in machine:
            return accelerator
    return "UNKNOWN"


def get_cluster_name() -> Optional[str]:
    """Cluster of this machine, or None."""
    return get_gcp_metadata("instance", "attributes/cluster-name")
