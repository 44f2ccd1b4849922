"""Training on several machines (network namespaces), a server on another, and everything fails.

It needs root and `ip`. HEADWAY_FULL=1: eight machines, and the server is killed 200 times.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Headway, wait_until
from test_server import TRAIN

FULL = os.environ.get("HEADWAY_FULL") == "1"
MACHINES = 8 if FULL else 3
KILLS = 200 if FULL else 15
STEPS = 20_000 if FULL else 1500
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
        ip("netns", "add", self.name)
        self.run("ip", "link", "set", "lo", "up")

    def command(self, *words: str | Path) -> list[str | Path]:
        return ["ip", "netns", "exec", self.name, *words]

    def run(self, *words: str | Path, **env: str) -> str:
        environment = {**self.headway.environment, "HEADWAY_DIR": str(self.data), **env}
        return subprocess.run(self.command(*words), env=environment, check=True, text=True,
                              capture_output=True, timeout=120).stdout  # fmt: skip

    def start(self, *words: str | Path, **env: str) -> subprocess.Popen[str]:
        environment = {**self.headway.environment, "HEADWAY_DIR": str(self.data), **env}
        return subprocess.Popen(self.command(*words), env=environment, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)  # fmt: skip


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
