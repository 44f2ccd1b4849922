"""`headway watch`: on a terminal and elsewhere, from journals and from a server."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from conftest import EXAMPLES, Headway, wait_until
from test_server import Server, train

ENTER, LEAVE = "\x1b[?1049h\x1b[?25l\x1b[?7l", "\x1b[?7h\x1b[?25h\x1b[?1049l"


class Terminal:
    """The program on a terminal of its own."""

    def __init__(
        self, headway: Headway, *arguments: str, width: int = 100, height: int = 40, **env: str
    ) -> None:
        self.text = ""
        self.main, side = pty.openpty()
        self.resize(width, height)
        self.process = subprocess.Popen(
            [headway.program, *arguments],
            env={**headway.environment, "TERM": "xterm-256color", **env},
            stdin=side, stdout=side, stderr=side, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )  # fmt: skip
        os.close(side)

    def resize(self, width: int, height: int) -> None:
        fcntl.ioctl(self.main, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))

    def read(self, seconds: float = 0.05) -> str:
        """What has come so far."""
        while select.select([self.main], [], [], seconds)[0]:
            try:
                some = os.read(self.main, 65536)
            except OSError:
                break
            if not some:
                break
            self.text += some.decode(errors="replace")
            seconds = 0
        return self.text

    def page(self) -> str:
        """What it shows: the page that it drew last, or what it left behind."""
        last = self.read().rpartition("\x1b[H")[2]
        return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]|\r", "", last)

    def wait_for(self, word: str) -> str:
        wait_until(lambda: word in self.page(), word)
        return self.page()

    def end(self) -> int:
        wait_until(lambda: self.read() is not None and self.process.poll() is not None, "its end")
        self.read(0.2)
        return self.process.returncode

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.main)


@pytest.fixture
def server(headway: Headway, tmp_path: Path) -> Iterator[Server]:
    with closing(Server(headway, tmp_path / "far")) as one:
        yield one


def step(page: str) -> int:
    found = re.search(r"^Step +([\d,]+)", page, re.M)
    return int(found[1].replace(",", "")) if found else -1


def recorded(headway: Headway, run: str, **options: object) -> bool:
    return headway("goodput", run, code=None, **options).returncode == 0


def test_a_run_is_shown_in_place(headway: Headway, tmp_path: Path) -> None:
    trainer = headway.start(*train(headway, tmp_path, "r", 1, 6000))
    wait_until(lambda: recorded(headway, "r"), "the run")
    with closing(Terminal(headway, "watch", "r", "--interval", "200ms")) as terminal:
        page = terminal.wait_for("steps a second")
        assert "% goodput" in page and "running" in page and "█" in page
        assert terminal.text.startswith(ENTER) and "\x1b[38;5;" in terminal.text
        first = step(page)
        wait_until(lambda: step(terminal.page()) > first, "more steps")
        terminal.wait_for("killed by SIGKILL")  # and it was started again
        terminal.resize(61, 12)
        terminal.process.send_signal(signal.SIGWINCH)

        def fits() -> bool:
            page = terminal.page()
            lines = page.split("\n")
            return len(lines) == 11 and max(map(len, lines)) <= 61

        wait_until(fits, "a smaller page")
        terminal.resize(100, 40)
        assert trainer.wait(timeout=120) == 0
        assert terminal.end() == 0
        assert terminal.text.count(ENTER) == terminal.text.count(LEAVE) == 1
        left = terminal.text.rpartition(LEAVE)[2]
        assert "completed" in left and "5,999" in left
    report = headway.json("goodput", "r")
    assert report["disruptions"] and report["state"] == "completed"


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"])
def test_the_terminal_is_given_back(headway: Headway, tmp_path: Path, name: str) -> None:
    trainer = headway.start(*train(headway, tmp_path, "r", 1, 100_000))
    try:
        wait_until(lambda: recorded(headway, "r"), "the run")
        with closing(Terminal(headway, "watch", "r", NO_COLOR="1")) as terminal:
            terminal.wait_for("running")
            if name == "SIGINT":
                os.write(terminal.main, b"\x03")
            else:
                terminal.process.send_signal(signal.Signals[name])
            assert terminal.end() == -signal.Signals[name]
            assert terminal.text.count(ENTER) == terminal.text.count(LEAVE) == 1
            assert "running" in terminal.text.rpartition(LEAVE)[2]
            assert "\x1b[38;5;" not in terminal.text and "\x1b[1m" not in terminal.text
    finally:
        trainer.send_signal(signal.SIGTERM)
        trainer.communicate(timeout=60)


def test_it_can_be_stopped_and_goes_on(headway: Headway, tmp_path: Path) -> None:
    trainer = headway.start(*train(headway, tmp_path, "r", 1, 100_000))
    try:
        wait_until(lambda: recorded(headway, "r"), "the run")
        with closing(Terminal(headway, "watch", "r", "--interval", "100ms")) as terminal:
            terminal.wait_for("running")
            # A session without a shell is an orphaned one, whose SIGTSTP the kernel drops.
            terminal.process.send_signal(signal.SIGTSTP)
            wait_until(lambda: LEAVE in terminal.read(), "the terminal")
            terminal.process.send_signal(signal.SIGCONT)
            wait_until(lambda: terminal.read().count(ENTER) == 2, "the page again")
            terminal.wait_for("running")
    finally:
        trainer.send_signal(signal.SIGTERM)
        trainer.communicate(timeout=60)


def test_lines_where_there_is_no_terminal(headway: Headway, tmp_path: Path) -> None:
    trainer = headway.start(*train(headway, tmp_path, "r", 1, 1500))
    wait_until(lambda: recorded(headway, "r"), "the run")
    text = headway.start("watch", "r", "--interval", "100ms")
    documents = headway.start("watch", "r", "--interval", "100ms", "--json")
    assert trainer.wait(timeout=120) == 0
    out, err = text.communicate(timeout=30)
    lines = out.splitlines()
    assert text.returncode == 0 and err == "" and len(lines) > 3 and "\x1b" not in out
    assert "  completed  " in lines[-1] and "  step 1,499  " in lines[-1]
    assert any("steps/s" in line and "a step" in line for line in lines)
    out, _ = documents.communicate(timeout=30)
    reports = [json.loads(line) for line in out.splitlines()]
    assert documents.returncode == 0 and len(reports) > 3
    elapsed = [report["elapsed_ns"] for report in reports]
    assert elapsed == sorted(elapsed) and reports[-1]["steps"]["last_step"] == 1499
    assert reports[-1] == headway.json("goodput", "r")


def test_what_has_ended(headway: Headway) -> None:
    headway("import", EXAMPLES / "B.jsonl", "--run", "r")
    headway("watch", "none", code=1)
    for wrong in (["--interval", "1ms"], ["--interval", "soon"], ["--patience", "x"]):
        headway("watch", "r", *wrong, code=2)
    assert headway("watch", "r", "--patience", "0s").stdout.count("\n") == 1
    with closing(Terminal(headway, "watch", "r", "--patience", "0s")) as terminal:
        assert terminal.end() == 0 and "goodput" in terminal.text.rpartition(LEAVE)[2]
    with closing(Terminal(headway, "watch", "r", "--patience", "0s", TERM="dumb")) as terminal:
        assert terminal.end() == 0 and "\x1b" not in terminal.text


def test_a_reader_that_goes_away(headway: Headway, tmp_path: Path) -> None:
    trainer = headway.start(*train(headway, tmp_path, "r", 1, 100_000))
    try:
        wait_until(lambda: recorded(headway, "r"), "the run")
        watch = headway.start("watch", "r", "--interval", "100ms")
        assert watch.stdout is not None and watch.stdout.readline()
        watch.stdout.close()
        assert watch.wait(timeout=20) == -signal.SIGPIPE
    finally:
        trainer.send_signal(signal.SIGTERM)
        trainer.communicate(timeout=60)


def test_a_server_is_watched(headway: Headway, server: Server, tmp_path: Path) -> None:
    headway("watch", "r", env=server.env, code=1)
    trainer = headway.start(*train(headway, tmp_path, "r", 1, 6000), env=server.env)
    wait_until(lambda: recorded(headway, "r", env=server.env), "the run")
    lines = headway.start("watch", "r", "--json", env=server.env)
    with closing(Terminal(headway, "watch", "r", **server.env)) as terminal:
        page = terminal.wait_for("steps a second")
        assert "Arrived" in page and "% goodput" in page
        first = step(page)
        wait_until(lambda: step(terminal.page()) > first, "more steps")
        server.kill()
        page = terminal.wait_for("the server is away")
        assert "% goodput" in page
        time.sleep(1)
        server.start()
        wait_until(lambda: "the server is away" not in terminal.page(), "its return")
        wait_until(lambda: step(terminal.page()) > first, "more steps")
        assert trainer.wait(timeout=120) == 0
        assert terminal.end() == 0
        assert "completed" in terminal.text.rpartition(LEAVE)[2]
    out, err = lines.communicate(timeout=30)
    reports = [json.loads(line) for line in out.splitlines()]
    assert lines.returncode == 0 and len(reports) > 2
    first_told, then_told = err.splitlines()
    assert first_told.startswith("headway: warning: the server is away: ")
    assert then_told == f"headway: {server.url} is there again"
    assert reports[-1] == headway.json("goodput", "r", env=server.env)


def test_a_server_that_says_no(headway: Headway, server: Server) -> None:
    made = server.call("RunService/CreateRun", {"run": {"name": "r"}})[1]["run"]
    writer = server.call("TokenService/CreateToken", {"role": "writer"})[1]["secret"]
    watch = ("watch", "r", "--interval", "5s")
    assert "runs.get" in headway(*watch, env={**server.env, "HEADWAY_TOKEN": writer}, code=5).stderr
    token = server.call("TokenService/CreateToken", {"role": "viewer"})[1]
    env = {**server.env, "HEADWAY_TOKEN": token["secret"]}
    watching = headway.start("watch", made["uid"], env=env)
    assert watching.stdout is not None and "no goodput yet" in watching.stdout.readline()
    server.call("TokenService/RevokeToken", {"id": token["token"]["id"]})
    _, err = watching.communicate(timeout=20)
    assert watching.returncode == 5 and "this token was revoked" in err
    server.stop()
    assert "no answer from" in headway(*watch, env=env, code=4).stderr
