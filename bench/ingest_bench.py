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
import json
import os
import sqlite3
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from bench_server import Server

TRANSACTION = 1_048_576  # records: 32 MiB of slots
REQUESTS = 300  # in a row


def seconds_of_requests(server: Server, *, one_connection: bool) -> float:
    """The median of small ones."""
    taken = []
    connection = server.connect()
    for _ in range(REQUESTS):
        begin = time.perf_counter()
        if not one_connection:
            connection = server.connect()
        connection.request("GET", "/healthz")
        assert connection.getresponse().read() == b"ok\n"
        if not one_connection:
            connection.close()
        taken.append(time.perf_counter() - begin)
    connection.close()
    return statistics.median(taken)


def seconds_of(command: list[str | Path], environment: dict[str, str]) -> float:
    begin = time.perf_counter()
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begin


def bytes_of_ledgers(path: Path) -> int:
    """What is saved of ledgers, which is derived: for seven days after a run's end."""
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as store:
        query = "SELECT sum(pgsize) FROM dbstat WHERE name IN ('ledger', 'ledger_page')"
        try:
            return int(store.execute(query).fetchone()[0] or 0)
        except sqlite3.OperationalError:  # built without dbstat
            query = "SELECT sum(length(bytes)) FROM ledger_page"
            return int(store.execute(query).fetchone()[0] or 0)


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
                    took = seconds_of_requests(peer, one_connection=one)
                    times.setdefault(what + way, []).append(took)
            secure.stop()
            server.stop()
            stored["ledger"] = bytes_of_ledgers(far / "server/records.sqlite")
            file = (far / "server/records.sqlite").stat().st_size
            stored["headway"] = file - stored["ledger"]
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
        ("ingest_stored_ledger", stored["ledger"] / records),
        ("ingest_stored_rows", stored["rows"] / stored["headway"]),
        ("tls_ship", median["ship_tls"] / median["ship"]),
        ("tls_request", median["request_tls"] / median["request"]),
        ("tls_connection", median["connection_tls"] / median["connection"]),
        ("remote_first", median["first"] / median["local"]),
        ("remote_next", median["next"] / median["local"]),
    ):
        print(json.dumps({"row": row, "value": value, "records": records, **seconds}))


main()
