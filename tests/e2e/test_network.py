"""Training on several machines (network namespaces), a server on another, and everything fails.

It needs root and `ip`. HEADWAY_FULL=1: eight machines, and the server is killed 200 times. Where
disks fill, clocks step and backups come back, eight programs train on those machines.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Headway, wait_until
from test_server import TRAIN

FULL = os.environ.get("HEADWAY_FULL") == "1"
MACHINES = 8 if FULL else 3
KILLS = 200 if FULL else 15
STEPS = 20_000 if FULL else 1500
PROGRAMS = 8
PORT = 8460
ADDRESS = "10.77.0.1"


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


class Machine:
    """A network namespace with a home of its own."""

    def __init__(self, headway: Headway, folder: Path, number: int) -> None:
        self.name = f"hw{os.getpid()}-{number}"
        self.headway = headway
        self.data = folder / f"machine{number}"
        self.clock = folder / f"clock{number}"
        self.environment = {**headway.environment, "HEADWAY_DIR": str(self.data)}
        self.started: list[subprocess.Popen[str]] = []
        ip("netns", "add", self.name)
        self.run("ip", "link", "set", "lo", "up")

    def command(self, *words: str | Path) -> list[str | Path]:
        return ["ip", "netns", "exec", self.name, *words]

    def run(self, *words: str | Path, **env: str) -> str:
        return subprocess.run(self.command(*words), env=self.environment | env, check=True,
                              text=True, capture_output=True, timeout=120).stdout  # fmt: skip

    def start(self, *words: str | Path, **env: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(self.command(*words), env=self.environment | env, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT)  # fmt: skip
        self.started.append(process)
        return process

    def step_clock(self, ns: int) -> None:
        """Its processes, those that run too, have a wall clock that is so far off."""
        if not self.clock.exists():
            library = Path(os.environ["HEADWAY_BIN"]).parent / "tests/libshifted_clock.so"
            assert library.is_file()
            self.environment |= {"LD_PRELOAD": str(library), "SHIFTED_CLOCK": str(self.clock)}
        with self.clock.open("r+b" if self.clock.exists() else "wb", buffering=0) as file:
            file.write(struct.pack("q", ns))


@pytest.fixture
def machines(headway: Headway, tmp_path: Path) -> Iterator[list[Machine]]:
    """The first one is the server's; a bridge in it connects them all."""
    if shutil.which("ip") is None or os.geteuid() != 0:
        pytest.skip("network namespaces need root and the ip command")
    made: list[Machine] = []
    try:
        try:
            made.append(Machine(headway, tmp_path, 0))
            made[0].run("ip", "link", "add", "br0", "type", "bridge")
        except subprocess.CalledProcessError as error:
            pytest.skip(f"no network namespaces here: {error.stderr!r}")
        made[0].run("ip", "address", "add", f"{ADDRESS}/24", "dev", "br0")
        made[0].run("ip", "link", "set", "br0", "up")
        for number in range(1, MACHINES + 1):
            machine = Machine(headway, tmp_path, number)
            made.append(machine)
            machine.run("ip", "link", "add", "up0", "type", "veth", "peer", "name", f"m{number}",
                        "netns", made[0].name)  # fmt: skip
            machine.run("ip", "address", "add", f"10.77.0.{10 + number}/24", "dev", "up0")
            machine.run("ip", "link", "set", "up0", "up")
            made[0].run("ip", "link", "set", f"m{number}", "master", "br0", "up")
        yield made
    finally:
        for machine in made:
            for process in machine.started:
                if process.poll() is None:
                    process.kill()
                    process.communicate()
            with contextlib.suppress(subprocess.CalledProcessError):
                ip("netns", "delete", machine.name)


