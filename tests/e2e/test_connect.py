"""The clients of Connect from npm call the server, as they are."""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from pathlib import Path

import pytest
from conftest import Headway
from node import run_node
from test_server import Server, journals, train


@pytest.fixture
def server(headway: Headway, tmp_path: Path) -> Iterator[Server]:
    with closing(Server(headway, tmp_path / "far")) as one:
        yield one


def nanoseconds(time: str) -> int:
    """Of a time as `2026-11-30T19:41:55.706628665Z`."""
    second, fraction = time.removesuffix("Z").split(".")
    return calendar.timegm(datetime.fromisoformat(second).timetuple()) * 10**9 + int(fraction)


def test_connect_clients_call_it_unmodified(
    headway: Headway, server: Server, tmp_path: Path
) -> None:
    headway(*train(headway, tmp_path, "r", 1, 120))
    headway("ship", env=server.env)
    report = headway.json("goodput", "r")
    given = {
        "url": server.url,
        "token": server.token,
        "run": "r",
        "report": {
            "asOf": report["as_of"],
            "start": str(nanoseconds(report["start"])),
            "elapsedNs": str(report["elapsed_ns"]),
            "categories": [
                [time["category"], str(time["ns"])] for time in report["categories"]
            ],
        },
        "journal": str(journals(headway)[0]),
    }
    said = run_node("connect.test.ts", given, tmp_path)
    tests = re.search(r"pass (\d+)", said)
    assert tests and int(tests.group(1)) >= 60, said
