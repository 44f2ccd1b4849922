"""What the programs do besides recording: steps that take a while, and a look at their children."""

from __future__ import annotations

import os
import threading
import time

STEPS = 20

_reaped: list[int] = []
_stop = threading.Event()
_reaper: threading.Thread | None = None


def _reap() -> None:
    """As a supervisor does that takes whatever child ends for its own."""
    while not _stop.is_set():
        try:
            pid, _ = os.waitpid(-1, 0)
        except ChildProcessError:
            time.sleep(0.005)
            continue
        _reaped.append(pid)


def begin() -> None:
    global _reaper
    print("pid", os.getpid(), flush=True)
    if os.environ.get("REAP"):
        _reaper = threading.Thread(target=_reap)
        _reaper.start()


def work(step: int) -> None:
    """A step; the test that reads the line may kill the program in the middle of it."""
    print("step", step, flush=True)
    time.sleep(0.02)
    if step == STEPS // 2 and os.environ.get("PAUSE"):
        time.sleep(60)


def end() -> None:
    if _reaper is not None:
        child = os.posix_spawn("/bin/true", ["true"], {})
        while child not in _reaped:
            time.sleep(0.005)
        _stop.set()
        _reaper.join()
        assert _reaped == [child], (_reaped, child)
    print("done", flush=True)
