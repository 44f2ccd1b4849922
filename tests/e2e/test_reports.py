"""Reports, timelines, steps and exports of imported runs."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import EXAMPLES, Headway

EXAMPLE_FILES = sorted(EXAMPLES.glob("*.jsonl"))


def categories_of(report: dict[str, Any]) -> dict[str, int]:
    return {
        entry["category"] + (":" + entry["name"] if entry["name"] else ""): entry["ns"]
        for entry in report["categories"]
        if entry["ns"]
    }


@pytest.mark.parametrize("path", EXAMPLE_FILES, ids=lambda path: path.stem)
def test_examples(headway: Headway, path: Path) -> None:
    expected = json.loads(path.with_suffix(".json").read_text())
    headway("import", path, "--run", "r")
    report = headway.json("goodput", "r")
    assert report["elapsed_ns"] == expected["elapsed_ns"]
    assert categories_of(report) == expected["categories"]
    assert sum(entry["ns"] for entry in report["categories"]) == report["elapsed_ns"]
    assert len(report["disruptions"]) == expected["disruptions"]
    assert len(report["rollbacks"]) == expected["rollbacks"]
    assert report["steps"]["max_productive_step"] == expected["max_productive_step"]
    assert report["data_loading_overlapped_ns"] == expected["overlapped_ns"]

    # The text says the same, and its bars add up.
    text = headway("goodput", "r").stdout
    rows = re.findall(r"^  (\S.*?)\s+[█▉▊▋▌▍▎▏╳]*\s+(\d+\.\d\d) %", text, re.M)
    percents = [round(float(percent) * 100) for label, percent in rows if label != "total"]
    assert sum(percents) == 10000, text

    # The intervals tile the elapsed time.
    intervals = headway.json("timeline", "r")
    assert sum(row["duration_ns"] for row in intervals) == report["elapsed_ns"]
    for earlier, later in zip(intervals, intervals[1:]):
        assert earlier["end"] == later["begin"]
    by_category: dict[str, int] = {}
    for row in intervals:
        key = row["category"] + (":" + row["name"] if row["name"] else "")
        by_category[key] = by_category.get(key, 0) + row["duration_ns"]
    assert by_category == expected["categories"]

    # Each category is explained in full.
    for category in {key.split(":")[0] for key in expected["categories"]}:
        rows = headway.json("goodput", "r", "--explain", category)
        lengths = [row["duration_ns"] for row in rows]
        assert lengths == sorted(lengths, reverse=True)
        assert sum(lengths) == sum(
            ns for key, ns in expected["categories"].items() if key.split(":")[0] == category
        )


@pytest.mark.parametrize("path", EXAMPLE_FILES, ids=lambda path: path.stem)
def test_event_file_round_trip(headway: Headway, path: Path, tmp_path: Path) -> None:
    headway("import", path, "--run", "r")
    exported = tmp_path / "exported.jsonl"
    headway("export", "r", "--as", "jsonl", "--out", exported)
    assert headway("export", "r", "--as", "jsonl").stdout == exported.read_text()
    other = str(tmp_path / "other")
    headway("import", exported, "--run", "r", "--dir", other)
    assert headway.json("goodput", "r", "--dir", other) == headway.json("goodput", "r")
    assert headway.json("timeline", "r", "--dir", other) == headway.json("timeline", "r")


def reimported(headway: Headway, run: str, tmp_path: Path) -> tuple[Any, Any]:
    """The report of a run and of what its export makes when it is read in again."""
    exported = headway("export", run, "--as", "jsonl").stdout
    there = ("--dir", str(tmp_path / "there"))
    headway("import", "-", "--run", run, *there, input=exported)
    assert len(headway.json("runs", "list", *there)) == 1
    return headway.json("goodput", run), headway.json("goodput", run, *there)


def lines(*events: tuple[float, str, dict[str, Any]]) -> str:
    return "".join(json.dumps({"ts": ts, "type": kind, **more}) + "\n" for ts, kind, more in events)


def test_steps_of_no_length_are_listed(headway: Headway, tmp_path: Path) -> None:
    def starts(*steps: tuple[float, int]) -> list[tuple[float, str, dict[str, Any]]]:
        return [(ts, "step_start", {"step": step}) for ts, step in steps]

    path = tmp_path / "e.jsonl"
    # The last sign of life is often a step's own start: what came next tells that it completed.
    path.write_text(
        lines(
            (0, "job_start", {}),
            *starts((10, 0), (20, 1), (30, 2), (40, 3)),
            (100, "job_start", {}),
            *starts((110, 4), (120, 5)),
            (130, "job_end", {}),
        )
    )
    headway("import", path, "--run", "resumed")
    steps = headway.json("steps", "resumed")
    assert [step["step"] for step in steps] == [0, 1, 2, 3, 4, 5]
    assert all(step["retained"] for step in steps)
    assert headway.json("goodput", "resumed")["steps"]["count"] == 6
    # Or nothing came next: it is lost, and the one before it, that began at once, is not.
    for end in (20, 40):
        path.write_text(
            lines(
                (0, "job_start", {}),
                *starts((10, 0), (20, 1), (20, 2)),
                (end, "exit", {"status": 2}),
            )
        )
        headway("import", path, "--run", f"ended{end}")
        steps = headway.json("steps", f"ended{end}")
        told = [(step["step"], step["complete"], step["retained"]) for step in steps]
        assert told == [(0, True, True), (1, True, True), (2, False, False)]
        assert [s["step"] for s in headway.json("steps", f"ended{end}", "--lost")] == [2]
        assert headway.json("goodput", f"ended{end}")["steps"]["count"] == 2


def test_a_supervised_run_with_two_clean_ends_stays_one(headway: Headway, tmp_path: Path) -> None:
    script = """
