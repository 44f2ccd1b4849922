"""Metrics of runs: from journals and from a server."""

from __future__ import annotations

import json
import math
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from conftest import Headway, wait_until
from test_server import Server

TRAIN = """
import math, os, sys
import headway

first, steps, rank = map(int, sys.argv[1:4])
run = headway.init(run="lm", rank=rank, world_size=2, attempt=first, attempt_key=f"a{first}")
for step in range(first, first + steps):
    run.step(step)
    run.log({"loss": 10 / (1 + step) + first, "learning_rate": 0.25, "mine": float(rank)},
            step=step)
    if step % 7 == 0:
        run.log({"odd": [math.nan, math.inf, -math.inf, -0.0][step // 7 % 4]})
    if step == 30 and rank == 0:
        run.checkpoint_saved(step)
if len(sys.argv) > 4:
    os.kill(os.getpid(), 9)
run.finish()
"""


@pytest.fixture
def server(headway: Headway, tmp_path: Path) -> Iterator[Server]:
    with closing(Server(headway, tmp_path / "far")) as one:
        yield one


def train(headway: Headway, *arguments: object) -> None:
    subprocess.run([sys.executable, "-c", TRAIN, *map(str, arguments)], env=headway.environment,
                   check=len(arguments) < 4)  # fmt: skip


def call(server: Server, method: str, **request: Any) -> Any:
    status, answer = server.call(method, request)
    assert status == 200, (method, answer)
    return answer


def test_the_server_has_the_metrics_of_the_journals(headway: Headway, server: Server) -> None:
    train(headway, 0, 50, 0, "killed")
    train(headway, 0, 50, 1, "killed")
    headway("ship", env=server.env)
    headway("metrics", "lm", env=server.env)  # some are there already
    train(headway, 31, 40, 0)
    train(headway, 31, 40, 1)
    headway("ship", env=server.env)
    for options in (
        [], ["--name", "loss"], ["--name", "loss", "--axis", "step"],
        ["--name", "l*", "--axis", "step", "--steps", "10..60"], ["--name", "odd"],
        ["--axis", "elapsed"], ["--name", "loss", "--points", "7"],
        ["--name", "loss", "--axis", "step", "--points", "13", "--steps", "20..45"],
    ):  # fmt: skip
        local = headway("metrics", "lm", "--json", *options).stdout
        assert json.loads(local), options
        assert headway("metrics", "lm", "--json", *options, env=server.env).stdout == local, options
        text = headway("metrics", "lm", *options).stdout
        assert headway("metrics", "lm", *options, env=server.env).stdout == text, options
    names = {(one["name"], one["rank"]): one
             for one in json.loads(headway("metrics", "lm", "--json").stdout)
             if one["max_step"] is None or one["max_step"] == 70}  # fmt: skip
    assert names["loss", 0]["class"] == "model_quality" and names["loss", 0]["unit"] == "1"
    assert names["loss", 1]["count"] == 40 and names["mine", 0]["unit"] == ""

    # What was lost again is told apart: the second attempt began at step 31.
    lines = json.loads(
        headway("metrics", "lm", "--json", "--name", "loss", "--axis", "step").stdout)  # fmt: skip
    kept: dict[int, float] = {}
    wasted: dict[int, float] = {}
    for line in lines:
        if line["rank"] == 0:
            into = wasted if line["wasted"] else kept
            for point in line["points"]:
                assert point["step"] not in into
                into[point["step"]] = point["value"]
    assert kept == {s: 10 / (1 + s) + (31 if s >= 31 else 0) for s in range(71)}
    assert wasted == {s: 10 / (1 + s) for s in range(31, 50)}

    # Values that are no numbers are kept.
    answer = call(server, "SeriesService/QuerySeries", runs=["lm"], names=["odd"])
    odd = [value for line in answer["lines"] for value in line["values"]]
    assert {"NaN", "Infinity", "-Infinity"} <= {str(v) for v in odd}
    averages = {one["name"]: one
                for one in call(server, "SeriesService/ListSeries", run="lm")["averages"]}
    assert averages["learning_rate"]["summary"]["mean"] == 0.25
    assert int(averages["loss"]["summary"]["count"]) == 2 * 90


