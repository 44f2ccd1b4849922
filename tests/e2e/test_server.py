"""`headway serve`, `headway ship`, and what a server answers."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from conftest import EXAMPLES, ROOT, Headway, wait_until

TRAIN = """
import os, random, sys, time
import headway

run = headway.init(run=sys.argv[1])
attempt = int(os.environ["HEADWAY_ATTEMPT"])
dice = random.Random(1000 * int(sys.argv[2]) + attempt)
for step in range(int(sys.argv[3])):
    with run.step(step):
        with run.data_loading():
            time.sleep(0.0005)
        time.sleep(0.001)
    if step % 25 == 0:
        with run.span("eval"):
            time.sleep(0.001)
    if attempt < 3 and dice.random() < 0.003:
        os.kill(os.getpid(), 9)
"""


class Server:
    """A server of its own, which may be killed and started again."""

    def __init__(self, headway: Headway, folder: Path, *options: str) -> None:
        self.headway = headway
        self.folder = folder
        self.options = options
        self.port = 0
        self.process: subprocess.Popen[str] | None = None
        self.start()

    def start(self) -> None:
        self.process = self.headway.start(
            "serve", "--dir", self.folder, "--listen", f"127.0.0.1:{self.port}", *self.options,
            stderr=subprocess.STDOUT,
        )  # fmt: skip
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line.startswith(f"headway serve: {self.scheme}://127.0.0.1:"), line
        self.port = int(line.rsplit(":", 1)[1])
        self.process.stdout.readline()

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def stop(self) -> str:
        assert self.process is not None
        if self.process.poll() is None:
            self.process.terminate()
        out, _ = self.process.communicate(timeout=30)
        return out

    close = stop

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}"

    @property
    def scheme(self) -> str:
        return "https" if any(option.startswith("--tls") for option in self.options) else "http"

    @property
    def token(self) -> str:
        return (self.folder / "server/admin-token").read_text().strip()

    @property
    def env(self) -> dict[str, str]:
        return {"HEADWAY_SERVER": self.url, "HEADWAY_TOKEN": self.token}

    def call(
        self, method: str, request: Any, token: str | None = None, **headers: str
    ) -> tuple[int, Any]:
        """A call as curl makes it."""
        token = self.token if token is None else token
        sent = {"Content-Type": "application/json", "Authorization": f"Bearer {token}", **headers}
        body = request if isinstance(request, bytes) else json.dumps(request).encode()
        wanted = urllib.request.Request(f"{self.url}/headway.v1.{method}", body, sent)
        try:
            with urllib.request.urlopen(wanted, timeout=30) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as error:
            text = error.read()
            return error.code, json.loads(text) if text.startswith(b"{") else text.decode()


@pytest.fixture
def server(headway: Headway, tmp_path: Path) -> Iterator[Server]:
    with closing(Server(headway, tmp_path / "far")) as one:
        yield one


def train(headway: Headway, tmp_path: Path, run: str, seed: int, steps: int) -> list[str]:
    path = tmp_path / "train.py"
    path.write_text(TRAIN)
    return ["run", "--quiet", "--run", run, "--restarts", "50", "--backoff", "1ms", "--",
            sys.executable, str(path), run, str(seed), str(steps)]  # fmt: skip


def journals(headway: Headway) -> list[Path]:
    return [path for path in headway.files() if path.suffix == ".hwj"]


def same_everywhere(headway: Headway, server: Server, run: str) -> None:
    """The journals here and the server give the same bytes."""
    start = headway.json("goodput", run)
    as_of = start["as_of"]
    for command in ("goodput", "timeline", "steps"):
        for more in ((), ("--as-of", as_of), ("--window", "+100ms..+1s"), ("--last", "300ms"),
                     ("--as-of", "+700ms")):  # fmt: skip
            here = headway(command, run, "--json", *more)
            there = headway(command, run, "--json", *more, env=server.env)
            assert there.stdout == here.stdout, (command, more)
    assert headway("goodput", run, env=server.env).stdout == headway("goodput", run).stdout
    explain = ("goodput", run, "--explain", "productive")
    assert headway(*explain, env=server.env).stdout == headway(*explain).stdout


def test_a_finished_run_is_the_same_everywhere(
    headway: Headway, server: Server, tmp_path: Path
) -> None:
    for seed in range(3):
        headway(*train(headway, tmp_path, f"r{seed}", seed, 300))
    first = json.loads(headway("ship", "--json", env=server.env).stdout)
    assert first["journals"] == len(journals(headway)) and first["slots_sent"] > 1000
    for seed in range(3):
        same_everywhere(headway, server, f"r{seed}")
        wait_until(
            lambda name=f"r{seed}": headway.json("runs", "show", name, env=server.env)["state"]
            == headway.json("goodput", name)["state"], "what the list tells")  # fmt: skip
        told = headway.json("runs", "show", f"r{seed}", env=server.env)
        for key in ("start", "elapsed_ns", "goodput"):
            assert told[key] == headway.json("goodput", f"r{seed}")[key], key
    # Who records it.
    far = headway.json("runs", "show", "r0", env=server.env)["journals"]
    near = headway.json("runs", "show", "r0")["journals"]
    assert len(far) == len(near) > 1
    for key in ("uid", "origin", "rank", "host", "pid", "attempt_key", "writer", "software"):
        assert {one[key] for one in far} == {one[key] for one in near}, key
    attempts = headway.json("goodput", "r0")["attempts"]
    assert headway.json("runs", "show", "r0", env=server.env)["attempts"] == attempts
    assert {one["attempt"] for one in far} - {None} == {one["index"] for one in attempts}
    assert all(one["state"] == "dead" and one["records"] > 0 for one in far)
    pages, token = [], ""
    while True:
        page = server.call("ProcessService/ListProcesses",
                           {"run": "r0", "pageSize": 1, "pageToken": token})[1]  # fmt: skip
        pages += [one["uid"] for one in page["processes"]]
        token = page.get("nextPageToken", "")
        if not token:
            break
    assert pages == [one["uid"] for one in far]
    for token in ("x", "0" * 32):
        asked = {"run": "r0", "pageToken": token}
        assert server.call("ProcessService/ListProcesses", asked)[0] == 400
    assert "supervisor" in headway("runs", "show", "r0", env=server.env).stdout
    both = ("--server", server.url, "--dir", str(headway.data))
    assert "give one" in headway("goodput", "r0", *both, code=2).stderr
    again = json.loads(headway("ship", "--json", env=server.env).stdout)
    assert again == {"journals": first["journals"], "slots_sent": 0, "removed": 0}


def test_one_run_alone_is_shipped(headway: Headway, server: Server, tmp_path: Path) -> None:
    for run in ("a", "b"):
        headway(*train(headway, tmp_path, run, 0, 5))
    headway("ship", "a", env=server.env)
    headway("goodput", "a", env=server.env)
    result = headway("goodput", "b", env=server.env, code=1)
    assert 'no run "b" in project "default"' in result.stderr


def test_a_run_that_goes_on_is_followed(headway: Headway, server: Server, tmp_path: Path) -> None:
    trainer = headway.start(*train(headway, tmp_path, "r", 1, 1500))
    wait_until(lambda: headway("goodput", "r", code=None).returncode == 0, "the run")
    shipper = headway.start("ship", "--follow", env=server.env)
    wait_until(lambda: headway("goodput", "r", env=server.env, code=None).returncode == 0, "news")
    seen: list[int] = []

    def count() -> int:
        report = headway.json("goodput", "r", env=server.env)
        seen.append(report["steps"]["last_step"] or 0)
        return seen[-1]

    assert headway.json("goodput", "r", env=server.env)["state"] in ("running", "restarting")
    first = count()
    wait_until(lambda: count() > first, "more steps")
    assert trainer.wait(timeout=120) == 0
    assert shipper.wait(timeout=60) == 0, shipper.communicate()
    same_everywhere(headway, server, "r")


def test_a_supervised_run_is_sent_by_itself(
    headway: Headway, server: Server, tmp_path: Path
) -> None:
    trainer = headway.start(*train(headway, tmp_path, "r", 1, 800), env=server.env)
    wait_until(lambda: headway("goodput", "r", env=server.env, code=None).returncode == 0, "it")
    # The supervisor's journal may be there before the process has recorded anything.
    wait_until(lambda: headway.json("goodput", "r", env=server.env)["state"] in
               ("running", "restarting"), "records")  # fmt: skip
    _, err = trainer.communicate(timeout=120)
    assert trainer.returncode == 0 and "sending" not in err, err
    same_everywhere(headway, server, "r")


def test_a_server_that_is_away_holds_up_nothing(
    headway: Headway, server: Server, tmp_path: Path
) -> None:
    url = server.env
    server.stop()
    run = train(headway, tmp_path, "r", 3, 20)
    result = headway(run[0], "--settle", "1s", *run[1:], env=url)
    assert f"sending the journals to {server.url}" in result.stderr
    assert "headway ship sends the rest" in result.stderr
    server.start()
    # What is left running for a while may bring it, or this.
    headway("ship", env=server.env)
    same_everywhere(headway, server, "r")


ALONE = """
import logging, os, signal, sys, time
import headway