import headway, os, sys
run = headway.init()
for step in range(4):
    run.step(step)
run.finish()
sys.exit(os.environ["HEADWAY_ATTEMPT"] == "0")
"""
    headway("run", "--run", "r", "--restarts", "1", "--backoff", "1ms",
            "--", sys.executable, "-c", script)  # fmt: skip
    before, after = reimported(headway, "r", tmp_path)
    assert len(before["attempts"]) == 2
    assert after == before


def test_restarted_processes_without_a_rank_stay_apart(headway: Headway, tmp_path: Path) -> None:
    script = """
import headway
run = headway.init(run="r")
for step in range(4):
    print("ready", flush=True)
    input()
    run.step(step)
print("ready", flush=True)
input()
"""
    for _ in range(2):
        children = [
            subprocess.Popen([sys.executable, "-c", script], env=headway.environment, text=True,
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            for _ in range(8)
        ]  # fmt: skip
        for step in range(5):  # side by side
            for child in children:
                assert child.stdout and child.stdout.readline() == "ready\n"
            for child in children if step < 4 else []:
                assert child.stdin
                child.stdin.write("go\n")
                child.stdin.flush()
        for child in children:
            child.kill()
            child.communicate()
    before, after = reimported(headway, "r", tmp_path)
    assert len(before["attempts"]) == 2
    assert after == before


def test_damage_is_exported_too(headway: Headway, tmp_path: Path) -> None:
    headway("import", EXAMPLES / "B.jsonl", "--run", "r")
    (journal,) = headway.data.rglob("*.hwj")
    data = bytearray(journal.read_bytes())
    data[4096 + 32 * 3 + 9] ^= 1
    journal.write_bytes(data)
    before, after = reimported(headway, "r", tmp_path)
    assert "journal_damage" in [note["code"] for note in before["notes"]]
    assert after == before


def test_accounting_is_exact_unless_told(headway: Headway) -> None:
    headway("import", EXAMPLES / "B.jsonl", "--run", "r")
    assert headway.json("goodput", "r", "--accounting", "exact") == headway.json("goodput", "r")
    assert "exact" in headway("goodput", "r", "--accounting", "other", code=2).stderr


def test_headline_and_table_say_the_same(headway: Headway) -> None:
    for path in EXAMPLE_FILES:
        headway("import", path, "--run", path.stem)
        text = headway("goodput", path.stem).stdout
        (goodput,) = re.findall(r"^(\S+ %) goodput", text, re.M)
        assert goodput in re.findall(r"^  productive .*?(\S+ %)", text, re.M), text
        assert f"goodput {goodput}" in headway("timeline", path.stem).stdout
        assert f"goodput {goodput}" in headway("runs", "show", path.stem).stdout


def test_windows_add_up(headway: Headway) -> None:
    headway("import", EXAMPLES / "B.jsonl", "--run", "r")
    whole = categories_of(headway.json("goodput", "r"))
    parts: dict[str, int] = {}
    for window in ("..+37s", "+37s..@110000000000", "1970-01-01T00:01:50Z.."):
        report = headway.json("goodput", "r", "--window", window)
        for category, ns in categories_of(report).items():
            parts[category] = parts.get(category, 0) + ns
    assert parts == whole
    last = headway.json("goodput", "r", "--last", "50s")
    assert last["elapsed_ns"] == 50_000_000_000


def test_as_of_forgets_what_came_later(headway: Headway) -> None:
    headway("import", EXAMPLES / "B.jsonl", "--run", "r")
    for as_of in ("+62s", "@62000000000", "1970-01-01T00:01:02Z"):
        report = headway.json("goodput", "r", "--as-of", as_of)
        assert report["state"] == "running"
        assert categories_of(report)["productive"] == 42_000_000_000


def test_a_span_that_was_never_named_is_told(headway: Headway) -> None:
    headway("import", EXAMPLES / "D.jsonl", "--run", "r")
    assert headway.json("goodput", "r", "--explain", "custom/eval")
    told = headway("goodput", "r", "--explain", "custom/evil", code=1).stderr
    assert 'no custom named "EVIL"' in told and "EVAL" in told


def test_a_time_from_the_start_of_a_run_that_has_not_begun(
    headway: Headway, tmp_path: Path
) -> None:
    (tmp_path / "r.jsonl").write_text('{"ts":0,"type":"query"}\n')
    headway("import", tmp_path / "r.jsonl", "--run", "r")
    told = headway("goodput", "r", "--window", "+0s..+1s", code=2).stderr
    assert "the run has not begun" in told


def test_seconds_are_exact(headway: Headway) -> None:
    headway("import", EXAMPLES / "B.jsonl", "--run", "r")
    report = headway.json("goodput", "r", "--seconds", "--as-of", "@62000000001")
    assert report["elapsed_seconds"] == "62.000000001"


def test_steps(headway: Headway) -> None:
    headway("import", EXAMPLES / "B.jsonl", "--run", "r")
    steps = headway.json("steps", "r")
    assert [(row["attempt"], row["step"]) for row in steps] == [
        (0, 0), (0, 1), (0, 2), (0, 3), (0, 4), (1, 2), (1, 3), (1, 4), (1, 5),
    ]  # fmt: skip
    lost = headway.json("steps", "r", "--lost")
    assert [(row["attempt"], row["step"]) for row in lost] == [(0, 2), (0, 3), (0, 4)]
    slowest = headway.json("steps", "r", "--slowest", "--limit", "2")
    assert [row["work_ns"] for row in slowest] == [20_000_000_000, 20_000_000_000]
    text = headway("steps", "r").stdout
    assert text.count("\n") == 10 and "incomplete" in text


def test_csv(headway: Headway, tmp_path: Path) -> None:
    headway("import", EXAMPLES / "D.jsonl", "--run", "r")
    rows = list(csv.DictReader(io.StringIO(headway("export", "r", "--as", "csv").stdout)))
    assert [row["category"] for row in rows if row["name"] == "EVAL"] == ["custom"]
    assert sum(int(row["duration_ns"]) for row in rows) == 70_000_000_000
    path = tmp_path / "steps.csv"
    headway("export", "r", "--as", "csv", "--what", "steps", "-o", path)
    assert [row["step"] for row in csv.DictReader(path.open())] == ["0", "1", "2", "3", "4"]
    assert not list(tmp_path.glob("*.tmp"))
    late = headway("export", "r", "--as", "csv", "--window", "+60s..").stdout
    assert len(late.splitlines()) == 2


def test_pictures_fit_narrow_terminals(headway: Headway) -> None:
    headway("import", EXAMPLES / "B.jsonl", "--run", "r")
    for columns in (60, 80, 120):
        for command in (("goodput", "r"), ("timeline", "r"), ("steps", "r"), ("runs", "list")):
            text = headway(*command, env={"COLUMNS": str(columns)}).stdout
            assert max(map(len, text.splitlines())) <= columns, (columns, text)


def test_colours_on_terminals_only(headway: Headway) -> None:
    import pty

    headway("import", EXAMPLES / "B.jsonl", "--run", "r")
    assert "\x1b" not in headway("goodput", "r").stdout

    def on_terminal(**env: str) -> str:
        import os
        import subprocess

        master, slave = pty.openpty()
        environment = {**headway.environment, "TERM": "xterm", **env}
        child = subprocess.Popen(
            [headway.program, "goodput", "r"], env=environment, stdout=slave, stderr=slave
        )
        os.close(slave)
        parts = []
        while True:
            try:
                part = os.read(master, 65536)
            except OSError:  # the last writer is gone
                break
            if not part:
                break
            parts.append(part)
        os.close(master)
        assert child.wait() == 0
        return b"".join(parts).decode()

    assert "\x1b[38;5;71m" in on_terminal()
    assert "\x1b" not in on_terminal(NO_COLOR="1")
    assert "\x1b" not in on_terminal(TERM="dumb")


def test_the_report_in_the_readme_is_what_is_printed(headway: Headway) -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text()
    events = re.search(r"<<'END'\n(.*?)END\nheadway import crash", readme, re.S)
    marks = r"(?:<!-- .*? -->\n)?"
    shown = re.search(
        r"headway goodput crash\n```\n\n" + marks + r"```text\n(.*?)```", readme, re.S
    )
    assert events is not None and shown is not None
    headway("import", "-", "--run", "crash", input=events[1])
    assert headway("goodput", "crash").stdout == shown[1]
