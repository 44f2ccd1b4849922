#!/usr/bin/env python3
"""A server under a steady load: processes record events at a given rate, and are shipped.

Each process records steps and spans in bursts, a hundred a second, and an agent sends all of them.
Told each second on standard error: events recorded, and what the server has taken in. At the end, a
line of JSON each: the rate that was kept, how far behind the last event's arrival was, and the
server's memory: the most of it, how it grew in the second half, and what a step of a run that lives
takes, which is all that may grow: ledgers hold their steps.

Usage: bench/load_bench.py HEADWAY [--rate EVENTS_A_SECOND] [--seconds N] [--processes N]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench_server import Caller, Server

RECORD = """
import sys, time
import headway

name, rate, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
run = headway.init(run=name)
begin = time.monotonic()
step = done = 0
while (elapsed := time.monotonic() - begin) < seconds:
    due = int(elapsed * rate)
    while done + 4 <= due:  # a step's start and end, and a span's
        with run.step(step):
            with run.data_loading():
                pass
        step += 1
        done += 4
    time.sleep(0.01)
run.finish()
print(done)
"""


def resident_mib(pid: int) -> float:
    """Of a server and of what it has started."""
    pages = Path(f"/proc/{pid}/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE") / 2**20


def slots(call: Caller) -> int:
    """Records that the server has taken in, as its own metrics say."""
    call.connection.request("GET", "/metrics", headers=call.headers)
    for line in call.connection.getresponse().read().decode().splitlines():
        if line.startswith("headway_server_ingest_records_total "):
            return int(float(line.split()[1]))
    raise AssertionError("the server does not say how many slots it has taken in")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("headway")
    parser.add_argument("--rate", type=int, default=200_000)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--processes", type=int, default=4)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        server = Server(arguments.headway, Path(folder, "far"))
        call = Caller(server)
        environment = {**server.environment, "HEADWAY_DIR": str(Path(folder, "near"))}
        environment.pop("HEADWAY_SERVER")
        each = arguments.rate // arguments.processes
        begin = time.monotonic()
        recorders = [
            subprocess.Popen(
                [sys.executable, "-c", RECORD, f"load-{n}", str(each), str(arguments.seconds)],
                env=environment,
                stdout=subprocess.PIPE,
                text=True,
            )
            for n in range(arguments.processes)
        ]
        agent = subprocess.Popen(
            [arguments.headway, "agent", "--server", server.url], env=environment
        )
        memory: list[float] = []
        while any(one.poll() is None for one in recorders):
            time.sleep(1)
            memory.append(resident_mib(server.process.pid))
            taken = slots(call)
            at = time.monotonic() - begin
            print(f"{at:5.0f} s  {taken:,} records, {memory[-1]:.0f} MiB", file=sys.stderr)
        ended = time.monotonic()
        events = 0
        for one in recorders:
            assert one.stdout is not None
            events += int(one.stdout.read())
        while slots(call) < events and time.monotonic() - ended < 120:
            time.sleep(0.05)
        behind = time.monotonic() - ended
        agent.terminate()
        agent.wait()
        half = memory[len(memory) // 2]
        for row, value in {
            "load_rate": events / arguments.seconds,
            "load_behind_s": behind,
            "load_memory_mib": max(memory),
            "load_memory_growth": memory[-1] / half,
            "load_memory_bytes_a_step": (memory[-1] - memory[0]) * 2**20 / (events / 4),
        }.items():
            print(json.dumps({"row": row, "value": round(value, 3)}), flush=True)
        call.close()
        server.stop()


if __name__ == "__main__":
    main()
