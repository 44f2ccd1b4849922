"""Who may do what on a server: tokens, roles, projects and runs."""

from __future__ import annotations

import base64
import itertools
import json
import re
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Headway, wait_until
from test_server import Server

# What each method needs; one that is not here fails the test.
NEEDS = {
    "RunService/ListRuns": "runs.list",
    "RunService/GetFleet": "runs.list",
    "RunService/GetRun": "runs.get",
    "RunService/CreateRun": "runs.create",
    "RunService/UpdateRun": "runs.update",
    "RunService/DeleteRun": "runs.delete",
    "RunService/UndeleteRun": "runs.delete",
    "RunService/GetReport": "runs.get",
    "RunService/GetAdvice": "runs.get",
    "RunService/ListIntervals": "runs.get",
    "RunService/ListSteps": "runs.get",
    "ViewService/GetHistory": "runs.get",
    "ViewService/GetStepHistory": "runs.get",
    "ViewService/GetTimeline": "runs.get",
    "ConfigService/GetConfig": "runs.get",
    "ProcessService/ListProcesses": "runs.get",
    "FleetService/ListNodes": "nodes.list",
    "FleetService/GetNode": "nodes.get",
    "FleetService/ListClusters": "clusters.list",
    "FleetService/GetCluster": "clusters.get",
    "FleetService/ListLocations": "locations.list",
    "FleetService/GetLocation": "locations.get",
    "RecordService/ListRecords": "runs.get",
    "SeriesService/WritePoints": "series.write",
    "SeriesService/ListSeries": "runs.get",
    "SeriesService/QuerySeries": "runs.get",
    "ProjectService/ListProjects": "projects.list",
    "ProjectService/GetProject": "projects.get",
    "ProjectService/PutProject": "projects.update",
    "OperationService/ListOperations": "operations.list",
    "OperationService/GetOperation": "operations.get",
    "OperationService/CancelOperation": "operations.cancel",
    "OperationService/DeleteOperation": "operations.delete",
    "JournalService/AppendJournals": "journals.append",
    "TokenService/CreateToken": "tokens.create",
    "TokenService/ListTokens": "tokens.list",
    "TokenService/RevokeToken": "tokens.revoke",
    "TokenService/ListAuditEvents": "audit.list",
    "RoleService/PutRole": "roles.update",
    "RoleService/ListRoles": "roles.list",
    "RoleService/DeleteRole": "roles.delete",
    "LinkService/CreateLink": "links.create",
    "LinkService/ListLinks": "links.list",
    "LinkService/RevokeLink": "links.revoke",
    "ServerService/GetServer": "server.get",
    "EventService/CreateEvent": "events.create",
    "EventService/GetEvent": "events.get",
    "EventService/ListEvents": "events.list",
    "EventService/UpdateEvent": "events.update",
    "EventService/DeleteEvent": "events.delete",
    "ProfileService/CreateProfilerTarget": "profiles.create",
    "ProfileService/GetProfilerTarget": "profiles.get",
    "ProfileService/ListProfilerTargets": "profiles.list",
    "ProfileService/DeleteProfilerTarget": "profiles.delete",
    "ProfileService/CreateProfileSession": "profiles.create",
    "ProfileService/UpdateProfileSession": "profiles.update",
    "ProfileService/GetProfileSession": "profiles.get",
    "ProfileService/ListProfileSessions": "profiles.list",
    "ProfileService/DeleteProfileSession": "profiles.delete",
}
# What is asked for by its path alone, likewise.
PATHS = {"live?project=p": "runs.list", "live?project=p&run=r": "runs.get"}
# Those that a share link may call, about its own run.
BY_LINK = {"RunService/GetRun", "RunService/GetReport", "RunService/GetAdvice",
           "RunService/ListIntervals", "RunService/ListSteps", "SeriesService/ListSeries",
           "SeriesService/QuerySeries",
           "ViewService/GetHistory", "ViewService/GetStepHistory",
           "ViewService/GetTimeline"}  # fmt: skip
LISTS = {"RunService/ListRuns", "RunService/GetFleet"}
READING = {"runs.list", "runs.get", "projects.list", "projects.get", "operations.list",
           "operations.get", "server.get", "events.get", "events.list", "profiles.get",
           "profiles.list", "nodes.list", "nodes.get", "clusters.list", "clusters.get",
           "locations.list", "locations.get"}  # fmt: skip
WRITING = {"journals.append", "series.write", "server.get", "events.create", "profiles.create"}
ROLES = {
    "viewer": READING,
    "writer": WRITING,
    "editor": READING
    | WRITING
    | {"runs.create", "runs.update", "runs.delete", "operations.cancel", "operations.delete"}
    | {"links.create", "links.list", "links.revoke", "events.update", "events.delete"}
    | {"profiles.update", "profiles.delete"},
    "admin": set(NEEDS.values()),
}
# Roles of one's own, which the matrix has, too.
OWN_ROLES = {
    "dashboard": {"runs.list", "runs.get"},
    "sharer": {"links.create", "links.list"},  # who reads no run shares none
    "keeper": {"tokens.revoke", "roles.delete", "roles.list", "audit.list"},
}
SCOPES = [("", ""), ("p", ""), ("q", ""), ("p", "r"), ("p", "s"), ("q", "r")]


def methods() -> list[str]:
    found = []
    for path in sorted((ROOT / "proto").rglob("*.proto")):
        service = ""
        for line in path.read_text().splitlines():
            if match := re.match(r"service (\w+)", line):
                service = match[1]
            elif match := re.match(r"\s*rpc (\w+)\(", line):
                found.append(f"{service}/{match[1]}")
    return found


