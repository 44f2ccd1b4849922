#!/usr/bin/env python3
"""How fast a server lists runs when it has many.

Makes them by CreateRun, over some connections at once, and then asks for first pages again and
again: the newest, in other orders, filtered by what is common and by what is rare. A line of JSON
for each question: 99th percentile and median of the time that a client waits, in milliseconds.

Usage: bench/registry_bench.py HEADWAY [--runs N] [--rounds N]
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import tempfile
import threading
import time
from pathlib import Path

from bench_server import Caller, Server

CONNECTIONS = 4
QUESTIONS: dict[str, dict[str, str]] = {
    "runs_newest": {},
    "runs_by_name": {"orderBy": "name"},
    "runs_by_group": {"orderBy": "group, name desc"},
    "runs_of_group": {"filter": "group = g3"},
    "runs_of_label": {"filter": "labels.team = t17"},
    "runs_of_one_label": {"filter": "labels.n = 4711"},
    "runs_none": {"filter": "name:nothing AND NOT phase = active"},
    "runs_filtered": {"filter": "group != g3 AND phase = failed", "orderBy": "name desc"},
}

FLEETS: dict[str, dict[str, object]] = {
    "fleet": {"top": 10},
    "fleet_by_group": {"groupBy": "group", "top": 10},
    "fleet_by_label": {"groupBy": "labels.team", "top": 10},
}


def make(server: Server, numbers: range) -> None:
    call = Caller(server)
    dice = random.Random(numbers.start)
    phases = ["QUEUED", "ACTIVE", "COMPLETED", "FAILED", "INTERRUPTED"]
    for n in numbers:
        run = {
            "name": f"llama-{dice.randrange(10**6):06}",
            "group": f"g{n % 10}",
            "labels": {"team": f"t{n % 100}", "n": str(n)},
            "phase": "RUN_PHASE_" + dice.choice(phases),
            "softwareConfigs": {"jax": "0.8.0", "python": "3.11", "xla_flags": "default"},
        }
        call("RunService/CreateRun", {"run": run})
    call.close()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("headway")
    parser.add_argument("--runs", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=200)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        server = Server(arguments.headway, Path(folder))
        begin = time.perf_counter()
        threads = [
            threading.Thread(target=make, args=(server, range(n, arguments.runs, 4)))
            for n in range(CONNECTIONS)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        made = arguments.runs / (time.perf_counter() - begin)
        print(json.dumps({"row": "runs_made", "value": round(made)}), flush=True)
        call = Caller(server)
        for row, question in QUESTIONS.items():
            taken = []
            for _ in range(arguments.rounds):
                begin = time.perf_counter()
                call("RunService/ListRuns", {"pageSize": 100, **question})
                taken.append(1000 * (time.perf_counter() - begin))
            taken.sort()
            figures = {"row": row, "value": round(taken[int(0.99 * len(taken))], 2)}
            figures["median_ms"] = round(statistics.median(taken), 2)
            print(json.dumps(figures), flush=True)
        for row, question in FLEETS.items():
            taken = []
            for _ in range(arguments.rounds // 10):
                begin = time.perf_counter()
                call("RunService/GetFleet", question)
                taken.append(1000 * (time.perf_counter() - begin))
            figures = {"row": row, "value": round(max(taken), 2)}
            figures["median_ms"] = round(statistics.median(taken), 2)
            print(json.dumps(figures), flush=True)
        server.stop()


if __name__ == "__main__":
    main()
