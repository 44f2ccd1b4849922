"""Recorded cases: what others' tools got wrong on small event files.

The folder that HEADWAY_CASES_DIR names has a folder a case, with `events.jsonl` and
`expected.json`. Its figures follow the definitions of its own page; where ours (docs/accounting.md)
differ, `account` says how: time before an attempt's first step is program_startup here and "other"
there, and the step that runs is productive here and counted apart there.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from conftest import Headway

S = 1_000_000_000


class Case:
    """A case: its lines, and what a correct answer is."""

    def __init__(self, name: str, headway: Headway) -> None:
        cases = os.environ.get("HEADWAY_CASES_DIR")
        if not cases or not (Path(cases) / name).is_dir():
            pytest.skip("HEADWAY_CASES_DIR does not lead to the cases")
        self.folder = Path(cases) / name
        self.expected = json.loads((self.folder / "expected.json").read_text())
        self.lines = (self.folder / "events.jsonl").read_text().splitlines()
        self.headway = headway

    def take(
        self, lines: Iterable[str] | None = None, run: str = "case", **options: Any
    ) -> Any:
        text = "".join(line + "\n" for line in (self.lines if lines is None else lines))
        call = ("import", "-", "--run", run, "--replace")
        return self.headway.json(*call, input=text, **options)

    def report(self, *arguments: str, run: str = "case", **options: Any) -> Any:
        return self.headway.json("goodput", run, *arguments, **options)


def sums(report: Any) -> dict[str, int]:
    return {category["category"]: category["ns"] for category in report["categories"]}


def account(report: Any, expected: Any) -> None:
    """Holds a report to the figures of a case."""
    badput = expected["badput_s"]
    wanted = {
        "productive": expected["productive_s"] + badput.get("in_flight", 0),
        "program_startup": badput.get("other", 0),
        "wasted_progress": badput.get("wasted_progress", 0),
        "infrastructure_recovery": badput.get("infrastructure_recovery", 0),
    }
    assert sums(report) == {name: round(s * S) for name, s in wanted.items() if s}
    assert report["elapsed_ns"] == round(expected["total_s"] * S)
    assert sum(sums(report).values()) == report["elapsed_ns"]  # sum_check_s
    in_flight = expected.get("accept_if_in_flight_counts_as_productive", expected)
    assert 100 * report["goodput"] == pytest.approx(in_flight["goodput_pct"], abs=5e-6)
    assert report["data_loading_overlapped_ns"] == expected["async_data_loading_s"] * S
    assert len(report["disruptions"]) == expected["disruptions"]
    assert len(report["attempts"]) == expected["segments"]
    steps = report["steps"]
    assert steps["max_productive_step"] == expected["max_productive_step"]
    assert steps["ideal_ns"] == pytest.approx(expected["ideal_step_s"] * S, rel=1e-3)
    seen = max(attempt["last_step"] for attempt in report["attempts"])
    assert seen == expected["last_step_seen"]


def test_a_restart_that_has_not_caught_up(headway: Headway) -> None:
    case = Case("A01", headway)
    case.take()
    report = case.report()
    account(report, case.expected)
    assert 0 <= report["goodput"] <= 1
    assert report["steps"]["last_step"] == 8  # of the attempt that runs
    # No step reaches from one attempt into another.
    rows = headway.json("steps", "case")
    assert all(0 <= row["work_ns"] <= 10 * S for row in rows)


def test_the_time_zone_changes_nothing(headway: Headway) -> None:
    case = Case("A03", headway)
    case.take()
    account(case.report(), case.expected)
    texts = set()
    for zone in [*case.expected["identical_for_TZ"], "", ":nowhere"]:
        env = {"TZ": zone}
        case.take(env=env)
        texts.add(headway("goodput", "case", "--json", env=env).stdout)
        texts.add(headway("goodput", "case", "--json", "--as-of", "+2h", env=env).stdout)
    assert len(texts) == 1


def test_a_record_that_is_delivered_twice(headway: Headway, tmp_path: Path) -> None:
    case = Case("A05", headway)
    case.take()
    report = case.report("--as-of", "@" + str(case.expected["total_s"] * S))
    account(report, case.expected)
    batches = json.loads((case.folder / "batches.json").read_text())
    for named in (True, False):  # by id, and without ids by being the same
        files = []
        for number, batch in enumerate(batches):
            entries = [dict(entry) for entry in batch]
            for entry in entries:
                if not named:
                    del entry["insert_id"]
            file = tmp_path / f"{named}{number}"
            file.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
            files.append(file)
        run = f"batches{named}"
        headway("import", *files, "--run", run)
        again = case.report("--as-of", "@" + str(case.expected["total_s"] * S), run=run)
        account(again, case.expected)
        assert again["disruptions"] == [] and again["rollbacks"] == []


def test_polls_that_bring_nothing(headway: Headway) -> None:
    case = Case("A07", headway)
    samples = []
    completed = []
    for poll in case.expected["per_poll"]:
        case.take(case.lines[: poll["visible_records"]])
        report = case.report("--as-of", f"@{poll['poll_at'] * S}")
        assert report["elapsed_ns"] == poll["total_s"] * S
        # Steps take 10 s. What runs is productive until it is beyond 100 s, then a stall but for
        # one normal step.
        stalls = poll["in_flight_s"] > 100
        productive = 10 if stalls else poll["in_flight_s"]
        spent = sums(report)
        assert spent["productive"] == (poll["productive_completed_s"] + productive) * S
        assert spent.get("step_stall", 0) == (poll["in_flight_s"] - productive) * S
        completed.append(report["steps"]["count"] * 10)
        assert completed[-1] == poll["productive_completed_s"]
        samples.append(report)
    assert len(samples) == case.expected["samples_exported"]
    assert (completed == sorted(completed)) is case.expected["completed_productive_is_monotone"]


def test_a_run_name_that_is_used_again(headway: Headway) -> None:
    case = Case("A11", headway)
    found = case.take()
    assert len(found["runs"]) == 2
    newest, first = (run["uid"] for run in headway.json("runs", "list"))
    for uid, which in ((first, "run_1"), (newest, "run_2")):
        report = case.report(run=uid)
        account(report, case.expected["preferred"][which])
        assert report["disruptions"] == []
    assert "run_name_reused" in [note["code"] for note in case.report()["notes"]]


def test_a_checkpoint_that_never_committed(headway: Headway) -> None:
    case = Case("A13", headway)
    case.take()
    report = case.report()
    account(report, case.expected)
    (disruption,) = report["disruptions"]
    assert disruption["resumed_from"] == case.expected["max_committed_checkpoint"]
    reached = [json.loads(line) for line in case.lines]
    begin = next(line["ts"] for line in reached if line.get("step") == 1800)
    window = case.expected["window_1800_to_1820"]
    begin_ns = round(begin * 1000) * (S // 1000)
    end_ns = begin_ns + window["elapsed_s"] * S
    part = case.report("--window", f"@{begin_ns}..@{end_ns}")
    assert part["elapsed_ns"] == window["elapsed_s"] * S
    assert sums(part)["productive"] == window["useful_s"] * S
    assert 100 * part["goodput"] == pytest.approx(window["goodput_pct"], abs=5e-5)
    # Only what was committed is saved: all progress behind it, and nothing before it, is unsaved.
    checkpoints = json.loads((case.folder / "checkpoints.json").read_text())
    crash = next(line for line in reached if line.get("step") == 1820)
    saved = [
        json.dumps({"ts": crash["ts"], "type": "checkpoint_saved", "step": one["step"]})
        for one in checkpoints
        if one["committed"]
    ]
    at = case.lines.index(next(x for x in case.lines if json.loads(x) == crash)) + 1
    case.take([*case.lines[:at], *saved])
    unsaved = case.report()["unsaved_ns"]
    steps = headway.json("steps", "case")
    kept = [s for s in steps if s["step"] > case.expected["max_committed_checkpoint"]]
    assert unsaved == sum(s["productive_ns"] for s in kept) > 0


def test_a_history_that_is_cut_off(headway: Headway) -> None:
    case = Case("A15", headway)
    case.take()
    account(case.report(), case.expected["a"])
    assert case.expected["b"] == "same as a"
    assert case.take()["runs"][0]["unchanged"]
    account(case.report(), case.expected["a"])
    # The last seven days alone don't pass for the whole job.
    cut = case.expected["a"]["total_s"] - 7 * 86_400
    case.take([line for line in case.lines if json.loads(line)["ts"] >= cut], run="cut")
    report = case.report(run="cut")
    assert "start_missing" in [note["code"] for note in report["notes"]]
    assert report["elapsed_ns"] <= 7 * 86_400 * S
    assert "start_missing" in headway("goodput", "cut").stdout


def test_a_clock_that_is_set_back(headway: Headway) -> None:
    case = Case("H09", headway)
    case.take()
    report = case.report()
    rows = headway.json("steps", "case")
    durations = [row["work_ns"] for row in rows if row["complete"]]
    assert durations == [round(s * S) for s in case.expected["step_durations_s"]]
    assert sum(row["work_ns"] < 0 for row in rows) == case.expected["negative_durations"]
    assert len(report["attempts"]) - 1 == case.expected["restarts"]
    assert report["rollbacks"] == report["disruptions"] == []
    assert report["elapsed_ns"] == case.expected["total_by_monotonic_s"] * S
    assert "clock_step" in [note["code"] for note in report["notes"]]
    # With the wall clock alone the order is that of the sequence numbers, and that is told.
    bare = []
    for number, line in enumerate(case.lines):
        entry = {k: v for k, v in json.loads(line).items() if k not in ("mono", "mono_ns")}
        bare.append(json.dumps({**entry, "seq": number}))
    case.take(bare, run="bare")
    report = case.report(run="bare")
    assert case.expected["if_only_wall_clock"]["must_be_flagged"]
    assert "out_of_order" in [note["code"] for note in report["notes"]]
    assert all(row["work_ns"] >= 0 for row in headway.json("steps", "bare"))
    assert report["rollbacks"] == report["disruptions"] == []
