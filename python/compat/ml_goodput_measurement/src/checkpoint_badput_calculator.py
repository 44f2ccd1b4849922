"""Statistics of what Orbax reported about saves and restores.

A report of one step may come from every process: their mean counts for the step. All numbers are
seconds.
"""

from __future__ import annotations

import argparse
import dataclasses
import statistics
from collections.abc import Iterable
from typing import Any, Optional

OPERATION_TYPE_SAVE = "save"
OPERATION_TYPE_RESTORE = "restore"
OPERATION_TYPE_EMERGENCY_RESTORE = "emergency_restore"

OPERATION_TYPE_LOCAL = "local"
OPERATION_TYPE_PERSISTENT = "persistent"
OPERATION_TYPE_PERSISTENT_AND_LOCAL = "persistent_and_local"

_PAGE = 10_000
_RESTORES = (OPERATION_TYPE_RESTORE, OPERATION_TYPE_EMERGENCY_RESTORE)


@dataclasses.dataclass
class SaveCheckpointManagerVerticalStepStats:
    """Saves, over all steps."""

    total_checkpoint_manager_blocking_time: float = 0.0
    average_checkpoint_manager_blocking_time: float = 0.0
    minimum_checkpoint_manager_blocking_time: float = 0.0
    maximum_checkpoint_manager_blocking_time: float = 0.0
    standard_deviation_checkpoint_manager_blocking_time: float = 0.0
    total_checkpointer_blocking_time: float = 0.0
    average_checkpointer_blocking_time: float = 0.0
    minimum_checkpointer_blocking_time: float = 0.0
    maximum_checkpointer_blocking_time: float = 0.0
    standard_deviation_checkpointer_blocking_time: float = 0.0
    total_wait_for_prev_time: float = 0.0
    average_wait_for_prev_time: float = 0.0
    minimum_wait_for_prev_time: float = 0.0
    maximum_wait_for_prev_time: float = 0.0
    standard_deviation_wait_for_prev_time: float = 0.0
    total_get_old_steps_time: float = 0.0
    average_get_old_steps_time: float = 0.0
    minimum_get_old_steps_time: float = 0.0
    maximum_get_old_steps_time: float = 0.0
    standard_deviation_get_old_steps_time: float = 0.0


@dataclasses.dataclass
class RestoreCheckpointManagerVerticalStepStats:
    """Restores, over all steps."""

    total_checkpoint_manager_time: float = 0.0
    average_checkpoint_manager_time: float = 0.0
    minimum_checkpoint_manager_time: float = 0.0
    maximum_checkpoint_manager_time: float = 0.0
    standard_deviation_checkpoint_manager_time: float = 0.0
    total_restore_time: float = 0.0
    average_restore_time: float = 0.0
    minimum_restore_time: float = 0.0
    maximum_restore_time: float = 0.0
    standard_deviation_restore_time: float = 0.0
    total_broadcast_time: float = 0.0
    average_broadcast_time: float = 0.0
    minimum_broadcast_time: float = 0.0
    maximum_broadcast_time: float = 0.0
    standard_deviation_broadcast_time: float = 0.0


@dataclasses.dataclass
class SaveProcessedStep:
    """Saves of one step; ``occurrence`` reports of it, added up."""

    step: str = ""
    total_checkpoint_manager_blocking_time: float = 0.0
    total_checkpointer_blocking_time: float = 0.0
    total_wait_for_prev_time: float = 0.0
    total_get_old_steps_time: float = 0.0
    occurrence: int = 0


@dataclasses.dataclass
class RestoreProcessedStep:
    """Restores of one step; ``occurrence`` reports of it, added up."""

    step: str = ""
    total_checkpoint_manager_time: float = 0.0
    total_restore_time: float = 0.0
    total_broadcast_time: float = 0.0
    broadcast_occurrence: int = 0
    occurrence: int = 0


