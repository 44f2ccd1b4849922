"""Forks, workers, subinterpreters and other Pythons."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Script

import headway


def only_attempt(end: str, last_step: int) -> None:
    report = headway.report("r")
    assert [attempt.end_kind for attempt in report.attempts] == [end]
    assert report.steps.last_step == last_step
    assert "several_leads" not in {note.code for note in report.notes}


def test_a_forked_child_records_nothing(script: Script) -> None:
    result = script(
        """
        run = headway.init(run="r")
        for i in range(3):
            run.step(i)
        pid = os.fork()
        if pid == 0:
            with run.step(99), run.span("child"):
                run.log({"x": 1.0})
            run.finish(1)
            sys.exit(5)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 5
        run.step(3)
        run.step(4)
        """,
        options=("-W", "ignore::DeprecationWarning"),
    )
    assert result.returncode == 0, result.stderr
    only_attempt("clean", 4)
    assert headway.report("r").ns("custom") == 0


def test_a_child_inside_a_step_and_a_span(script: Script) -> None:
    result = script(
        """
        run = headway.init(run="r")
        with run.span("outer"), run.step(0):
            if os.fork() == 0:
                sys.exit(1)
            os.wait()
        run.step(1)
        """,
        options=("-W", "ignore::DeprecationWarning"),
    )
    assert result.returncode == 0, result.stderr
    only_attempt("clean", 1)
    assert "span_unclosed" not in {note.code for note in headway.report("r").notes}


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_workers_of_multiprocessing(script: Script, method: str) -> None:
    # init at the top of the program: a spawned worker imports that again.
    result = script(
        """
        import multiprocessing
        run = headway.init(run="r")
        run.step(0)

        def work(n):
            with run.step(1000 + n), run.data_loading():
                run.log({"n": n})
            return n * n

        if __name__ == "__main__":
            context = multiprocessing.get_context(sys.argv[1])
            with context.Pool(2) as pool:
                print(sum(pool.map(work, range(20))))
            process = context.Process(target=sys.exit, args=(3,))
            process.start()
            process.join()
            assert process.exitcode == 3
            process = context.Process(target=time.sleep, args=(60,))
            process.start()
            process.terminate()  # SIGTERM, which a recorder may have hooked
            process.join(20)
            assert process.exitcode == -15, process.exitcode
            run.step(1)
        """,
        method,
        options=("-W", "ignore::DeprecationWarning"),
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout == "2470\n"
    only_attempt("clean", 1)
    assert headway.runs()[0].journals == 1


def test_spawned_ranks_record_on_their_own(script: Script, folder: Path) -> None:
    result = script(
        """
        import multiprocessing

        def train(rank):
            run = headway.init(run="r", rank=rank, world_size=2, attempt_key="a")
            for i in range(3):
                run.step(i)
            assert run.enabled and run.rank == rank

        if __name__ == "__main__":
            context = multiprocessing.get_context("spawn")
            ranks = [context.Process(target=train, args=(rank,)) for rank in range(2)]
            for rank in ranks:
                rank.start()
            for rank in ranks:
                rank.join()
            assert [rank.exitcode for rank in ranks] == [0, 0]
        """
    )
    assert result.returncode == 0, result.stderr
    report = headway.report("r")
    assert len(report.attempts) == 1 and report.steps.last_step == 2


METHODS = ["fork", "spawn", "forkserver"]

WORKER_ENDS = [
    # What a worker does after its last step, its exit code, how the attempt ended.
    ("pass", 0, "clean"),
    ("sys.exit(0)", 0, "clean"),
    ("sys.exit()", 0, "clean"),
    ("sys.exit(256)", 0, "clean"),
    ("sys.exit(3)", 3, "failed"),
    ("sys.exit('text')", 1, "failed"),
    ("raise ValueError", 1, "failed"),
    ("raise KeyboardInterrupt", 1, "failed"),
    ("run.finish(); raise ValueError", 1, "clean"),
    ("run.finish(4)", 0, "failed"),
    ("del run; run = headway.init(run='r', rank=0)", 0, "clean"),
    ("os._exit(0)", 0, "lost"),
    ("os._exit(3)", 3, "lost"),
    ("os.kill(os.getpid(), signal.SIGTERM)", -15, "lost"),
    ("os.kill(os.getpid(), signal.SIGKILL)", -9, "lost"),
    ("pid = os.fork()\n    if pid == 0:\n        sys.exit(1)\n    os.wait()", 0, "clean"),
]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("end", "code", "kind"), WORKER_ENDS)
def test_the_end_of_a_worker_that_records(
    script: Script, method: str, end: str, code: int, kind: str
) -> None:
    result = script(
        f"""
import multiprocessing

def train():
    run = headway.init(run="r", rank=0)
    for i in range(3):
        run.step(i)
    {end}

if __name__ == "__main__":
    process = multiprocessing.get_context(sys.argv[1]).Process(target=train)
    process.start()
    process.join()
    assert process.exitcode == int(sys.argv[2]), process.exitcode