def test_each_method_has_an_example() -> None:
    text = (ROOT / "docs/server.md").read_text()
    binary = {"JournalService/AppendJournals"}
    assert [one for one in methods() if f"call {one} '{{" not in text] == sorted(binary)


@pytest.fixture
def server(headway: Headway, tmp_path: Path) -> Iterator[Server]:
    headway.environment |= {"HEADWAY_CLUSTER": "alps", "HEADWAY_LOCATION": "zone"}
    with closing(Server(headway, tmp_path / "far")) as one:
        for project, run in itertools.product("pq", "rs"):
            program = f"import headway\nwith headway.init('{project}', '{run}') as run: run.step(0)"
            subprocess.run([sys.executable, "-c", program], check=True, env=headway.environment)
        headway("ship", env=one.env)
        yield one


def create(server: Server, token: str | None = None, **request: Any) -> tuple[int, Any]:
    return server.call("TokenService/CreateToken", request, token)


def link(server: Server, token: str | None = None, **request: Any) -> dict[str, Any]:
    status, answer = server.call("LinkService/CreateLink", request, token)
    assert status == 200, answer
    return dict(answer)


def share(server: Server, path: str, method: str = "GET") -> tuple[int, str, Any]:
    """What a browser gets."""
    wanted = urllib.request.Request(server.url + path, method=method)
    try:
        with urllib.request.urlopen(wanted, timeout=30) as answer:
            return answer.status, answer.read().decode(), answer.headers
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode(), error.headers


def secret(server: Server, **request: Any) -> str:
    status, answer = create(server, **request)
    assert status == 200, answer
    return str(answer["secret"])


def pieces(headway: Headway, project: str, run: str) -> dict[str, Any]:
    """The beginning of that run's journal, as a program would send it."""
    (path,) = (headway.data / "journals" / project / run).glob("*.hwj")
    uid = bytes.fromhex(path.stem.rsplit("-", 1)[1])
    return {
        "pieces": [
            {
                "uid": base64.b64encode(uid).decode(),
                "header": base64.b64encode(path.read_bytes()[:4096]).decode(),
                "writer": "WRITER_STATE_ALIVE",
            }
        ]
    }


def every_request(headway: Headway, server: Server) -> dict[str, Any]:
    """One of each method, about run r of project p where it is about a run."""
    assert sorted(methods()) == sorted(NEEDS)
    requests: dict[str, Any] = {
        method: {"project": "p", "run": "r"} if "runs." in needs else {}
        for method, needs in NEEDS.items()
    }
    requests["RunService/ListRuns"] = {"project": "p"}
    requests["RunService/GetFleet"] = {"project": "p", "groupBy": "name"}
    requests["RunService/CreateRun"] = {"project": "p", "run": {"name": "r"}, "requestId": "1"}
    # Reading would make another one its newest.
    assert server.call("RunService/CreateRun", requests["RunService/CreateRun"])[0] == 200
    gone = server.call("RunService/CreateRun", {"project": "p", "run": {"name": "r"}})[1]["run"]
    requests["RunService/DeleteRun"] = {"project": "p", "run": gone["uid"]}
    requests["RunService/UndeleteRun"] = {"project": "p", "run": gone["uid"]}
    requests["RunService/UpdateRun"]["values"] = {"group": "g"}
    requests["SeriesService/WritePoints"] = {"project": "p", "run": "r", "source": "x"}
    requests["SeriesService/ListSeries"] = {"project": "p", "run": "r"}
    requests["SeriesService/QuerySeries"] = {"project": "p", "runs": ["r"]}
    requests["ProjectService/PutProject"] = {"project": "p"}
    requests["ProjectService/GetProject"] = {"project": "p"}
    requests["OperationService/ListOperations"] = {"project": "p"}
    for verb in ("Get", "Cancel", "Delete"):
        requests[f"OperationService/{verb}Operation"] = {"project": "p", "id": "none"}
    requests["JournalService/AppendJournals"] = pieces(headway, "p", "r")
    event = {"project": "p", "run": "r", "event": {"type": "EVENT_TYPE_HANG"}}
    requests["EventService/CreateEvent"] = event
    uid = server.call("EventService/CreateEvent", event)[1]["event"]["uid"]
    requests["EventService/GetEvent"] = {"project": "p", "uid": uid}
    requests["EventService/UpdateEvent"] = {"project": "p", "uid": uid, "values": {"attempt": "1"}}
    requests["EventService/DeleteEvent"] = {"project": "p", "uid": "none"}
    requests["EventService/ListEvents"] = {"project": "p", "run": "r"}
    target = {"project": "p", "run": "r", "target": {"host": "h"}}
    requests["ProfileService/CreateProfilerTarget"] = target
    assert server.call("ProfileService/CreateProfilerTarget", target)[0] == 200
    requests["ProfileService/GetProfilerTarget"] = {"project": "p", "run": "r", "id": "h-0"}
    requests["ProfileService/DeleteProfilerTarget"] = {"project": "p", "run": "r", "id": "none"}
    session = {"project": "p", "run": "r", "session": {"kind": "PROFILE_KIND_SCANNED"}}
    requests["ProfileService/CreateProfileSession"] = session
    uid = server.call("ProfileService/CreateProfileSession", session)[1]["session"]["uid"]
    requests["ProfileService/GetProfileSession"] = {"project": "p", "uid": uid}
    update = {"project": "p", "uid": uid, "values": {"attempt": "1"}}
    requests["ProfileService/UpdateProfileSession"] = update
    requests["ProfileService/DeleteProfileSession"] = {"project": "p", "uid": "none"}
    for thing in ("ProfilerTargets", "ProfileSessions"):
        requests[f"ProfileService/List{thing}"] = {"project": "p", "run": "r"}
    in_p = {"project": "p"}
    wait_until(lambda: server.call("FleetService/ListNodes", in_p)[1].get("nodes"), "machines")
    node = server.call("FleetService/ListNodes", in_p)[1]["nodes"][0]
    for thing in ("Nodes", "Clusters", "Locations"):
        requests[f"FleetService/List{thing}"] = {"project": "p"}
    requests["FleetService/GetNode"] = {"project": "p", "cluster": "alps", "host": node["host"]}
    requests["FleetService/GetCluster"] = {"project": "p", "name": "alps"}
    requests["FleetService/GetLocation"] = {"project": "p", "name": "zone"}
    requests["LinkService/CreateLink"] = {"project": "p", "run": "r"}
    requests["LinkService/RevokeLink"] = {"id": "none"}
    requests["TokenService/RevokeToken"] = {"id": "none"}
    requests["RoleService/PutRole"] = {"name": "spare", "permissions": ["runs.list"]}
    requests["RoleService/DeleteRole"] = {"name": "none"}
    return requests


