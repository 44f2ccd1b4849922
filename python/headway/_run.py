"""Recording: Run, init and how the end of the program is told."""

from __future__ import annotations

import atexit
import datetime
import json
import logging
import operator
import os
import signal
import sys
import unicodedata
from collections.abc import Mapping
from types import FrameType, TracebackType
from typing import Any, Literal, SupportsIndex, TypeAlias

from headway import _checkpoints, _facts, _native, _shipping, orbax
from headway._time import to_ns

_log = logging.getLogger("headway")

#: Nanoseconds since the epoch (``time.time_ns()``), seconds (``time.time()``) or a datetime.
Instant: TypeAlias = "int | float | datetime.datetime"

_RESUME = ("auto", "must", "never")
_NAME_BYTES = 256
_INTERRUPTED = 128 + signal.SIGINT

# Runs that have not been finished; held here, so that losing the variable does not end a job.
_open_runs: dict[tuple[Any, ...], Run] = {}
# By id of an open run that says by itself what its software is: the packages it has told of.
_told: dict[int, set[str]] = {}


def _forget_parent() -> None:
    """In a forked process, for which the runs of its parent are not."""
    global _current
    _open_runs.clear()
    _told.clear()
    _current = None


os.register_at_fork(after_in_child=_forget_parent)
_current: Run | None = None
# The worker of multiprocessing, by process id, in whose own exit functions ours is.
_watched_worker = 0
# After every exit function of a program, which may still record.
_LAST_OF_ALL = -1_000_000_000


