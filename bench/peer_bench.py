#!/usr/bin/env python3
"""Reports of ml-goodput-measurement 0.2.3 against those of headway, on the same events.

The peer reads its events from a logging service. Here they come from memory, through the argument
that its own tests use for that, so that no network and no protobuf is in its times. The events are
those of a run that write_history has written: what headway reads from the journals, the peer gets
as the entries that it would have recorded.

Prints figures as lines of JSON, for bench/run. Needs what tools/requirements-original.txt lists.

Usage: peer_bench.py --data DIR --run RUN [--headway PROGRAM] [--ledger-bench PROGRAM]
"""

import argparse
import bisect
import datetime
import json
import os
import resource
import select
import struct
import subprocess
import sys
import tempfile
import time
import types
from pathlib import Path
from typing import Any, Callable

Entry = dict[str, Any]
Cursor = tuple[datetime.datetime, str]

HEADER_BYTES = 4096
JOB = "bench"
ROUNDS = 5


# The events, as docs/formats/journal.md lays them out.

def span_keys(kind: int) -> tuple[str, str] | None:
    names = {1: "tpu_init", 2: "training_prep", 3: "data_loading", 7: "custom_badput_event"}
    name = names.get(kind)
    return (f"{name}_start_time", f"{name}_end_time") if name else None


def entries_of(journal: bytes) -> list[Entry]:
    """What the peer's recorder would have written where this journal was."""
    wall, mono = struct.unpack_from("<qq", journal, 64)
    keys = {kind: span_keys(kind) for kind in range(32)}
    entries: list[Entry] = []
    slots = struct.iter_unpack("<IIqqq", journal[HEADER_BYTES:])
    for _, meta, mono_ns, a, _ in slots:
        record = meta & 0xFF
        seconds = (mono_ns - mono + wall) / 1e9
        if record == 3:
            entries.append({"job_name": JOB, "step_count": a, "step_start_time": seconds})
        elif record in (6, 7):
            kind = meta >> 8 & 31
            pair = keys[kind]
            if pair is None:
                continue
            entry: Entry = {"job_name": JOB}
            if kind == 7:
                entry["custom_badput_event_type"] = "eval"
            entry[pair[record - 6]] = seconds
            entries.append(entry)
        elif record == 1:
            entries.append({"job_name": JOB, "job_start_time": seconds})
    return entries


def time_of(entry: Entry) -> float:
    return next(value for key, value in entry.items() if key.endswith("_time"))


def read_run(data: Path, run: str) -> list[Entry]:
    journals = sorted((data / "journals" / JOB / run).glob("*.hwj"),
                      key=lambda path: struct.unpack_from("<q", path.read_bytes()[:72], 64))
    return [entry for path in journals for entry in entries_of(path.read_bytes())]


# The peer.

class MemoryLog:
    """Stands where the peer's logging client stands; it answers as the service would."""

    def __init__(self, entries: list[Entry]) -> None:
        self.entries = entries
        self.times = [time_of(entry) for entry in entries]

    def append(self, entry: Entry) -> None:
        self.entries.append(entry)
        self.times.append(time_of(entry))

    def read_cloud_logging_entries(
            self, start_time: datetime.datetime | None = None,
            end_time: datetime.datetime | None = None,
            last_entry_info: Cursor | None = None) -> tuple[list[Entry], Cursor | None]:
        first = 0
        if last_entry_info is not None:
            first = int(last_entry_info[1]) + 1
        elif start_time is not None:
            first = bisect.bisect_right(self.times, start_time.timestamp())
        last = len(self.times)
        if end_time is not None:
            last = bisect.bisect_right(self.times, end_time.timestamp())
        found = self.entries[first:last]
        if not found:
            return [], None
        return found, (at(self.times[last - 1]), str(last - 1))


def at(seconds: float) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(seconds, tz=datetime.timezone.utc)


def stand_in_for_clients() -> None:
    """Empty modules for the clients of services, which nothing here calls."""
    for name in ("google", "google.api_core", "google.api_core.exceptions", "google.cloud",
                 "google.cloud.logging", "google.cloud.monitoring_v3", "google.cloud.storage",
                 "tensorboardX", "tensorboardX.writer"):
        module = types.ModuleType(name)
        module.__path__ = []
        module.__getattr__ = lambda attribute: type(attribute, (), {})  # type: ignore[assignment]
        sys.modules[name] = module
        parent, _, child = name.rpartition(".")
        if parent:
            setattr(sys.modules[parent], child, module)