class Service:
    """`headway serve` on the first machine."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.url = f"http://{ADDRESS}:{PORT}"
        self.start()

    def start(self) -> None:
        self.process = self.machine.start(
            self.machine.headway.program, "serve", "--listen", f"{ADDRESS}:{PORT}")  # fmt: skip
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line == f"headway serve: {self.url}\n", line

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()

    @property
    def token(self) -> str:
        return (self.machine.data / "server/admin-token").read_text().strip()


def senders(machine: Machine) -> list[int]:
    """The processes that send for it."""
    found = []
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if (folder / "comm").read_text().strip() != "headway-ship":
                continue
            environment = (folder / "environ").read_bytes().split(b"\0")
            if f"HEADWAY_DIR={machine.data}".encode() in environment:
                found.append(int(folder.name))
    return found


def test_nothing_is_lost_between_machines(
    headway: Headway, machines: list[Machine], tmp_path: Path
) -> None:
    server = Service(machines[0])
    program = tmp_path / "train.py"
    program.write_text(TRAIN)
    make = [headway.program, "tokens", "create", "--role", "writer"]
    admin = {"HEADWAY_SERVER": server.url, "HEADWAY_TOKEN": server.token}
    writer = {**admin, "HEADWAY_TOKEN": machines[0].run(*make, **admin).strip()}
    trainers = {}
    for number, machine in enumerate(machines[1:], 1):
        trainers[f"r{number}"] = machine.start(
            headway.program, "run", "--run", f"r{number}", "--restarts", "1000",
            "--backoff", "1ms", "--", sys.executable, program, f"r{number}", str(number),
            str(STEPS), **writer,
        )  # fmt: skip
    dice = random.Random(7)
    wait_until(lambda: all(list(machine.data.rglob("*.hwj")) for machine in machines[1:]), "them")
    kills = cuts = shot = 0
    while kills < KILLS:
        time.sleep(dice.uniform(0.02, 0.3))
        machine = dice.choice(machines[1:])
        what = dice.random()
        if what < 0.15:  # the network is cut for a while
            machine.run("ip", "link", "set", "up0", "down")
            time.sleep(dice.uniform(0.05, 1.0))
            machine.run("ip", "link", "set", "up0", "up")
            cuts += 1
        elif what < 0.3:
            for pid in senders(machine)[:1]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                    shot += 1
        else:
            server.kill()
            time.sleep(dice.uniform(0.0, 0.2))
            server.start()
            kills += 1
    for name, trainer in trainers.items():
        out, _ = trainer.communicate(timeout=600)
        assert trainer.returncode == 0, (name, out)
    for machine in machines[1:]:  # what a sender that was killed has left
        machine.run(headway.program, "ship", **writer)
    different = compared = 0
    for number, machine in enumerate(machines[1:], 1):
        ask = [headway.program, "goodput", f"r{number}", "--json", "--as-of"]
        for when in ["+100ms", "+333ms", "+1s", "+2500ms", f"@{time.time_ns()}"]:
            near = machine.run(*ask, when, "--dir", machine.data)
            far = machine.run(*ask, when, **admin)
            compared += 1
            different += near != far
    print(f"{MACHINES} machines, server killed {kills} times, network cut {cuts} times, "
          f"{shot} senders killed: {compared} answers compared, {different} differ")  # fmt: skip
    assert different == 0 and compared == 5 * MACHINES
    server.process.terminate()
    server.process.communicate(timeout=60)
    machines[0].run(headway.program, "backup", "--check")


TRAIN_UNTIL = """
import os, random, sys, time
import headway

name, seed, end = sys.argv[1], int(sys.argv[2]), sys.argv[3]
run = headway.init(run=name)
attempt = int(os.environ["HEADWAY_ATTEMPT"])
with open(f"{end}.starts", "a") as starts:
    starts.write(f"{name} {attempt}\\n")
dice = random.Random(1000 * seed + attempt)
step = 0
while not os.path.exists(end):
    with run.step(step):
        with run.data_loading():
            time.sleep(0.0005)
        time.sleep(0.001)
    run.log({"loss": dice.random()}, step=step)
    step += 1
    if attempt < 50 and dice.random() < 0.002:
        os.kill(os.getpid(), 9)
