"""Runs on a server: made, listed, said things of, deleted; projects; operations."""

from __future__ import annotations

import itertools
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from conftest import Headway, wait_until
from test_server import Server


@pytest.fixture
def server(headway: Headway, tmp_path: Path) -> Iterator[Server]:
    with closing(Server(headway, tmp_path / "far")) as one:
        yield one


def record(headway: Headway, name: str, steps: int = 5, end: str = "", **env: str) -> None:
    program = f"""
import headway, os
run = headway.init(run={name!r})
for step in range({steps}):
    run.step(step)
{end or "run.finish()"}
"""
    code = subprocess.run([sys.executable, "-c", program], env=headway.environment | env).returncode
    assert code == 0 or end, code


def call(server: Server, method: str, **request: Any) -> Any:
    status, answer = server.call(method, request)
    assert status == 200, (method, request, answer)
    return answer


def refused(server: Server, method: str, **request: Any) -> tuple[int, str, str]:
    status, answer = server.call(method, request)
    assert status != 200, (method, request, answer)
    return status, answer["code"], answer["message"]


def listed(headway: Headway, server: Server, *options: str) -> list[dict[str, Any]]:
    return json.loads(headway("runs", "list", "--json", *options, env=server.env).stdout)


def test_a_run_is_made_and_its_processes_come_to_it(headway: Headway, server: Server) -> None:
    env = server.env
    made = headway(
        "runs", "create", "lm", "--group", "baseline", "--label", "team=vision", "--label", "a/b=",
        "--phase", "queued", "--orchestrator", "slurm", "--workload", "slurm/cluster/17",
        "--artifacts", "s3://bucket/lm", "--config-software", "jax=0.8",
        "--config-system", "cpus=2", "--tool", "xprof", "--request-id", "once", env=env,
    )  # fmt: skip
    uid = made.stdout.strip()
    assert len(uid) == 32 and "is made" in made.stderr
    again = headway("runs", "create", "lm", "--request-id", "once", env=env)
    assert again.stdout.strip() == uid and "was there already" in again.stderr
    before = json.loads(headway("runs", "show", "lm", "--json", env=env).stdout)
    assert before["state"] == "not_started" and before["phase"] == "queued"
    assert before["labels"] == {"team": "vision", "a/b": ""} and before["creator"] == "admin"
    assert before["software_configs"] == {"jax": "0.8"} and before["journals"] == []
    report = json.loads(headway("goodput", "lm", "--json", env=env).stdout)
    assert report["state"] == "not_started" and report["elapsed_ns"] == 0

    record(headway, "lm")
    headway("ship", env=env)

    def summarised() -> Any:
        run = json.loads(headway("runs", "show", uid, "--json", env=env).stdout)
        return run if run["state"] == "completed" else None

    after = wait_until(summarised, "it is completed")
    assert after["uid"] == uid and len(after["journals"]) == 1 and after["phase"] == "completed"
    assert after["labels"] == before["labels"] and after["last_step"] == 4
    assert headway("goodput", "lm", "--json", env=env).stdout == headway(
        "goodput", "lm", "--json").stdout  # fmt: skip
    # One that is found by its uid, and another run of the name.
    record(headway, "lm", HEADWAY_RUN_UID=uid)
    record(headway, "lm")
    headway("ship", env=env)
    wait_until(lambda: len(listed(headway, server)) == 2, "two runs are there")
    assert len(json.loads(headway("runs", "show", uid, "--json", env=env).stdout)["journals"]) == 2
    text = headway("runs", "show", uid, env=env).stdout
    for word in ("label team", "vision", "s3://bucket/lm", "software jax", "xprof", "made by"):
        assert word in text, word