def get(server: Server, path: str, token: str) -> tuple[int, str]:
    """The status, and the error where it is one: what goes on has no end."""
    headers = {"Authorization": f"Bearer {token}"}
    wanted = urllib.request.Request(f"{server.url}/{path}", headers=headers)
    try:
        with urllib.request.urlopen(wanted, timeout=30) as answer:
            return answer.status, ""
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())["code"]


def test_every_method_asks_who_calls(headway: Headway, server: Server) -> None:
    requests = every_request(headway, server)
    status, made = create(server, role="admin", name="to be revoked")
    assert status == 200
    spare = made["token"]["id"]
    requests["TokenService/RevokeToken"] = {"id": spare}
    made_link = link(server, project="p", run="r")
    requests["LinkService/RevokeLink"] = {"id": made_link["link"]["id"]}
    nobody = {
        "none": "",
        "forged": "hw_" + "0" * 64,
        "expired": secret(server, role="admin", lifetimeNs="1"),
        "revoked": made["secret"],
        "admin's with one letter more": server.token + "0",
    }
    assert server.call("TokenService/RevokeToken", {"id": spare})[0] == 200
    time.sleep(0.001)
    for (name, token), method in itertools.product(nobody.items(), NEEDS):
        status, answer = server.call(method, requests[method], token)
        assert status == 401 and answer["code"] == "unauthenticated", (name, method, answer)
    for (name, token), path in itertools.product(nobody.items(), PATHS):
        assert get(server, path, token) == (401, "unauthenticated"), (name, path)
    for role, allowed in OWN_ROLES.items():
        put = {"name": role, "permissions": sorted(allowed)}
        assert server.call("RoleService/PutRole", put)[0] == 200
    for role, permissions in (ROLES | OWN_ROLES).items():
        for project, run in SCOPES:
            token = secret(server, role=role, project=project, run=run)
            for path, needs in PATHS.items():
                inside = project in ("", "p") and (run in ("", "r") or "run=" not in path)
                may = needs in permissions and inside
                expected = (200, "") if may else (403, "permission_denied")
                assert get(server, path, token) == expected, (role, project, run, path)
            for method, needs in NEEDS.items():
                request = dict(requests[method])
                if method == "TokenService/CreateToken":
                    request = {"role": "viewer", "project": "p", "run": "r"}
                    inside = project in ("", "p") and run in ("", "r")
                elif method == "RoleService/ListRoles":
                    inside = True
                elif "RoleService" in method:
                    inside = not project  # roles are for all of them
                elif method == "LinkService/CreateLink":
                    inside = "runs.get" in permissions
                    inside = inside and project in ("", "p") and run in ("", "r")
                elif method == "TokenService/ListAuditEvents":
                    inside = not run
                elif "TokenService" in method or method == "LinkService/ListLinks":
                    inside = True  # it answers about its own
                elif method == "LinkService/RevokeLink":
                    inside = True
                elif method in ("ProjectService/ListProjects", "ServerService/GetServer"):
                    inside = True  # so does that
                elif method == "ProjectService/PutProject":
                    inside = project in ("", "p") and not run
                elif method == "ProjectService/GetProject" or "FleetService" in method:
                    inside = project in ("", "p")
                elif method in LISTS or "OperationService" in method:
                    inside = project in ("", "p")
                elif "uid" in request:
                    inside = project in ("", "p")  # what another run has is not there
                else:
                    inside = project in ("", "p") and run in ("", "r")
                status, answer = server.call(method, request, token)
                where = (role, project, run, method, status, answer)
                if needs in permissions and inside:
                    # Tokens of other scopes are not there, for one of this scope.
                    none = "OperationService" in method and request.get("id")
                    none = none or method == "RoleService/DeleteRole"
                    none = none or method == "ProfileService/DeleteProfilerTarget"
                    if "uid" in request:
                        none = request["uid"] == "none" or run not in ("", "r")
                    if method == "LinkService/RevokeLink":
                        none = project not in ("", "p") or run not in ("", "r")
                    assert status == (404 if none else 200) or (
                        method == "TokenService/RevokeToken" and status == 404 and project), where
                    if method == "ProjectService/ListProjects":
                        names = [one["name"] for one in answer["projects"]]
                        assert names == ([project] if project else ["p", "q"]), where
                else:
                    assert status == 403 and answer["code"] == "permission_denied", where
                if method == "FleetService/ListNodes" and status == 200:
                    # Where its own run was, and how many others were there is not told.
                    assert [one["runs"] for one in answer["nodes"]] == ["1" if run else "2"], where
                if method == "RunService/ListRuns" and status == 200:
                    names = {r["name"] for r in answer["runs"]}
                    assert names == ({run} if run else {"r", "s"}), where
                if method == "RunService/GetFleet" and status == 200:
                    names = {part["name"] for part in answer["parts"]}
                    assert names == ({run} if run else {"r", "s"}), where


