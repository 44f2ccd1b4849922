"""What a server says for charts and timelines of a run's time."""

from __future__ import annotations

import itertools
import json
import random
import sys
from bisect import bisect
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from conftest import Headway, wait_until
from test_server import Server, train

# As many steps as no answer has intervals, with crashes and named spans.
MANY_STEPS = """
import os, sys, time
import headway

run = headway.init(run="many")
attempt = int(os.environ["HEADWAY_ATTEMPT"])
for step in range(attempt * 1000, 6000):
    with run.step(step):
        pass
    if step % 200 == 0:
        with run.span(f"eval{step % 3}"):
            time.sleep(0.001)
    if attempt < 3 and step == (attempt + 1) * 1300:
        os.kill(os.getpid(), 9)
"""

Sums = Counter[tuple[str, str]]


@pytest.fixture
def server(headway: Headway, tmp_path: Path) -> Iterator[Server]:
    with closing(Server(headway, tmp_path / "far")) as one:
        yield one


@pytest.fixture
def recorded(headway: Headway, server: Server, tmp_path: Path) -> Server:
    """A server with a run of some crashes, `r`, and one of many steps, `many`."""
    headway(*train(headway, tmp_path, "r", 14, 300))  # dies at steps 172 and 123
    path = tmp_path / "many.py"
    path.write_text(MANY_STEPS)
    headway("run", "--quiet", "--run", "many", "--restarts", "9", "--backoff", "1ms", "--",
            sys.executable, path)  # fmt: skip
    headway("ship", env=server.env)
    return server


def ask(server: Server, method: str, token: str | None = None, **request: Any) -> Any:
    status, answer = server.call(f"ViewService/{method}", request, token)
    assert status == 200, answer
    return answer


def window(begin: int, end: int) -> dict[str, str]:
    return {"from": f"@{begin}", "to": f"@{end}"}