@dataclasses.dataclass
class CheckpointLoggerOptions:
    """Where reports are read from.

    Attributes:
        job_name: The job.
        logger_name: Its log in Cloud Logging.
        client: A client of Cloud Logging; None: a new one.
        use_goodput_logger: Reports are put into ``entries`` by the caller.
    """

    job_name: str = "checkpoint_job"
    logger_name: str = "checkpoint_logger"
    client: Optional[Any] = None
    use_goodput_logger: bool = False


class CheckpointBadputCalculator:
    """Adds up reports.

    Args:
        options: Where they are read from.

    Attributes:
        entries: The reports: dicts as Orbax writes them.
    """

    def __init__(self, options: Optional[CheckpointLoggerOptions] = None) -> None:
        self._options = options or CheckpointLoggerOptions()
        self._use_goodput_logger = self._options.use_goodput_logger
        self.entries: list[dict[str, Any]] = []
        if not self._use_goodput_logger:
            self.logging_client = self._options.client or _new_client()
            self._logger = self.logging_client.logger(self._options.logger_name)

    def read_entries(self) -> list[dict[str, Any]]:
        """The reports, oldest first."""
        if self._use_goodput_logger:
            return self.entries
        job = self._options.job_name
        kinds = " OR ".join(f"jsonPayload.event_type={kind}" for kind in ("save", *_RESTORES))
        found = self._logger.list_entries(
            filter_=f'severity=INFO AND jsonPayload.job_name="{job}" AND ({kinds})',
            order_by="timestamp asc",
            page_size=_PAGE,
        )
        return [entry.payload for entry in found]

    def is_valid_save_stats(
        self,
        step_stats: dict[str, Any],
        operation_type: Optional[str] = OPERATION_TYPE_PERSISTENT_AND_LOCAL,
    ) -> bool:
        """Whether it is a save, to where ``operation_type`` says."""
        if step_stats.get("event_type") != OPERATION_TYPE_SAVE:
            return False
        if operation_type == OPERATION_TYPE_LOCAL:
            return self._is_local_operation(step_stats)
        if operation_type == OPERATION_TYPE_PERSISTENT:
            return not self._is_local_operation(step_stats)
        return True

    def is_valid_restore_stats(
        self,
        step_stats: dict[str, Any],
        operation_type: Optional[str] = OPERATION_TYPE_PERSISTENT_AND_LOCAL,
    ) -> bool:
        """Whether it is a restore; an emergency restore is a local one."""
        kind = step_stats.get("event_type")
        if operation_type == OPERATION_TYPE_LOCAL:
            return kind == OPERATION_TYPE_EMERGENCY_RESTORE
        if operation_type == OPERATION_TYPE_PERSISTENT:
            return kind == OPERATION_TYPE_RESTORE
        return kind in _RESTORES

    def calculate_save_operation_checkpoint_manager_blocking_time(
        self, operation_type: Optional[str] = OPERATION_TYPE_PERSISTENT_AND_LOCAL
    ) -> SaveCheckpointManagerVerticalStepStats:
        """Adds up the saves."""
        self.entries = self.read_entries()
        steps: dict[str, SaveProcessedStep] = {}
        for entry in self.entries:
            if not self.is_valid_save_stats(entry, operation_type):
                continue
            key = self._key(entry)
            step = steps.setdefault(key, SaveProcessedStep(step=key))
            step.total_checkpoint_manager_blocking_time += _seconds(
                entry, "checkpoint_manager_blocking_duration_secs"
            )
            step.total_checkpointer_blocking_time += _seconds(
                entry, "checkpointer_blocking_duration_secs"
            )
            step.total_wait_for_prev_time += _seconds(entry, "wait_for_prev_duration_secs")
            step.total_get_old_steps_time += _seconds(entry, "get_old_steps_duration_secs")
            step.occurrence += 1
        stats = SaveCheckpointManagerVerticalStepStats()
        for name in (
            "checkpoint_manager_blocking_time",
            "checkpointer_blocking_time",
            "wait_for_prev_time",
            "get_old_steps_time",
        ):
            means = [getattr(s, f"total_{name}") / s.occurrence for s in steps.values()]
            _fill(stats, name, means, len(means))
        return stats

    def calculate_restore_operation_checkpoint_manager_blocking_time(
        self, operation_type: Optional[str] = OPERATION_TYPE_PERSISTENT_AND_LOCAL
    ) -> RestoreCheckpointManagerVerticalStepStats:
        """Adds up the restores."""
        self.entries = self.read_entries()
        steps: dict[str, RestoreProcessedStep] = {}
        for entry in self.entries:
            if not self.is_valid_restore_stats(entry, operation_type):
                continue
            key = self._key(entry)
            step = steps.setdefault(key, RestoreProcessedStep(step=key))
            step.total_checkpoint_manager_time += _seconds(
                entry, "checkpoint_manager_duration_secs"
            )
            step.total_restore_time += _seconds(entry, "checkpointer_duration_secs")
            if entry.get("broadcast_duration_secs"):
                step.total_broadcast_time += _seconds(entry, "broadcast_duration_secs")
                step.broadcast_occurrence += 1
            step.occurrence += 1
        stats = RestoreCheckpointManagerVerticalStepStats()
        for name in ("checkpoint_manager_time", "restore_time"):
            means = [getattr(s, f"total_{name}") / s.occurrence for s in steps.values()]
            _fill(stats, name, means, len(means))
        broadcasts = [s for s in steps.values() if s.broadcast_occurrence]
        if broadcasts:
            means = [
                s.total_broadcast_time / (s.broadcast_occurrence or 1) for s in steps.values()
            ]
            _fill(stats, "broadcast_time", means, len(broadcasts))
        return stats

    def _is_local_operation(self, step_stats: dict[str, Any]) -> bool:
        return not str(step_stats.get("directory", "")).startswith("gs://")

    def _key(self, entry: dict[str, Any]) -> str:
        where = (
            OPERATION_TYPE_LOCAL if self._is_local_operation(entry) else OPERATION_TYPE_PERSISTENT
        )
        return f"{entry.get('step')}-{where}"


