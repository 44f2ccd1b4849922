"""Sends what this process records to a server, by a small process beside it."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING

from headway._beside import Companion

if TYPE_CHECKING:
    from headway._run import Run

_log = logging.getLogger("headway")

_FIRST_SECONDS = 1.0  # for the server's first word
_LAST_SECONDS = 10.0  # for what is recorded last

_companions: dict[Run, Companion] = {}


def begin(run: Run, server: str) -> None:
    """Starts sending; what is amiss at once is logged as a warning."""
    # <dir>/journals/<project>/<run>/<file>
    folder = os.path.normpath(os.path.join(run.journal_path, *[".."] * 4))
    words = ["ship", run.uid, "--project", run.project, "--dir", folder, "--server", server]
    words += ["--journal", os.path.basename(run.journal_path), "--follow"]
    try:
        companion = Companion(words)
    except Exception as error:
        what = error.args[-1] if error.args else error
        _log.warning("nothing is sent to %s: %s", server, what)
        return
    _companions[run] = companion
    for trouble in companion.first_troubles(_FIRST_SECONDS):
        _log.warning("sending to %s: %s", server, trouble)


def end(run: Run) -> None:
    """Waits for the rest to arrive, some seconds at most; it is sent after that, too."""
    companion = _companions.pop(run, None)
    if companion is None:
        return
    known = len(companion.troubles)
    arrived = companion.stop(_LAST_SECONDS)
    for trouble in companion.troubles[known:]:
        _log.warning("sending the run: %s", trouble)
    if not arrived:
        _log.warning(
            "not all of the run has arrived within %g s; what is left is sent while a process "
            "beside this one lives, else by headway ship", _LAST_SECONDS,
        )  # fmt: skip
