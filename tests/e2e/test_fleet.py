"""Where runs of a server were recorded: machines, clusters, locations."""

from __future__ import annotations

import itertools
import json
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from conftest import Headway, wait_until
from test_config import other_hosts
from test_registry import call, refused
from test_server import Server

START = 1_767_225_600_000_000_000  # 2026-01-01T00:00:00Z


@pytest.fixture
def server(headway: Headway, tmp_path: Path) -> Iterator[Server]:
    with closing(Server(headway, tmp_path / "far")) as one:
        yield one


def hosts(server: Server, **request: Any) -> list[str]:
    """All that a list has, page by page."""
    found: list[str] = []
    while True:
        answer = call(server, "FleetService/ListNodes", **request)
        assert len(answer["nodes"]) <= request.get("pageSize", 100)
        found += [node["host"] for node in answer["nodes"]]
        request["pageToken"] = answer["nextPageToken"]
        if not request["pageToken"]:
            return found


def on(host: str, headway: Headway, *command: str, **env: str) -> subprocess.Popen[str]:
    """`headway run` on a machine of that name."""
    words = ["unshare", "--map-root-user", "--uts", "sh", "-c", 'hostname "$0" && exec "$@"', host,
             headway.program, "run", *command]  # fmt: skip
    return subprocess.Popen(words, env={**headway.environment, **env}, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)  # fmt: skip


def placed(server: Server, count: int, **request: Any) -> list[dict[str, Any]]:
    def enough() -> bool:
        return len(call(server, "FleetService/ListNodes", **request)["nodes"]) == count

    wait_until(enough, f"{count} machines")
    return call(server, "FleetService/ListNodes", **request)["nodes"]


def test_machines_tell_where_they_are(headway: Headway, server: Server, tmp_path: Path) -> None:
    other_hosts()
    env = server.env
    go = tmp_path / "go"
    # For a minute at most: when this test fails, too.
    wait = ("sh", "-c", f"for i in $(seq 1200); do test -e {go} && exit; sleep 0.05; done; exit 1")
    alps = {"HEADWAY_LOCATION": "eu-west-1a", "SLURM_CLUSTER_NAME": "alps", **env}
    jobs = [on("node-1", headway, "--run", "r", "--", *wait, SLURM_JOB_ID="7", **alps),
            on("node-2", headway, "--run", "s", "--", *wait, HEADWAY_CLUSTER="gke", **alps),
            on("node-3", headway, "--run", "t", "--", "true", **env)]  # fmt: skip
    nodes = placed(server, 3)
    assert [(one["cluster"], one["host"], one["location"], one["run"]) for one in nodes] == [
        ("", "node-3", "", "t"), ("alps", "node-1", "eu-west-1a", "r"),
        ("gke", "node-2", "eu-west-1a", "s")]  # fmt: skip
    wait_until(lambda: hosts(server, filter="processes > 0") == ["node-1", "node-2"], "the third")
    assert call(server, "FleetService/ListClusters")["clusters"] == [
        {"project": "default", "name": name, "locations": ["eu-west-1a"], "nodes": "1",
         "liveNodes": "1", "processes": "1"} for name in ("alps", "gke")]  # fmt: skip
    there = call(server, "FleetService/GetLocation", name="eu-west-1a")
    assert there == {"project": "default", "name": "eu-west-1a", "clusters": ["alps", "gke"],
                     "nodes": "2", "liveNodes": "2", "processes": "2"}  # fmt: skip
    assert call(server, "FleetService/ListLocations")["locations"] == [there]
    text = headway("nodes", "list", env=env).stdout
    assert "node-1  alps     eu-west-1a          1" in text, text
    assert "alps" in headway("clusters", "list", env=env).stdout
    assert "alps, gke" in headway("locations", "list", env=env).stdout
    go.touch()
    for job in jobs:
        out, _ = job.communicate(timeout=60)
        assert job.returncode == 0, out
    wait_until(lambda: not hosts(server, filter="processes > 0"), "their end")

    # A later run there, by a process that says nothing of where it is.
    job = on("node-1", headway, "--run", "r", "--", "true", SLURM_CLUSTER_NAME="alps",
             SLURM_JOB_ID="8", **env)  # fmt: skip
    assert job.wait(timeout=60) == 0
    wait_until(lambda: hosts(server, filter="runs = 2") == ["node-1"], "the second run")
    node = call(server, "FleetService/GetNode", cluster="alps", host="node-1")
    first, last = node.pop("startTime"), node.pop("heardTime")
    assert START < int(first) < int(last)
    uid = call(server, "RunService/GetRun", run="r")["uid"]
    assert node == {"project": "default", "cluster": "alps", "host": "node-1",
                    "location": "eu-west-1a", "processes": "0", "runs": "2", "run": "r",
                    "runUid": uid}  # fmt: skip

    # Of the older run by its label, once the newer one is gone; and nothing of what is deleted.
    call(server, "RunService/DeleteRun", run="r", force=True)
    assert call(server, "FleetService/GetNode", cluster="alps", host="node-1")["runs"] == "1"
    call(server, "RunService/DeleteRun", run="r")
    assert hosts(server) == ["node-3", "node-2"]
    status, code, message = refused(server, "FleetService/GetNode", cluster="alps", host="node-1")
    assert (status, code) == (404, "not_found")
    assert message == 'there is no node "node-1" of cluster "alps" in project "default"'
    for method, noun in (("GetCluster", "cluster"), ("GetLocation", "location")):
        _, code, message = refused(server, f"FleetService/{method}", name="none")
        assert (code, message) == ("not_found", f'there is no {noun} "none" in project "default"')

    # Who is bound to one run sees where that was.
    token = json.loads(headway("tokens", "create", "--role", "viewer", "--project", "default",
                               "--run", "s", "--json", env=env).stdout)["secret"]  # fmt: skip
    status, answer = server.call("FleetService/ListClusters", {}, token=token)
    assert status == 200 and [one["name"] for one in answer["clusters"]] == ["gke"]

    # All of it is known to a server that starts again, and to one that has its copy.
    before = call(server, "FleetService/ListNodes")
    server.kill()
    server.start()
    assert call(server, "FleetService/ListNodes")["nodes"] == before["nodes"]


