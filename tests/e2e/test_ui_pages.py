"""The pages of a run and of several runs, in a browser: steps, metrics, configs, events, profiles.

HEADWAY_PICTURES=1 also renews docs/images/page-*.png.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from browser import find_browser
from conftest import ROOT, Headway
from node import run_node
from test_server import Server
from test_ui import index_of
from test_view import ns_of

RENEW = os.environ.get("HEADWAY_PICTURES") == "1"
STEPS = 600

TRAIN = """
import math, os, random, sys, time
import headway

name, rate, rows = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
attempt = int(os.environ["HEADWAY_ATTEMPT"])
dice = random.Random(f"{name} {attempt}")
config = {"optimizer": {"lr": rate, "name": "adamw"}, "batch": 64, "layers": [1, 2],
          "hf_token": "secret"}
run = headway.init(run=name, config=config)
for step in range(attempt * 200, %d):
    with run.step(step):
        with run.data_loading():
            pass
        time.sleep(0.002 + (0.01 if dice.random() < 0.01 else 0))
    loss = 4 * math.exp(-step / 300) / (1 + rate) + dice.random() * 0.1
    run.log({"loss": math.nan if step == 100 else loss, "learning_rate": rate}, step=step)
    run.log({f"custom/{i}": step * i for i in range(rows)}, step=step)
    if step %% 5 == 0:
        run.log({"vram_utilization": 60 + dice.random() * 9,
                 "throughput": 9000 + dice.random() * 500}, step=step)
    if attempt == 0 and step == 320:
        os.kill(os.getpid(), 9)
run.finish()
""" % STEPS


@pytest.fixture
def server(headway: Headway, tmp_path: Path) -> Iterator[Server]:
    with closing(Server(headway, tmp_path / "far")) as one:
        yield one


def test_the_pages_of_runs(headway: Headway, server: Server, tmp_path: Path) -> None:
    index_of(server)
    if find_browser() is None:
        pytest.skip("there is no browser; apt-get install chromium")
    path = tmp_path / "train.py"
    path.write_text(TRAIN)
    for run, rate, rows in (("base", 0.1, 40), ("faster", 0.3, 2)):
        headway("run", "--quiet", "--run", run, "--restarts", "3", "--backoff", "1ms", "--",
                sys.executable, path, run, str(rate), str(rows))  # fmt: skip
    headway("ship", env=server.env)
    report = headway.json("goodput", "base")
    steps = headway.json("steps", "base")
    usual = [one for one in steps if one["complete"] and not one["first"]]
    start = ns_of(report["start"])
    event = {
        "type": "EVENT_TYPE_HANG", "severity": "SEVERITY_ERROR",
        "displayName": "Collective stuck", "startTime": str(start + 10**8),
        "endTime": str(start + 2 * 10**8),
        "scope": {"layer": "network", "hosts": ["node-7"]},
        "evidence": [{"what": "step time", "value": 12.5, "unit": "s", "text": "<b>twelve</b>"}],
        "analyzerReports": [
            {"analyzer": "stragglers", "state": "DETECTION_STATE_DETECTED", "confidence": 0.8,
             "details": "node-7 is late", "recommendedActions": [
                 {"description": "Drain node-7", "documentationUrl": "https://docs.example/x"}]},
            {"analyzer": "storage", "state": "DETECTION_STATE_NO_DATA"},
        ],
    }  # fmt: skip
    session = {
        "name": "step-100", "kind": "PROFILE_KIND_PROGRAMMATIC", "startTime": str(start + 10**8),
        "durationNs": str(10**8), "storageUri": "gs://bucket/profiles/step-100",
        "dashboardUri": "https://tensorboard.example/step-100",
        "targets": [{"target": "node-7-0", "phase": "CAPTURE_PHASE_SUCCEEDED",
                     "files": [{"path": "a.xplane.pb", "bytes": str(3 << 20)}]}],
    }  # fmt: skip
    made: dict[str, Any] = {}
    for method, name, value in (("EventService/CreateEvent", "event", event),
                                ("ProfileService/CreateProfileSession", "session", session)):
        status, made[name] = server.call(method, {"run": "base", name: value})
        assert status == 200, made[name]
    given = {
        "url": server.url,
        "viewer": server.call("TokenService/CreateToken", {"role": "viewer"})[1]["secret"],
        "link": server.call("LinkService/CreateLink", {"run": "base"})[1]["secret"],
        "event": made["event"]["event"]["uid"],
        "goodputs": {run: headway.json("goodput", run)["goodput"] for run in ("base", "faster")},
        "p50_ns": report["steps"]["p50_ns"],
        "slowest": sorted((one["work_ns"] for one in usual), reverse=True)[:20],
        "pictures": str(tmp_path / "pictures"),
    }
    run_node("pages.test.ts", given, tmp_path)
    for name in ("steps", "metrics", "compare") if RENEW else ():
        (ROOT / f"docs/images/page-{name}.png").write_bytes(
            (tmp_path / f"pictures/{name}.png").read_bytes()
        )