def test_a_link_reads_its_run_and_nothing_else(headway: Headway, server: Server) -> None:
    requests = every_request(headway, server)
    server.call("LinkService/CreateLink", {"project": "p", "run": "r"})
    soon = link(server, project="p", run="r", lifetimeNs="1")
    revoked = link(server, project="p", run="r")
    assert server.call("LinkService/RevokeLink", {"id": revoked["link"]["id"]})[0] == 200
    mine = link(server, project="p", run="r")
    callers = {
        "mine": mine["secret"],
        "another run's": link(server, project="p", run="s")["secret"],
        "another project's": link(server, project="q", run="r")["secret"],
        "expired": soon["secret"],
        "revoked": revoked["secret"],
        "forged": "hw_link_" + "0" * 64,
    }
    time.sleep(0.001)
    before = server.call("RunService/ListRuns", {"project": "p", "showDeleted": True})
    for (name, token), method in itertools.product(callers.items(), NEEDS):
        status, answer = server.call(method, requests[method], token)
        where = (name, method, status, answer)
        if name in ("expired", "revoked", "forged"):
            assert status == 401 and answer["code"] == "unauthenticated", where
        elif name == "mine" and method in BY_LINK:
            assert status == 200, where
        else:
            assert status == 403 and answer["code"] == "permission_denied", where
            # Nothing is told of what else there is.
            assert "newest" not in answer["message"], where
    for (name, token), path in itertools.product(callers.items(), PATHS):
        ended = name in ("expired", "revoked", "forged")
        # Without a run it is about that of the link.
        seen = name == "mine" or "run=" not in path
        expected = (200, "") if seen else (403, "permission_denied")
        if ended:
            expected = (401, "unauthenticated")
        assert get(server, path, token) == expected, (name, path)
    assert server.call("RunService/ListRuns", {"project": "p", "showDeleted": True}) == before
    # By whatever it is called, and by nothing.
    uid = mine["link"]["runUid"]
    for asked in ({"project": "p", "run": uid}, {}, {"project": "q"}):
        assert server.call("RunService/GetRun", asked, mine["secret"])[1]["uid"] == uid
    for method in BY_LINK:
        assert server.call(method, {}, mine["secret"])[0] == 200


def test_any_byte_of_a_link_counts(server: Server) -> None:
    made = link(server, project="p", run="r")
    word = made["secret"]
    assert re.fullmatch("hw_link_[0-9a-f]{64}", word) and made["path"] == f"/share/{word}"
    assert share(server, f"/share/{word}")[0] == 200
    for i, bit in itertools.product(range(len(word)), range(7)):
        flipped = word[:i] + chr(ord(word[i]) ^ 1 << bit) + word[i + 1 :]
        if flipped.isprintable() and flipped == flipped.strip():
            assert server.call("RunService/GetRun", {}, flipped)[0] == 401, (i, bit)
        if flipped.isprintable() and not set(flipped) & set(" ?#"):
            assert share(server, f"/share/{flipped}")[0] == 404, (i, bit)
    for wrong in ("", word[:-1], word + "0", word + "/", "/" + word, word.upper()):
        assert share(server, f"/share/{wrong}")[0] == 404, wrong


def test_what_a_link_shows(headway: Headway, server: Server) -> None:
    said = {"labels": {"team": "vision"}, "group": "g", "errorDetails": "a secret path",
            "artifactsUri": "s3://bucket", "softwareConfigs": {"a": "b"}, "phase": 5,
            "systemConfigs": {"c": "d"}, "tools": ["xprof"], "orchestrator": "slurm",
            "workload": {"kind": "k", "namespace": "n", "name": "w"}}  # fmt: skip
    made = server.call("RunService/CreateRun", {"project": "p", "run": {"name": "t", **said}})
    assert made[0] == 200
    word = link(server, project="p", run="t", view="window=+1h")
    assert word["path"].endswith("#window=+1h") and word["link"]["view"] == "window=+1h"
    seen = server.call("RunService/GetRun", {"project": "p", "run": "t"}, word["secret"])[1]
    whole = server.call("RunService/GetRun", {"project": "p", "run": "t"})[1]
    shown = {"project", "name", "label", "uid", "start", "phase", "summaryTime", "state", "end",
             "elapsedNs", "goodput", "attempts", "lastStep"}  # fmt: skip
    assert seen["phase"] == "RUN_PHASE_FAILED"
    for key, value in seen.items():
        if key in shown - {"summaryTime"}:
            assert value == whole[key], key
        elif key not in shown:
            assert not value or value == "0", (key, value)
    # As a command asks.
    url = headway("link", "r", "--project", "p", env=server.env)
    assert "it is shown this once" in url.stderr and url.stdout.startswith(server.url + "/share/")
    env = {"HEADWAY_SERVER": server.url, "HEADWAY_TOKEN": url.stdout.strip().rsplit("/", 1)[1]}
    for command in ("goodput", "timeline", "steps"):
        asked = (command, "r", "--project", "p", "--as-of", f"@{time.time_ns()}", "--json")
        assert headway(*asked, env=env).stdout == headway(*asked, env=server.env).stdout
    address = ("--server", url.stdout.strip() + "#view")  # the address says who asks
    asked = ("goodput", "r", "--project", "p", "--as-of", f"@{time.time_ns()}", "--json")
    assert headway(*asked, *address).stdout == headway(*asked, env=server.env).stdout
    code = ("import headway, sys; found = headway.report('r', project='p', as_of=sys.argv[2], "
            "server=sys.argv[1]); print(found.elapsed_ns)")  # fmt: skip
    python = [sys.executable, "-c", code, address[1], asked[5]]
    told = subprocess.run(python, check=True, text=True, stdout=subprocess.PIPE,
                          env=headway.environment).stdout  # fmt: skip
    near = json.loads(headway(*asked, *address).stdout)
    assert int(told) == near["elapsed_ns"]
    text = headway("runs", "show", "r", "--project", "p", *address).stdout
    assert "elapsed" in text and "journal" not in text and "stored" not in text
    facts = headway.json("runs", "show", "r", "--project", "p", *address)
    assert "elapsed_ns" in facts and not {"journals", "bytes", "labels", "etag"} & facts.keys()
    assert "the share link is good" in headway("doctor", *address).stdout
    assert "is for run" in headway("goodput", "s", "--project", "p", env=env, code=5).stderr
    assert "has no permission runs.list" in headway("runs", "list", env=env, code=5).stderr
    assert "hw_link_" not in headway("links", "list", "--json", env=server.env).stdout
    assert env["HEADWAY_TOKEN"].encode() not in b"".join(
        path.read_bytes() for path in (server.folder / "server").rglob("*") if path.is_file()
    )


