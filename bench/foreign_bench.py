#!/usr/bin/env python3
"""How fast points come into a server over HTTP: into headway, durably, and into VictoriaMetrics.

Both get the same requests of Prometheus remote write, in turns, from one client with some
connections; a client's and a server's processor time is the machine's. headway answers once the
points are durable. VictoriaMetrics answers once it has them in memory: what came in the last
seconds is lost with the machine. Besides, the same points by WritePoints of headway. A line of JSON
each: ratios of the medians, and points a second.

Usage: bench/foreign_bench.py FOREIGN_BENCH HEADWAY [VICTORIA_METRICS] [--rounds N] [--scale X]
"""

from __future__ import annotations

import argparse
import json
import os
import re
import socket
import statistics
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

from bench_server import Caller, Server

# Connections, series of each and so points of a request, and requests of each.
SHAPES = {"": (8, 2_000, 100), "large_": (4, 10_000, 40), "small_": (8, 500, 200)}


def page_of(url: str, **headers: str) -> str:
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers)) as answer:
        return str(answer.read().decode())


def processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Victoria:
    """VictoriaMetrics on an empty directory."""

    def __init__(self, program: str, folder: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.process = subprocess.Popen(
            [program, f"-storageDataPath={folder}", f"-httpListenAddr=127.0.0.1:{self.port}",
             "-retentionPeriod=1"],
            stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        while True:
            try:
                page_of(f"http://127.0.0.1:{self.port}/health")
                break
            except OSError:
                assert self.process.poll() is None, "VictoriaMetrics does not start"
                time.sleep(0.05)

    def kept(self) -> int:
        page = page_of(f"http://127.0.0.1:{self.port}/metrics")
        return sum(
            int(float(count))
            for count in re.findall(r'vm_rows_inserted_total\{type="promremotewrite"\} (\S+)', page)
        )

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait()


class Headway(Server):
    def __init__(self, program: str, folder: Path) -> None:
        super().__init__(program, folder)
        call = Caller(self)
        call("RunService/CreateRun", {"run": {"project": "default", "name": "bench"}})
        call.close()
        self.port = int(self.url.rsplit(":", 1)[1])

    def kept(self) -> int:
        bearer = f"Bearer {self.environment['HEADWAY_TOKEN']}"
        page = page_of(f"{self.url}/metrics", Authorization=bearer)
        found = re.search(r'ingest_points_total\{result="kept"\} (\d+)', page)
        assert found
        return int(found[1])


def measure(client: str, server: Any, way: str, target: str, token: str, shape: Any) -> Any:
    before = processor_seconds(server.process.pid)
    done = subprocess.run(
        [client, way, str(server.port), target, token, *map(str, shape)],
        check=True, text=True, stdout=subprocess.PIPE,
    )  # fmt: skip
    found = json.loads(done.stdout)
    found["processor"] = processor_seconds(server.process.pid) - before
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("client")
    parser.add_argument("headway")
    parser.add_argument("victoria", nargs="?")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--scale", type=float, default=1.0, help="of the requests")
    parser.add_argument("--shape", choices=[name or "usual" for name in SHAPES], action="append")
    options = parser.parse_args()
    for prefix, shape in SHAPES.items():
        if options.shape and (prefix or "usual") not in options.shape:
            continue
        shape = (*shape[:2], max(1, round(shape[2] * options.scale)))
        rates: dict[str, list[float]] = {}
        processor: dict[str, list[float]] = {}
        stored = 0.0
        for _ in range(options.rounds):
            with tempfile.TemporaryDirectory(dir=os.environ.get("HEADWAY_BENCH_DIR")) as name:
                folder = Path(name)

                def note(what: str, found: Any) -> None:
                    rates.setdefault(what, []).append(found["points"] / found["seconds"])
                    used = found["processor"] / found["points"] * 1e6
                    processor.setdefault(what, []).append(used)

                server = Headway(options.headway, folder / "far")
                token = server.environment["HEADWAY_TOKEN"]
                ask = (options.client, server, "remote-write", "/api/v1/write", token, shape)
                found = measure(*ask)
                assert server.kept() == found["points"], "headway lacks points"
                note("headway", found)
                server.stop()
                stored = (folder / "far/server/records.sqlite").stat().st_size / found["points"]
                if options.victoria:
                    peer = Victoria(options.victoria, folder / "victoria")
                    ask = (options.client, peer, "remote-write", "/api/v1/write", "-", shape)
                    found = measure(*ask)
                    assert peer.kept() == found["points"], "VictoriaMetrics lacks points"
                    note("victoria", found)
                    peer.stop()
                if not prefix:
                    server = Headway(options.headway, folder / "native")
                    token = server.environment["HEADWAY_TOKEN"]
                    few = (*shape[:2], max(1, shape[2] // 10))
                    note("native", measure(options.client, server, "native", "bench", token, few))
                    server.stop()
        rate = {what: statistics.median(all_rates) for what, all_rates in rates.items()}
        used = {what: statistics.median(all_used) for what, all_used in processor.items()}
        more = {f"{what}_points_a_second": round(value) for what, value in rate.items()}
        more |= {f"{what}_processor_us_a_point": round(value, 3) for what, value in used.items()}
        rows = {"rate": rate["headway"] / 1e6, "stored": stored}
        if "victoria" in rate:
            rows["victoria"] = rate["headway"] / rate["victoria"]
        if "native" in rate:
            rows["native"] = rate["headway"] / rate["native"]
        for row, value in rows.items():
            print(json.dumps({"row": f"foreign_{prefix}{row}", "value": value, **more}), flush=True)


main()
