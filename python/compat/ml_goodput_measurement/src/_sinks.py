"""Where records go: a headway journal, the original's log entries, or both.

A sink takes what happened and when; without a time it happened now.
"""

from __future__ import annotations

import datetime
import functools
import logging
import os
import signal
import threading
import weakref
from typing import Any, Optional, Protocol

from headway import _checkpoints, _native, orbax

from ml_goodput_measurement.src._time import now, to_ns, to_seconds, utc

_log = logging.getLogger(__name__)

Time = Optional[datetime.datetime]
Entry = dict[str, Any]

# Kinds of spans: the original's key, and headway's number (headway.h).
TPU_INIT = ("tpu_init", 1)
TRAINING_PREP = ("training_prep", 2)
DATA_LOADING = ("data_loading", 3)
CUSTOM = ("custom_badput_event", 7)
ELASTIC_WAIT = ("elastic_wait", 9)
ELASTIC_REINIT = ("elastic_reinit", 10)
Kind = tuple[str, int]

# Kinds whose entries name what they are about.
_TYPE_KEYS = {CUSTOM: "custom_badput_event_type", ELASTIC_WAIT: "elastic_wait_event_type"}

_CHECKPOINT_SAVE = 5
_CHECKPOINT_RESTORE = 6


class CloudLogger(Protocol):
    """What may be injected: the original's way to its log."""

    def write_cloud_logging_entry(self, entry: Entry) -> None: ...

    def flush(self) -> None: ...


class Sink(Protocol):
    def job_start(self, time: Time) -> None: ...

    def job_end(self, time: Time) -> None: ...

    def step(self, step: int, time: Time) -> None: ...

    def begin(self, kind: Kind, name: str, time: Time) -> None: ...

    def end(self, kind: Kind, name: str, time: Time) -> None: ...

    def slices(self, active: int, total: int, available: int, time: Time) -> None: ...

    def flush(self) -> None: ...


class EntrySink:
    """Writes the original's entries to a logger."""

    def __init__(self, job_name: str, logger: CloudLogger) -> None:
        self._job_name = job_name
        self._logger = logger

    def job_start(self, time: Time) -> None:
        self._write(job_start_time=_seconds(time))

    def job_end(self, time: Time) -> None:
        self._write(job_end_time=_seconds(time))

    def step(self, step: int, time: Time) -> None:
        self._write(step_count=step, step_start_time=_seconds(time))

    def begin(self, kind: Kind, name: str, time: Time) -> None:
        self._span(kind, "start", name, time)

    def end(self, kind: Kind, name: str, time: Time) -> None:
        self._span(kind, "end", name, time)

    def slices(self, active: int, total: int, available: int, time: Time) -> None:
        self._write(
            active_slices=active,
            total_slices=total,
            available_slices=available,
            elastic_slice_counts_timestamp=_seconds(time),
        )

    def flush(self) -> None:
        self._logger.flush()

    def _span(self, kind: Kind, edge: str, name: str, time: Time) -> None:
        type_key = _TYPE_KEYS.get(kind)
        named = {} if type_key is None else {type_key: name}
        self._write(**named, **{f"{kind[0]}_{edge}_time": _seconds(time)})

    def _write(self, **values: Any) -> None:
        self._logger.write_cloud_logging_entry({"job_name": self._job_name, **values})


_told_local = False


def _meant(time: datetime.datetime) -> datetime.datetime:
    """A time without a zone is UTC; one that is now by the local clock, and not in UTC, is now."""
    if time.tzinfo is not None:
        return time
    present = now()
    try:
        local = time.astimezone()
        if abs(local - present) >= _HISTORY or abs(utc(time) - present) < _HISTORY:
            return time
    except (OverflowError, OSError, ValueError):  # near the ends of what can be told
        return time
    global _told_local
    if not _told_local:
        _told_local = True
        _log.warning(
            "%s has no time zone; as UTC it would be far off, so it is taken for local time. Say "
            "datetime.datetime.now(datetime.timezone.utc)",
            time,
        )
    return local


def _seconds(time: Time) -> float:
    return to_seconds(now() if time is None else _meant(time))


