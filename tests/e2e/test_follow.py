"""`headway monitor --server`: what it tells of a run is the same from another machine."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from conftest import Headway, wait_until
from test_server import Server, journals, train

# Goes on until there is a file.
PROGRAM = """
import pathlib, sys, time
import headway

with headway.init(run="r") as run:
    step = 0
    while not pathlib.Path(sys.argv[1]).exists():
        with run.step(step):
            time.sleep(0.01)
        step += 1
    print(step, flush=True)
"""


@pytest.fixture
def server(headway: Headway, tmp_path: Path) -> Iterator[Server]:
    with closing(Server(headway, tmp_path / "far")) as one:
        yield one


class Elsewhere:
    """Another machine: what it knows of runs it has from the server."""

    def __init__(self, headway: Headway, server: Server, folder: Path) -> None:
        self.headway = headway
        self.env = {**server.env, "HEADWAY_DIR": str(folder / "elsewhere")}

    def monitor(self, *options: str | Path, token: str = "") -> subprocess.Popen[str]:
        env = {**self.env, **({"HEADWAY_TOKEN": token} if token else {})}
        return self.headway.start("monitor", "r", *options, env=env)


@pytest.fixture
def elsewhere(headway: Headway, server: Server, tmp_path: Path) -> Elsewhere:
    return Elsewhere(headway, server, tmp_path)


def final(headway: Headway, path: Path, *options: str) -> str:
    """What a monitor of the journals here writes of the run that has ended."""
    monitor = headway.start("monitor", "r", "--prometheus-file", path, "--every", "100ms", *options)
    wait_until(path.exists, "its first values")
    monitor.send_signal(signal.SIGTERM)
    _, err = monitor.communicate(timeout=30)
    assert monitor.returncode == 0, err
    return path.read_text()


def test_a_run_that_has_ended_is_told_of_at_once(
    headway: Headway, server: Server, elsewhere: Elsewhere, tmp_path: Path
) -> None:
    headway(*train(headway, tmp_path, "r", 1, 300))
    headway("ship", env=server.env)
    for number, options in enumerate((
        ["--window", "30m", "--window", "1h"],
        ["--accounting", "exact"],
        ["--elastic", "--ideal-step", "0.002", "--no-badput"],
    )):  # fmt: skip
        path = tmp_path / f"there{number}.prom"
        monitor = elsewhere.monitor("--prometheus-file", path, *options)
        out, err = monitor.communicate(timeout=60)
        assert (monitor.returncode, out, err) == (0, "", ""), err
        assert path.read_text() == final(headway, tmp_path / f"here{number}.prom", *options)
    state = json.loads(next((tmp_path / "elsewhere/monitors/default/r").glob("*.json")).read_text())
    assert state["problem"] == "" and state["samples"] == 1


def test_a_run_is_followed_while_the_server_comes_and_goes(
    headway: Headway, server: Server, elsewhere: Elsewhere, tmp_path: Path
) -> None:
    path = tmp_path / "there.prom"
    monitor = elsewhere.monitor("--prometheus-file", path, "--every", "100ms", "--window", "1h")
    assert monitor.stderr is not None
    line = monitor.stderr.readline()
    assert 'no run "r"' in line and "waiting for it" in line
    stop = tmp_path / "stop"
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    trainer = subprocess.Popen(
        [sys.executable, program, stop], env={**headway.environment, **server.env}, text=True,
        stdout=subprocess.PIPE,
    )  # fmt: skip
    wait_until(lambda: journals(headway), "a journal")
    shipper = headway.start("ship", "--follow", "--patience", "60s", env=server.env)
    assert "the run can be read" in monitor.stderr.readline()

    def step() -> float:
        found = [
            float(one.rsplit(" ", 1)[1])
            for one in (path.read_text().splitlines() if path.exists() else [])
            if one.startswith("headway_max_productive_step{")
        ]
        return found[0] if found else -1.0

    wait_until(lambda: step() > 0, "steps")
    server.kill()
    line = monitor.stderr.readline()
    assert "trying again" in line and server.url in line, line
    before = step()
    server.start()
    assert "the run can be read" in monitor.stderr.readline()
    wait_until(lambda: step() > before, "more steps")
    stop.touch()
    out, _ = trainer.communicate(timeout=60)
    assert shipper.wait(timeout=60) == 0
    # It ends by itself, with the final values.
    _, err = monitor.communicate(timeout=60)
    assert (monitor.returncode, err) == (0, "")
    assert step() == int(out) - 1
    assert path.read_text() == final(headway, tmp_path / "here.prom", "--window", "1h")


def test_who_may_not_read_is_told_and_it_ends(
    headway: Headway, server: Server, elsewhere: Elsewhere, tmp_path: Path
) -> None:
    headway(*train(headway, tmp_path, "r", 1, 5))
    headway("ship", env=server.env)
    sink = ("--prometheus-file", tmp_path / "r.prom", "--every", "100ms")
    made = headway.json("tokens", "create", "--role", "writer", env=server.env)
    for token, words in (("nonsense", "token"), (made["secret"], "runs.get")):
        monitor = elsewhere.monitor(*sink, token=token)
        _, err = monitor.communicate(timeout=30)
        assert monitor.returncode == 5 and words in err, err
    # One that is revoked while it goes on.
    viewer = headway.json("tokens", "create", "--role", "viewer", env=server.env)
    monitor = headway.start(
        "monitor", "never", *sink,
        env={**elsewhere.env, "HEADWAY_TOKEN": viewer["secret"]},
    )  # fmt: skip
    assert monitor.stderr is not None
    assert "waiting for it" in monitor.stderr.readline()
    headway("tokens", "revoke", viewer["id"], env=server.env)
    _, err = monitor.communicate(timeout=60)
    assert monitor.returncode == 5 and "token" in err, err


def test_it_ends_when_it_is_told_to_while_the_server_hangs(
    headway: Headway, server: Server, elsewhere: Elsewhere, tmp_path: Path
) -> None:
    assert server.process is not None
    server.process.send_signal(signal.SIGSTOP)
    monitor = elsewhere.monitor("--prometheus-file", tmp_path / "r.prom", "--final", "1s")
    state = tmp_path / "elsewhere/monitors/default/r"
    try:
        monitor.send_signal(signal.SIGCONT)  # it is there
        with pytest.raises(subprocess.TimeoutExpired):
            monitor.wait(timeout=1)
        monitor.terminate()
        _, err = monitor.communicate(timeout=10)
        assert monitor.returncode == 4 and server.url.removeprefix("http://") in err, err
        assert json.loads(next(state.glob("*.json")).read_text())["problem"]
    finally:
        server.process.send_signal(signal.SIGCONT)