def test_a_killed_run_is_interrupted_and_goes_on(headway: Headway, server: Server) -> None:
    record(headway, "r", end="os.kill(os.getpid(), 9)")
    headway("ship", env=server.env)

    def state(wanted: str) -> Any:
        runs = listed(headway, server)
        return runs and runs[0] if runs and runs[0]["state"] == wanted else None

    run = wait_until(lambda: state("interrupted"), "it is interrupted")
    assert run["phase"] == "interrupted" and run["end"] is not None and run["goodput"] is not None
    headway("runs", "update", "r", "--phase", "stopped", "--error", "no budget", env=server.env)
    time.sleep(1.5)  # what was said stays as long as nothing happens
    assert state("interrupted")["phase"] == "stopped"
    record(headway, "r", 8)
    headway("ship", env=server.env)
    run = wait_until(lambda: state("completed"), "it is completed")
    assert run["phase"] == "completed" and run["last_step"] == 7 and run["attempts"] == 2
    bad = headway("runs", "update", "r", "--phase", "active", env=server.env, code=1)
    assert "a run that is completed does not become active" in bad.stderr
    # One that is silent: nobody says that it has ended.
    process = subprocess.Popen(
        [sys.executable, "-c", "import headway, time\nrun = headway.init(run='s')\n"
         "run.step(0)\nprint(flush=True)\ntime.sleep(600)"],
        env=headway.environment, stdout=subprocess.PIPE)  # fmt: skip
    assert process.stdout is not None
    process.stdout.readline()
    sender = headway.start("ship", "s", "--follow", env=server.env)
    try:
        wait_until(lambda: state("running"), "it is running")
        assert state("running")["phase"] == "active"
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
        sender.wait(timeout=30)
    wait_until(lambda: state("interrupted"), "it is interrupted")


def test_lists_are_filtered_ordered_and_paged(headway: Headway, server: Server) -> None:
    dice = random.Random(5)
    made = []
    for i in range(60):
        run = {
            "name": f"run-{i % 50}",
            "group": dice.choice(["", "a", "b"]),
            "labels": {"n": str(i), **({"team": "x"} if i % 3 == 0 else {})},
            "phase": dice.choice(["RUN_PHASE_QUEUED", "RUN_PHASE_ACTIVE", "RUN_PHASE_FAILED"]),
        }
        made.append(call(server, "RunService/CreateRun", run=run)["run"])
    made.reverse()
    pages, token = [], ""
    while True:
        page = call(server, "RunService/ListRuns", pageSize=7, pageToken=token)
        pages.append(page["runs"])
        token = page.get("nextPageToken", "")
        if not token:
            break
    assert [len(page) for page in pages] == [7] * 8 + [4]
    seen = list(itertools.chain(*pages))
    assert [run["uid"] for run in seen] == [run["uid"] for run in made]
    assert len({run["label"] for run in seen}) == 60
    for run in seen[::13]:
        assert call(server, "RunService/GetRun", run=run["label"])["uid"] == run["uid"]
    names = [run["name"] for run in listed(headway, server, "--filter", "labels.team = x")]
    assert len(names) == 20
    for text, holds in {
        "group = a AND NOT phase = failed":
            lambda r: r.get("group") == "a" and r["phase"] != "RUN_PHASE_FAILED",
        "labels.n >= 5 AND labels.n < 6 OR group = b":
            lambda r: r["labels"]["n"] >= "5" and (r["labels"]["n"] < "6" or r.get("group") == "b"),
        "group:*": lambda r: r.get("group"),
        "name:un-1": lambda r: "un-1" in r["name"],
    }.items():  # fmt: skip
        got = [run["uid"] for run in listed(headway, server, "--filter", text)]
        assert got == [run["uid"] for run in made if holds(run)], text
    ordered = listed(headway, server, "--order-by", "group desc, name", "--limit", "1000")
    keys = [(run["group"], run["name"]) for run in ordered]
    assert keys == sorted(sorted(keys, key=lambda k: k[1]),
                          key=lambda k: {"b": 0, "a": 1, "": 2}[k[0]])  # fmt: skip
    assert "and more: --limit N" in headway("runs", "list", env=server.env).stdout
    for bad in ({"filter": "nothing = 3"}, {"filter": "labels = 3"}, {"orderBy": "up"},
                {"pageToken": "0"}, {"pageToken": "zz/1"}, {"pageSize": -1},
                {"filter": "goodput < much"}):  # fmt: skip
        assert refused(server, "RunService/ListRuns", **bad)[1] == "invalid_argument", bad
    # A token is one of its question.
    token = call(server, "RunService/ListRuns", pageSize=7)["nextPageToken"]
    assert refused(server, "RunService/ListRuns", pageToken=token, filter="group = a")[0] == 400