"""


class Fleet:
    """Programs that train, crash and are started again on all machines but the server's, until
    they are told to end; what they record is sent."""

    def __init__(self, headway: Headway, machines: list[Machine], folder: Path) -> None:
        self.headway = headway
        self.machines = machines[1:]
        self.server = Service(machines[0])
        self.end = folder / "end"
        program = folder / "train.py"
        program.write_text(TRAIN_UNTIL)
        self.admin = {"HEADWAY_SERVER": self.server.url, "HEADWAY_TOKEN": self.server.token}
        make = [headway.program, "tokens", "create", "--role", "writer"]
        token = machines[0].run(*make, **self.admin).strip()
        self.writer = {**self.admin, "HEADWAY_TOKEN": token}
        self.runs = {f"r{n}": self.machines[n % len(self.machines)] for n in range(PROGRAMS)}
        self.trainers = {
            name: machine.start(
                headway.program, "run", "--run", name, "--restarts", "1000", "--backoff", "1ms",
                "--", sys.executable, program, name, str(n), self.end, **self.writer,
            )
            for n, (name, machine) in enumerate(self.runs.items())
        }  # fmt: skip
        wait_until(lambda: self.bytes_of().keys() == self.runs.keys(), "all runs on the server")

    def bytes_of(self) -> dict[str, int]:
        """How much of each run has arrived; nothing while the server can't answer."""
        words = [self.headway.program, "runs", "list", "--json"]
        with contextlib.suppress(subprocess.CalledProcessError):
            runs = json.loads(self.machines[0].run(*words, **self.admin))
            return {run["name"]: run["bytes"] for run in runs}
        return {}

    def records(self) -> int:
        return sum(self.bytes_of().values())

    def starts(self) -> int:
        """How often a program has been started."""
        return len(Path(f"{self.end}.starts").read_text().splitlines())

    def journals(self) -> dict[str, int]:
        return {name: len(list((machine.data / "journals/default" / name).glob("*.hwj")))
                for name, machine in self.runs.items()}  # fmt: skip

    def grows(self) -> None:
        """All runs have more than they had."""
        before = wait_until(self.bytes_of, "an answer")
        wait_until(lambda: all(self.bytes_of().get(name, 0) > before[name] for name in self.runs),
                   "new records")  # fmt: skip

    def finish(self) -> None:
        self.end.touch()
        for name, trainer in self.trainers.items():
            out, _ = trainer.communicate(timeout=120)
            assert trainer.returncode == 0, (name, out)
        for machine in self.machines:  # what a sender has left
            machine.run(self.headway.program, "ship", **self.writer)

    def compare(self) -> None:
        """Journals and server give the same bytes."""
        for name, machine in self.runs.items():
            for command in ("goodput", "timeline", "steps"):
                for when in ("+1s", f"@{time.time_ns()}", "@9000000000000000000"):
                    ask = [self.headway.program, command, name, "--json", "--as-of", when]
                    near = machine.run(*ask, "--dir", machine.data)
                    assert machine.run(*ask, **self.admin) == near, (name, command, when)
            ask = [self.headway.program, "metrics", name, "--json"]
            near, far = (json.loads(machine.run(*ask, *more, **env)) for more, env in (
                (("--dir", machine.data), {}), ((), self.admin)))  # fmt: skip
            for one, other in zip(near, far, strict=True):
                # Sums of parts differ in their last bits.
                assert math.isclose(one.pop("mean"), other.pop("mean"), rel_tol=1e-12), name
            assert near == far, name

    def close(self) -> None:
        self.server.process.terminate()
        self.server.process.communicate(timeout=60)
        self.server.machine.run(self.headway.program, "backup", "--check")


@pytest.fixture
def small_disks(machines: list[Machine]) -> Iterator[list[Path]]:
    """All data of the machines lies on file systems with little space."""
    mounted: list[Path] = []
    try:
        for machine in machines:
            machine.data.mkdir()
            command = ["mount", "-t", "tmpfs", "-o", "size=24m,mode=700", "tmpfs", machine.data]
            if subprocess.run(command, capture_output=True).returncode != 0:
                pytest.skip("making a small file system takes root")
            mounted.append(machine.data)
        yield mounted
    finally:
        for machine in machines:
            for process in machine.started:
                if process.poll() is None:
                    process.kill()
                    process.communicate()
        for folder in mounted:
            subprocess.run(["umount", "--lazy", folder], check=True)


def fill(folder: Path) -> Path:
    """Takes all the space that there is (still)."""
    ballast = folder / "ballast"
    with contextlib.suppress(OSError), ballast.open("ab", buffering=0) as file:
        for size in (1 << 20, 4096, 1):
            with contextlib.suppress(OSError):
                while True:
                    file.write(bytes(size))
    return ballast