logging.basicConfig(format="%(message)s")
run = headway.init(run=sys.argv[1], server=sys.argv[2])
for step in range(40):
    run.step(step)
    time.sleep(0.005)
if "kill" in sys.argv:
    os.kill(os.getpid(), signal.SIGKILL)
print("training is over", flush=True)
begin = time.monotonic()
run.finish()
print(f"{time.monotonic() - begin:.3f}")
"""


def alone(headway: Headway, server: Server, *words: str, **env: str) -> subprocess.Popen[str]:
    """A program that has its records sent without a supervisor."""
    return subprocess.Popen(
        [sys.executable, "-c", ALONE, words[0], server.url, *words[1:]],
        env={**headway.environment, "HEADWAY_TOKEN": server.token, **env},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def test_a_program_has_its_records_sent(headway: Headway, server: Server) -> None:
    programs = {name: alone(headway, server, name, *([name] if name == "kill" else []))
                for name in ("a", "b", "kill")}  # fmt: skip
    for name, program in programs.items():
        out, err = program.communicate(timeout=60)
        assert err == "" and program.returncode == (-9 if name == "kill" else 0), err
        if name == "kill":  # what sends outlives it
            wait_until(lambda: headway.json("goodput", "kill", env=server.env)["state"]
                       == "interrupted", "the end of the killed one")  # fmt: skip
        else:  # finish() has waited
            assert headway.json("goodput", name, env=server.env)["state"] == "completed"
            assert float(out.splitlines()[1]) < 9
        same_everywhere(headway, server, name)
    headway("run", "--run", "c", "--", sys.executable, "-c", ALONE, "c", server.url,
            env={"HEADWAY_TOKEN": server.token})  # fmt: skip
    headway("ship", env=server.env)  # what the supervisor recorded
    same_everywhere(headway, server, "c")


def test_a_server_that_is_away_is_waited_for_while_the_program_lives(
    headway: Headway, server: Server
) -> None:
    server.stop()
    program = alone(headway, server, "r")
    assert program.stdout is not None and program.stdout.readline() == "training is over\n"
    server.start()
    out, err = program.communicate(timeout=60)
    assert "trying again" in err and "not all of the run" not in err
    assert program.returncode == 0 and float(out) < 9
    same_everywhere(headway, server, "r")


def test_a_program_whose_token_is_wrong_trains(headway: Headway, server: Server) -> None:
    program = alone(headway, server, "r", HEADWAY_TOKEN="x")
    out, err = program.communicate(timeout=60)
    assert program.returncode == 0 and "training is over" in out
    assert err == f"sending to {server.url}: this server does not know the token\n"
    assert headway.json("goodput", "r")["state"] == "completed"
    headway("ship", "r", "--journal", "none.hwj", env=server.env)
    assert "no run" in headway("goodput", "r", env=server.env, code=1).stderr
    (journal,) = journals(headway)
    headway("ship", "r", "--journal", journal, env=server.env)
    same_everywhere(headway, server, "r")
    headway("ship", "--journal", journal, env=server.env, code=2)


@pytest.mark.parametrize(
    "server", ["", "goodput:8460", "ftp://x", "http://", "https:///", 3, b"http://x"])
def test_what_can_be_no_server_raises(server: Any, tmp_path: Path) -> None:
    program = "import headway, sys; headway.init(dir=sys.argv[1], server=eval(sys.argv[2]))"
    result = subprocess.run([sys.executable, "-c", program, tmp_path, repr(server)],
                            capture_output=True, text=True)  # fmt: skip
    assert "server must be a" in result.stderr.splitlines()[-1]


def test_an_agent_sends_what_there_is_and_tidies_up(
    headway: Headway, server: Server, tmp_path: Path
) -> None:
    node = {"HEADWAY_NODE_DIR": str(tmp_path / "node")}
    agent = headway.start("agent", "--keep", "1h", env=server.env | node)
    headway(*train(headway, tmp_path, "r", 1, 100))
    other = headway.start(*train(headway, tmp_path, "other", 2, 4000))
    wait_until(lambda: headway("goodput", "r", env=server.env, code=None).returncode == 0
               and headway.json("goodput", "r", env=server.env)["state"] == "completed", "r")
    wait_until(lambda: headway("goodput", "other", env=server.env, code=None).returncode == 0,
               "other")
    agent.kill()
    agent.communicate()
    same_everywhere(headway, server, "r")
    # It goes on where it was; after an outage everything is asked for again.
    tidy = headway.start("agent", "--keep", "1s", env=server.env | node)
    backup = tmp_path / "backup"
    server.stop()
    shutil.rmtree(server.folder / "server" / "records.sqlite", ignore_errors=True)
    (server.folder / "server" / "records.sqlite").rename(backup)
    time.sleep(1.5)  # time enough to delete what nobody has
    assert headway.json("goodput", "r")["state"] == "completed"
    server.start()
    wait_until(lambda: not [path for path in journals(headway) if "/r/" in str(path)], "tidying")
    assert headway.json("goodput", "r", env=server.env)["state"] == "completed"
    assert headway.json("goodput", "other")["state"] == "running"
    other.terminate()
    other.communicate()
    wait_until(lambda: not journals(headway), "tidying up all")
    assert headway.json("goodput", "other", env=server.env)["state"] == "failed"
    tidy.terminate()
    assert tidy.wait(timeout=30) == 0
    out, err = tidy.communicate()
    assert "trying again" in err and "is there again" in err, err
    assert not list((headway.data / "acknowledged").rglob("*/*"))


def test_an_agent_deletes_nothing_that_the_server_has_lost(
    headway: Headway, server: Server, tmp_path: Path
) -> None:
    node = {"HEADWAY_NODE_DIR": str(tmp_path / "node")}
    headway("backup", tmp_path / "empty", "--dir", server.folder)
    for run in "ab":
        headway(*train(headway, tmp_path, run, 1, 20))
    agent = headway.start("agent", "--keep", "4s", env=server.env | node)
    wait_until(lambda: list((headway.data / "acknowledged").rglob("*/*")), "acknowledgements")
    # While it is idle the server loses everything, or is not there.
    server.kill()
    store = server.folder / "server/records.sqlite"
    for name in ("records.sqlite", "records.sqlite-wal", "records.sqlite-shm"):
        store.with_name(name).unlink(missing_ok=True)
    time.sleep(5)
    assert headway.json("goodput", "a")["state"] == "completed"
    (tmp_path / "empty").rename(store)
    restored = time.time_ns()
    server.start()

    def marks() -> list[int]:
        found = (headway.data / "acknowledged").rglob("*/*")
        return [int(path.read_text() or 0) for path in found if path.is_file()]

    # It gets it again, and only then, and not at once, it goes here: the time begins anew.
    wait_until(lambda: any(mark > restored for mark in marks()), "new acknowledgements")
    wait_until(lambda: headway("goodput", "b", env=server.env, code=None).returncode == 0, "b")
    assert headway.json("goodput", "a")["state"] == "completed"
    wait_until(lambda: not journals(headway), "tidying up")
    for run in "ab":
        assert headway.json("goodput", run, env=server.env)["state"] == "completed"
    agent.terminate()
    assert agent.wait(timeout=30) == 0
    agent.communicate()


def test_an_agent_without_a_right_to_send_says_so(headway: Headway, server: Server) -> None:
    assert "token" in headway("agent", "--server", server.url, code=5).stderr
    headway("agent", code=2)


def test_a_backup_is_made_while_it_runs_and_restored(
    headway: Headway, server: Server, tmp_path: Path
) -> None:
    trainer = headway.start(*train(headway, tmp_path, "r", 1, 1500))
    wait_until(lambda: journals(headway), "the run")
    shipper = headway.start("ship", "--follow", env=server.env)
    wait_until(lambda: headway("goodput", "r", env=server.env, code=None).returncode == 0, "r")
    copy = tmp_path / "copy.sqlite"
    told = json.loads(headway("backup", copy, "--json", "--dir", server.folder).stdout)
    size = copy.stat().st_size
    assert told == {"file": str(copy), "bytes": size, "blobs": 0, "blob_bytes": 0, "sound": True}
    refused = headway("backup", copy, "--dir", server.folder, code=1).stderr
    assert f"{copy} is there already" in refused
    assert "is sound" in headway("backup", "--check", "--dir", server.folder).stdout
    assert trainer.wait(timeout=60) == 0 and shipper.wait(timeout=60) == 0
    same_everywhere(headway, server, "r")
    # Restored it has less, until the journals are sent again.
    server.stop()
    store = server.folder / "server/records.sqlite"
    for name in ("records.sqlite", "records.sqlite-wal", "records.sqlite-shm"):
        store.with_name(name).unlink(missing_ok=True)
    copy.rename(store)
    server.start()
    assert json.loads(headway("ship", "--json", env=server.env).stdout)["slots_sent"] > 0
    same_everywhere(headway, server, "r")
    # What is damaged is told, and not copied as if it were sound.
    server.stop()
    content = bytearray(store.read_bytes())
    with closing(sqlite3.connect(store)) as database:
        longest = "SELECT bytes FROM chunk ORDER BY length(bytes) DESC"
        (chunk,) = database.execute(longest).fetchone()
    content[content.index(chunk[:64]) + 50] ^= 0x20
    store.write_bytes(content)
    assert "damaged" in headway("backup", "--check", "--dir", server.folder, code=3).stderr
    headway("backup", "--dir", server.folder, code=2)
    headway("backup", tmp_path / "x", "--dir", tmp_path / "nothing", code=1)
    assert not (tmp_path / "x").exists()


def test_a_backup_has_the_blobs(headway: Headway, server: Server, tmp_path: Path) -> None:
    golden = (Path(__file__).parents[1] / "golden/blob_v1").read_bytes()
    blob = "00112233445566778899aabbccddeeff/profiles%2Fhost%200.xplane.pb"
    kept = server.folder / "server/blobs" / blob
    kept.parent.mkdir(mode=0o700)
    kept.write_bytes(golden)
    copy = tmp_path / "copy"
    dir_ = ("--dir", server.folder)
    told = headway("backup", copy, *dir_).stdout
    assert f"{copy}.blobs: 1 blob of 9 bytes, checked" in told
    copied = tmp_path / "copy.blobs" / blob
    assert copied.read_bytes() == golden
    assert sorted(path.name for path in tmp_path.glob("copy*")) == ["copy", "copy.blobs"]
    checked = json.loads(headway("backup", "--check", "--json", *dir_).stdout)
    assert (checked["blobs"], checked["blob_bytes"], checked["sound"]) == (1, 9, True)
    # Nothing is replaced, neither the one nor the other.
    copy.unlink()
    assert "copy.blobs is there already" in headway("backup", copy, *dir_, code=1).stderr
    assert not copy.exists()
    # What is damaged is told, and there is no copy of it.
    kept.unlink()
    kept.write_bytes(golden.replace(b"5", b"6"))
    problem = headway("backup", "--check", *dir_, code=3).stderr
    assert f"{kept} is damaged: bytes 0 to 9" in problem
    assert "1 of 1 blob damaged" in problem
    headway("backup", tmp_path / "other", *dir_, code=3)
    assert not list(tmp_path.glob("other*"))
    # Restored.
    server.stop()
    shutil.rmtree(server.folder / "server/blobs")
    (tmp_path / "copy.blobs").rename(server.folder / "server/blobs")
    server.start()
    assert "is sound, with 1 blob of 9 bytes" in headway("backup", "--check", *dir_).stdout


def test_a_server_that_is_killed_all_the_time_loses_nothing(
    headway: Headway, server: Server, tmp_path: Path
) -> None:
    trainers = [
        headway.start(*train(headway, tmp_path, f"r{seed}", seed, 1200)) for seed in range(3)
    ]
    wait_until(lambda: len(journals(headway)) >= 6, "the runs")
    shipper = headway.start("ship", "--follow", "--patience", "2m", env=server.env)
    kills = 0
    while any(trainer.poll() is None for trainer in trainers) or kills < 5:
        time.sleep(0.15)  # anywhere within a round
        server.kill()
        server.start()
        kills += 1
    assert [trainer.wait(timeout=60) for trainer in trainers] == [0, 0, 0]
    assert shipper.wait(timeout=90) == 0, shipper.communicate()
    for seed in range(3):
        same_everywhere(headway, server, f"r{seed}")


def test_a_shipper_that_is_killed_goes_on_where_it_was(
    headway: Headway, server: Server, tmp_path: Path
) -> None:
    trainer = headway.start(*train(headway, tmp_path, "r", 4, 1000))
    wait_until(lambda: headway("goodput", "r", code=None).returncode == 0, "the run")
    while trainer.poll() is None:
        shipper = headway.start("ship", "--follow", env=server.env)
        time.sleep(0.2)  # anywhere within a round
        shipper.kill()
        shipper.communicate()
    sent = json.loads(headway("ship", "--json", env=server.env).stdout)
    assert sent["journals"] == len(journals(headway))
    same_everywhere(headway, server, "r")


def test_a_server_without_its_newest_data_gets_it_again(
    headway: Headway, server: Server, tmp_path: Path
) -> None:
    headway(*train(headway, tmp_path, "r", 1, 100))
    headway("ship", env=server.env)
    server.stop()
    files = [path for path in (server.folder / "server").iterdir() if path.is_file()]
    kept = {path.name: path.read_bytes() for path in files}
    server.start()
    headway(*train(headway, tmp_path, "r", 2, 100))
    headway("ship", env=server.env)
    server.stop()
    for path in (server.folder / "server").iterdir():
        if path.is_file():
            path.unlink()
    for name, data in kept.items():  # yesterday's backup
        path = server.folder / "server" / name
        path.write_bytes(data)
        path.chmod(0o600)
    server.start()
    headway("ship", env=server.env)
    same_everywhere(headway, server, "r")


def test_a_server_that_is_not_there(headway: Headway, tmp_path: Path) -> None:
    headway(*train(headway, tmp_path, "r", 0, 3))
    there = {"HEADWAY_SERVER": "http://127.0.0.1:9", "HEADWAY_TOKEN": "x"}
    assert "127.0.0.1:9" in headway("goodput", "r", env=there, code=4).stderr
    assert "127.0.0.1:9" in headway("ship", "--patience", "0s", env=there, code=4).stderr
    assert headway("goodput", "r", "--dir", headway.data, env=there).returncode == 0
    headway("goodput", "r", "--server", "127.0.0.1:9", code=2)
    headway("ship", code=2)


def test_nobody_gets_in_without_the_token(
    headway: Headway, server: Server, tmp_path: Path
) -> None:
    path = server.folder / "server/admin-token"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    headway(*train(headway, tmp_path, "r", 0, 3))
    wrong = {**server.env, "HEADWAY_TOKEN": server.token[:-1]}
    for command in (("goodput", "r"), ("ship",), ("timeline", "r"), ("steps", "r")):
        assert "token" in headway(*command, env=wrong, code=5).stderr
    for method in ("RunService/ListRuns", "JournalService/AppendJournals", "No/Such"):
        for token in ("", "x", server.token + "x", server.token.upper()):
            status, answer = server.call(method, {}, token=token)
            assert status == 401 and answer["code"] == "unauthenticated", (method, token)
    status, answer = server.call("RunService/ListRuns", b"x" * (1 << 20), token="x")
    assert status in (401, 413)
    with urllib.request.urlopen(f"{server.url}/healthz", timeout=10) as answer:
        assert answer.read() == b"ok\n"
    token = server.token
    server.stop()
    server.start()
    assert server.token == token, "it outlives the server"
    server.stop()
    path.chmod(0o644)
    result = headway("serve", "--dir", server.folder, "--listen", "127.0.0.1:0", code=5)
    assert "others may read it" in result.stderr


def test_without_access_control_it_is_for_this_machine(headway: Headway, tmp_path: Path) -> None:
    options = ("serve", "--dir", tmp_path / "far", "--no-access-control", "--listen")
    assert "without access control" in headway(*options, "0.0.0.0:0", code=2).stderr
    with closing(Server(headway, tmp_path / "far", "--no-access-control")) as server:
        headway(*train(headway, tmp_path, "r", 0, 3))
        headway("ship", "--server", server.url)
        headway("goodput", "r", "--server", server.url)
        assert not (tmp_path / "far/server/admin-token").exists()
        # A page of somebody else's, whose name leads to this machine.
        port = server.url.rpartition(":")[2]
        for host, origin, status in (
            ("evil.example", "", 403), (f"evil.example:{port}", "http://evil.example", 403),
            (f"localhost:{port}", "http://evil.example", 403), (f"127.0.0.1:{port}", "null", 403),
            (f"localhost:{port}", f"http://localhost:{port}", 200), ("[::1]", "", 200),
            (f"127.0.0.1:{port}", "", 200),
        ):  # fmt: skip
            headers = {"Host": host, "Content-Type": "application/json"}
            headers |= {"Origin": origin} if origin else {}
            for path, body in (("headway.v1.RunService/ListRuns", b"{}"), ("metrics", None),
                               ("healthz", None)):  # fmt: skip
                asked = urllib.request.Request(f"{server.url}/{path}", body, headers)
                try:
                    with urllib.request.urlopen(asked) as answer:
                        assert answer.status == status, (host, origin, path)
                except urllib.error.HTTPError as error:
                    assert error.code == status, (host, origin, path)


def test_two_servers_on_one_directory(headway: Headway, server: Server) -> None:
    result = headway("serve", "--dir", server.folder, "--listen", "127.0.0.1:0", code=1)
    assert "another" in result.stderr


def test_calls_as_json(headway: Headway, server: Server, tmp_path: Path) -> None:
    headway(*train(headway, tmp_path, "r", 0, 20))
    headway(*train(headway, tmp_path, "r", 0, 20))
    headway("ship", env=server.env)
    status, answer = server.call("RunService/ListRuns", {})
    assert status == 200 and [run["name"] for run in answer["runs"]] == ["r", "r"]
    newest, older = answer["runs"]
    assert newest["label"] == "r" and older["label"].startswith("r@")
    page = server.call("RunService/ListRuns", {"pageSize": 1})[1]
    assert page["runs"] == [newest]
    page = server.call("RunService/ListRuns", {"pageSize": 1, "pageToken": page["nextPageToken"]})
    assert page[1]["runs"] == [older] and page[1]["nextPageToken"] == ""
    assert server.call("RunService/GetRun", {"run": older["label"]})[1] == older
    assert server.call("RunService/GetRun", {"run": older["uid"]})[1] == older
    report = server.call("RunService/GetReport", {"run": "r"})[1]
    here = headway.json("goodput", "r")
    assert int(report["elapsedNs"]) == here["elapsed_ns"]
    assert sum(int(c["ns"]) for c in report["categories"]) == here["elapsed_ns"]
    steps: list[Any] = []
    request = {"run": "r", "pageSize": 7}
    while True:
        answer = server.call("RunService/ListSteps", request)[1]
        steps += answer["steps"]
        if not answer["nextPageToken"]:
            break
        request["pageToken"] = answer["nextPageToken"]
    assert [int(s["step"]) for s in steps] == list(range(20))

    status, answer = server.call("RunService/GetReport", {"run": "no"})
    assert (status, answer["code"]) == (404, "not_found")
    for bad in ({"run": "r", "nope": 1}, {"run": 1}, b"{", b"[]", {"run": "r", "pageToken": "x"}):
        method = "ListSteps" if isinstance(bad, dict) and "pageToken" in bad else "GetReport"
        status, answer = server.call(f"RunService/{method}", bad)
        assert (status, answer["code"]) == (400, "invalid_argument"), bad
    request = {"run": "r", "time": {"asOf": "tomorrow"}}
    assert server.call("RunService/GetReport", request)[0] == 400
    assert server.call("RunService/Nope", {})[0] == 501
    assert server.call("RunService/GetRun", {}, **{"Content-Type": "text/plain"})[0] == 415
    assert server.call("RunService/GetRun", {}, **{"Content-Encoding": "br"})[0] == 501
    for encoding in ("zstd", "gzip"):
        assert server.call("RunService/GetRun", b"xx", **{"Content-Encoding": encoding})[0] == 400


def test_page_tokens_are_for_one_question(
    headway: Headway, server: Server, tmp_path: Path
) -> None:
    for run in ("a", "b"):
        headway(*train(headway, tmp_path, run, 0, 20))
    headway("ship", env=server.env)
    question = {"run": "a", "pageSize": 5}
    token = server.call("RunService/ListSteps", question)[1]["nextPageToken"]
    assert server.call("RunService/ListSteps", {**question, "pageToken": token})[0] == 200
    others = [
        ("ListIntervals", question),
        ("ListSteps", {**question, "run": "b"}),
        ("ListSteps", {**question, "time": {"lastNs": "5"}}),
    ]
    for method, other in others:
        answer = server.call(f"RunService/{method}", {**other, "pageToken": token})
        assert answer[0] == 400 and "page_token" in answer[1]["message"], (method, other)
    assert server.call("RunService/ListSteps", {**question, "pageToken": token + "0"})[0] == 400
    assert server.call("RunService/ListRuns", {"pageToken": "0" * 32})[0] == 400
    assert server.call("RunService/GetReport", {"run": "a", "time": {"lastNs": "-1"}})[0] == 400
    answer = server.call("RunService/GetReport", {"run": "c"})
    assert answer[1]["message"].endswith('no run "c" in project "default"; the newest are: b, a')


def test_names_that_are_no_text(headway: Headway, server: Server, tmp_path: Path) -> None:
    """As a C++ program may give them: they reach the answers as in local ones."""
    source = tmp_path / "train.cc"
    source.write_text(
        "#include <headway/recorder.h>\n"
        'int main() { auto r = headway::Recorder::Open({.run = "r"}); r.Step(0); '
        'auto span = r.Custom("bad\\xff" "name"); }\n'
    )
    program = tmp_path / "train"
    library = Path(headway.program).resolve().parents[1] / "lib/libheadway_recorder.so"
    compiler = shutil.which("c++")
    if not library.exists() or compiler is None:
        pytest.skip("no compiler, or no recorder to link")
    subprocess.run(
        [compiler, "-std=c++20", source, "-I", ROOT / "include", library,
         f"-Wl,-rpath,{library.parent}", "-o", program], check=True,
    )  # fmt: skip
    subprocess.run([program], env=headway.environment, check=True)
    headway("ship", env=server.env)
    same_everywhere(headway, server, "r")
    result = headway("goodput", b"\xff", env=server.env, code=1)
    assert "no run" in result.stderr and "libprotobuf" not in result.stderr


def test_what_is_shipped_is_what_was_asked_for(
    headway: Headway, server: Server, tmp_path: Path
) -> None:
    for project in ("p", "q"):
        run = train(headway, tmp_path, "r", 0, 3)
        headway(run[0], "--project", project, *run[1:])
    headway("ship", "--project", "p", "--dir", headway.data, env=server.env)
    headway("goodput", "r", "--project", "p", env=server.env)
    headway("goodput", "r", "--project", "q", env=server.env, code=1)


def test_a_wrong_server_in_the_environment_stops_no_training(headway: Headway) -> None:
    wrong = {"HEADWAY_SERVER": "127.0.0.1:8460"}
    result = headway("run", "--", "sh", "-c", "echo trained; exit 7", env=wrong, code=7)
    assert result.stdout == "trained\n" and "HEADWAY_SERVER" in result.stderr
    headway("run", "--server", "127.0.0.1:8460", "--", "true", code=2)
    result = headway("ship", "--patience", "0s", "--server", "http://", code=2)
    assert "cannot call http:" in result.stderr


def test_it_ends_when_it_is_told_to(headway: Headway, server: Server) -> None:
    assert server.process is not None
    server.process.send_signal(signal.SIGINT)
    out, _ = server.process.communicate(timeout=30)
    assert server.process.returncode == 0 and out == "headway serve: ending\n"
    assert os.path.exists(server.folder / "server/records.sqlite")


def test_an_imported_run_is_shipped_where_it_is_named(
    headway: Headway, server: Server, tmp_path: Path
) -> None:
    names = [path.stem for path in sorted(EXAMPLES.glob("*.jsonl"))]
    for name in names:
        headway("import", EXAMPLES / f"{name}.jsonl", "--run", f"jsonl-{name}")
    said = [{"job_start_time": 1.5}, {"step_count": 0, "step_start_time": 2.5},
            {"step_count": 1, "step_start_time": 4.0}, {"job_end_time": 9.25}]  # fmt: skip
    log = [
        {"insertId": f"i{number}", "jsonPayload": {"job_name": "log", **what}}
        for number, what in enumerate(said)
    ]
    headway("import", "-", "--as", "cloud-logging", input=json.dumps(log))
    headway(*train(headway, tmp_path, "recorded", 1, 50))
    # Journals of another machine, and some that are here, too, under another name.
    headway(*train(headway, tmp_path, "moved", 2, 50))
    for path in journals(headway):
        if "/moved/" in str(path) or "/recorded/" in str(path):
            (tmp_path / "away").mkdir(exist_ok=True)
            shutil.copy(path, tmp_path / "away" / path.name)
        if "/recorded/" in str(path):
            headway("import", tmp_path / "away" / path.name, "--run", "renamed")
        if "/moved/" in str(path):
            path.rename(tmp_path / f"{path.name}.original")  # kept: its inode is given to no copy
            headway("import", tmp_path / "away" / path.name)
    headway("export", "recorded", "--as", "tensorboard", "--out", tmp_path / "tb")
    headway("import", *(tmp_path / "tb").rglob("events.*"), "--as", "tensorboard", "--run", "board")
    nothing = headway.json("ship", "--project", "default", env=server.env)
    recorded = len([one for one in journals(headway) if "/recorded/" in str(one)])
    assert nothing["journals"] == recorded, "only what was recorded here goes by itself"
    for run in [*(f"jsonl-{name}" for name in names), "log", "moved", "board"]:
        sent = headway.json("ship", run, env=server.env)
        assert sent["journals"] >= 1, run
        again = headway.json("ship", run, env=server.env)
        assert again == {"journals": sent["journals"], "slots_sent": 0, "removed": 0}
        same_everywhere(headway, server, run)
        here = headway("export", run, "--as", "jsonl").stdout
        assert headway("export", run, "--as", "jsonl", env=server.env).stdout == here
    refused = headway("ship", "renamed", env=server.env, code=1).stderr
    assert 'is kept here as one of run "recorded"' in refused


def test_damaged_journals_hold_up_no_other(
    headway: Headway, server: Server, tmp_path: Path
) -> None:
    for seed, run in enumerate(("cut", "header", "sound")):
        headway(*train(headway, tmp_path, run, seed, 50))
    of_run = {
        run: next(path for path in journals(headway) if f"/{run}/" in str(path) and "-s-" not in
                  path.name)
        for run in ("cut", "header")
    }  # fmt: skip
    with of_run["header"].open("r+b") as file:
        file.seek(100)
        file.write(b"\0changed\0")
    last = used(of_run["cut"].read_bytes())
    with of_run["cut"].open("r+b") as file:
        file.truncate(last - 28)  # within a record
    assert "torn_tail" in headway("goodput", "cut", "--json").stdout
    for _ in range(2):
        said = headway("ship", env=server.env, code=3).stderr
        assert f"{of_run['header']}: damaged header" in said
    for run in ("cut", "sound"):
        headway("ship", run, env=server.env)
        same_everywhere(headway, server, run)
    # And is not deleted with what the server has.
    agent = headway.start("agent", "--keep", "1s", env=server.env)
    assert agent.stderr is not None
    assert f"{of_run['header']}: damaged header" in agent.stderr.readline()
    wait_until(lambda: not of_run["cut"].exists(), "tidied up")
    agent.terminate()
    agent.communicate(timeout=30)
    assert of_run["header"].exists()


def used(data: bytes) -> int:
    """Bytes up to the last slot of a journal that is not all zeros."""
    return 4096 + -(-len(data[4096:].rstrip(b"\0")) // 32) * 32
