"""Reading runs: report, timeline, steps, runs."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from headway import _native
from headway._errors import InvalidArgumentError, from_native
from headway._report import Report, RunInfo, StepInterval, Timeline
from headway._run import Run
from headway._time import Time, to_text

if TYPE_CHECKING:
    from headway._server import Server

Folder: TypeAlias = "str | os.PathLike[str]"
#: ``"A..B"``, or two times of which either may be None: the run's start, now.
Window: TypeAlias = "str | tuple[Time | None, Time | None]"

_Answer: TypeAlias = tuple[str, list[str]]
_Function: TypeAlias = Callable[
    [list[str], str, str, "str | None", "str | None", "str | None"], _Answer
]

_log = logging.getLogger("headway")


def report(
    run: str | Run,
    *,
    project: str | None = None,
    dir: Folder | Sequence[Folder] | None = None,
    window: Window | None = None,
    as_of: Time | None = None,
    server: str | None = None,
    token: str | None = None,
) -> Report:
    """How the time of a run was spent, up to now if it still runs.

    >>> import headway, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> with headway.init(run="doc", dir=folder) as run:
    ...     for i in range(3):
    ...         with run.step(i):
    ...             pass
    >>> report = headway.report("doc", dir=folder)
    >>> report.state, report.steps.count
    ('completed', 3)
    >>> sum(time.ns for time in report.categories) == report.elapsed_ns
    True

    Args:
        run: A run's name (its newest run), ``NAME@START``, its uid, or a Run of this process.
        project: Default ``HEADWAY_PROJECT``, else "default".
        dir: Where journals are kept, or several such places; default ``HEADWAY_DIR``, else
            "~/.headway". Where it is given no server is asked.
        server: URL of a server to ask instead of reading journals, or the address of a share link;
            not beside dir; default ``HEADWAY_SERVER``, but not for a Run of this process. With
            ``https:`` its certificate must be good; ``HEADWAY_CA`` names a file of authorities that
            are trusted in place of the system's.
        token: Who asks there; default ``HEADWAY_TOKEN``.
        window: Only this stretch of time, judged by everything that is known now.
        as_of: What was known at that time.

    Returns:
        The report.

    Raises:
        NotFoundError: There is no such run.
        InvalidArgumentError: A time or a URL does not mean anything.
        Error: A journal can't be read; or what a server answers, by ``code``: "UNAVAILABLE": it
            can't be reached; "UNAUTHENTICATED": it does not know the token; "PERMISSION_DENIED":
            the token may not do that; "FAILED_PRECONDITION": its certificate is not to be trusted.
    """
    return Report.from_dict(_ask("report", run, project, dir, window, as_of, server, token))


def timeline(
    run: str | Run,
    *,
    project: str | None = None,
    dir: Folder | Sequence[Folder] | None = None,
    window: Window | None = None,
    as_of: Time | None = None,
    server: str | None = None,
    token: str | None = None,
) -> Timeline:
    """The same time as :func:`report`, interval by interval.

    >>> import headway, tempfile
    >>> run = headway.init(run="doc", dir=tempfile.mkdtemp())
    >>> with run.span("eval"):
    ...     pass
    >>> run.finish()
    >>> [interval.category for interval in headway.timeline(run)]
    ['program_startup', 'custom', 'program_startup']

    Args, returns and raises as :func:`report`; the result is a sequence of intervals.
    """
    return Timeline.from_list(_ask("timeline", run, project, dir, window, as_of, server, token))


def steps(
    run: str | Run,
    *,
    project: str | None = None,
    dir: Folder | Sequence[Folder] | None = None,
    window: Window | None = None,
    as_of: Time | None = None,
    server: str | None = None,
    token: str | None = None,
) -> list[StepInterval]:
    """Every step that was started, in order. Args and raises as :func:`report`."""
    found = _ask("steps", run, project, dir, window, as_of, server, token)
    return [StepInterval.from_dict(step) for step in found]


def runs(
    project: str | None = None,
    *,
    dir: Folder | Sequence[Folder] | None = None,
    server: str | None = None,
    token: str | None = None,
) -> list[RunInfo]:
    """The runs of a project, newest first. Reads all their records, as ``headway runs list`` does;
    a server knows how they stood some seconds ago at most.

    Args:
        project: Default ``HEADWAY_PROJECT``, else "default".
        dir: As in :func:`report`, as are server and token.

    Raises:
        Error: A directory can't be read; what a server answers.
    """
    if far := _server_of(dir, server, token):
        return [RunInfo.from_dict(run) for run in far.runs(_project(project))]
    try:
        answer = _native.runs(_folders(dir), _project(project))
    except _native.Error as error:
        raise from_native(error) from None
    return [RunInfo.from_dict(run) for run in _json(answer)]


_FUNCTIONS: dict[str, _Function] = {
    "report": _native.report,
    "timeline": _native.timeline,
    "steps": _native.steps,
}


def _ask(
    what: str,
    run: str | Run,
    project: str | None,
    dir: Folder | Sequence[Folder] | None,
    window: Window | None,
    as_of: Time | None,
    server: str | None,
    token: str | None,
) -> Any:
    if isinstance(run, Run):
        project = run.project if project is None else project
        folders = _folders(dir) if dir is not None else _folders_of(run)
        name = run.uid
    elif isinstance(run, str):
        folders = _folders(dir)
        name = run
    else:
        raise TypeError(f"run must be a str or a Run, not {type(run).__name__}")
    first, last = _window(window)
    as_of_text = None if as_of is None else to_text(as_of)
    asks = server is not None or not isinstance(run, Run)
    if far := _server_of(dir, server, token) if asks else None:
        from headway import _server

        time = _server.time_selection(as_of_text, first, last)
        return getattr(far, what)(_project(project), name, time)
    try:
        answer = _FUNCTIONS[what](folders, _project(project), name, as_of_text, first, last)
    except _native.Error as error:
        raise from_native(error) from None
    return _json(answer)


def _server_of(
    dir: Folder | Sequence[Folder] | None, server: str | None, token: str | None
) -> Server | None:
    """Whom to ask; None: nobody, the journals are read."""
    if dir is not None and server is not None:
        raise InvalidArgumentError(
            "INVALID_ARGUMENT", "server and dir are two places to read from: give one"
        )
    url = server if server is not None else os.environ.get("HEADWAY_SERVER")
    if dir is not None or (server is None and not url):
        return None
    from headway import _server  # what it needs costs an import some 30 ms

    return _server.Server(url or "", token)


def _json(answer: _Answer) -> Any:
    text, problems = answer
    for problem in problems:
        _log.warning("%s", problem)
    return json.loads(text)


def _project(project: str | None) -> str:
    if project == "":
        raise InvalidArgumentError("INVALID_ARGUMENT", "project must not be empty")
    return project or os.environ.get("HEADWAY_PROJECT") or "default"


def _folders(dir: Folder | Sequence[Folder] | None) -> list[str]:
    if dir is None:
        return [os.environ.get("HEADWAY_DIR") or os.path.expanduser("~/.headway")]
    folders = [dir] if isinstance(dir, (str, os.PathLike)) else list(dir)
    found = [os.fspath(folder) for folder in folders]
    if not all(found):
        raise InvalidArgumentError("INVALID_ARGUMENT", "dir must not be empty")
    return found


def _folders_of(run: Run) -> list[str]:
    # DIR/journals/PROJECT/RUN/FILE
    folders = [str(Path(run.journal_path).parents[3])] if run.journal_path else []
    return [*folders, *([run.destination] if run.destination else [])]


def _window(window: Window | None) -> tuple[str | None, str | None]:
    if window is None:
        return None, None
    if isinstance(window, str):
        first, dots, last = window.partition("..")
        if not dots:
            raise InvalidArgumentError("INVALID_ARGUMENT", f"a window is A..B, not {window!r}")
        return first or None, last or None
    if not isinstance(window, (tuple, list)) or len(window) != 2:
        raise InvalidArgumentError(
            "INVALID_ARGUMENT", f"a window is 'A..B' or a pair of times, not {window!r}"
        )
    begin, end = (None if time is None else to_text(time) for time in window)
    return begin, end