def timed(function: Callable[[], Any]) -> Entry:
    begin, cpu_begin = time.perf_counter(), time.process_time()
    function()
    return {"seconds": time.perf_counter() - begin, "cpu_s": time.process_time() - cpu_begin,
            "peak_mib": peak_mib()}


def peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def be_peer(data: Path, run: str, drop_in: bool) -> None:
    """Answers each line on standard input ("cold", "warm", "interval") with a line of JSON."""
    if not drop_in:
        stand_in_for_clients()
    from ml_goodput_measurement import goodput  # type: ignore[import-not-found]
    log = MemoryLog(read_run(data, run))
    with tempfile.TemporaryDirectory(dir=data) as cache:
        calculator = goodput.GoodputCalculator(JOB, "log", log, cache_dir=cache)
        say: Entry = {"entries": len(log.entries), "resident_mib": peak_mib()}
        print(json.dumps(say), flush=True)
        for line in sys.stdin:
            if line.strip() == "cold":
                say = timed(lambda: calculator.get_job_goodput(include_badput_breakdown=True))
                details = calculator.get_job_goodput_details()
                say["productive_s"] = details["goodput_time"][goodput.GoodputType.TOTAL]
            elif line.strip() == "warm":
                last = max(entry["step_count"] for entry in log.entries if "step_count" in entry)
                log.append({"job_name": JOB, "step_count": last + 1,
                            "step_start_time": log.times[-1] + 1.0})
                say = timed(lambda: calculator.get_job_goodput(include_badput_breakdown=True))
            else:
                say = timed(lambda: calculator.get_job_goodput_interval(
                    at(log.times[0] - 1.0), at(log.times[-1] + 1.0)))
            print(json.dumps(say), flush=True)


class Peer:
    """The peer in a process of its own, with a limit to how long an answer may take."""

    def __init__(self, data: Path, run: str, limit: float, drop_in: str = "") -> None:
        """`drop_in`: the search path on which the drop-in is, in place of the peer."""
        self.limit = limit
        command = [sys.executable, __file__, "--peer", "--data", str(data), "--run", run]
        environment = dict(os.environ)
        if drop_in:
            # Not this environment: it holds the peer.
            command[:1] = [sys._base_executable]  # type: ignore[attr-defined]
            command.append("--drop-in")
            environment["PYTHONPATH"] = drop_in
        self.process: subprocess.Popen[str] | None = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
        self.start = self._answer(600)

    def _answer(self, limit: float) -> Entry | None:
        if self.process is None or self.process.stdout is None:
            return None
        ready, _, _ = select.select([self.process.stdout], [], [], limit)
        if not ready:
            self.close()
            return None
        line = self.process.stdout.readline()
        if not line:  # it has failed, which is not the same as being slow
            raise SystemExit("peer_bench: the peer ended without an answer")
        answer: Entry = json.loads(line)
        return answer

    def ask(self, question: str) -> Entry | None:
        """None: no answer within the limit, now or before."""
        if self.process is None or self.process.stdin is None:
            return None
        self.process.stdin.write(question + "\n")
        self.process.stdin.flush()
        return self._answer(self.limit)

    def close(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
        self.process = None


# headway.

def run_headway(command: list[str]) -> tuple[float, float, float, Entry]:
    """The whole process: its seconds, those of its CPU, its peak memory in MiB, its report."""
    begin = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert process.stdout is not None
    text = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - begin
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"peer_bench: {' '.join(command)}: exit code {process.returncode}")
    return (seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024,
            json.loads(text))


def library_calls(program: str, data: Path, run: str) -> dict[str, Entry]:
    output = subprocess.run([program, str(data), run, "queries"], check=True, text=True,
                            stdout=subprocess.PIPE).stdout
    rows = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    return {row["row"]: row for row in rows}