def test_a_link_shows_the_metrics_of_its_run_alone(headway: Headway, server: Server) -> None:
    for run in "rs":
        points = {"times": ["1700000000000000000"],
                  "columns": [{"name": "loss", "values": [0.5]}]}  # fmt: skip
        write = {"project": "p", "run": run, "source": "x", "frames": [points]}
        assert server.call("SeriesService/WritePoints", write)[0] == 200
    word = link(server, project="p", run="r")
    mine, other = (server.call("RunService/GetRun", {"project": "p", "run": run})[1]["uid"]
                   for run in "rs")  # fmt: skip
    for asked in ({}, {"runs": []}, {"project": "p", "runs": ["r"]},
                  {"project": "p", "runs": [mine, "r"]}):  # fmt: skip
        status, answer = server.call("SeriesService/QuerySeries", asked, word["secret"])
        assert status == 200 and {line["runUid"] for line in answer["lines"]} == {mine}, asked
    for runs in (["s"], ["r", "s"], [other], [mine, other], ["r", "none"], [""], ["r", ""]):
        asked = {"project": "p", "runs": runs}
        status, answer = server.call("SeriesService/QuerySeries", asked, word["secret"])
        assert status == 403 and answer["code"] == "permission_denied", runs
    for asked in ({"project": "q", "runs": ["r"]}, {"project": "q", "run": "r"}):
        method = "QuerySeries" if "runs" in asked else "ListSeries"
        assert server.call(f"SeriesService/{method}", asked, word["secret"])[0] == 403, asked
    url = server.url + word["path"]
    env = {"HEADWAY_SERVER": server.url, "HEADWAY_TOKEN": word["secret"]}
    for options in ((), ("--name", "loss"), ("--json",), ("--axis", "elapsed", "--json")):
        asked = ("metrics", "r", "--project", "p", *options)
        told = headway(*asked, env=server.env).stdout
        assert "loss" in told
        assert headway(*asked, env=env).stdout == headway(*asked, "--server", url).stdout == told
    headway("metrics", "s", "--project", "p", "--server", url, code=5)


def test_what_was_said_of_a_run_comes_without_secrets(headway: Headway, server: Server) -> None:
    said = {"softwareConfigs": {"api_key": "s3cr3t-1", "url": "https://u:s3cr3t-2@host/x",
                                "jax": "0.4.30"},
            "systemConfigs": {"hf_token": "s3cr3t-3", "chip": "v5e",
                              "max_tokens": "7"}}  # fmt: skip
    create = {"project": "p", "run": {"name": "t", **said}, "requestId": "once"}
    run = {"project": "p", "run": "t"}
    answers = [
        server.call("RunService/CreateRun", create),
        server.call("RunService/CreateRun", create),
        server.call("RunService/GetRun", run),
        server.call("RunService/ListRuns", {"project": "p"}),
        server.call("RunService/UpdateRun", {**run, "values": {"group": "g"}}),
    ]
    whole = answers[-1][1]
    assert whole["softwareConfigs"] == {"api_key": "***", "url": "***", "jax": "0.4.30"}
    assert whole["systemConfigs"] == {"hf_token": "***", "chip": "v5e", "max_tokens": "7"}
    # What was masked and comes back so is as it was; anything else counts.
    kept = (server.folder / "server/records.sqlite").read_bytes
    back = {**whole, "systemConfigs": {**whole["systemConfigs"], "chip": "v6e", "new": "***"}}
    for mask in ([], ["*"], ["system_configs", "software_configs.api_key"]):
        answers.append(server.call("RunService/UpdateRun",
                                   {**run, "values": back, "updateMask": mask}))  # fmt: skip
        assert answers[-1][1]["systemConfigs"]["chip"] == "v6e"
    change = {**run, "values": {"softwareConfigs": {"api_key": "s3cr3t-4"}}}
    answers.append(server.call("RunService/UpdateRun", change))
    for command in (("runs", "show", "t", "--json"), ("runs", "show", "t"), ("config", "t"),
                    ("config", "t", "--json")):  # fmt: skip
        text = headway(*command, "--project", "p", env=server.env, code=None).stdout
        assert "s3cr3t" not in text, command
    answers += [server.call("RunService/DeleteRun", {"project": "p", "run": whole["uid"]}),
                server.call("RunService/UndeleteRun", {"project": "p", "run": whole["uid"]})]
    for status, answer in answers:
        assert status == 200 and "s3cr3t" not in json.dumps(answer), answer
    server.stop()
    text = kept()
    for secret_text in (b"s3cr3t-4", b"s3cr3t-2", b"s3cr3t-3"):
        assert secret_text in text, secret_text