class JournalSink:
    """Records into a headway journal: one a process, job and start of the job.

    Nothing here raises into the training loop, waits, or talks to anybody.
    """

    def __init__(self, job_name: str) -> None:
        self._job_name = job_name
        self._open: dict[tuple[Kind, str], int] = {}
        self._lock = threading.Lock()
        self._recorder: Optional[_native.Recorder] = None
        self.ended = False  # the job's end was recorded
        self._users: list[weakref.ref[object]] = []  # the recorders that record here
        self._now = False  # it records the present, not history
        self._started = False  # a job start was recorded in this journal
        self._stepped = False

    def job_start(self, time: Time) -> None:
        again = self._started and self._stepped
        if again:
            # The job starts again within one process: another attempt, another journal.
            self.abandon()
        # After a clean end it is another run of that name, as anywhere.
        recorder = self._recorder or self._make(time, "must" if again and not self.ended else None)
        self.ended = False
        self._started = True
        recorder._job_start_at(_ns(time))
        if self._now:
            _checkpoints.attach(recorder)

    def job_end(self, time: Time) -> None:
        recorder = self._recorder or self._make(time)
        _checkpoints.detach(recorder)  # a save after the end would be another attempt's
        recorder._job_end_at(_ns(time))
        self.ended = True

    def step(self, step: int, time: Time) -> None:
        self._stepped = True
        recorder = self._recorder or self._make(time)
        recorder._step_start_at(step, None if time is None else to_ns(_meant(time)))

    def begin(self, kind: Kind, name: str, time: Time) -> None:
        recorder, name = self._recorder or self._make(time), str(name)
        self._open[kind, name.upper()] = recorder._span_begin_at(kind[1], name, None, _ns(time))

    def end(self, kind: Kind, name: str, time: Time) -> None:
        handle = self._open.pop((kind, str(name).upper()), 0)
        if handle and self._recorder is not None:
            self._recorder._span_end_at(handle, _ns(time))

    def slices(self, active: int, total: int, available: int, time: Time) -> None:
        recorder = self._recorder or self._make(time)
        recorder._capacity_at(available, active, total, _ns(time))

    def use(self, user: object) -> None:
        """`user` records here for as long as it exists."""
        self._users = [one for one in self._users if one() is not None] + [weakref.ref(user)]

    @property
    def used(self) -> bool:
        """Whether anybody could still record here."""
        return any(one() is not None for one in self._users)

    def abandon(self) -> None:
        """Ends the journal as if the process had died; the next record opens another one."""
        with self._lock:
            recorder, self._recorder = self._recorder, None
            self._open.clear()
            self._started = self._stepped = self.ended = False
        if recorder is not None:
            _checkpoints.detach(recorder)
            recorder._abandon()

    def checkpoint(self, entry: Entry) -> None:
        """Records a save or restore that Orbax reports; what is unusable is left out."""
        save = entry.get("event_type") == "save"
        name = "checkpoint_manager_blocking" if save else "checkpoint_manager"
        start, seconds = entry.get(f"{name}_start_time"), entry.get(f"{name}_duration_secs")
        step = entry.get("step")
        try:
            begin = round(float(start) * 1e6) * 1000  # type: ignore[arg-type]
            end = begin + round(float(seconds) * 1e9)  # type: ignore[arg-type]
            number = None if step is None else int(step)
            where = "" if str(entry.get("directory", "")).startswith("gs://") else "local"
        except (TypeError, ValueError, OverflowError):
            _log.warning("a checkpoint report without time or duration is left out: %s", entry)
            return
        kind = _CHECKPOINT_SAVE if save else _CHECKPOINT_RESTORE
        recorder = self._recorder or self._make(None)
        recorder._span_end_at(recorder._span_begin_at(kind, where, number, begin), end)

    def flush(self) -> None:
        """Nothing waits: a record is in the journal when its call returns."""

    def _make(self, time: Time, resume: str | None = None) -> _native.Recorder:
        with self._lock:
            if self._recorder is not None:
                return self._recorder
            # Signs of life from now, and saves, have no place in history that is filled in.
            self._now = time is None or abs(now() - utc(_meant(time))) < _HISTORY
            try:
                recorder = _native.Recorder(
                    run=self._job_name,
                    resume=resume,
                    heartbeat=self._now,
                    hook_sigterm=_may_hook_sigterm(),
                    on_drop=functools.partial(_tell_drop, self._job_name),
                    exit_ends_job=False,
                    job_start=False,
                )
                error = recorder.error
            except (ValueError, OverflowError) as refused:  # a name that none can have
                recorder, error = _native.Recorder(disabled=True), str(refused)
            if error:
                _log.warning(
                    "headway records nothing of job %r: %s%s", self._job_name, error, _remedy(error)
                )
            self._recorder = recorder
            if self._now and not error:
                _checkpoints.attach(recorder)
                orbax.watch_by_itself()
            return recorder