def test_lists_have_pages_filters_and_orders(
    headway: Headway, server: Server, tmp_path: Path
) -> None:
    # Runs that were recorded elsewhere, on two or three machines each.
    for run, names in enumerate(("ab", "bcd", "cde")):
        lines: list[dict[str, Any]] = []
        for rank, host in enumerate(names):
            at = 1_767_225_600 + 100 * run + rank
            lines += [{"ts": at, "type": "writer", "rank": rank, "host": host},
                      {"ts": at, "type": "job_start", "rank": rank},
                      {"ts": at + 10, "type": "job_end", "rank": rank}]  # fmt: skip
        path = tmp_path / f"{run}.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        headway("import", path, "--run", f"r{run}")
        headway("ship", f"r{run}", env=server.env)
    placed(server, 5)
    everything = hosts(server)
    assert everything == list("abcde")
    for order, size in itertools.product(
        ("", "runs desc", "start desc, host", "run, host desc", "location", "heard desc"),
        (1, 2, 5),
    ):
        whole = hosts(server, orderBy=order)
        assert sorted(whole) == everything
        assert hosts(server, orderBy=order, pageSize=size) == whole, (order, size)
    assert hosts(server, orderBy="runs desc") == ["b", "c", "d", "a", "e"]
    assert hosts(server, orderBy="start desc") == ["e", "d", "c", "b", "a"]
    assert hosts(server, filter="runs = 2 AND run = r2") == ["c", "d"]
    assert hosts(server, filter="host = a OR start >= 2026-01-01T00:03:20Z") == ["a", "e"]
    assert hosts(server, filter="cluster:* OR location:*") == []
    # Nobody said where they stand: there is nothing to list.
    assert call(server, "FleetService/ListClusters")["clusters"] == []
    assert "HEADWAY_LOCATION" in headway("locations", "list", env=server.env).stdout
    assert headway.json("nodes", "list", "--limit", "2", env=server.env)[1]["host"] == "b"
    assert "and more" in headway("nodes", "list", "--limit", "2", env=server.env).stdout
    other = ("nodes", "list", "--project", "none")
    assert headway(*other, env=server.env).stdout.startswith("no nodes in project none on http")

    token = call(server, "FleetService/ListNodes", pageSize=1)["nextPageToken"]
    for wrong in (token + "0", "00/" + token.split("/")[1], token.upper() + "x", "x"):
        assert refused(server, "FleetService/ListNodes", pageToken=wrong)[1] == "invalid_argument"
    assert refused(server, "FleetService/ListNodes", pageToken=token, filter="runs = 1")[0] == 400
    for method, field in (("ListNodes", "name"), ("ListClusters", "host")):
        _, code, message = refused(server, f"FleetService/{method}", filter=f"{field} = x")
        assert code == "invalid_argument" and message.startswith("filter: "), message
    assert refused(server, "FleetService/ListNodes", pageSize=-1)[0] == 400
