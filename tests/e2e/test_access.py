"""Who may do what on a server: tokens, roles, projects and runs."""

from __future__ import annotations

import base64
import itertools
import json
import re
import subprocess
import sys
import time
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
    "RunService/GetRun": "runs.get",
    "RunService/CreateRun": "runs.create",
    "RunService/UpdateRun": "runs.update",
    "RunService/DeleteRun": "runs.delete",
    "RunService/UndeleteRun": "runs.delete",
    "RunService/GetReport": "runs.get",
    "RunService/ListIntervals": "runs.get",
    "RunService/ListSteps": "runs.get",
    "ConfigService/GetConfig": "runs.get",
    "RecordService/ListRecords": "runs.get",
    "SeriesService/WritePoints": "series.write",
    "SeriesService/ListSeries": "runs.get",
    "SeriesService/QuerySeries": "runs.get",
    "ProjectService/ListProjects": "projects.list",
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
    "ServerService/GetServer": "server.get",
}
READING = {"runs.list", "runs.get", "projects.list", "operations.list", "operations.get",
           "server.get"}  # fmt: skip
ROLES = {
    "viewer": READING,
    "writer": {"journals.append", "series.write", "server.get"},
    "editor": READING
    | {"runs.create", "runs.update", "runs.delete", "operations.cancel", "operations.delete"}
    | {"journals.append", "series.write"},
    "admin": set(NEEDS.values()),
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


@pytest.fixture
def server(headway: Headway, tmp_path: Path) -> Iterator[Server]:
    with closing(Server(headway, tmp_path / "far")) as one:
        for project, run in itertools.product("pq", "rs"):
            program = f"import headway\nwith headway.init('{project}', '{run}') as run: run.step(0)"
            subprocess.run([sys.executable, "-c", program], check=True, env=headway.environment)
        headway("ship", env=one.env)
        yield one


def create(server: Server, token: str | None = None, **request: Any) -> tuple[int, Any]:
    return server.call("TokenService/CreateToken", request, token)


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


def test_every_method_asks_who_calls(headway: Headway, server: Server) -> None:
    assert sorted(methods()) == sorted(NEEDS)
    requests: dict[str, Any] = {
        method: {"project": "p", "run": "r"} if "runs." in needs else {}
        for method, needs in NEEDS.items()
    }
    requests["RunService/ListRuns"] = {"project": "p"}
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
    requests["OperationService/ListOperations"] = {"project": "p"}
    for verb in ("Get", "Cancel", "Delete"):
        requests[f"OperationService/{verb}Operation"] = {"project": "p", "id": "none"}
    requests["JournalService/AppendJournals"] = pieces(headway, "p", "r")
    status, made = create(server, role="admin", name="to be revoked")
    assert status == 200
    spare = made["token"]["id"]
    requests["TokenService/RevokeToken"] = {"id": spare}
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
    for role, permissions in ROLES.items():
        for project, run in SCOPES:
            token = secret(server, role=role, project=project, run=run)
            for method, needs in NEEDS.items():
                request = dict(requests[method])
                if method == "TokenService/CreateToken":
                    request = {"role": "viewer", "project": "p", "run": "r"}
                    inside = project in ("", "p") and run in ("", "r")
                elif method == "TokenService/ListAuditEvents":
                    inside = not run
                elif "TokenService" in method:
                    inside = True  # it answers about its own
                elif method in ("ProjectService/ListProjects", "ServerService/GetServer"):
                    inside = True  # so does that
                elif method == "ProjectService/PutProject":
                    inside = project in ("", "p") and not run
                elif method == "RunService/ListRuns" or "OperationService" in method:
                    inside = project in ("", "p")
                else:
                    inside = project in ("", "p") and run in ("", "r")
                status, answer = server.call(method, request, token)
                where = (role, project, run, method, status, answer)
                if needs in permissions and inside:
                    # Tokens of other scopes are not there, for one of this scope.
                    none = "OperationService" in method and request.get("id")
                    assert status == (404 if none else 200) or (
                        method == "TokenService/RevokeToken" and status == 404 and project), where
                    if method == "ProjectService/ListProjects":
                        names = [one["name"] for one in answer["projects"]]
                        assert names == ([project] if project else ["p", "q"]), where
                else:
                    assert status == 403 and answer["code"] == "permission_denied", where
                if method == "RunService/ListRuns" and status == 200:
                    names = {r["name"] for r in answer["runs"]}
                    assert names == ({run} if run else {"r", "s"}), where


def test_nobody_gives_away_more_than_they_have(server: Server) -> None:
    of_p = secret(server, role="admin", project="p")
    assert create(server, of_p, role="viewer", project="p", run="r")[0] == 200
    for wanted in ({"project": ""}, {"project": "q"}, {"project": "q", "run": "r"}):
        assert create(server, of_p, role="viewer", **wanted)[0] == 403, wanted
    of_r = secret(server, role="admin", project="p", run="r")
    assert create(server, of_r, role="viewer", project="p")[0] == 403
    for bad in ({"role": "king"}, {}, {"role": "viewer", "lifetimeNs": "-1"},
                {"role": "viewer", "run": "r"}, {"role": "viewer", "name": "a\nb"},
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
