#!/usr/bin/env python3
"""What recording costs in Python, as ratios measured side by side in one process.

Each statement is timed in turn, many times over; the quietest round counts. A line of JSON each:
what was measured, what it is compared with, both in nanoseconds, the ratio, and what it should be.

The peer is ml-goodput-measurement, the package itself: once with its sink replaced by a list (its
own seam for tests), once with its real Cloud Logging handler, whose client then talks to a service
that accepts everything at once. It is installed into build/original/ when it is missing. The
drop-in of that name is timed in a process of its own: both can't be in one.

Usage: bench/python_bench.py [--no-peer] [--check] [--rounds N]
"""

from __future__ import annotations

import argparse
import gc
import json
import logging
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import timeit
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))
from environments import NotInstallable, environment  # noqa: E402

PEER = ROOT / "build/original"
REQUIREMENTS = ROOT / "tools/requirements-original.txt"
REPETITIONS = 15


@dataclass(frozen=True)
class Ratio:
    """`numerator` over `denominator`, both statements, and where it should lie."""

    name: str
    numerator: str
    denominator: str
    at_most: float | None = None
    at_least: float | None = None


STEP = "run.step(i)"
WITH_STEP = "with run.step(i): pass"
RATIOS = [
    Ratio("run.step(i) / time.time_ns()", STEP, "time.time_ns()", at_most=2),
    Ratio("with run.step(i) / with threading.Lock()", WITH_STEP, "with threading.Lock(): pass",
          at_most=1.6),
    Ratio("with run.step(i) / with a lock that is there", WITH_STEP, "with lock: pass"),
    Ratio("with run.data_loading() / with threading.Lock()",
          "with run.data_loading(): pass", "with threading.Lock(): pass"),
    Ratio("run.log of one metric / time.time_ns()", "run.log(metrics, step=i)", "time.time_ns()"),
    Ratio("disabled run.step(i) / time.time_ns()", "off.step(i)", "time.time_ns()"),
]
LIST_SINK = "listed.record_step_start_time(i)"
HANDLER = "handled.record_step_start_time(i)"
DROP_IN = "drop_in.record_step_start_time(i)"
PEER_RATIOS = [
    Ratio("peer with a list as its sink / run.step(i)", LIST_SINK, STEP, at_least=10),
    Ratio("peer with a list as its sink / with run.step(i)", LIST_SINK, WITH_STEP),
    Ratio("peer with its real handler / run.step(i)", HANDLER, STEP, at_least=300),
    Ratio("peer with its real handler / with run.step(i)", HANDLER, WITH_STEP),
    Ratio("peer with its real handler / the drop-in's record_step_start_time", HANDLER, DROP_IN),
    Ratio("peer with a list as its sink / the drop-in's record_step_start_time", LIST_SINK,
          DROP_IN),
]
# Statements that are slow, and whose queue would grow without bound.
FEWER = {LIST_SINK: 4, HANDLER: 40}


class ListSink:
    """What the peer's tests pass as `cloud_logger`."""

    def __init__(self) -> None:
        self.entries: list[dict[str, Any]] = []

    def write_cloud_logging_entry(self, entry: dict[str, Any]) -> None:
        self.entries.append(entry)

    def flush(self) -> None:
        self.entries.clear()


class AcceptEverything:
    """Cloud Logging's service, at its best."""

    def write_entries(self, entries: Any, **options: Any) -> None:
        pass


def peers() -> dict[str, Any]:
    """The peer's recorder, with a list and with its real handler."""
    import google.auth
    from google.auth.credentials import AnonymousCredentials
    from ml_goodput_measurement.src import goodput

    listed = goodput.GoodputRecorder("bench", "bench", True, ListSink())
    google.auth.default = lambda *args, **kwargs: (AnonymousCredentials(), "bench")
    os.environ.setdefault("GOOGLE_CLOUD_PROJECT", "bench")
    os.environ["NO_GCE_CHECK"] = "true"
    handled = goodput.GoodputRecorder("bench", "bench", True)
    client = handled._cloud_logger._async_handler.client
    client._logging_api = AcceptEverything()
    return {"listed": listed, "handled": handled}