def measure(row: str, value: float, at_least: bool = False, **figures: float | None) -> None:
    line: Entry = {"row": row, "value": value}
    if at_least:
        line["bound"] = "at least"  # the peer was not done within the limit
    line.update({name: figure for name, figure in figures.items() if figure is not None})
    print(json.dumps(line), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--run", required=True)
    parser.add_argument("--headway", default="headway")
    parser.add_argument("--ledger-bench", default="ledger_bench")
    parser.add_argument("--rows", default="", help="put in front of the rows' names")
    parser.add_argument("--limit", type=float, default=200, help="seconds for an answer")
    parser.add_argument("--drop-in-path", default="", help="PYTHONPATH of the drop-in")
    parser.add_argument("--peer", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--drop-in", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peer:
        be_peer(options.data, options.run, options.drop_in)
        return
    prefix = options.rows
    command = [options.headway, "goodput", options.run, "--json", "--dir", str(options.data),
               "--project", JOB]
    peer = Peer(options.data, options.run, options.limit)
    ours = [run_headway(command) for _ in range(ROUNDS)]
    cold = peer.ask("cold")
    ours += [run_headway(command) for _ in range(ROUNDS)]
    seconds = sorted(sample[0] for sample in ours)
    cpu = sorted(sample[1] for sample in ours)[len(ours) // 2]
    peak = max(sample[2] for sample in ours)
    median = seconds[len(seconds) // 2]
    theirs = cold["seconds"] if cold else options.limit
    categories = ours[0][3]["categories"]
    measure(f"{prefix}cold_report", theirs / median, cold is None,
            peer_s=theirs, headway_median_s=median, headway_min_s=seconds[0],
            cpu_ratio=cold and cold["cpu_s"] / cpu, headway_cpu_s=cpu,
            peer_peak_mib=cold and cold["peak_mib"], headway_peak_mib=peak,
            peer_entries=peer.start and peer.start["entries"],
            peer_productive_s=cold and cold["productive_s"],
            headway_productive_s=sum(category["ns"] for category in categories
                                     if category["category"] == "productive") / 1e9)
    drop_in = None
    if options.drop_in_path:
        drop_in = Peer(options.data, options.run, options.limit, options.drop_in_path)
        measure_drop_in(f"{prefix}compat_cold", cold, drop_in.ask("cold"), options.limit)
        command += ["--accounting", "compat"]
        compat = sorted(run_headway(command)[0] for _ in range(ROUNDS))[ROUNDS // 2]
        measure(f"{prefix}compat_report", theirs / compat, cold is None, peer_s=theirs,
                headway_median_s=compat)
    queries = library_calls(options.ledger_bench, options.data, options.run)
    for question, row, figure in (("warm", "one_more_step", "median_ns"),
                                  ("interval", "window", "whole_job_median_ns")):
        answer = peer.ask(question) if cold else None
        if drop_in is not None:
            measure_drop_in(f"{prefix}compat_{question}", answer, drop_in.ask(question), None)
        ours_s = queries[row][figure] / 1e9
        if answer:
            measure(f"{prefix}{row}", answer["seconds"] / ours_s, peer_s=answer["seconds"],
                    headway_s=ours_s, peer_peak_mib=answer["peak_mib"],
                    headway_max_s=queries[row]["max_ns"] / 1e9,
                    headway_any_window_s=queries[row]["median_ns"] / 1e9
                    if row == "window" else None)
        elif cold is None:
            print(f"{prefix}{row}: the peer had no cold report within {options.limit:g} s; "
                  f"headway takes {ours_s * 1e6:.0f} us", file=sys.stderr)
    peer.close()
    if drop_in is not None:
        drop_in.close()


def measure_drop_in(row: str, theirs: Entry | None, ours: Entry | None,
                    limit: float | None) -> None:
    """The same question to the drop-in, through the same reader."""
    if ours is None or (theirs is None and limit is None):
        return
    seconds = theirs["seconds"] if theirs else limit
    assert seconds is not None
    measure(row, seconds / ours["seconds"], theirs is None, peer_s=seconds,
            drop_in_s=ours["seconds"], drop_in_peak_mib=ours["peak_mib"],
            peer_productive_s=theirs and theirs.get("productive_s"),
            drop_in_productive_s=ours.get("productive_s"))


main()
