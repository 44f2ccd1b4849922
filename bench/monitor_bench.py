#!/usr/bin/env python3
"""What a monitor takes from the training beside it.

A training loop of equal pieces of work, 5 ms each, with two calls of the recorder a step, goes on a
run of 1,000,000 steps and 50 restarts, beside a monitor that uploads each second. In turn the
monitor may run and is held (SIGSTOP), half a second each, for the speed of machines drifts; what it
missed it makes up for. Once with all processors, once with one for both. A line of JSON each:
median and 99th percentile of the step's time while it runs over that while it is held, and the
99th percentile of the calls.

Usage: bench/monitor_bench.py WRITE_HISTORY [--rounds N]
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HISTORY = ["1000000", "0", "50"]  # steps, evaluations, restarts
STEPS = 100  # of a stretch with or without the monitor
WORK_S = 0.005


def work(count: int) -> int:
    total = 0
    for number in range(count):
        total += number
    return total


def calibrate() -> int:
    """How much work takes WORK_S."""
    count = 20_000
    times = []
    for _ in range(101):
        begin = time.perf_counter()
        work(count)
        times.append(time.perf_counter() - begin)
    return round(count * WORK_S / sorted(times)[50])


def quantile(values: list[float], part: float) -> float:
    return sorted(values)[min(len(values) - 1, round(part * len(values)))]


def await_sample(folder: str) -> None:
    until = time.monotonic() + 120
    while True:
        for path in Path(folder).glob("monitors/bench/bench/*.json"):
            if json.loads(path.read_text())["samples"]:
                return
        assert time.monotonic() < until, "the monitor takes no sample"
        time.sleep(0.05)


def train(folder: str, rounds: int) -> None:
    import headway

    run = headway.init(run="bench", project="bench", dir=folder, rank=0, resume="must")
    count = calibrate()
    steps: dict[bool, list[float]] = {False: [], True: []}
    calls: list[float] = []
    ratios: list[float] = []
    gc.disable()
    step = run.last_step or 0
    with headway.Monitor(run, every=1, tensorboard=os.path.join(folder, "tensorboard")) as monitor:
        assert monitor._companion is not None
        pid = monitor._companion.pid
        await_sample(folder)  # it has read the history
        for number in range(2 * rounds):
            held = number % 2 == 0
            os.kill(pid, signal.SIGSTOP if held else signal.SIGCONT)
            times = []
            for _ in range(STEPS):
                begin = time.perf_counter()
                run.step(step)
                called = time.perf_counter()
                work(count)
                before = time.perf_counter()
                run.log({"loss": 0.5}, step=step)
                end = time.perf_counter()
                step += 1
                times.append(end - begin)
                calls += [called - begin, end - before]
            steps[not held] += times
            if not held:
                ratios.append(statistics.median(times) / statistics.median(steps[False][-STEPS:]))
        os.kill(pid, signal.SIGCONT)
    run.finish()
    print(json.dumps({
        "median": statistics.median(ratios),
        "p99": quantile(steps[True], 0.99) / quantile(steps[False], 0.99),
        "call_us": quantile(calls, 0.99) * 1e6,
        "step_ms": statistics.median(steps[False]) * 1e3,
    }))  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("write_history")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--train", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.train:
        train(options.write_history, options.rounds)
        return
    for where, processors in (("", os.sched_getaffinity(0)), ("_one", {0})):
        with tempfile.TemporaryDirectory(prefix="headway-bench-") as folder:
            subprocess.run([options.write_history, folder, "bench", *HISTORY], check=True,
                           stdout=subprocess.DEVNULL)  # fmt: skip
            command = [sys.executable, __file__, folder, "--train", "--rounds", str(options.rounds)]
            os.sched_setaffinity(0, processors)
            done = subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE)
            figures = json.loads(done.stdout.splitlines()[-1])
            for name in ("median", "p99"):
                line = {"row": f"monitor{where}_{name}", "value": figures[name], **figures}
                print(json.dumps(line))
            print(json.dumps({"row": f"monitor{where}_call", "value": figures["call_us"]}))


main()