def time_drop_in(rounds: int) -> float:
    """Nanoseconds of a step of the drop-in's recorder, in a process that has it."""
    environment = dict(os.environ)
    environment["PYTHONPATH"] = os.pathsep.join(map(str, [ROOT / "build/python",
                                                          ROOT / "python/compat"]))
    environment.pop("HEADWAY_DISABLED", None)
    python = sys._base_executable  # type: ignore[attr-defined]
    done = subprocess.run([python, __file__, "--drop-in", "--rounds", str(rounds)], check=True,
                          text=True, stdout=subprocess.PIPE, env=environment)
    return float(done.stdout)


def be_drop_in(rounds: int) -> None:
    with tempfile.TemporaryDirectory(prefix="headway-bench-") as folder:
        os.environ["HEADWAY_DIR"] = folder
        from ml_goodput_measurement.src import goodput

        recorder = goodput.GoodputRecorder("bench", "bench", True)
        recorder.record_job_start_time()
        gc.disable()
        print(measure([DROP_IN], {"drop_in": recorder, "i": 123_456}, rounds)[DROP_IN])


def ensure_peer() -> Path | None:
    """A Python that has the peer; None when it can't be installed here."""
    try:
        return environment(PEER, REQUIREMENTS)
    except (OSError, subprocess.CalledProcessError, NotInstallable) as error:
        print(f"without the peer: {error}", file=sys.stderr)
        return None


def measure(statements: list[str], names: dict[str, Any], rounds: int) -> dict[str, float]:
    """Nanoseconds of each statement in the quietest round."""
    timers = {s: timeit.Timer(s, globals=names, timer=time.perf_counter) for s in statements}
    numbers = {s: 20_000 // FEWER.get(s, 1) for s in statements}
    best: dict[str, float] = {}
    for _ in range(rounds):
        times: dict[str, list[float]] = {s: [] for s in statements}
        for _ in range(REPETITIONS):
            for statement, timer in timers.items():
                taken = timer.timeit(numbers[statement]) * 1e9 / numbers[statement]
                times[statement].append(taken)
                for name in ("listed", "handled"):
                    if name in statement:
                        names[name].flush()
        medians = {s: statistics.median(values) for s, values in times.items()}
        if not best or sum(medians.values()) < sum(best.values()):
            best = medians
    return best


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--no-peer", action="store_true", help="without the peer")
    parser.add_argument("--check", action="store_true", help="exit code 1 if a target is missed")
    parser.add_argument("--drop-in", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    if args.drop_in:
        be_drop_in(args.rounds)
        return 0

    if not args.no_peer and not Path(sys.prefix) == PEER:
        python = ensure_peer()
        if python is not None:
            paths = [str(ROOT / "build/python"), os.environ.get("PYTHONPATH", "")]
            os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
            os.execv(python, [str(python), *sys.argv])
        args.no_peer = True
    logging.disable(logging.NOTSET)
    import headway

    with tempfile.TemporaryDirectory(prefix="headway-bench-") as folder:
        run = headway.init(run="bench", dir=folder)
        os.environ["HEADWAY_DISABLED"] = "1"
        names: dict[str, Any] = {
            "run": run,
            "off": headway.init(run="off"),
            "time": time,
            "threading": threading,
            "lock": threading.Lock(),
            "metrics": {"loss": 1.5},
            "i": 123_456,
        }
        ratios = list(RATIOS)
        if not args.no_peer:
            names |= peers()
            ratios += PEER_RATIOS
        statements = list(dict.fromkeys(s for r in ratios for s in (r.numerator, r.denominator)
                                        if s != DROP_IN))
        gc.disable()
        times = measure(statements, names, args.rounds)
        gc.enable()
        if not args.no_peer:
            times[DROP_IN] = time_drop_in(args.rounds)
        run.finish()
        missed = 0
        for ratio in ratios:
            value = times[ratio.numerator] / times[ratio.denominator]
            line: dict[str, Any] = {
                "bench": "python",
                "what": ratio.name,
                "ratio": round(value, 3),
                "numerator_ns": round(times[ratio.numerator], 1),
                "denominator_ns": round(times[ratio.denominator], 1),
            }
            if ratio.at_most is not None:
                line |= {"at_most": ratio.at_most, "met": value <= ratio.at_most}
            if ratio.at_least is not None:
                line |= {"at_least": ratio.at_least, "met": value >= ratio.at_least}
            missed += line.get("met") is False
            print(json.dumps(line), flush=True)
        print(json.dumps({"bench": "python", "python": sys.version.split()[0],
                          "dropped": run.dropped}))
    return 1 if missed and args.check else 0


if __name__ == "__main__":
    sys.exit(main())
