"""How the end of a program is told, in programs of their own."""

from __future__ import annotations

import signal
import textwrap
import time
from pathlib import Path

import pytest
from conftest import Script

import headway

LOOP = """
    run = headway.init(run="r")
    for i in range(3):
        with run.step(i):
            pass
"""


def program(rest: str) -> str:
    return textwrap.dedent(LOOP) + textwrap.dedent(rest)


ENDS = [
    # What the program does after three steps, its exit status, how the attempt ended.
    ("run.finish()", 0, "clean"),
    ("run.finish(7)", 0, "failed"),
    ("run.finish(); sys.exit(3)", 0 + 3, "clean"),
    ("", 0, "clean"),
    ("del run", 0, "clean"),
    ("sys.exit()", 0, "clean"),
    ("sys.exit(0)", 0, "clean"),
    ("sys.exit(1)", 1, "failed"),
    ("sys.exit(42)", 42, "failed"),
    ("sys.exit(256)", 0, "clean"),
    ("sys.exit(-1)", 255, "failed"),
    ("with run:\n    sys.exit(256)", 0, "clean"),
    ("with run:\n    sys.exit(1 << 64)", 255, "failed"),
    ("sys.exit('text')", 1, "failed"),
    ("raise SystemExit(False)", 0, "clean"),
    ("raise ValueError", 1, "failed"),
    ("raise KeyboardInterrupt", -signal.SIGINT, "failed"),
    ("del run; import gc; gc.collect(); raise ValueError", 1, "failed"),
    ("sys.excepthook = lambda *error: None\nraise ValueError", 1, "failed"),
    ("exit()", 0, "clean"),
    ("quit(2)", 2, "failed"),
    ("with run:\n    pass", 0, "clean"),
    ("with run:\n    raise ValueError", 1, "failed"),
    ("try:\n    raise ValueError\nfinally:\n    run.finish()", 1, "failed"),
    ("try:\n    raise ValueError\nexcept ValueError:\n    pass", 0, "clean"),
    ("threading.Thread(target=lambda: 1 / 0).start()", 0, "clean"),
    ("threading.Thread(target=lambda: sys.exit(4)).start()", 0, "clean"),
    ("threading.Thread(target=lambda: time.sleep(9), daemon=True).start()", 0, "clean"),
    ("import atexit\natexit.register(lambda: run.step(3))", 0, "clean"),
    ("import atexit\natexit.register(lambda: 1 / 0)", 0, "clean"),
    ("os._exit(0)", 0, "lost"),
    ("os._exit(5)", 5, "lost"),
    ("os.abort()", -signal.SIGABRT, "lost"),
    ("os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL, "lost"),
    ("os.kill(os.getpid(), signal.SIGTERM)\ntime.sleep(9)", -signal.SIGTERM, "lost"),
    ("os.kill(os.getpid(), signal.SIGINT)\ntime.sleep(9)", -signal.SIGINT, "failed"),
    ("os.execv('/bin/true', ['true'])", 0, "lost"),
]


@pytest.mark.parametrize(("rest", "status", "end"), ENDS, ids=[rest for rest, *_ in ENDS])
def test_end(script: Script, rest: str, status: int, end: str) -> None:
    result = script(program(rest))
    assert result.returncode == status, result.stderr
    report = headway.report("r")
    assert [attempt.end_kind for attempt in report.attempts] == [end]
    assert report.steps.last_step == (3 if "run.step(3)" in rest else 2)
    state = {"clean": "completed", "failed": "failed", "lost": "interrupted"}[end]
    assert report.state == state
    assert len(report.disruptions) == (0 if end == "clean" else 1)
    # What a shell says of the status; what killed the others only a supervisor sees.
    seen = 128 - status if status < 0 else status
    told = {"run.finish(7)": 7, "try:\n    raise ValueError\nfinally:\n    run.finish()": 1}
    by_sigterm = end == "lost" and status == -signal.SIGTERM
    for how in (*report.attempts, *report.disruptions):
        assert how.exit_status == (told.get(rest, seen) if end == "failed" else None)
        assert how.signal is None
        assert how.notice == (signal.SIGTERM if by_sigterm else None)
    for disruption in report.disruptions:
        cause = "notice" if by_sigterm else "lost" if end == "lost" else "exit_status"
        assert disruption.cause == cause


def test_errors_at_a_prompt_end_nothing(script: Script) -> None:
    result = script(
        """
        import code
        run = headway.init(run="r")
        sys.ps1 = ">>> "
        shell = code.InteractiveInterpreter({"run": run})
        shell.runsource("raise KeyboardInterrupt")
        shell.runsource("1 / 0")
        shell.runsource("run.step(0)")
        shell.runsource("run.step(1)")
        """
    )
    assert result.returncode == 0, result.stderr
    report = headway.report("r")
    assert report.state == "completed" and report.steps.last_step == 1


def test_the_message_of_an_uncaught_exception_is_left_alone(script: Script) -> None:
    result = script(program("raise ValueError('mine')"))
    assert result.stderr.count("Traceback") == 1
    assert result.stderr.rstrip().endswith("ValueError: mine")
    assert result.stdout == ""


def test_sigterm_is_noted(script: Script) -> None:
    # Ended after SIGTERM: a disruption even though the end is clean by itself.
    text = """
        def stop(*_):
            run.notice(signal.SIGTERM)
            sys.exit(0)
        signal.signal(signal.SIGTERM, stop)
        run = headway.init(run="r")
        run.step(0)
        run.step(1)
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(9)
    """
    assert script(text).returncode == 0
    report = headway.report("r")
    assert report.attempts[0].end_kind == "clean"
    assert [d.cause for d in report.disruptions] == ["notice"]
    assert report.disruptions[0].notice == report.attempts[0].notice == signal.SIGTERM


def test_the_users_handler_replaces_ours(script: Script) -> None:
    text = """
        run = headway.init(run="r")
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
        caught = []
        assert signal.signal(signal.SIGTERM, lambda *a: caught.append(a)) is signal.SIG_DFL
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.01)
        assert len(caught) == 1
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(9)
    """
    assert script(text).returncode == -signal.SIGTERM


def test_the_users_earlier_handler_stays(script: Script) -> None:
    text = """
        caught = []
        signal.signal(signal.SIGTERM, lambda *a: caught.append(a))
        run = headway.init(run="r")
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.01)
        assert len(caught) == 1
    """
    assert script(text).returncode == 0


def test_heartbeat_goes_on_while_the_gil_is_held(script: Script, folder: Path) -> None:
    # A regular expression that backtracks holds the GIL and takes far longer than the heart's beat.
    result = script(
        """
        import re
        run = headway.init(run="r")
        run.step(0)
        run.step(1)
        before = time.monotonic()
        size = 20
        while time.monotonic() - before < 2.5:
            size += 1
            re.match("(a+)+b", "a" * size)
        os.kill(os.getpid(), signal.SIGKILL)
        """
    )
    assert result.returncode == -signal.SIGKILL
    report = headway.report("r")
    assert report.start is not None and report.end is not None
    # Without a heartbeat the last sign of life would be step 1.
    assert (report.end - report.start).total_seconds() > 1.5


def test_heartbeat_can_be_turned_off(script: Script) -> None:
    text = """
        run = headway.init(run="r", heartbeat=%s)
        print(len(os.listdir("/proc/self/task")))
    """
    assert script(text % True).stdout == "2\n"
    assert script(text % False).stdout == "1\n"
    assert script(text % True, env={"HEADWAY_HEARTBEAT": "0"}).stdout == "1\n"


def test_an_end_is_seen_at_once(script: Script) -> None:
    before = time.time()
    script(program(""))
    report = headway.report("r")
    assert report.end is not None and before < report.end.timestamp() <= time.time()