def test_points_come_without_journals_once(headway: Headway, server: Server) -> None:
    run = call(server, "RunService/CreateRun", run={"name": "r"})["run"]
    dice = random.Random(1)
    start = time.time_ns()
    expected: dict[str, list[tuple[int, float]]] = {"0": [], "1": []}
    for sequence in range(80):
        times = [start + sequence * 10**10 + i for i in range(dice.randrange(1, 4))]
        columns = []
        for device, points in expected.items():
            values = [dice.choice([37.0, 38.5, -1e300]) for _ in times]
            points += zip(times, values, strict=True)
            columns.append({"name": "gpu_utilization", "labels": {"device": device},
                            "values": values})  # fmt: skip
        request = {"run": "r", "source": "agent/n1", "sequence": str(sequence),
                   "frames": [{"times": list(map(str, times)), "columns": columns}]}  # fmt: skip
        assert call(server, "SeriesService/WritePoints", **request)["nextSequence"] == str(
            sequence + 1)  # fmt: skip
        if sequence % 9 == 0:  # the answer got lost
            again = call(server, "SeriesService/WritePoints", **request)
            assert again["nextSequence"] == str(sequence + 1)
        if sequence == 40:
            server.kill()
            server.start()
    ahead = call(server, "SeriesService/WritePoints", run="r", source="agent/n1", sequence="99")
    assert ahead["nextSequence"] == "80"
    answer = call(server, "SeriesService/QuerySeries", runs=["r"], quantiles=[0, 0.5, 1])
    for line in answer["lines"]:
        points = list(zip(map(int, line["times"]), line["values"], strict=True))
        assert points == expected[line["series"]["labels"]["device"]]
        assert line["series"]["unit"] == "%" and line["series"]["class"] == "METRIC_CLASS_SYSTEM"
        exact = sorted(value for _, value in points)
        assert line["quantiles"][0] == exact[0] and line["quantiles"][2] == exact[-1]
        assert math.isclose(line["quantiles"][1], exact[(len(exact) - 1) // 2], rel_tol=0.008)
    # Fewer parts than points: each point is in one.
    few = call(server, "SeriesService/QuerySeries", runs=["r"], buckets=9, mergeSources=True,
               labels={"device": "1"})["lines"]  # fmt: skip
    assert len(few) == 1 and len(few[0]["buckets"]) == 9
    assert sum(int(b["summary"]["count"]) for b in few[0]["buckets"]) == len(expected["1"])
    assert max(b["summary"]["max"] for b in few[0]["buckets"]) == max(
        value for _, value in expected["1"])  # fmt: skip
    # Several runs, each from its start.
    call(server, "RunService/CreateRun", run={"name": "s"})
    call(server, "SeriesService/WritePoints", run="s", source="x", frames=[
        {"times": ["5"], "steps": ["1"], "columns": [{"name": "loss", "values": ["NaN"]}]}])
    both = call(server, "SeriesService/QuerySeries", runs=["r", "s"], axis="SERIES_AXIS_ELAPSED")
    assert {line["run"] for line in both["lines"]} == {"r", "s"}
    assert call(server, "RunService/GetRun", run="r")["storedBytes"] > "0"
    for bad in (
        {"source": ""}, {"source": run["uid"]}, {"source": "a\nb"},
        {"frames": [{"times": ["1"], "columns": [{"name": "", "values": [1]}]}]},
        {"frames": [{"times": ["1"], "columns": [{"name": "x", "values": [1, 2]}]}]},
        {"frames": [{"times": ["1"], "steps": ["1", "2"]}]},
        {"frames": [{"times": ["1"], "steps": ["-1"]}]},
        {"frames": [{"times": ["1"], "columns": [
            {"name": "x", "values": [1], "labels": {f"l{i}": "" for i in range(65)}}]}]},
    ):  # fmt: skip
        status, answer = server.call(
            "SeriesService/WritePoints", {"run": "r", "source": "y", **bad})  # fmt: skip
        assert status == 400, (bad, answer)
    # What an answer may take is bounded, whatever is asked.
    many = [{"name": f"m{i}", "values": [1, 2]} for i in range(20)]
    call(server, "SeriesService/WritePoints", run="s", source="z",
         frames=[{"times": ["1", "2"], "columns": many}])  # fmt: skip
    status, answer = server.call(
        "SeriesService/QuerySeries", {"runs": ["s"], "buckets": 65536})  # fmt: skip
    assert status == 400 and "fewer buckets" in answer["message"]
    assert len(call(server, "SeriesService/QuerySeries", runs=["s"])["lines"]) == 21
    for bad in ({}, {"runs": ["r"] * 101}, {"runs": ["r"], "buckets": -1},
                {"runs": ["r"], "buckets": 65537}, {"runs": ["r"], "quantiles": [2]},
                {"runs": ["r"], "from": "5", "to": "5"}):  # fmt: skip
        assert server.call("SeriesService/QuerySeries", bad)[0] == 400, bad
    assert server.call("SeriesService/QuerySeries", {"runs": ["none"]})[0] == 404
    # And all of it goes with the run.
    headway("runs", "delete", "r", "--yes", "--force", "--server", server.url, env=server.env)
    assert server.call("SeriesService/ListSeries", {"run": run["uid"]})[0] == 404
    headway("backup", "--check", "--dir", server.folder)


def test_a_run_is_followed_while_it_logs(headway: Headway, server: Server) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", """
import headway, sys
run = headway.init(run="live")
for line in sys.stdin:
    run.step(int(line))
    run.log({"loss": float(line)}, step=int(line))
    print(flush=True)
"""], env=headway.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        text=True)  # fmt: skip
    assert process.stdin is not None and process.stdout is not None
    sender = None
    try:
        for step in range(5):
            process.stdin.write(f"{step}\n")
            process.stdin.flush()
            process.stdout.readline()
            sender = sender or headway.start("ship", "live", "--follow", env=server.env)

            def seen(step: int = step) -> bool:
                status, answer = server.call("SeriesService/QuerySeries", {"runs": ["live"]})
                return status == 200 and [
                    line["values"] for line in answer.get("lines", [])
                ] == [list(range(step + 1))]

            wait_until(seen, f"step {step} is seen")
    finally:
        process.stdin.close()
        process.wait()
        if sender is not None:
            sender.wait(timeout=30)


def test_what_has_no_metrics_says_so(headway: Headway, server: Server) -> None:
    program = "import headway\nwith headway.init(run='bare') as run: run.step(0)"
    subprocess.run([sys.executable, "-c", program], env=headway.environment, check=True)
    headway("ship", env=server.env)
    for env in ({}, server.env):
        assert "has logged no metrics" in headway("metrics", "bare", env=env).stdout
        assert json.loads(headway("metrics", "bare", "--json", env=env).stdout) == []
        headway("metrics", "bare", "--name", "loss", env=env, code=1)
        headway("metrics", "none", env=env, code=1)
        headway("metrics", "bare", "--steps", "x", env=env, code=2)
        headway("metrics", "bare", "--steps", "1..2", "--axis", "time", env=env, code=2)
