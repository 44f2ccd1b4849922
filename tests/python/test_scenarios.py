"""Every scenario, imported by the command and reported by the package.

The other way to a report than that of tests/scenario: an event file becomes journals, the journals
a report, the report Python. Scenarios that no event file can express (journals, supervisors) are
left out, as there.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import headway

ROOT = Path(__file__).parents[2]
BUILD = Path(os.environ.get("HEADWAY_BIN", ROOT / "build/bin")).parent
SCENARIOS = BUILD / "tests/scenario_test"
COMMAND = BUILD / "bin/headway"


def sums(categories: Any) -> Counter[tuple[str, str]]:
    """Nanoseconds by category and name."""
    return Counter({(time["category"], time["name"]): time["ns"] for time in categories})


def answer(report: dict[str, Any]) -> dict[str, Any]:
    """What an import must not change."""
    notes = {note["code"]: note["count"] for note in report["notes"]}
    return {
        "categories": sums(report["categories"]),
        "elapsed_ns": report["elapsed_ns"],
        "state": report["state"],
        "steps": report["steps"],
        "attempts": report["attempts"],
        "disruptions": report["disruptions"],
        "rollbacks": report["rollbacks"],
        "notes": notes,
    }


def imported(name: str, events: str) -> dict[str, Any]:
    # Where a name was used again the file holds two runs; the scenario asks about all of it.
    one_run = '{"type": "one_run"}\n'
    result = subprocess.run(
        [COMMAND, "import", "-", "--run", name], input=one_run + events, text=True, check=False,
        capture_output=True,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    report = headway.report(name).to_dict()
    assert isinstance(report, dict)
    return report


def test_every_scenario_comes_through_an_import() -> None:
    if not SCENARIOS.exists():
        pytest.skip("this build has no scenario_test")
    printed = subprocess.run(
        [SCENARIOS, "--print-all"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    scenarios = [json.loads(line) for line in printed.splitlines()]
    told = [scenario for scenario in scenarios if scenario["events"]]
    assert len(told) > 100 and len(told) > len(scenarios) / 2
    with ThreadPoolExecutor(2) as pool:
        reports = list(pool.map(lambda one: imported(one["name"], one["events"]), told))
    for scenario, report in zip(told, reports):
        assert answer(report) == answer(json.loads(scenario["report"])), scenario["name"]