class Run(_native.Recorder):
    """A run that is being recorded, from :func:`init`.

    Every method returns at once and raises nothing, whatever it is given: a call that can't be
    understood is dropped, counted in ``dropped``, and the first of its kind is told to the logger
    "headway". After :meth:`finish` calls are only counted there; in forked children and when
    recording is disabled the methods do nothing. Any thread may call them; the thread that starts
    steps leads.

    ``step(i)`` starts a step at the call, so that both ``run.step(i)`` and ``with run.step(i):``
    work. The methods that return a Span begin it on entering the ``with`` block, and each also
    works as a decorator:

    >>> import headway, tempfile
    >>> run = headway.init(run="doc", dir=tempfile.mkdtemp())
    >>> @run.span("eval")
    ... def evaluate():
    ...     return 0.5
    >>> for i in range(3):
    ...     with run.data_loading():
    ...         batch = [i]
    ...     with run.step(i):
    ...         loss = float(sum(batch))
    ...     run.log({"loss": loss}, step=i)
    >>> evaluate()
    0.5
    >>> run.last_step, run.dropped
    (2, 0)
    >>> run.finish()
    >>> run.enabled
    False

    Attributes:
        enabled: Whether it records.
        name: Name of the run.
        project: Project of the run.
        uid: Uid of the run; it lives through restarts.
        rank: Rank of this process, or None.
        world_size: Number of ranks, or None.
        continued: Whether an earlier run is being continued.
        journal_path: The file it records into.
        last_step: The step started last, or None.
        dropped: Records and calls that could not be kept.
        error: Why recording could not begin; empty when it could.
    """

    __slots__ = ()

    def config(self, values: Mapping[str, Any], kind: str = "user") -> None:
        """Records a configuration.

        Args:
            values: What JSON can't say (paths, data types, …) is recorded as its text.
            kind: "user", "software" or "system".
        """
        if not self.enabled:
            self._config_json("user", "{}")  # counts it after finish(), else does nothing
            return
        try:
            text = _to_json(values)
        except Exception:
            self._drop_config(values)
            return
        self._config_json(str(kind), text)
        _tell_imports(self)

    def exclude(self, start: Instant, end: Instant | None = None, reason: str = "") -> None:
        """Leaves a stretch of time out of the account, such as a manual stop.

        Args:
            start: When it began: nanoseconds since the epoch as an int, seconds as a float, or a
                datetime (without a zone: local time).
            end: When it ended; None: not yet.
            reason: For people.
        """
        try:
            from_ns = _instant_ns(start)
            to_ns_ = None if end is None else _instant_ns(end)
        except Exception:
            self._drop_exclude(start)
            return
        if to_ns_ is not None and to_ns_ < from_ns:
            self._drop_exclude(ValueError("it ends before it begins"))
            return
        self._exclude_ns(from_ns, to_ns_, reason)

    def finish(self, status: int | None = None) -> None:
        """Records the end of the job. Later calls of any method are not kept, only counted.

        Without it the end is recorded when the interpreter exits, with its exit status.

        Args:
            status: 0 is a clean end, anything else a failure. None: 0, but in an ``except`` or
                ``finally`` block the failure that is being handled.
        """
        global _current
        _tell_imports(self)
        try:
            code = _status_of(sys.exc_info()[1]) if status is None else int(status)
            self._finish(code if -(1 << 31) <= code < 1 << 31 else -1)
        except Exception:
            self._finish(1)
        _told.pop(id(self), None)
        for key in [key for key, run in _open_runs.items() if run is self]:
            del _open_runs[key]
        if _current is self:
            _current = None
        _checkpoints.detach(self)
        _shipping.end(self)

    def __enter__(self) -> Run:
        """``with headway.init(...) as run:`` finishes the run at the end of the block."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.finish(_status_of(value))

    def __repr__(self) -> str:
        if not self.journal_path:
            return "<headway.Run, disabled>"
        state = "recording" if self.enabled else "finished"
        return f"<headway.Run {self.project}/{self.name}, {state}>"


def init(
    project: str | None = None,
    run: str | None = None,
    config: Mapping[str, Any] | None = None,
    resume: Literal["auto", "must", "never"] = "auto",
    dir: str | os.PathLike[str] | None = None,
    rank: int | None = None,
    world_size: int | None = None,
    local_rank: int | None = None,
    job_id: str | None = None,
    attempt: int | None = None,
    attempt_key: str | None = None,
    heartbeat: bool = True,
    server: str | None = None,
    auto_config: bool = True,
) -> Run:
    """Starts recording this process; call it once, early in the program.

    What is not given comes from the environment: the rank from the launcher, the job and its
    restart count from the scheduler, ``HEADWAY_PROJECT``, ``HEADWAY_RUN`` and ``HEADWAY_DIR``.
    Called again with the same arguments it returns the same run.

    If recording can't begin, the reason is logged once as a warning and the result is a run whose
    methods do nothing; likewise, without a warning, with ``HEADWAY_DISABLED=1`` and while a worker
    of ``multiprocessing`` imports the main program.

    >>> import tempfile
    >>> run = init(project="lm", run="llama-7b", config={"lr": 3e-4}, dir=tempfile.mkdtemp())
    >>> run
    <headway.Run lm/llama-7b, recording>
    >>> run.finish()

    Args:
        project: A group of runs; default "default".
        run: The run's name; default the job's name, else "default".
        config: Recorded as the user's configuration.
        resume: "auto": a restart of the same job continues its run, and so does a new process
            unless the newest run of that name ended cleanly. "must" and "never" force it.
        dir: Where journals are kept; default "~/.headway".
        rank: 0 leads.
        world_size: Number of ranks.
        local_rank: Rank on this machine.
        job_id: Restarts with an equal one continue the run wherever they land.
        attempt: How often the job has been restarted before.
        attempt_key: Processes with an equal one are one attempt.
        heartbeat: Whether a native thread notes each second that the process lives; it never takes
            the GIL. ``HEADWAY_HEARTBEAT=0`` turns it off, too.
        server: URL of a headway server that a small process beside this one sends the records to
            while they are made, with the token in ``HEADWAY_TOKEN``, trusting the certificate
            in ``HEADWAY_CA``. It outlives this process for what is recorded last, and ``finish``
            waits up to 10 s for that. Under ``headway run`` with a server the supervisor does it.
        auto_config: Whether versions, flags of compilers and libraries, the git commit and what the
            machine is are recorded as the configurations "software" and "system". Nothing is
            imported for it. ``HEADWAY_AUTO_CONFIG=0`` turns it off, too.

    Returns:
        The run.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: An argument can't be meant: ``resume`` is none of its three words, a number is
            negative, ``rank`` is not below ``world_size``, a name is empty, longer than 256 bytes
            or holds control characters.
    """
    global _current
    if resume not in _RESUME:
        raise ValueError(f"resume must be one of {', '.join(_RESUME)}, not {resume!r}")
    if config is not None and not isinstance(config, Mapping):
        raise TypeError(f"config must be a mapping, not {type(config).__name__}")
    _check_text("project", project)
    _check_text("run", run)
    _check_text("job_id", job_id)
    _check_text("attempt_key", attempt_key)
    _check_server(server)
    if not isinstance(heartbeat, bool):
        raise TypeError(f"heartbeat must be a bool, not {type(heartbeat).__name__}")
    if not isinstance(auto_config, bool):
        raise TypeError(f"auto_config must be a bool, not {type(auto_config).__name__}")
    folder = None if dir is None else os.fsdecode(dir)
    if folder == "":
        raise ValueError("dir must not be empty")
    if folder is not None and "\0" in folder:
        raise ValueError(f"dir must not hold NUL characters: {folder!r}")
    numbers = [
        _number("rank", rank),
        _number("world_size", world_size, least=1),
        _number("local_rank", local_rank),
        _number("attempt", attempt),
    ]
    if rank is not None and world_size is not None and numbers[0] >= numbers[1]:
        raise ValueError(f"rank {rank} is not below world_size {world_size}")

    key = (project, run, job_id, attempt_key, resume, folder, *numbers)
    opened = _open_runs.get(key)
    if opened is not None and opened.enabled:
        return opened
    if _imported_by_worker():
        return Run(disabled=True)
    try:
        result = Run(
            project=project,
            run=run,
            dir=folder,
            # "auto" leaves the word to HEADWAY_RESUME.
            resume=None if resume == "auto" else resume,
            job_id=job_id,
            attempt_key=attempt_key,
            rank=numbers[0],
            world_size=numbers[1],
            local_rank=numbers[2],
            attempt_index=numbers[3],
            heartbeat=heartbeat,
            hook_sigterm=signal.getsignal(signal.SIGTERM) is signal.SIG_DFL,
            on_drop=_tell_drop,
        )
    except (ValueError, OverflowError) as error:
        _log.warning("headway records nothing: %s", error)
        return Run(disabled=True)
    if result.error:
        _log.warning("headway records nothing: %s", result.error)
    if result.enabled:
        _open_runs[key] = result
        _current = result
        _watch_worker()
        _checkpoints.attach(result)
        orbax.watch_by_itself()
        if auto_config and _facts.wanted():
            _tell_facts(result)
        if config:
            result.config(config)
        if server is not None:
            _shipping.begin(result, server)
    return result


def _tell_facts(run: Run) -> None:
    try:
        told: set[str] = set()
        for kind, values in _facts.at_start(told):
            run._config_json(kind, _to_json(values))
        _told[id(run)] = told
    except Exception as error:
        _log.debug("what this program runs on can't be told: %r", error)


def _tell_imports(run: Run) -> None:
    """Frameworks that were imported after the run had begun."""
    try:
        told = _told.get(id(run))
        if told is not None and run.enabled and (software := _facts.since(told)):
            run._config_json("software", _to_json(software))
    except Exception as error:
        _log.debug("what was imported can't be told: %r", error)


def current_run() -> Run | None:
    """The run that :func:`init` started last and that has not been finished, else None."""
    return _current


def _check_text(name: str, text: object) -> None:
    if text is not None and not isinstance(text, str):
        raise TypeError(f"{name} must be a str or None, not {type(text).__name__}")
    if text is None:
        return
    if not text:
        raise ValueError(f"{name} must not be empty; None stands for what the environment says")
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise ValueError(f"{name} is not valid Unicode: {text!r}") from None
    if size > _NAME_BYTES:
        raise ValueError(f"{name} has {size} bytes in UTF-8; {_NAME_BYTES} are allowed")
    if any(unicodedata.category(character) == "Cc" for character in text):
        raise ValueError(f"{name} must not hold control characters: {text!r}")


def _check_server(server: object) -> None:
    if server is None:
        return
    if not isinstance(server, str):
        raise TypeError(f"server must be a str or None, not {type(server).__name__}")
    scheme, _, place = server.partition("://")
    if scheme not in ("http", "https") or not place.strip("/") or "\0" in server:
        raise ValueError(f"server must be a URL such as http://goodput:8460, not {server!r}")


def _number(name: str, number: object, least: int = 0) -> int:
    if number is None:
        return _native.FROM_ENVIRONMENT
    if isinstance(number, bool) or not isinstance(number, SupportsIndex):
        raise TypeError(f"{name} must be an int or None, not {type(number).__name__}")
    value = operator.index(number)
    if not least <= value < 1 << 63:
        raise ValueError(f"{name} must be from {least} to 2^63 - 1, not {value}")
    return value


def _imported_by_worker() -> bool:
    """Whether a spawned worker of multiprocessing is importing the main program right now.

    There a call of init at the top of a script would start a second recorder for the same rank.
    """
    process = sys.modules.get("multiprocessing.process")
    return process is not None and bool(getattr(process.current_process(), "_inheriting", False))


_NOTHING = object()


def _tell_drop(call: str, value: object = _NOTHING) -> None:
    hint = ""
    if call == "log" and hasattr(value, "__float__"):
        hint = "; converting it could wait for a device: write float(...) where that is right"
    what = "missing or surplus arguments" if value is _NOTHING else type(value).__qualname__
    if call == "exclude" and type(value) is ValueError:
        what = str(value)
    elif isinstance(value, int) and -(1 << 63) <= value < 1 << 63:
        what = f"{value!r}: a step is a whole number from 0 to 2^63 - 2"
    _log.warning(
        "headway dropped a call of %s() that it could not understand (%s)%s; "
        "further ones are only counted",
        call,
        what,
        hint,
    )


def _instant_ns(instant: Instant) -> int:
    if isinstance(instant, datetime.datetime):
        return to_ns(instant)
    if isinstance(instant, float):
        return round(instant * 1e9)
    return int(instant)


def _to_json(values: Mapping[str, Any]) -> str:
    """JSON of a configuration; what JSON has no word for becomes text, NaN and infinities null."""

    def plain(value: Any) -> Any:
        if value is None or isinstance(value, (bool, int, str)):
            return value
        if isinstance(value, float):
            return value if value - value == 0 else None
        if isinstance(value, Mapping):
            return {str(name): plain(inner) for name, inner in value.items()}
        if isinstance(value, (list, tuple, set, frozenset)):
            return [plain(inner) for inner in value]
        return str(value)

    if not isinstance(values, Mapping):
        raise TypeError("a configuration is a mapping")
    return json.dumps(plain(values), ensure_ascii=False).encode(errors="replace").decode()


def _status_of(error: BaseException | None) -> int:
    """The exit status that an uncaught ``error`` would give."""
    if error is None:
        return 0
    if isinstance(error, SystemExit):
        code = error.code
        if isinstance(code, int):
            # The system keeps a byte of it; what fits into no C long exits with -1.
            return code & 0xFF if -(1 << 63) <= code < 1 << 63 else 0xFF
        return 0 if code is None else 1
    return _INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1


@atexit.register
def _at_exit() -> None:
    for run in _open_runs.values():
        _tell_imports(run)
    # The recorder's own hook knows the exit status of every end but this one: after an uncaught
    # KeyboardInterrupt the interpreter kills itself with SIGINT instead of exiting. sys.last_type
    # is set where an exception was not caught; at a prompt (sys.ps1) that ends nothing.
    kind = getattr(sys, "last_type", None)
    if hasattr(sys, "ps1") or not (isinstance(kind, type) and issubclass(kind, KeyboardInterrupt)):
        return
    for run in _open_runs.values():
        run._finish(_INTERRUPTED)


def _watch_worker() -> None:
    """In a worker of multiprocessing: asks to be called when its function has ended.

    One that was forked then leaves by os._exit(), so that neither atexit nor the recorder's own
    hook ever runs.
    """
    global _watched_worker
    process = sys.modules.get("multiprocessing.process")
    util = sys.modules.get("multiprocessing.util")
    if process is None or util is None or _watched_worker == os.getpid():
        return
    try:
        if process.parent_process() is None:
            return
        util.Finalize(None, _at_worker_exit, exitpriority=_LAST_OF_ALL)
    except Exception as error:  # a stand-in for multiprocessing
        _log.debug("the end of this worker can't be told: %r", error)
        return
    _watched_worker = os.getpid()


def _at_worker_exit() -> None:
    status = _status_of_worker()
    if status is None:
        return
    for run in list(_open_runs.values()):
        _tell_imports(run)
        run._finish(status)


def _status_of_worker() -> int | None:
    """How this worker's function has ended; None where the recorder's own hook will know."""
    frame: FrameType | None = sys._getframe()
    while frame is not None and frame.f_code.co_name != "_exit_function":
        frame = frame.f_back
    caller = None if frame is None else frame.f_back
    above = caller
    while above is not None and above.f_code.co_name != "spawn_main":
        above = above.f_back
    if caller is None or above is not None:
        return None  # a spawned one exits as any program does
    # From 3.13 on the exit functions are called when the exit code is known, before that while what
    # ends the function comes up through the caller. (Something else may be handled since before the
    # worker was forked.)
    if isinstance(code := caller.f_locals.get("code"), int):
        return code & 0xFF
    error = sys.exc_info()[1]
    trace = None if error is None else error.__traceback__
    while trace is not None and trace.tb_frame is not caller:
        trace = trace.tb_next
    return _status_of(error if trace is not None else None)