def test_full_disks_lose_nothing_that_was_recorded(
    headway: Headway, machines: list[Machine], small_disks: list[Path], tmp_path: Path
) -> None:
    fleet = Fleet(headway, machines, tmp_path)
    # The server's: it keeps nothing more and says so; what it has it still answers.
    ballast = fill(small_disks[0])

    def refusal() -> str:
        fill(small_disks[0])  # what it has made room of meanwhile
        words = machines[1].command(headway.program, "ship", "--patience", "0s")
        told = subprocess.run(words, env=machines[1].environment | fleet.writer, text=True,
                              capture_output=True, timeout=60)  # fmt: skip
        return told.stderr if told.returncode != 0 else ""

    told = wait_until(refusal, "a refusal")
    assert "full" in told or "space" in told, told
    assert "DIR/server/" in told and str(small_disks[0]) not in told, told
    assert fleet.bytes_of().keys() == fleet.runs.keys()
    ballast.unlink()
    fleet.grows()
    # Those of the machines: programs train on, with and without a journal.
    ballasts = [fill(folder) for folder in small_disks[1:]]
    before, started = fleet.journals(), fleet.starts()
    wait_until(lambda: fleet.starts() > started + 3, "attempts that find no space")
    assert all(trainer.poll() is None for trainer in fleet.trainers.values())
    for one in ballasts:
        one.unlink()
    wait_until(lambda: all(now > before[name] for name, now in fleet.journals().items()),
               "new journals of all")  # fmt: skip
    fleet.grows()
    # Both at once.
    ballasts = [fill(folder) for folder in small_disks]
    started = fleet.starts()
    wait_until(lambda: fleet.starts() > started + 3, "attempts that find no space")
    for one in ballasts:
        one.unlink()
    fleet.grows()
    fleet.finish()
    # Points that there was no room for are read from the journals, once more, by the next server.
    fleet.server.kill()
    fleet.server.start()
    fleet.compare()
    fleet.close()


def test_clocks_that_are_off_and_step(
    headway: Headway, machines: list[Machine], tmp_path: Path
) -> None:
    hour = 3600 * 10**9
    for machine, off in zip(machines, (0, -3 * hour, 26 * hour, 10**6), strict=False):
        machine.step_clock(off)
    fleet = Fleet(headway, machines, tmp_path)
    dice = random.Random(11)
    until = time.monotonic() + 5
    steps = 0
    while time.monotonic() < until:
        machine = dice.choice(machines)
        off = dice.choice([0, hour, -hour, 30 * hour, dice.randrange(-(10**9), 10**9), -3_000_000])
        machine.step_clock(off)
        steps += 1
        time.sleep(dice.uniform(0.01, 0.15))
    fleet.grows()
    fleet.finish()
    fleet.compare()
    # However odd the times are that it was told, a report adds up.
    for name, machine in fleet.runs.items():
        ask = [headway.program, "goodput", name, "--json", "--dir", machine.data]
        report = json.loads(machine.run(*ask))
        assert sum(one["ns"] for one in report["categories"]) == report["elapsed_ns"] > 0, report
    fleet.close()


def test_what_is_sent_many_times_and_to_an_old_backup(
    headway: Headway, machines: list[Machine], tmp_path: Path
) -> None:
    fleet = Fleet(headway, machines, tmp_path)
    # Beside the sender of each run: an agent and two more that follow.
    for machine in fleet.machines:
        machine.start(headway.program, "agent", "--keep", "0s", **fleet.writer)
        for _ in range(2):
            machine.start(headway.program, "ship", "--follow", "--patience", "2m", **fleet.writer)
    fleet.grows()
    first = machines[0]
    copy = tmp_path / "copy.sqlite"
    first.run(headway.program, "backup", copy)
    for _ in range(3):
        fleet.grows()
    # The server comes back as it was then, in the middle of it all.
    had = fleet.records()
    fleet.server.kill()
    store = first.data / "server/records.sqlite"
    for name in ("records.sqlite", "records.sqlite-wal", "records.sqlite-shm"):
        store.with_name(name).unlink(missing_ok=True)
    shutil.copyfile(copy, store)
    store.chmod(0o600)
    fleet.server.start()
    wait_until(lambda: fleet.records() > had, "all that was there, and more")
    fleet.finish()
    fleet.compare()
    # And once more, when all has ended: only what the copy lacks is sent.
    fleet.server.kill()
    for name in ("records.sqlite", "records.sqlite-wal", "records.sqlite-shm"):
        store.with_name(name).unlink(missing_ok=True)
    copy.rename(store)
    store.chmod(0o600)
    fleet.server.start()
    for machine in fleet.machines:
        machine.run(headway.program, "ship", **fleet.writer)
    fleet.compare()
    fleet.close()