def test_the_page_of_a_link(server: Server) -> None:
    made = link(server, project="p", run="r", view="x")
    path = made["path"].split("#")[0]
    status, text, headers = share(server, path)
    assert status == 200 and 'run "r" of project "p"' in text and made["link"]["runUid"] in text
    assert made["secret"] not in text and headers["Content-Type"].startswith("text/plain")
    gone = link(server, project="p", run="r")
    server.call("LinkService/RevokeLink", {"id": gone["link"]["id"]})
    answers = [share(server, path), share(server, "/share/none"), share(server, gone["path"]),
               share(server, path, "POST"), share(server, path, "HEAD")]  # fmt: skip
    assert [answer[0] for answer in answers] == [200, 404, 410, 405, 200]
    for status, text, headers in answers:
        assert headers["Referrer-Policy"] == "no-referrer", status
        assert headers["Cache-Control"] == "no-store", status
        assert made["secret"] not in text and gone["secret"] not in text


def test_links_are_given_and_end(headway: Headway, server: Server) -> None:
    def read(word: str) -> int:
        return server.call("RunService/GetRun", {}, word)[0]

    # Not what one may not read, nor for longer than one may, nor for ever.
    of_s = secret(server, role="editor", project="p", run="s")
    call = ("LinkService/CreateLink", {"project": "p", "run": "r"})
    assert server.call(*call, of_s)[0] == 403
    assert server.call(*call, secret(server, role="editor", project="q"))[0] == 403
    for role in ("viewer", "writer"):
        assert server.call(*call, secret(server, role=role))[0] == 403
    hour, day = 3600 * 10**9, 24 * 3600 * 10**9
    brief = secret(server, role="editor", lifetimeNs=str(hour))
    for lifetime in ("0", str(90 * day)):
        expires = link(server, brief, project="p", run="r", lifetimeNs=lifetime)["link"]["expires"]
        assert 0 < int(expires) - time.time_ns() <= hour
    expires = link(server, project="p", run="r")["link"]["expires"]
    assert 7 * day - hour < int(expires) - time.time_ns() <= 7 * day
    for bad in ({"lifetimeNs": str(90 * day + 1)}, {"lifetimeNs": "-1"}, {"view": "a b"},
                {"view": "x" * 1025}, {"view": "a\n"}, {"view": "<"}):  # fmt: skip
        assert server.call("LinkService/CreateLink", {"project": "p", "run": "r", **bad})[0] == 400
    assert server.call("LinkService/CreateLink", {"project": "p", "run": "none"})[0] == 404
    # Who sees and revokes whose.
    other = link(server, project="p", run="r")
    seen = server.call("LinkService/ListLinks", {}, of_s)[1]["links"]
    assert seen == [] and server.call("LinkService/ListLinks", {})[1]["links"][0] == other["link"]
    assert server.call("LinkService/RevokeLink", {"id": other["link"]["id"]}, of_s)[0] == 404
    pages, token = [], ""
    while True:
        request = {"pageSize": 1, "pageToken": token}
        answer = server.call("LinkService/ListLinks", request)[1]
        pages += [one["id"] for one in answer["links"]]
        token = answer["nextPageToken"]
        if not token:
            break
    assert len(pages) == len(set(pages)) == 4
    assert server.call("LinkService/ListLinks", {"pageToken": "x"})[0] == 400
    # A later run of the name is not shown.
    server.call("RunService/CreateRun", {"project": "p", "run": {"name": "r"}})
    status, answer = server.call("RunService/GetRun", {"project": "p", "run": "r"}, other["secret"])
    assert status == 403 and read(other["secret"]) == 200
    # They outlive the server; what is done with them is written down, their use once a day.
    server.kill()
    server.start()
    assert [read(other["secret"]) for _ in range(3)] == [200] * 3
    log = json.loads(headway("tokens", "log", "--json", env=server.env).stdout)["events"]
    mine = [e for e in log if f"link {other['link']['id']}" in e["what"]]
    assert [e["action"] for e in mine] == ["links.use", "links.create"]
    assert mine[0]["who"] == f"link {other['link']['id']}" and mine[0]["project"] == "p"
    assert other["secret"] not in json.dumps(log)
    listed = json.loads(headway("links", "list", "--json", env=server.env).stdout)["links"]
    assert next(one for one in listed if one["id"] == other["link"]["id"])["used"]
    assert "used (UTC)" in headway("links", "list", env=server.env).stdout
    # The run's end is theirs, also when it is shown again.
    uid = other["link"]["runUid"]
    about = {"project": "p", "run": uid}
    assert server.call("RunService/DeleteRun", about)[0] == 200
    assert read(other["secret"]) == 401 and share(server, other["path"])[0] == 410
    assert server.call("LinkService/CreateLink", about)[0] == 400
    assert server.call("RunService/UndeleteRun", about)[0] == 200
    assert read(other["secret"]) == 401
    server.kill()
    server.start()
    assert read(other["secret"]) == 401
    again = json.loads(headway("link", uid, "--project", "p", "--json", "--expires", "2h",
                               env=server.env).stdout)  # fmt: skip
    assert again["url"] == f"{server.url}/share/{again['secret']}" and read(again["secret"]) == 200
    assert "is good for nothing" in headway("links", "revoke", again["id"], env=server.env).stdout
    assert read(again["secret"]) == 401
    log = json.loads(headway("tokens", "log", "--json", env=server.env).stdout)["events"]
    assert log[0]["action"] == "links.revoke" and again["id"] in log[0]["what"]
    headway("links", "revoke", "none", env=server.env, code=1)
    headway("link", "r", "--expires", "91d", env=server.env, code=2)
    headway("link", "r", code=2)