def _remedy(error: str) -> str:
    if "recorders are open" not in error:
        return ""
    return ". record_job_end_time() finishes one, and so does letting go of its GoodputRecorder"


_HISTORY = datetime.timedelta(minutes=1)


def _may_hook_sigterm() -> bool:
    try:
        return signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    except ValueError:
        return False


def _tell_drop(job_name: str, _: str, value: object = None) -> None:
    _log.warning(
        "a record of %r is left out, and so are others like it: %r is no number or time "
        "(in nanoseconds since 1970) that can be kept",
        job_name,
        value,
    )


def _ns(time: Time) -> int | None:
    return None if time is None else to_ns(_meant(time))


_journals: dict[tuple[int, str, str | None, str | None], JournalSink] = {}
_journals_lock = threading.Lock()


def _key(job_name: str) -> tuple[int, str, str | None, str | None]:
    environment = os.environ
    return os.getpid(), job_name, environment.get("HEADWAY_DIR"), environment.get("HEADWAY_PROJECT")


def forget_journal(job_name: str) -> None:
    """Stops recording the job, as if the process had died: for programs that run many jobs."""
    with _journals_lock:
        sink = _journals.pop(_key(job_name), None)
    if sink is not None:
        sink.abandon()


def journal_of(job_name: str, user: object) -> JournalSink:
    """This process's journal of the job, for a recorder of it: all of one job share it."""
    key = _key(job_name)
    with _journals_lock:
        sink = _journals.get(key)
        if sink is None:
            _close_old()
            sink = _journals[key] = JournalSink(job_name)
        sink.use(user)
        return sink


def records(job_name: str) -> bool:
    """Whether this process has a journal of the job."""
    with _journals_lock:
        return _key(job_name) in _journals


# A process can have 64 journals open.
_MOST_OPEN = 32


def _close_old() -> None:
    """Closes journals, the oldest first, where there are many: those of jobs that have ended, then
    those whose recorders are gone."""
    for done in (lambda sink: sink.ended, lambda sink: not sink.used):
        for key, sink in list(_journals.items()):
            if len(_journals) < _MOST_OPEN:
                return
            if done(sink):
                del _journals[key]
                sink.abandon()


class BothSink:
    """Two sinks; what fails in the second one is told and does not matter to the first."""

    def __init__(self, first: Sink, second: Sink) -> None:
        self._first, self._second = first, second

    def job_start(self, time: Time) -> None:
        time = time or now()
        self._first.job_start(time)
        self._try(self._second.job_start, time)

    def job_end(self, time: Time) -> None:
        time = time or now()
        self._first.job_end(time)
        self._try(self._second.job_end, time)

    def step(self, step: int, time: Time) -> None:
        time = time or now()
        self._first.step(step, time)
        self._try(self._second.step, step, time)

    def begin(self, kind: Kind, name: str, time: Time) -> None:
        time = time or now()
        self._first.begin(kind, name, time)
        self._try(self._second.begin, kind, name, time)

    def end(self, kind: Kind, name: str, time: Time) -> None:
        time = time or now()
        self._first.end(kind, name, time)
        self._try(self._second.end, kind, name, time)

    def slices(self, active: int, total: int, available: int, time: Time) -> None:
        time = time or now()
        self._first.slices(active, total, available, time)
        self._try(self._second.slices, active, total, available, time)

    def flush(self) -> None:
        self._first.flush()
        self._try(self._second.flush)

    def _try(self, call: Any, *values: Any) -> None:
        try:
            call(*values)
        except Exception as error:
            _log.warning("a record did not reach the cloud log: %s", error)


def backend() -> str:
    """``HEADWAY_BACKEND``: "journal", "cloud-logging" or "both"."""
    chosen = os.environ.get("HEADWAY_BACKEND", "journal").strip().lower() or "journal"
    if chosen not in ("journal", "cloud-logging", "both"):
        raise ValueError(f"HEADWAY_BACKEND must be journal, cloud-logging or both, not {chosen!r}")
    return chosen