""",
        method,
        str(code),
        options=("-W", "ignore::DeprecationWarning"),
    )
    assert result.returncode == 0, result.stderr
    only_attempt(kind, 2)


@pytest.mark.parametrize("method", METHODS)
def test_a_worker_of_a_program_that_records(script: Script, method: str) -> None:
    # The parent's run is not the worker's to end, and the worker's own ends with the worker.
    result = script(
        """
        import multiprocessing

        def work():
            headway.init(run="own").step(5)

        if __name__ == "__main__":
            run = headway.init(run="r")
            run.step(0)
            process = multiprocessing.get_context(sys.argv[1]).Process(target=work)
            process.start()
            process.join()
            run.step(1)
            assert run.enabled
        """,
        method,
        options=("-W", "ignore::DeprecationWarning"),
    )
    assert result.returncode == 0, result.stderr
    only_attempt("clean", 1)
    assert [a.end_kind for a in headway.report("own").attempts] == ["clean"]


def test_a_worker_forked_while_an_error_is_handled(script: Script) -> None:
    result = script(
        """
        import multiprocessing

        def train():
            headway.init(run="r").step(0)

        try:
            raise ValueError
        except ValueError:
            process = multiprocessing.get_context("fork").Process(target=train)
            process.start()
            process.join()
            assert process.exitcode == 0
        """,
        options=("-W", "ignore::DeprecationWarning"),
    )
    assert result.returncode == 0, result.stderr
    only_attempt("clean", 0)


def test_what_a_worker_records_as_it_ends(script: Script) -> None:
    result = script(
        """
        import multiprocessing, multiprocessing.util

        def train():
            multiprocessing.util.Finalize(None, late, exitpriority=-100)
            headway.init(run="r").step(0)

        def late():
            headway.current_run().step(1)

        process = multiprocessing.get_context("fork").Process(target=train)
        process.start()
        process.join()
        """,
        options=("-W", "ignore::DeprecationWarning"),
    )
    assert result.returncode == 0, result.stderr
    only_attempt("clean", 1)


@pytest.mark.parametrize("method", METHODS)
def test_ranks_in_an_executor(script: Script, method: str) -> None:
    result = script(
        """
        import concurrent.futures, multiprocessing

        def train(rank):
            run = headway.init(run="r", rank=rank, world_size=1, attempt_key="a")
            run.step(rank)
            return run.enabled

        if __name__ == "__main__":
            context = multiprocessing.get_context(sys.argv[1])
            with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as executor:
                assert executor.submit(train, 0).result()
        """,
        method,
        options=("-W", "ignore::DeprecationWarning"),
    )
    assert result.returncode == 0, result.stderr
    only_attempt("clean", 0)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("close", "kind"), [("close", "clean"), ("terminate", "lost")])
def test_ranks_in_a_pool(script: Script, method: str, close: str, kind: str) -> None:
    result = script(
        """
        import multiprocessing

        def share(event):
            global recorded
            recorded = event

        def train(rank, seconds):
            headway.init(run="r", rank=rank).step(rank)
            recorded.set()
            time.sleep(seconds)

        if __name__ == "__main__":
            context = multiprocessing.get_context(sys.argv[1])
            recorded = context.Event()
            pool = context.Pool(1, share, (recorded,))
            pool.apply_async(train, (0, 0 if sys.argv[2] == "close" else 60))
            recorded.wait()
            getattr(pool, sys.argv[2])()
            pool.join()
        """,
        method,
        close,
        options=("-W", "ignore::DeprecationWarning"),
    )
    assert result.returncode == 0, result.stderr
    only_attempt(kind, 0)


def test_recording_imports_no_multiprocessing(script: Script) -> None:
    result = script(
        """
        headway.init(run="r").step(0)
        assert not [name for name in sys.modules if name.startswith("multiprocessing")]
        """
    )
    assert result.returncode == 0, result.stderr


def test_a_forked_child_may_open_its_own(script: Script) -> None:
    result = script(
        """
        run = headway.init(run="r")
        run.step(0)
        if os.fork() == 0:
            own = headway.init(run="child")
            own.step(7)
            own.finish()
            os._exit(0)
        os.wait()
        """,
        options=("-W", "ignore::DeprecationWarning"),
    )
    assert result.returncode == 0, result.stderr
    only_attempt("clean", 0)
    assert headway.report("child").steps.last_step == 7


def test_the_parent_may_die_before_the_child(script: Script) -> None:
    result = script(
        """
        run = headway.init(run="r")
        run.step(0)
        pid = os.fork()
        if pid == 0:
            os.close(1), os.close(2)
            time.sleep(3)
            os._exit(0)
        print(pid, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
        """,
        options=("-W", "ignore::DeprecationWarning"),
    )
    assert result.returncode == -9
    child = int(result.stdout)
    assert Path(f"/proc/{child}").exists()
    only_attempt("lost", 0)  # the child keeps nothing alive


def test_fork_warns_only_where_python_does(script: Script) -> None:
    # Python 3.12 and later warn when a process with threads forks; here the heartbeat is off.
    result = script(
        """
        run = headway.init(run="r", heartbeat=False)
        if os.fork() == 0:
            os._exit(0)
        os.wait()
        """,
        options=("-W", "error"),
    )
    assert result.returncode == 0, result.stderr


def test_subinterpreters_are_refused(script: Script) -> None:
    result = script(
        """
        try:
            import _xxsubinterpreters as interpreters
        except ImportError:
            try:
                import _interpreters as interpreters
            except ImportError:
                sys.exit(77)
        program = '''
        try:
            import headway
        except ImportError as error:
            print(error)
        '''
        import textwrap
        error = interpreters.run_string(interpreters.create(), textwrap.dedent(program))
        assert error is None, error
        """
    )
    if result.returncode == 77:
        pytest.skip("this Python has no subinterpreters")
    assert result.returncode == 0, result.stderr
    assert "subinterpreter" in result.stdout


def test_imported_twice(script: Script) -> None:
    result = script(
        """
        run = headway.init(run="r")
        run.step(0)
        for name in [name for name in sys.modules if name.startswith("headway")]:
            del sys.modules[name]
        import headway as again
        assert again is not headway
        other = again.init(run="other")
        other.step(0)
        run.step(1)
        """
    )
    assert result.returncode == 0, result.stderr
    assert headway.report("r").steps.last_step == 1
    assert headway.report("other").state == "completed"


PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
import headway
run = headway.init(run="v")
for i in range(1000):
    with run.data_loading():
        pass
    with run.step(i):
        run.log({"loss": 1.5}, step=i)
run.finish()
report = headway.report("v")
assert report.steps.count == 1000 and run.dropped == 0
assert sum(t.ns for t in report.categories) == report.elapsed_ns
print("%d.%d" % sys.version_info[:2])
"""


def interpreter(version: str) -> str | None:
    """A Python of that version, on PATH or from pyenv."""
    named = [shutil.which(f"python{version}"), shutil.which("python3")]
    found = [python for python in named if python is not None]
    found += map(str, Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    for python in found:
        probe = [python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
        if subprocess.run(probe, capture_output=True, text=True).stdout == f"{version}\n":
            return python
    return None


WORKERS = """
import multiprocessing, sys
import headway

def train(end):
    headway.init(run="r" + end, rank=0).step(0)
    if end == "error":
        raise ValueError
    if end != "return":
        sys.exit(int(end))

if __name__ == "__main__":
    for method in ("fork", "spawn", "forkserver"):
        for end in ("return", "0", "3", "error"):
            process = multiprocessing.get_context(method).Process(target=train, args=(end,))
            process.start()
            process.join()
            print(headway.report("r" + end).attempts[-1].end_kind)
"""

VERSIONS = ["3.10", "3.11", "3.12", "3.13", "3.14"]


@pytest.mark.parametrize("version", VERSIONS)
def test_workers_of_every_python(version: str, tmp_path: Path) -> None:
    python = interpreter(version)
    if python is None:
        pytest.skip(f"no Python {version} here")
    program = tmp_path / "program.py"
    program.write_text(WORKERS)
    source = str(Path(headway.__file__).parent.parent)
    result = subprocess.run(
        [python, "-W", "ignore", str(program)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": source},
    )
    wanted = ["clean", "clean", "failed", "failed"]
    assert result.stdout.split() == 3 * wanted, result.stdout + result.stderr


@pytest.mark.parametrize("version", VERSIONS)
def test_one_module_for_every_python(version: str) -> None:
    python = interpreter(version)
    if python is None:
        pytest.skip(f"no Python {version} here")
    source = str(Path(headway.__file__).parent.parent)
    result = subprocess.run(
        [python, "-c", PROGRAM, source],
        capture_output=True,
        text=True,
        env={k: v for k, v in os.environ.items() if k != "PYTHONPATH"},
    )
    assert result.stdout == f"{version}\n", result.stderr


def test_a_forked_process_has_a_run_of_its_own_with_the_same_arguments(tmp_path: Path) -> None:
    program = """
import os, sys, headway
run = headway.init(run="r", dir=sys.argv[1])
run.step(0)
if os.fork() == 0:
    assert headway.current_run() is None
    os.environ["RANK"], os.environ["WORLD_SIZE"] = "1", "2"
    own = headway.init(run="r", dir=sys.argv[1])
    assert own is not run and own.enabled and own.rank == 1, (own, own.rank)
    assert own.journal_path != run.journal_path
    own.step(1)
    own.finish()
    os._exit(0)
assert os.wait()[1] == 0
assert headway.init(run="r", dir=sys.argv[1]) is run
run.finish()
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert len(list(tmp_path.rglob("*.hwj"))) == 2