def test_no_run_is_called_what_leads_to_another(headway: Headway, server: Server) -> None:
    first = call(server, "RunService/CreateRun", run={"name": "c"})["run"]
    call(server, "RunService/CreateRun", run={"name": "c"})
    label = call(server, "RunService/GetRun", run=first["uid"])["label"]
    assert label.startswith("c@")
    for name in (label, first["uid"]):
        answer = refused(server, "RunService/CreateRun", run={"name": name})
        assert answer[1] == "already_exists" and first["uid"] in answer[2]
    assert call(server, "RunService/GetRun", run=label)["uid"] == first["uid"]
    call(server, "RunService/CreateRun", run={"name": "0" * 32})  # of nobody


def test_changes_do_not_get_lost(headway: Headway, server: Server) -> None:
    run = call(server, "RunService/CreateRun", run={"name": "r"})["run"]
    # Eight at a time, each with labels of its own: none undoes another's.
    def change(worker: int) -> None:
        for i in range(10):
            call(server, "RunService/UpdateRun", run="r",
                 values={"labels": {f"w{worker}": str(i), f"k{worker}-{i % 3}": "x"}})  # fmt: skip

    threads = [threading.Thread(target=change, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    now = call(server, "RunService/GetRun", run="r")
    assert len(now["labels"]) == 32 and all(now["labels"][f"w{n}"] == "9" for n in range(8))
    assert now["etag"] == "81" and now["uid"] == run["uid"]
    assert refused(server, "RunService/UpdateRun", run="r", values={"group": "x"}, etag="80")[
        :2] == (409, "aborted")  # fmt: skip
    changed = call(server, "RunService/UpdateRun", run="r", values={"group": "x"}, etag="81",
                   updateMask=["group", "labels.w0"])  # fmt: skip
    assert changed["group"] == "x" and "w0" not in changed["labels"] and changed["etag"] == "82"
    cleared = call(server, "RunService/UpdateRun", run="r", updateMask=["*"])
    assert not cleared["group"] and not cleared["labels"]
    for bad in (
        {"updateMask": ["name"]},
        {"updateMask": ["labels.a.b", "no"]},
        {"values": {"labels": {f"l{i}": "" for i in range(65)}}},
        {"values": {"labels": {"": "x"}}},
        {"values": {"labels": {"a": "x" * 1025}}},
        {"values": {"group": "a\nb"}},
        {"values": {"tools": ["t"] * 17}},
        {"values": {"errorDetails": "x" * 5000}},
    ):
        assert refused(server, "RunService/UpdateRun", run="r", **bad)[1] == "invalid_argument", bad
    for bad in ({}, {"run": {}}, {"run": {"name": "a\x00b"}}, {"run": {"name": "a", "uid": "1"}},
                {"run": {"name": "x" * 257}}, {"run": {"name": "x"}, "requestId": "x" * 129},
                {"run": {"name": "x", "uid": "1" * 32}, "requestId": "either"},
                {"run": {"name": "x", "project": "other"}}):  # fmt: skip
        assert refused(server, "RunService/CreateRun", **bad)[1] == "invalid_argument", bad
    # A uid is one run, wherever.
    for other in ({"name": "s", "uid": run["uid"]}, {"name": "s", "uid": run["uid"]}):
        assert refused(server, "RunService/CreateRun", run=other)[1] == "already_exists"
    assert refused(server, "RunService/CreateRun", project="q",
                   run={"name": "r", "uid": run["uid"]})[1] == "already_exists"  # fmt: skip
    same = call(server, "RunService/CreateRun", run={"name": "r", "uid": run["uid"]})
    assert same["existed"] and same["run"]["etag"] == "83"
    # A race to make one run makes one.
    answers: list[Any] = []
    threads = [
        threading.Thread(target=lambda: answers.append(
            call(server, "RunService/CreateRun", run={"name": "race"}, requestId="race")))
        for _ in range(8)
    ]  # fmt: skip
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({answer["run"]["uid"] for answer in answers}) == 1
    assert sum(not answer.get("existed") for answer in answers) == 1


def test_deleted_runs_come_back_or_go_for_ever(headway: Headway, server: Server) -> None:
    env = server.env
    for name in ("a", "b"):
        record(headway, name, 2000)
    headway("ship", env=env)
    wait_until(lambda: len(listed(headway, server)) == 2, "two runs are there")
    uid = listed(headway, server, "--filter", "name = a")[0]["uid"]
    at = ("--server", server.url)
    assert "deleting needs a yes" in headway("runs", "delete", "a", *at, env=env, code=2).stderr
    assert "--force removes" in headway("runs", "delete", "a", "--force", code=2).stderr
    headway("runs", "delete", "a", "--yes", *at, env=env)
    assert [run["name"] for run in listed(headway, server)] == ["b"]
    assert {run["name"] for run in listed(headway, server, "--deleted")} == {"a", "b"}
    headway("goodput", "a", env=env, code=1)
    headway("goodput", uid, env=env)
    headway("runs", "undelete", uid, env=env)
    headway("runs", "undelete", uid, env=env, code=1)
    assert headway("goodput", "a", "--json", env=env).stdout == headway(
        "goodput", "a", "--json").stdout  # fmt: skip
    before = json.loads(headway("projects", "list", "--json", env=env).stdout)
    gone = headway("runs", "delete", "a", "--yes", "--force", *at, env=env)
    assert "removed for ever" in gone.stdout
    after = json.loads(headway("projects", "list", "--json", env=env).stdout)
    assert after[0]["runs"] == 1 and after[0]["stored_bytes"] < before[0]["stored_bytes"] * 0.7
    (operation,) = json.loads(headway("operations", "list", "--json", env=env).stdout)
    assert operation["verb"] == "runs.purge" and operation["end_time"] and not operation["error"]
    assert operation["target"] == uid and operation["progress"] == 1
    headway("runs", "show", uid, env=env, code=1)
    # Its machine is told, and sends no more of it; others go on.
    headway("ship", env=env)
    record(headway, "a", HEADWAY_RUN_UID=uid)
    record(headway, "c")
    headway("ship", env=env)
    assert {run["name"] for run in listed(headway, server, "--deleted")} == {"b", "c"}
    server.kill()
    server.start()
    headway("ship", env=env)
    assert {run["name"] for run in listed(headway, server, "--deleted")} == {"b", "c"}
    headway("backup", "--check", "--dir", server.folder)
    headway("operations", "show", operation["id"], env=env)
    headway("operations", "delete", operation["id"], env=env)
    headway("operations", "show", operation["id"], env=env, code=1)
    log = json.loads(headway("tokens", "log", "--json", env=env).stdout)["events"]
    assert {"runs.delete", "runs.purge", "operations.delete"} <= {one["action"] for one in log}


def test_a_removal_goes_on_after_the_server_was_killed(headway: Headway, server: Server) -> None:
    record(headway, "big", 200_000)
    record(headway, "other")
    headway("ship", env=server.env)
    uid = next(r["uid"] for r in listed(headway, server) if r["name"] == "big")
    answer = call(server, "RunService/DeleteRun", run="big", force=True)
    os.kill(server.process.pid, signal.SIGKILL)  # type: ignore[union-attr]
    server.kill()
    server.start()

    def done() -> bool:
        found = call(server, "OperationService/GetOperation", id=answer["operation"])
        return bool(found.get("endTime")) and found["progress"] == 1

    wait_until(done, "it is removed")
    assert refused(server, "RunService/GetRun", run=uid)[0] == 404
    assert [run["name"] for run in listed(headway, server, "--deleted")] == ["other"]


def test_a_project_keeps_what_it_may(headway: Headway, server: Server) -> None:
    env = server.env
    headway("projects", "create", "default", "--quota", "100", env=env)
    record(headway, "r", 3000)
    assert "may keep 100 bytes" in headway("ship", env=env, code=1).stderr
    headway("projects", "create", "default", "--quota", "0", "--keep", "1s", env=env)
    headway("ship", env=env)
    assert headway("goodput", "r", "--json", env=env).stdout == headway(
        "goodput", "r", "--json").stdout  # fmt: skip
    (project,) = json.loads(headway("projects", "list", "--json", env=env).stdout)
    assert project["retention_ns"] == 10**9 and project["quota_bytes"] == 0
    # What series are called takes room, too.
    call(server, "ProjectService/PutProject", project="q", quotaBytes="20000")
    call(server, "RunService/CreateRun", project="q", run={"name": "s"})
    columns = [{"name": f"m{i}", "values": [1.0], "labels": {f"k{k}": "v" * 900 for k in range(9)}}
               for i in range(2)]  # fmt: skip
    points = {"project": "q", "run": "s", "source": "x", "frames": [
        {"times": ["1"], "columns": columns}]}  # fmt: skip
    assert refused(server, "SeriesService/WritePoints", **points)[1] == "failed_precondition"
    points["frames"][0]["columns"] = columns[:1]
    call(server, "SeriesService/WritePoints", **points)
    stored = call(server, "ProjectService/GetProject", project="q")["storedBytes"]
    assert 9 * 900 * 2 < int(stored) < 20000
    # It is looked at once a minute, and at the start.
    wait_until(lambda: listed(headway, server)[0]["state"] == "completed", "it is completed")
    time.sleep(1)
    server.kill()
    server.start()
    wait_until(lambda: listed(headway, server, "--deleted") == [], "it is removed")
    headway("projects", "list", env=env)
    assert call(server, "ProjectService/GetProject")["retentionNs"] == str(10**9)
    assert refused(server, "ProjectService/GetProject", project="none")[1] == "not_found"
    # A variable that is not set is not "default".
    assert "must not be empty" in headway(
        "projects", "create", "", "--keep", "1s", env=env, code=2).stderr  # fmt: skip
    for bad in ({"project": "p", "quotaBytes": "-1"}, {"project": "p", "retentionNs": "-1"},
                {"project": "a\nb"}, {"project": ""}, {}):  # fmt: skip
        assert refused(server, "ProjectService/PutProject", **bad)[1] == "invalid_argument", bad


def test_secrets_in_what_is_said_of_a_run(server: Server) -> None:
    secret = "hunter2hunter2"
    said = {"errorDetails": f"lost https://u:{secret}@store/x",
            "artifactsUri": f"s3://u:{secret}@b/x"}  # fmt: skip
    made = call(server, "RunService/CreateRun", run={"name": "r", **said})["run"]
    shown = {key: made[key] for key in said}
    assert shown == {key: text.replace(secret, "[masked]") for key, text in said.items()}
    # What comes back as it was shown changes nothing.
    call(server, "RunService/UpdateRun", run="r", values=shown)
    assert any(secret.encode() in path.read_bytes()
               for path in (server.folder / "server").rglob("*") if path.is_file())  # fmt: skip
    for answer in (call(server, "RunService/GetRun", run="r"), call(server, "RunService/ListRuns")):
        assert secret not in json.dumps(answer) and "[masked]" in json.dumps(answer)


def test_the_time_of_all_runs_adds_up(headway: Headway, server: Server) -> None:
    for name in ("a", "b", "c"):
        record(headway, name, steps=50)
    headway("ship", env=server.env)
    headway("projects", "create", "default", "--price", "2.5 USD", env=server.env)
    for name, group, accelerators in (("a", "x", "8"), ("b", "x", "16"), ("c", "y", "0")):
        headway("runs", "update", name, "--group", group, "--accelerators", accelerators,
                env=server.env)  # fmt: skip
    call(server, "RunService/CreateRun", run={"name": "waits"})
    reports = {name: headway.json("goodput", name) for name in ("a", "b", "c")}

    def fleet(**request: Any) -> Any:
        return call(server, "RunService/GetFleet", **request)

    # One that has recorded nothing has no time, and is known, too.
    wait_until(lambda: fleet()["all"]["unknown"] == "0", "all were looked at")

    def check(part: Any, names: str) -> None:
        some = [reports[name] for name in names]
        elapsed = sum(report["elapsed_ns"] for report in some)
        times: dict[str, int] = {}
        for report in some:
            for one in report["categories"]:
                times[one["category"]] = times.get(one["category"], 0) + one["ns"]
        assert part["elapsedSeconds"] == elapsed / 1e9
        assert part["lostSeconds"] == pytest.approx((elapsed - times["productive"]) / 1e9, abs=1e-9)
        assert part["goodput"] == pytest.approx(times["productive"] / elapsed, abs=1e-12)
        found = {one["category"].removeprefix("CATEGORY_").lower(): one["seconds"]
                 for one in part["categories"]}  # fmt: skip
        assert found == {name: ns / 1e9 for name, ns in times.items() if ns}

    totals = fleet(groupBy="group", top=2)
    check(totals["all"], "abc")
    assert (totals["all"]["runs"], totals["all"]["withoutAccelerators"]) == ("4", "2")
    assert totals["price"] == {"perAcceleratorHour": 2.5, "currency": "USD"}
    parts = {part["name"]: part for part in totals["parts"]}
    assert sorted(parts) == ["", "x", "y"]
    check(parts["x"], "ab")
    check(parts["y"], "c")
    lost = {name: report["elapsed_ns"] - next(
        one["ns"] for one in report["categories"] if one["category"] == "productive")
        for name, report in reports.items()}  # fmt: skip
    seconds = (8 * lost["a"] + 16 * lost["b"]) / 1e9
    assert parts["x"]["lostAcceleratorSeconds"] == pytest.approx(seconds, abs=1e-9)
    assert parts["x"]["lostCost"] == pytest.approx(seconds / 3600 * 2.5)
    assert not totals["byAcceleratorTime"]
    ranked = sorted(lost, key=lambda name: -lost[name])[:2]
    assert [run["name"] for run in totals["costliest"]] == ranked
    assert all(run["digest"]["categories"] for run in totals["costliest"])
    totals = fleet(filter="group = x", top=5)
    assert totals["byAcceleratorTime"] and not totals["parts"]
    check(totals["all"], "ab")
    assert {run["name"] for run in totals["costliest"]} == {"a", "b"}

    listed = call(server, "RunService/ListRuns", withDigest=True, filter="accelerators > 8")
    (run,) = listed["runs"]
    assert run["name"] == "b" and run["accelerators"] == "16"
    ns = {one["category"]: int(one["ns"]) for one in run["digest"]["categories"]}
    assert sum(ns.values()) == reports["b"]["elapsed_ns"] == int(run["elapsedNs"])
    goodput = run["digest"]["goodput"]
    assert len(goodput) == 32 and all(one == "NaN" or 0 <= one <= 1 for one in goodput)
    assert "digest" not in call(server, "RunService/GetRun", run="b")

    for request, why in (({"groupBy": "goodput"}, "group_by"),
                         ({"groupBy": "group desc"}, "group_by"),
                         ({"groupBy": "nothing"}, "group_by"), ({"filter": "x <"}, "filter"),
                         ({"top": 101}, "top"), ({"top": -1}, "top")):  # fmt: skip
        status, code, message = refused(server, "RunService/GetFleet", **request)
        assert (status, code) == (400, "invalid_argument") and why in message
    for price in ({"perAcceleratorHour": -1, "currency": "USD"}, {"perAcceleratorHour": 2},
                  {"perAcceleratorHour": "NaN", "currency": "USD"},
                  {"perAcceleratorHour": 1, "currency": "dollars"}):  # fmt: skip
        status, _, message = refused(server, "ProjectService/PutProject", project="p", price=price)
        assert status == 400 and "price" in message
    headway("projects", "create", "default", "--price", "0", env=server.env)
    assert "price" not in fleet() and "lostCost" not in fleet()["all"]
    wrong = headway("projects", "create", "p", "--price", "cheap", code=2, env=server.env)
    assert "2.5 USD" in wrong.stderr