def ends_of(begin: int, end: int, columns: int) -> list[int]:
    return [begin + (end - begin) * i // columns for i in range(columns + 1)]


def ns_of(text: str) -> int:
    seconds, fraction = text.removesuffix("Z").split(".")
    since = datetime.fromisoformat(seconds + "+00:00") - datetime(1970, 1, 1, tzinfo=timezone.utc)
    return (since.days * 86_400 + since.seconds) * 10**9 + int(fraction)


def key(one: dict[str, Any]) -> tuple[str, str]:
    return one["category"].removeprefix("CATEGORY_").lower(), one["name"]


def column(series: list[dict[str, Any]], i: int) -> Sums:
    return Counter({key(one): ns for one in series if (ns := int(one["ns"][i]))})


def sums_of(report: dict[str, Any]) -> Sums:
    return Counter({(one["category"], one.get("name", "")): one["ns"]
                    for one in report["categories"] if one["ns"]})  # fmt: skip


def check_sums(history: Any) -> None:
    """The columns add up to what elapsed in them."""
    for i, elapsed in enumerate(history["elapsedNs"]):
        assert sum(column(history["series"], i).values()) == int(elapsed), i
    before = sum(int(one["beforeNs"]) for one in history["series"])
    assert before == int(history["elapsedBeforeNs"])


def report_of(headway: Headway, run: str, begin: int, end: int) -> Any:
    return headway.json("goodput", run, "--window", f"@{begin}..@{end}")


def test_columns_are_the_windows_of_a_report(headway: Headway, recorded: Server) -> None:
    whole = headway.json("goodput", "r")
    start, end = ns_of(whole["start"]), ns_of(whole["end"])
    history = ask(recorded, "GetHistory", run="r")
    assert len(history["elapsedNs"]) == history["columns"] == 500
    assert (int(history["begin"]), int(history["end"])) == (start, end)
    check_sums(history)
    total: Sums = Counter()
    for i in range(500):
        total += column(history["series"], i)
    assert total == sums_of(whole) and int(history["elapsedBeforeNs"]) == 0
    assert {one["category"] for one in history["series"]} >= {
        "CATEGORY_PRODUCTIVE", "CATEGORY_WASTED_PROGRESS", "CATEGORY_INFRASTRUCTURE_RECOVERY",
        "CATEGORY_CUSTOM"}  # fmt: skip

    dice = random.Random(5)
    for _ in range(6):
        a, b = sorted(dice.randrange(start - 10**8, end + 10**8) for _ in range(2))
        columns = dice.choice([1, 2, 7, 100, 4000])
        history = ask(recorded, "GetHistory", run="r", columns=columns, time=window(a, b))
        check_sums(history)
        ends = ends_of(a, b, columns)
        for i in {0, columns - 1, dice.randrange(columns)}:
            report = report_of(headway, "r", ends[i], ends[i + 1])
            assert column(history["series"], i) == sums_of(report), (a, b, columns, i)
            assert int(history["elapsedNs"][i]) == report["elapsed_ns"]
        before = report_of(headway, "r", start, max(start, a))
        assert int(history["elapsedBeforeNs"]) == before["elapsed_ns"]
        found = Counter({key(one): int(one["beforeNs"]) for one in history["series"]})
        assert +found == sums_of(before)


def test_rolling_columns(headway: Headway, recorded: Server) -> None:
    whole = headway.json("goodput", "r")
    start, end = ns_of(whole["start"]), ns_of(whole["end"])
    middle = (start + end) // 2
    rolling = (end - start) // 3
    history = ask(recorded, "GetHistory", run="r", columns=50, rollingNs=str(rolling),
                  time=window(middle, end))  # fmt: skip
    assert history["rollingNs"] == str(rolling)
    check_sums(history)
    ends = ends_of(middle, end, 50)
    for i in (0, 20, 49):
        report = report_of(headway, "r", ends[i + 1] - rolling, ends[i + 1])
        assert column(history["series"], i) == sums_of(report)
        assert int(history["elapsedNs"][i]) == report["elapsed_ns"] == rolling
    # One that is longer than all there is says goodput since the beginning.
    history = ask(recorded, "GetHistory", run="r", columns=3, rollingNs=str(2**63 - 1))
    assert column(history["series"], 2) == sums_of(whole)


def test_a_share_link_and_another_time(headway: Headway, recorded: Server) -> None:
    status, made = recorded.call("LinkService/CreateLink", {"run": "r"})
    assert status == 200
    for method in ("GetHistory", "GetTimeline", "GetStepHistory"):
        by_name = ask(recorded, method, run="r")
        assert ask(recorded, method, made["secret"]) == by_name
        assert ask(recorded, method, made["secret"], run=made["link"]["runUid"]) == by_name
        status, answer = recorded.call(f"ViewService/{method}", {"run": "many"}, made["secret"])
        assert (status, answer["code"]) == (403, "permission_denied")
    # As of an earlier time.
    earlier = headway.json("goodput", "r", "--as-of", "+200ms")
    history = ask(recorded, "GetHistory", run="r", columns=10, time={"asOf": "+200ms"})
    assert sum(int(ns) for ns in history["elapsedNs"]) == earlier["elapsed_ns"]
    total: Sums = Counter()
    for i in range(10):
        total += column(history["series"], i)
    assert total == sums_of(earlier)


def lanes_of(report: dict[str, Any]) -> list[tuple[int, int, int]]:
    starts = [ns_of(one["start"]) for one in report["attempts"]]
    return list(zip(range(len(starts)), starts, [*starts[1:], ns_of(report["end"])],
                    strict=True))  # fmt: skip


def test_an_exact_timeline(headway: Headway, recorded: Server) -> None:
    report = headway.json("goodput", "r")
    timeline = ask(recorded, "GetTimeline", run="r")
    assert timeline["columns"] == 0
    lanes = [(int(one["attempt"]), int(one["begin"]), int(one["end"]))
             for one in timeline["lanes"]]  # fmt: skip
    assert lanes == lanes_of(report) and len(lanes) > 2
    assert all(one["attempts"] == 1 for one in timeline["lanes"])
    rows = headway.json("timeline", "r")
    found = [interval for lane in timeline["lanes"] for interval in lane["intervals"]]
    assert len(found) == len(rows)
    for row, interval in zip(rows, found, strict=True):
        assert key(interval) == (row["category"], row.get("name") or "")
        assert int(interval["begin"]) == ns_of(row["begin"])
        assert int(interval["end"]) == ns_of(row["end"])
        for word in ("attempt", "step"):
            assert interval.get(word) == (None if row[word] is None else str(row[word]))
    for lane in timeline["lanes"]:
        for interval in lane["intervals"]:
            assert interval.get("attempt") in (None, lane["attempt"])
            assert int(lane["begin"]) <= int(interval["begin"])
            assert int(interval["end"]) <= int(lane["end"])


def test_a_timeline_of_many_steps_has_columns(headway: Headway, recorded: Server) -> None:
    report = headway.json("goodput", "many")
    start, end = ns_of(report["start"]), ns_of(report["end"])
    rows = headway.json("timeline", "many")
    assert len(rows) > 4000
    timeline = ask(recorded, "GetTimeline", run="many", columns=200)
    assert timeline["columns"] == 200
    ends = ends_of(start, end, 200)
    lanes = [(int(one["attempt"]), int(one["begin"]), int(one["end"]))
             for one in timeline["lanes"]]  # fmt: skip
    assert lanes == lanes_of(report) and len(lanes) == 4
    wanted: dict[tuple[int, int], Sums] = {}
    for row in rows:
        row_begin, row_end = ns_of(row["begin"]), ns_of(row["end"])
        for attempt, begin, stop in lanes:
            for i in range(bisect(ends, row_begin) - 1, min(200, bisect(ends, row_end))):
                a, b = max(row_begin, ends[i], begin), min(row_end, ends[i + 1], stop)
                if a < b:
                    sums = wanted.setdefault((attempt, i), Counter())
                    sums[(row["category"], row.get("name") or "")] += b - a
    found = {}
    for lane in timeline["lanes"]:
        assert not lane["intervals"]
        for k, elapsed in enumerate(lane["elapsedNs"]):
            sums = column(lane["series"], k)
            assert sum(sums.values()) == int(elapsed)
            found[int(lane["attempt"]), lane["firstColumn"] + k] = sums
    assert found == wanted
    # Down to one step.
    narrow = ask(recorded, "GetTimeline", run="many",
                 time=window((start + end) // 2, (start + end) // 2 + 10**6))  # fmt: skip
    assert narrow["columns"] == 0
    step = next(row for row in rows if row["step"] is not None and row["category"] == "productive")
    (lane,) = ask(recorded, "GetTimeline", run="many",
                  time=window(ns_of(step["begin"]), ns_of(step["end"])))["lanes"]  # fmt: skip
    (interval,) = lane["intervals"]
    assert (interval["step"], interval["begin"]) == (str(step["step"]), lane["begin"])


def test_how_long_steps_took(headway: Headway, recorded: Server) -> None:
    report = headway.json("goodput", "many")
    steps = headway.json("steps", "many")
    complete = [step for step in steps if step["complete"]]
    none = str(-(2**63))

    def check(history: Any, chosen: list[dict[str, Any]], at: Callable[[Any], int]) -> None:
        ends = ends_of(int(history["begin"]), int(history["end"]), history["columns"])
        for i, (begin, end) in enumerate(itertools.pairwise(ends)):
            works = sorted(one["work_ns"] for one in chosen if begin <= at(one) < end)
            lost = sum(not one["retained"] for one in chosen if begin <= at(one) < end)
            assert (int(history["count"][i]), int(history["wastedCount"][i])) == (len(works), lost)
            for name, percent in (("min", 0), ("p10", 10), ("p50", 50), ("p90", 90), ("max", 100)):
                rank = max((len(works) * percent + 99) // 100, 1) - 1
                wanted = works[rank] if works else 0
                assert int(history[f"{name}Ns"][i]) == wanted, (i, name)

    history = ask(recorded, "GetStepHistory", run="many", slowest=5, columns=60)
    assert history["idealNs"] == str(report["steps"]["ideal_ns"])
    check(history, complete, lambda one: ns_of(one["start"]))
    assert history["productiveStep"][-1] == str(report["steps"]["max_productive_step"])
    assert history["lastStep"][-1] == str(report["steps"]["last_step"])
    assert sum(map(int, history["count"])) == len(complete)
    assert sum(map(int, history["wastedCount"])) > 0
    usual = sorted((one["work_ns"] for one in complete if not one["first"]), reverse=True)
    assert [int(one["workNs"]) for one in history["slowest"]] == usual[:5]

    by_step = {"axis": "STEP_AXIS_STEP", "run": "many"}
    kept = [one for one in complete if one["retained"]]
    history = ask(recorded, "GetStepHistory", columns=7, **by_step)
    assert (int(history["begin"]), int(history["end"])) == (0, kept[-1]["step"] + 1)
    check(history, kept, lambda one: one["step"])
    assert not history["slowest"] and not history["lastStep"]
    history = ask(recorded, "GetStepHistory", columns=9, fromStep="1000", toStep="2000", **by_step)
    check(history, kept, lambda one: one["step"])

    start = ns_of(report["start"])
    history = ask(recorded, "GetStepHistory", run="many", columns=2,
                  time=window(start - 10, start - 2))  # fmt: skip
    assert history["count"] == ["0", "0"] and history["lastStep"] == [none, none]
    for wrong, why in (({"columns": 4001}, "columns"), ({"slowest": 101}, "slowest"),
                       ({"fromStep": "5", "toStep": "5", **by_step}, "no step")):  # fmt: skip
        status, answer = recorded.call("ViewService/GetStepHistory", {"run": "many", **wrong})
        assert status == 400 and why in answer["message"]


def test_the_records_behind_an_interval(headway: Headway, recorded: Server) -> None:
    def records(**more: Any) -> list[tuple[str, str, int]]:
        found = []
        request = {"run": "many", "pageSize": 2000, **more}
        while True:
            status, page = recorded.call("RecordService/ListRecords", request)
            assert status == 200, page
            for part in page["journals"]:
                found += [(part["uid"], one["seq"], int(one["timeNs"])) for one in part["records"]]
            request["pageToken"] = page["nextPageToken"]
            if not page["nextPageToken"]:
                return found

    everything = records()
    assert len(everything) > 10_000
    rows = headway.json("timeline", "many")
    dice = random.Random(3)
    told = 0
    for _ in range(5):
        row = dice.choice([row for row in rows if row["duration_ns"] > 0])
        a, b = ns_of(row["begin"]), ns_of(row["end"])
        some = records(fromTime=str(a), toTime=str(b))
        assert some == [one for one in everything if a <= one[2] < b]
        told += len(some)
    assert told > 0
    late = records(fromTime=str(b))
    assert late == [one for one in everything if b <= one[2]]


def test_a_run_that_goes_on(headway: Headway, server: Server, tmp_path: Path) -> None:
    trainer = headway.start(*train(headway, tmp_path, "r", 1, 1500), env=server.env)
    wait_until(lambda: server.call("RunService/GetRun", {"run": "r"})[0] == 200, "the run")
    seen: list[int] = []

    def looks() -> bool:
        history = ask(server, "GetHistory", run="r", columns=20)
        if not history["elapsedNs"]:
            return False
        check_sums(history)
        seen.append(sum(map(int, history["elapsedNs"])))
        assert int(history["end"]) - int(history["begin"]) == seen[-1]
        assert int(history["end"]) <= int(history["asOf"])
        lanes = ask(server, "GetTimeline", run="r")["lanes"]
        assert int(lanes[-1]["end"]) - int(lanes[0]["begin"]) >= seen[-1]
        return len(set(seen)) > 2

    wait_until(looks, "more and more")
    trainer.communicate(timeout=120)
    assert trainer.returncode == 0
    headway("ship", env=server.env)
    history = ask(server, "GetHistory", run="r", columns=1)
    assert column(history["series"], 0) == sums_of(headway.json("goodput", "r"))


def test_what_is_too_much_is_taken_together(
    headway: Headway, server: Server, tmp_path: Path
) -> None:
    """250 attempts, and spans of 40 names."""
    lines = []
    for attempt in range(250):
        begin = attempt * 100
        lines.append({"ts": begin, "type": "job_start", "attempt": attempt})
        for step in range(3):
            number = attempt * 2 + step  # the last one is lost
            lines.append({"ts": begin + 10 + step * 20, "type": "step_start", "step": number,
                          "attempt": attempt})  # fmt: skip
        name = f"span{attempt % 40:02}"
        for at, kind in ((31, "custom_start"), (32 + attempt % 40 // 8, "custom_end")):
            lines.append({"ts": begin + at, "type": kind, "name": name, "attempt": attempt})
    path = tmp_path / "many.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    headway("import", "--run", "r", path)
    headway("ship", "r", env=server.env)
    report = headway.json("goodput", "r")
    assert len(report["attempts"]) == 250
    timeline = ask(server, "GetTimeline", run="r")
    assert timeline["columns"] == 0
    lanes = timeline["lanes"]
    assert [(int(one["attempt"]), one["attempts"]) for one in lanes] == [
        (2 * i, 2) for i in range(125)]  # fmt: skip
    assert sum(len(one["intervals"]) for one in lanes) == len(headway.json("timeline", "r"))
    for one, following in itertools.pairwise(lanes):
        assert one["end"] == following["begin"]

    history = ask(server, "GetHistory", run="r", columns=3)
    check_sums(history)
    custom = [one for one in history["series"] if one["category"] == "CATEGORY_CUSTOM"]
    assert sum(one["names"] for one in custom) == 40 - 32
    assert len([one for one in custom if one["name"]]) == 32
    told: Sums = Counter()
    for i in range(3):
        told += column(custom, i)
    assert sum(told.values()) == sum(
        one["ns"] for one in report["categories"] if one["category"] == "custom")  # fmt: skip


def test_what_can_not_be_asked(headway: Headway, server: Server) -> None:
    server.call("RunService/CreateRun", {"run": {"name": "early"}})
    for method in ("GetHistory", "GetTimeline"):
        empty = ask(server, method, run="early")
        assert "begin" not in empty and "end" not in empty
        for more, what in (
            ({"columns": -1}, "columns: -1"),
            ({"columns": 4001}, "4001 is not within 0..4000"),
            ({"time": {"from": "x"}}, "window"),
            ({"time": {"from": "@2", "to": "@1"}}, "ends before it begins"),
            ({"time": {"lastNs": "-1"}}, "below 0"),
        ):
            status, answer = server.call(f"ViewService/{method}", {"run": "early", **more})
            assert (status, answer["code"]) == (400, "invalid_argument"), (more, answer)
            assert what in answer["message"], answer
        status, answer = server.call(f"ViewService/{method}", {"run": "none"})
        assert (status, answer["code"]) == (404, "not_found")
    status, answer = server.call("ViewService/GetHistory", {"run": "early", "rollingNs": "-1"})
    assert status == 400 and "rolling_ns: -1 is below 0" in answer["message"]