def test_nobody_gives_away_more_than_they_have(server: Server) -> None:
    of_p = secret(server, role="admin", project="p")
    assert create(server, of_p, role="viewer", project="p", run="r")[0] == 200
    for wanted in ({"project": ""}, {"project": "q"}, {"project": "q", "run": "r"}):
        assert create(server, of_p, role="viewer", **wanted)[0] == 403, wanted
    of_r = secret(server, role="admin", project="p", run="r")
    assert create(server, of_r, role="viewer", project="p")[0] == 403
    for bad in ({"role": "king"}, {}, {"role": "viewer", "lifetimeNs": "-1"},
                {"role": "viewer", "run": "r"}, {"role": "viewer", "name": "a\nb"},
                {"role": "viewer", "name": "Ad\u200ba"}, {"role": "viewer", "project": "p\u202e"},
                {"role": "viewer", "lifetimeNs": str(2**63 - 1)}):  # fmt: skip
        assert create(server, **bad)[0] == 400, bad
    # Nor for longer.
    brief = secret(server, role="admin", lifetimeNs=str(3600 * 10**9))
    for lifetime in ("0", str(10**18), str(10**9)):
        token = create(server, brief, role="admin", lifetimeNs=lifetime)[1]["token"]
        assert 0 < int(token["expires"]) - time.time_ns() <= 3600 * 10**9
    # Who sees and revokes whose.
    other = create(server, role="writer", project="q")[1]["token"]["id"]
    seen = server.call("TokenService/ListTokens", {}, of_p)[1]["tokens"]
    assert {token["project"] for token in seen} == {"p"}
    assert server.call("TokenService/RevokeToken", {"id": other}, of_p)[0] == 404
    assert server.call("TokenService/RevokeToken", {"id": other})[0] == 200


def test_a_writer_sends_its_own_run_and_reads_nothing(headway: Headway, server: Server) -> None:
    token = secret(server, role="writer", project="p", run="r")
    kept = {run: server.call("RunService/GetRun", {"project": "p", "run": run})[1] for run in "rs"}
    for run, expected in (("r", 200), ("s", 403)):
        (piece,) = pieces(headway, "p", run)["pieces"]
        # Also the question how much of it is there tells nothing.
        for request in (piece, {"uid": piece["uid"]}):
            status, answer = server.call(
                "JournalService/AppendJournals", {"pieces": [request]}, token)  # fmt: skip
            assert status == expected, (run, answer)
            assert "slots" not in json.dumps(answer) or status == 200
    after = {run: server.call("RunService/GetRun", {"project": "p", "run": run})[1] for run in "rs"}
    assert after == kept
    env = {"HEADWAY_SERVER": server.url, "HEADWAY_TOKEN": token}
    assert "no permission runs.get" in headway(
        "goodput", "r", "--project", "p", env=env, code=5).stderr  # fmt: skip
    # What is not its own holds up nothing.
    refused = headway("ship", env=env, code=5).stderr
    assert "is refused: this token is for" in refused
    headway("ship", "r", "--project", "p", env=env)


def test_tokens_outlive_the_server_and_end(headway: Headway, server: Server) -> None:
    env = server.env
    word = headway("tokens", "create", "--name", "a person", "--expires", "3s", env=env)
    viewer = word.stdout.strip()
    assert re.fullmatch("hw_[0-9a-f]{64}", viewer) and "shown this once" in word.stderr
    mine = {"HEADWAY_SERVER": server.url, "HEADWAY_TOKEN": viewer}
    headway("goodput", "r", "--project", "p", env=mine)
    assert viewer.encode() not in b"".join(
        path.read_bytes() for path in (server.folder / "server").rglob("*") if path.is_file()
    )
    server.kill()
    server.start()
    headway("goodput", "r", "--project", "q", env=mine)
    assert "no permission tokens.list" in headway("tokens", "list", env=mine, code=5).stderr
    wait_until(lambda: headway("goodput", "r", "--project", "p", env=mine, code=None).returncode,
               "its end")  # fmt: skip
    assert "has expired" in headway("goodput", "r", "--project", "p", env=mine, code=5).stderr
    made = json.loads(headway("tokens", "create", "--json", "--role", "editor", "--project", "p",
                              env=env).stdout)  # fmt: skip
    listed = json.loads(headway("tokens", "list", "--json", env=env).stdout)["tokens"]
    assert [token["role"] for token in listed] == ["viewer", "editor"]
    assert listed[1] == {key: made[key] for key in listed[1]} and "secret" not in listed[1]
    assert "is good for nothing" in headway("tokens", "revoke", made["id"], env=env).stdout
    mine["HEADWAY_TOKEN"] = made["secret"]
    assert "was revoked" in headway("goodput", "r", "--project", "p", env=mine, code=5).stderr
    log = json.loads(headway("tokens", "log", "--json", env=env).stdout)["events"]
    assert [(e["action"], e["project"]) for e in log] == [
        ("tokens.revoke", "p"), ("tokens.create", "p"), ("tokens.create", "")]  # fmt: skip
    assert {e["who"] for e in log} == {"admin"} and '"a person"' in log[2]["what"]
    assert made["id"] in headway("tokens", "log", "--limit", "1", env=env).stdout
    of_p = json.loads(headway("tokens", "create", "--json", "--role", "admin", "--project", "p",
                              env=env).stdout)  # fmt: skip
    theirs = {**mine, "HEADWAY_TOKEN": of_p["secret"]}
    headway("tokens", "create", "--project", "p", env=theirs)
    log = json.loads(headway("tokens", "log", "--json", env=theirs).stdout)["events"]
    assert log[0]["who"] == f"token {of_p['id']}" and {e["project"] for e in log} == {"p"}
    pages, token = [], ""
    while True:
        request = {"pageSize": 2, "pageToken": token}
        answer = server.call("TokenService/ListAuditEvents", request)[1]
        pages += [int(event["number"]) for event in answer["events"]]
        token = answer["nextPageToken"]
        if not token:
            break
    assert pages == [5, 4, 3, 2, 1]
    assert server.call("TokenService/ListAuditEvents", {"pageToken": "x"})[0] == 400
    text = headway("tokens", "list", env=env).stdout
    assert "a person" in text and "revoked" in text
    headway("tokens", "revoke", "none", env=env, code=1)
    headway("tokens", "create", "--role", "king", env=env, code=2)
    headway("tokens", "create", "--run", "r", env=env, code=2)
    headway("tokens", "list", code=2)


