#!/usr/bin/env python3
"""What a monitor takes from the training beside it.

A training loop of equal pieces of work, 5 ms each, with two calls of the recorder a step, goes on a
run of 1,000,000 steps and 50 restarts. In turn it is monitored, with an upload each second, and it
is not; once with all processors, once with one for both. A line of JSON each: median and 99th
percentile of the step's time with the monitor over that without, and the longest a call took.

Usage: bench/monitor_bench.py WRITE_HISTORY [--rounds N]
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import subprocess
import sys
import tempfile
import time

HISTORY = ["1000000", "0", "50"]  # steps, evaluations, restarts
STEPS = 1000  # in a stretch with or without the monitor
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


def train(folder: str, rounds: int) -> None:
    import headway

    run = headway.init(run="bench", project="bench", dir=folder, rank=0, resume="must")
    count = calibrate()
    monitor = headway.Monitor(run, every=1, tensorboard=os.path.join(folder, "tensorboard"))
    steps: dict[bool, list[float]] = {False: [], True: []}
    calls: list[float] = []
    gc.disable()
    step = run.last_step or 0
    for number in range(2 * rounds):
        monitored = number % 2 == 1
        if monitored:
            monitor.start()
        for _ in range(STEPS):
            begin = time.perf_counter()
            run.step(step)
            called = time.perf_counter()
            work(count)
            before = time.perf_counter()
            run.log({"loss": 0.5}, step=step)
            end = time.perf_counter()
            step += 1
            steps[monitored].append(end - begin)
            calls += [called - begin, end - before]
        if monitored:
            monitor.stop(10)
    run.finish()
    print(json.dumps({
        "median": quantile(steps[True], 0.5) / quantile(steps[False], 0.5),
        "p99": quantile(steps[True], 0.99) / quantile(steps[False], 0.99),
        "call_us": quantile(calls, 0.99) * 1e6,
        "step_ms": quantile(steps[False], 0.5) * 1e3,
    }))  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("write_history")
    parser.add_argument("--rounds", type=int, default=4)
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
