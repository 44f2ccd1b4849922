"""What `headway run` does for journals while a run goes on: keeping them on disk, and copying them
to a directory on a network. Only that the directory is on one is pretended here."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from conftest import Headway, wait_until

QUICK = ("--backoff", "1ms")


@pytest.fixture
def network(headway: Headway) -> Headway:
    headway.environment["HEADWAY_FILE_SYSTEM"] = "network"
    return headway


def node(headway: Headway) -> Path:
    return headway.folder / "node"


def python(headway: Headway, text: str) -> tuple[str, ...]:
    """A program that records, and goes on when a file `go` is there."""
    path = headway.folder / "train.py"
    path.write_text(
        "import os, signal, sys, time\nimport headway\n"
        "def await_go():\n"
        f"    while not os.path.exists({str(headway.folder / 'go')!r}): time.sleep(0.01)\n"
        + textwrap.dedent(text)
    )
    return ("--", sys.executable, str(path))


def go(headway: Headway) -> None:
    (headway.folder / "go").touch()


def journals(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.rglob("*.hwj")}


def used(data: bytes) -> bytes:
    """Without reserved space."""
    return data.rstrip(b"\0")


def same(headway: Headway) -> bool:
    here, there = journals(node(headway)), journals(headway.data)
    return here.keys() == there.keys() and all(used(here[n]) == used(there[n]) for n in here)


def steps_of(headway: Headway, run: str) -> int | None:
    result = headway("goodput", run, "--json", code=None)
    if result.returncode != 0:
        return None
    return headway.json("goodput", run)["steps"]["last_step"]


def helper_of(supervisor: int, name: str) -> int:
    def find() -> int | None:
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                head, _, rest = stat.read_text().rpartition(")")
            except OSError:
                continue
            if head.endswith(f"({name}") and int(rest.split()[1]) == supervisor:
                return int(stat.parent.name)
        return None

    pid: int = wait_until(find, f"a process {name}")
    return pid


def gone(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return True
    return state in "ZX"


def test_a_run_is_copied_while_it_runs_and_at_its_end(network: Headway) -> None:
    command = python(network, """
        run = headway.init()
        assert not run.continued or os.environ["HEADWAY_ATTEMPT"] != "0"
        assert run.destination == os.environ["HEADWAY_DIR"], run.destination
        run.step(0)
        run.step(7)
        await_go()
        run.step(8)
        if os.environ["HEADWAY_ATTEMPT"] == "0":
            os.kill(os.getpid(), signal.SIGKILL)
        run.finish()
    """)  # fmt: skip
    child = network.start("run", "--run", "r", "--restarts", "1", *QUICK, *command)
    wait_until(lambda: steps_of(network, "r") == 7, "step 7 at the destination")
    assert network.json("runs", "list")[0]["live"]
    go(network)
    assert child.wait(60) == 0
    error = child.communicate()[1]
    assert "warning" not in error, error
    assert len(journals(node(network))) == 4 and same(network)
    for path in network.data.rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path
    # A journal and its copy count once.
    report = network.json("goodput", "r")
    assert report["state"] == "completed" and report["steps"]["last_step"] == 8
    for dirs in (
        ("--dir", node(network)),
        ("--dir", node(network), "--dir", network.data),
        ("--dir", network.data, "--dir", node(network)),
    ):
        assert network.json("goodput", "r", *dirs) == report
        assert len(network.json("runs", "list", *dirs)) == 1
    # It has ended, wherever one looks: the next one is a new run.
    network("run", "--run", "r", *python(network, "assert not headway.init().continued"))
    assert len(network.json("runs", "list")) == 2


def test_a_dead_file_server_holds_up_nothing(network: Headway) -> None:
    command = python(network, """
        run = headway.init()
        signal.signal(signal.SIGUSR1, lambda *_: run.step(11))
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(3))
        run.step(0)
        print("ready", flush=True)
        while True:
            if run.last_step == 11:
                run.step(12)
                print("heard", flush=True)
            time.sleep(0.01)
    """)  # fmt: skip
    child = network.start("run", "--run", "r", "--settle", "50ms", *command)
    assert child.stdout is not None and child.stdout.readline() == "ready\n"
    helpers = [helper_of(child.pid, name) for name in ("headway-copy", "headway-sync")]
    for helper in helpers:
        os.kill(helper, signal.SIGSTOP)  # as one does that waits for a server or a disk
    try:
        child.send_signal(signal.SIGUSR1)
        assert child.stdout.readline() == "heard\n"
        child.terminate()
        assert child.wait(60) == 3
        error = child.communicate()[1]
        assert "not all is there; the next headway run on this machine copies the rest" in error
        assert str(network.data) in error and "the disk has not kept all yet" in error
    finally:
        for helper in helpers:
            os.kill(helper, signal.SIGCONT)
    for helper in helpers:
        wait_until(lambda pid=helper: gone(pid), "its end")
    assert same(network) and steps_of(network, "r") == 12


def test_trouble_is_told_and_nothing_is_lost(network: Headway) -> None:
    network.data.write_text("no directory\n")
    command = python(network, "run = headway.init()\nrun.step(5)")
    result = network("run", "--run", "r", "--settle", "1s", *command)
    assert f"copying the journals to {network.data}" in result.stderr
    assert f"they stay in {node(network)}" in result.stderr
    assert network.data.read_text() == "no directory\n"
    network.data.unlink()
    prune = ("runs", "prune", "--older-than", "1ms", "--dir", node(network))
    kept = network(*prune)
    assert f"run r stays: it has not been copied to {network.data} yet" in kept.stderr
    assert "1 stays" in kept.stdout
    network("run", "--run", "other", "--", "sleep", "0.1")
    wait_until(lambda: steps_of(network, "r") == 5, "what was left is delivered")
    wait_until(lambda: "deleted r" in network(*prune).stdout, "what has arrived may go")
    assert steps_of(network, "r") == 5


def test_the_next_one_delivers_what_a_killed_one_left(network: Headway) -> None:
    command = python(network, """
        run = headway.init()
        run.step(0)
        print("ready", flush=True)
        await_go()
        for step in range(1, 20000):
            run.step(step)
        run.finish()
        open(sys.argv[0] + ".done", "w").close()
    """)  # fmt: skip
    child = network.start("run", "--run", "r", *command)
    assert child.stdout is not None and child.stdout.readline() == "ready\n"
    wait_until(lambda: steps_of(network, "r") == 0, "a first copy")
    helper = helper_of(child.pid, "headway-copy")
    os.kill(helper, signal.SIGKILL)
    child.kill()
    child.wait(60)
    go(network)
    wait_until((network.folder / "train.py.done").exists, "the end of the training program")
    child.communicate()
    assert not same(network)
    # It delivers beside what it is there for, whichever run that is.
    other = network.start("run", "--run", "other", "--", "sleep", "600")
    wait_until(lambda: steps_of(network, "r") == 19999, "what was left is delivered")
    other.terminate()
    other.wait(60)
    other.communicate()
    assert network.json("goodput", "r")["attempts"][0]["last_step"] == 19999


def test_copying_outlives_a_killed_supervisor(network: Headway) -> None:
    command = python(network, """
        run = headway.init()
        run.step(0)
        print("ready", flush=True)
        await_go()
        run.step(1)
        run.finish()
    """)  # fmt: skip
    child = network.start("run", "--run", "r", *command)
    assert child.stdout is not None and child.stdout.readline() == "ready\n"
    helper = helper_of(child.pid, "headway-copy")
    child.kill()
    child.wait(60)
    go(network)
    wait_until(lambda: steps_of(network, "r") == 1, "what came after")
    wait_until(lambda: gone(helper), "the end of the helper, now that nothing is left to do")
    child.communicate()
    assert same(network)


def test_without_a_supervisor_a_journal_stays_and_can_be_fetched(network: Headway) -> None:
    path = network.folder / "alone.py"
    path.write_text("import headway\nrun = headway.init(run='r')\nrun.step(3)\nrun.finish()")
    subprocess.run([sys.executable, path], env=network.environment, check=True)
    assert not network.data.exists()
    (journal,) = node(network).rglob("*.hwj")
    network("import", journal)
    assert steps_of(network, "r") == 3
    # The next supervisor finds it there.
    network("run", "--run", "other", "--", "sleep", "0.1")
    assert len([name for name in journals(network.data) if name == journal.name]) == 1


def test_other_ranks_stay_on_their_nodes(network: Headway) -> None:
    network.environment.update(RANK="3", WORLD_SIZE="8")
    command = python(network, "run = headway.init()\nassert run.destination == ''\nrun.step(3)")
    network("run", "--run", "r", *command)
    assert not network.data.exists() and len(journals(node(network))) == 2


@pytest.mark.skipif(not shutil.which("strace"), reason="strace is not installed")
def test_the_disk_is_asked_to_keep_what_is_new(headway: Headway) -> None:
    def flushes(name: str, patience: float, *options: str) -> int:
        log = headway.folder / name
        strace = ("strace", "-f", "-y", "-e", "trace=fdatasync", "-o", str(log))
        # However long the disk takes: it goes on once it has been asked, or after a while.
        command = python(headway, f"""
            def asked():
                lines = open({str(log)!r}).read().splitlines()
                return sum("fdatasync(" in line and "-u-" in line for line in lines)
            run = headway.init()
            for step in range(3):
                before, until = asked(), time.monotonic() + {patience}
                run.step(step)
                while asked() == before and time.monotonic() < until:
                    time.sleep(0.01)
            print("done")
        """)  # fmt: skip
        result = subprocess.run(
            [*strace, headway.program, "run", "--run", name, *options, *command],
            env=headway.environment, capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        if "done" not in result.stdout:
            pytest.skip(f"strace does not work here: {result.stderr}")
        calls = [line for line in log.read_text().splitlines() if "fdatasync(" in line]
        assert all(".hwj>" in line for line in calls), calls
        return sum("-u-" in line for line in calls)

    assert flushes("often", 15, "--sync", "10ms") >= 4, "one for each step, and one at the end"
    assert 1 <= flushes("seldom", 0.1, "--sync", "600s") <= 3
    assert flushes("never", 0.1, "--sync", "0s") == 0