def test_names_hold_nothing_invisible(server: Server) -> None:
    for made in ({"name": "r\u200b"}, {"name": "x", "labels": {"te\u2060am": "a"}},
                 {"name": "x", "group": "\u202eg"}):  # fmt: skip
        status, answer = server.call("RunService/CreateRun", {"project": "p", "run": made})
        assert status == 400 and "invisible" in answer["message"], answer
    assert server.call("ProjectService/PutProject", {"project": "p\ufeff"})[0] == 400
    assert create(server, role="viewer", name="👩\u200d🚀")[0] == 200


def test_roles_of_ones_own(headway: Headway, server: Server) -> None:
    def put(name: str, *permissions: str, token: str | None = None) -> int:
        request = {"name": name, "permissions": permissions}
        return server.call("RoleService/PutRole", request, token)[0]

    def may(token: str, method: str, request: Any) -> bool:
        status, answer = server.call(method, request, token)
        assert status in (200, 403), answer
        return status == 200

    reads = ("RunService/GetRun", {"project": "p", "run": "r"})
    lists = ("RunService/ListRuns", {"project": "p"})
    for name in ("viewer", "admin", "link", "anyone", "", "Reader", "1st", "a b", "a\n", "x" * 65,
                 "\u0430dmin"):  # fmt: skip
        assert put(name, "runs.get") == 400, name
    for permissions in ((), ("runs.fly",), ("runs.get", "")):
        assert put("reader", *permissions) == 400, permissions
    assert put("reader", "runs.get", "runs.get") == 200
    word = secret(server, role="reader", project="p")
    assert may(word, *reads) and not may(word, *lists)
    # At once, for tokens that are there.
    assert put("reader", "runs.list") == 200
    assert may(word, *lists) and not may(word, *reads)
    server.kill()
    server.start()
    assert may(word, *lists) and not may(word, *reads)
    # Nobody defines, gives or changes more than they have.
    assert put("founder", "roles.update", "roles.delete", "tokens.create", "runs.list") == 200
    founder = secret(server, role="founder")
    assert put("lister", "runs.list", token=founder) == 200
    assert put("killer", "runs.delete", token=founder) == 403
    assert put("reader", "runs.list", token=founder) == 200
    assert create(server, founder, role="lister")[0] == 200
    assert create(server, founder, role="viewer")[0] == 403
    assert put("stronger", "runs.delete") == 200
    assert put("stronger", "runs.list", token=founder) == 403
    assert server.call("RoleService/DeleteRole", {"name": "stronger"}, founder)[0] == 403
    assert create(server, founder, role="stronger")[0] == 403
    assert put("lister", "runs.list", token=secret(server, role="admin", project="p")) == 403
    # One in use stays.
    delete = ("RoleService/DeleteRole", {"name": "lister"})
    status, answer = server.call(*delete)
    assert status == 400 and answer["code"] == "failed_precondition", answer
    tokens = server.call("TokenService/ListTokens", {})[1]["tokens"]
    (token,) = [one["id"] for one in tokens if one["role"] == "lister"]
    assert server.call("TokenService/RevokeToken", {"id": token})[0] == 200
    brief = secret(server, role="lister", lifetimeNs="1")
    assert server.call(*delete)[0] == 200 and server.call(*delete)[0] == 404
    assert server.call("RunService/ListRuns", {"project": "p"}, brief)[0] == 401
    assert create(server, role="lister")[0] == 400
    for name in ("viewer", "admin"):
        assert server.call("RoleService/DeleteRole", {"name": name})[0] == 400
    # By command, and written down.
    made = headway("roles", "create", "dash", "--permission", "runs.list", "--permission",
                   "runs.get", env=server.env)  # fmt: skip
    assert made.stdout == "role dash: runs.list, runs.get\n"
    listed = json.loads(headway("roles", "list", "--json", env=server.env).stdout)["roles"]
    names = [role["name"] for role in listed]
    assert names == [*ROLES, "dash", "founder", "reader", "stronger"]
    assert [role["built_in"] for role in listed] == [True] * 4 + [False] * 4
    for role in listed[:4]:
        # What no method needs but the page of metrics.
        permissions = set(role["permissions"]) - {"server.metrics"}
        assert permissions == ROLES[role["name"]]
    assert "dash: runs.list, runs.get" in headway("roles", "list", env=server.env).stdout
    assert "is no more" in headway("roles", "delete", "dash", env=server.env).stdout
    headway("roles", "delete", "dash", env=server.env, code=1)
    headway("roles", "create", "dash", env=server.env, code=2)
    headway("roles", "list", code=2)
    log = json.loads(headway("tokens", "log", "--json", env=server.env).stdout)["events"]
    assert (log[0]["action"], log[0]["what"]) == ("roles.delete", "role dash: runs.list, runs.get")
    assert (log[1]["action"], log[1]["who"]) == ("roles.update", "admin")
