#!/usr/bin/env python3
"""How fast a server takes in journals, durably, and answers about them.

Against SQLite with one row a record and the same durability (write-ahead log, synchronous=FULL):
the rows are made beforehand, and inserted by Python's sqlite3 in transactions of as many records as
one request of headway holds at most. Both write to the same file system, in turns. A line of
JSON each: the ratio of the medians, and the medians.

And what TLS adds, of which the client's half is on the same machine: to `headway ship`, to small
requests (/healthz, by Python) on one connection, and each on one of its own; in turns.

Usage: bench/ingest_bench.py WRITE_HISTORY HEADWAY [--steps N] [--rounds N]
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import sqlite3
import ssl
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

TRANSACTION = 1_048_576  # records: 32 MiB of slots
REQUESTS = 300  # in a row


class Server:
    """`headway serve` on an empty directory."""

    def __init__(self, headway: str, folder: Path, *options: str) -> None:
        self.process = subprocess.Popen(
            [headway, "serve", "--dir", folder, "--listen", "127.0.0.1:0", *options],
            stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().split()[-1]
        self.process.stdout.readline()
        token = (folder / "server/admin-token").read_text().strip()
        self.environment = {**os.environ, "HEADWAY_SERVER": self.url, "HEADWAY_TOKEN": token}
        self.tls: ssl.SSLContext | None = None
        if options:
            certificate = str(folder / "server/tls-certificate.pem")
            self.environment["HEADWAY_CA"] = certificate
            self.tls = ssl.create_default_context(cafile=certificate)

    def connect(self) -> http.client.HTTPConnection:
        port = int(self.url.rsplit(":", 1)[1])
        if self.tls is None:
            return http.client.HTTPConnection("127.0.0.1", port)
        return http.client.HTTPSConnection("127.0.0.1", port, context=self.tls)

    def seconds_of_requests(self, *, one_connection: bool) -> float:
        """The median of small ones."""
        taken = []
        connection = self.connect()
        for _ in range(REQUESTS):
            begin = time.perf_counter()
            if not one_connection:
                connection = self.connect()
            connection.request("GET", "/healthz")
            assert connection.getresponse().read() == b"ok\n"
            if not one_connection:
                connection.close()
            taken.append(time.perf_counter() - begin)
        connection.close()
        return statistics.median(taken)

    def stop(self) -> None:
        self.process.terminate()
        self.process.communicate()


def seconds_of(command: list[str | Path], environment: dict[str, str]) -> float:
    begin = time.perf_counter()
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begin


def rows_of(count: int) -> list[tuple[int, int, int, int, int, int]]:
    """What a record is: journal, number, time, type, a, b."""
    start = 1_767_225_600_000_000_000
    return [(1, n, start + 1_234_567 * n, 3 + n % 2, n, 0) for n in range(count)]


def insert(path: Path, rows: list[tuple[int, int, int, int, int, int]]) -> float:
    store = sqlite3.connect(path, isolation_level=None)
    store.execute("PRAGMA journal_mode = WAL")
    store.execute("PRAGMA synchronous = FULL")
    store.execute("CREATE TABLE record (journal INTEGER, seq INTEGER, time INTEGER, type INTEGER, "
                  "a INTEGER, b INTEGER)")  # fmt: skip
    begin = time.perf_counter()
    for at in range(0, len(rows), TRANSACTION):
        store.execute("BEGIN IMMEDIATE")
        store.executemany("INSERT INTO record VALUES (?, ?, ?, ?, ?, ?)",
                          rows[at : at + TRANSACTION])  # fmt: skip
        store.execute("COMMIT")
    took = time.perf_counter() - begin
    store.close()
    return took


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("write_history")
    parser.add_argument("headway")
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=os.environ.get("HEADWAY_BENCH_DIR")) as name:
        folder = Path(name)
        written = subprocess.run(
            [options.write_history, folder / "near", "bench", str(options.steps), "0", "0"],
            check=True, text=True, stdout=subprocess.PIPE,
        )  # fmt: skip
        records = json.loads(written.stdout)["records"]
        rows = rows_of(records)
        times: dict[str, list[float]] = {}
        stored = {}
        for number in range(options.rounds):
            far = folder / f"far{number}"
            server = Server(options.headway, far)
            ask = [options.headway, "goodput", "bench", "--project", "bench", "--json"]
            ship = [options.headway, "ship", "--dir", folder / "near", "--server", server.url]
            for what, command in (("ship", ship), ("first", ask), ("next", ask)):
                times.setdefault(what, []).append(seconds_of(command, server.environment))
            local = [*ask, "--dir", folder / "near"]
            times.setdefault("local", []).append(seconds_of(local, dict(os.environ)))
            secure = Server(options.headway, folder / f"secure{number}", "--tls")
            there = [*ship[:-1], secure.url]
            times.setdefault("ship_tls", []).append(seconds_of(there, secure.environment))
            for what, one in (("request", True), ("connection", False)):
                for way, peer in (("", server), ("_tls", secure)):
                    took = peer.seconds_of_requests(one_connection=one)
                    times.setdefault(what + way, []).append(took)
            secure.stop()
            server.stop()
            stored["headway"] = (far / "server/records.sqlite").stat().st_size
            path = folder / f"rows{number}.sqlite"
            times.setdefault("rows", []).append(insert(path, rows))
            stored["rows"] = path.stat().st_size
            path.unlink()
    median = {what: statistics.median(taken) for what, taken in times.items()}
    seconds = {f"{what}_s": round(taken, 6) for what, taken in median.items()}
    for row, value in (
        ("ingest_rows", median["rows"] / median["ship"]),
        ("ingest_speed", records / median["ship"] / 1e6),
        ("ingest_stored", stored["headway"] / records),
        ("ingest_stored_rows", stored["rows"] / stored["headway"]),
        ("tls_ship", median["ship_tls"] / median["ship"]),
        ("tls_request", median["request_tls"] / median["request"]),
        ("tls_connection", median["connection_tls"] / median["connection"]),
        ("remote_first", median["first"] / median["local"]),
        ("remote_next", median["next"] / median["local"]),
    ):
        print(json.dumps({"row": row, "value": value, "records": records, **seconds}))


main()