def _new_client() -> Any:
    import google.cloud.logging  # type: ignore[import-not-found,unused-ignore]

    return google.cloud.logging.Client()


def _seconds(entry: dict[str, Any], key: str) -> float:
    """A duration; 0 where a report lacks it."""
    value = entry.get(key)
    try:
        return 0.0 if value is None else float(value)
    except (TypeError, ValueError):
        return 0.0


def _fill(stats: Any, name: str, means: Iterable[float], count: int) -> None:
    values = list(means)
    if not values:
        return
    setattr(stats, f"total_{name}", sum(values))
    setattr(stats, f"average_{name}", sum(values) / count)
    setattr(stats, f"minimum_{name}", min(values))
    setattr(stats, f"maximum_{name}", max(values))
    if len(values) > 1:
        setattr(stats, f"standard_deviation_{name}", statistics.stdev(values))


def main() -> None:
    """Prints the statistics of a job's log."""
    options = CheckpointLoggerOptions()
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--job_name", default=options.job_name)
    parser.add_argument("--logger_name", default=options.logger_name)
    parser.add_argument("--client", default=options.client)
    parser.add_argument("--operation_type", default=OPERATION_TYPE_PERSISTENT_AND_LOCAL)
    args = parser.parse_args()
    calculator = CheckpointBadputCalculator(
        CheckpointLoggerOptions(args.job_name, args.logger_name, args.client)
    )
    saves = calculator.calculate_save_operation_checkpoint_manager_blocking_time(
        args.operation_type
    )
    restores = calculator.calculate_restore_operation_checkpoint_manager_blocking_time(
        args.operation_type
    )
    for stats in (saves, restores):
        print(stats)


if __name__ == "__main__":
    main()
