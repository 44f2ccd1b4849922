"""Events and profiles of runs on a server: told by programs, listed, changed, gone with them."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from conftest import Headway, wait_until
from test_registry import call, refused
from test_server import Server

START = 1_767_225_600_000_000_000  # 2026-01-01T00:00:00Z
SECOND = 1_000_000_000

REPORT = {
    "analyzer": "straggler", "version": "1.2", "layer": "network",
    "state": "DETECTION_STATE_DETECTED", "confidence": 0.75, "details": "one host\nis slow",
    "evidence": [{"what": "step time", "metric": "step_time", "value": 1.5, "unit": "s",
                  "startTime": str(START), "endTime": str(START + SECOND)}],
    "recommendedActions": [{"description": "replace node-17",
                            "documentationUrl": "https://example.org/nodes"}],
}  # fmt: skip
EVENT: dict[str, Any] = {
    "type": "EVENT_TYPE_PERFORMANCE_DEGRADATION", "severity": "SEVERITY_WARNING", "attempt": "2",
    "startTime": str(START), "endTime": str(START + 90 * SECOND),
    "scope": {"layer": "network", "hosts": ["node-17"], "devices": ["node-17/gpu3"]},
    "evidence": [{"what": "loss", "value": "NaN", "text": "first seen\nat step 17"}],
    "analyzerReports": [REPORT],
}  # fmt: skip


@pytest.fixture
def server(headway: Headway, tmp_path: Path) -> Iterator[Server]:
    with closing(Server(headway, tmp_path / "far")) as one:
        for run in ("r", "s"):
            call(one, "RunService/CreateRun", run={"name": run})
        yield one


def create(server: Server, run: str = "r", **event: Any) -> Any:
    event = {"type": "EVENT_TYPE_HANG"} | event
    return call(server, "EventService/CreateEvent", run=run, event=event)["event"]


def uids(server: Server, **request: Any) -> list[str]:
    """All that a list has, page by page."""
    found: list[str] = []
    while True:
        answer = call(server, "EventService/ListEvents", **request)
        assert len(answer["events"]) <= request.get("pageSize", 50)
        found += [event["uid"] for event in answer["events"]]
        request["pageToken"] = answer["nextPageToken"]
        if not request["pageToken"]:
            return found




def audit(server: Server) -> list[tuple[str, str]]:
    events = call(server, "TokenService/ListAuditEvents", pageSize=100)["events"]
    return [(one["action"], one["who"]) for one in events if one["action"].startswith("events.")]


def test_a_training_job_tells_of_an_event_and_people_read_it(
    headway: Headway, server: Server
) -> None:
    made = call(server, "TokenService/CreateToken", role="writer", project="default", run="r")
    writer = made["secret"]
    ask = {"run": "r", "event": EVENT, "requestId": "once"}
    status, answer = server.call("EventService/CreateEvent", ask, writer)
    assert status == 200 and not answer["existed"], answer
    event = answer["event"]
    assert event["displayName"] == "Performance degradation" and event["insightFound"]
    assert event["creator"] == f"token {made['token']['id']}" and event["etag"] == "1"
    assert event["run"] == "r" and len(event["runUid"]) == 32
    again = server.call("EventService/CreateEvent", ask, writer)[1]
    assert again == {"event": event, "existed": True}
    # It reads none, tells of no other run, and is given none that others made.
    for method, request in (("GetEvent", {"uid": event["uid"]}), ("ListEvents", {"run": "r"})):
        assert server.call(f"EventService/{method}", request, writer)[0] == 403
    assert server.call("EventService/CreateEvent", ask | {"run": "s"}, writer)[0] == 403
    other = create(server, displayName="a secret")
    status, answer = server.call(
        "EventService/CreateEvent", {"run": "r", "event": EVENT | {"uid": other["uid"]}}, writer)
    assert status == 409 and "secret" not in json.dumps(answer)

    env = server.env | {"COLUMNS": "160"}
    text = headway("events", "list", "r", env=env).stdout
    assert event["uid"] in text and "performance_degradation" in text and "warning" in text
    assert "1:30" in text.replace("0:01:30", "1:30") and "goes on" in text and "detected" in text
    narrow = headway("events", "list", env=env | {"COLUMNS": "60"}).stdout
    assert event["uid"] in narrow and other["uid"] in narrow
    shown = headway("events", "show", event["uid"], env=env).stdout
    for word in ("Performance degradation", "warning", "attempt", "node-17/gpu3", "straggler 1.2",
                 "75.00 %", "replace node-17", "https://example.org/nodes", "1.5 s", "nan",
                 "detected by"):  # fmt: skip
        assert word in shown, (word, shown)
    facts = json.loads(headway("events", "show", event["uid"], "--json", env=env).stdout)
    assert facts["type"] == "performance_degradation" and facts["severity"] == "warning"
    assert facts["start_time"] == "2026-01-01T00:00:00.000000000Z" and facts["attempt"] == 2
    assert facts["analyzer_reports"][0]["state"] == "detected"
    assert facts["evidence"][0]["value"] is None
    listed = json.loads(headway("events", "list", "r", "--json", env=env).stdout)
    assert facts in listed and len(listed) == 2
    limited = headway("events", "list", "--limit", "1", env=env).stdout
    assert "and more" in limited and limited.count("\n") == 3
    assert audit(server)[::-1] == [("events.create", event["creator"]), ("events.create", "admin")]


def test_lists_that_are_empty_say_why(headway: Headway, server: Server) -> None:
    env = server.env
    told = headway("events", "list", "r", env=env).stdout
    assert told.startswith("no events of run r in project default on http://")
    assert "CreateEvent" in told
    told = headway("events", "list", "--filter", "type = hang", env=env).stdout
    assert told.startswith("no such events in project default")
    assert json.loads(headway("events", "list", "--json", env=env).stdout) == []
    assert "no run" in headway("events", "list", "none", env=env, code=1).stderr
    assert "there is no event" in headway("events", "show", "x", env=env, code=1).stderr
    assert "--server" in headway("events", "list", code=2).stderr
    assert "column 1" in headway("events", "list", "--filter", "x=1", env=env, code=2).stderr


def test_filters_orders_and_pages(server: Server) -> None:
    types = ["EVENT_TYPE_HANG", "EVENT_TYPE_TERMINATION", "EVENT_TYPE_OTHER"]
    severities = [f"SEVERITY_{name}" for name in
                  ("UNSPECIFIED", "INFO", "WARNING", "ERROR", "CRITICAL")]  # fmt: skip
    states = [f"DETECTION_STATE_{name}" for name in ("DETECTED", "NOT_DETECTED", "NO_DATA")]
    all_events: list[dict[str, Any]] = []
    for n in range(60):
        event: dict[str, Any] = {"type": types[n % 3], "severity": severities[n % 5],
                                 "startTime": str(START + n % 7 * SECOND)}  # fmt: skip
        if n % 3 == 2:
            event["customType"] = "ecc error"
        if n % 2:
            event["endTime"] = str(START + (n % 7 + n % 4) * SECOND)
        if n % 4:
            event["attempt"] = str(n % 3)
        event["analyzerReports"] = [{"analyzer": "a", "state": states[n % 3]}]
        all_events.append(create(server, "rs"[n % 2], **event) | {"n": n})
    at = f"@{START + 3 * SECOND}"
    found: list[tuple[str, Any]] = [
        ("", lambda e: True),
        ("severity >= error", lambda e: e["n"] % 5 >= 3),
        ("severity = info OR NOT severity:*", lambda e: e["n"] % 5 < 2),
        ("type = hang", lambda e: e["n"] % 3 == 0),
        ("type:'c e'", lambda e: e["n"] % 3 == 2),
        ("NOT end:*", lambda e: e["n"] % 2 == 0),
        (f"start < {at} AND insight_found = true", lambda e: e["n"] % 7 < 3 and e["n"] % 3 == 0),
        (f"end >= {at}", lambda e: e["n"] % 2 == 1 and e["n"] % 7 + e["n"] % 4 >= 3),
        ("attempt = 0", lambda e: e["n"] % 4 != 0 and e["n"] % 3 == 0),
        ("run = s AND name = Hang", lambda e: e["n"] % 2 == 1 and e["n"] % 3 == 0),
        (f"uid = {all_events[7]['uid']}", lambda e: e["n"] == 7),
        ("create_time > @0 AND update_time > @0", lambda e: True),
    ]
    newest = sorted(all_events, key=lambda e: (int(e["startTime"]), e["uid"]), reverse=True)
    for (text, holds), size in itertools.product(found, (1, 7, 50)):
        expected = [event["uid"] for event in newest if holds(event)]
        assert uids(server, filter=text, pageSize=size) == expected, text
        mine = [event["uid"] for event in newest if holds(event) and event["n"] % 2 == 0]
        assert uids(server, run="r", filter=text, pageSize=size) == mine, text
    # Without a severity they come last, in either direction.
    for order, key in (("severity desc", lambda e: -(e["n"] % 5)),
                       ("severity", lambda e: e["n"] % 5 or 9)):  # fmt: skip
        expected = [event["uid"] for event in sorted(newest, key=key)]
        assert uids(server, orderBy=order, pageSize=9) == expected
    assert len(call(server, "EventService/ListEvents")["events"]) == 50
    token = call(server, "EventService/ListEvents", run="r", pageSize=1)["nextPageToken"]
    for other in ({"run": "s"}, {}, {"run": "r", "filter": "type = hang"}, {"run": "r",
                  "orderBy": "start"}):  # fmt: skip
        assert "page_token" in refused(server, "EventService/ListEvents", **other,
                                       pageToken=token)[2]  # fmt: skip
    for wrong in ({"filter": "severity > high"}, {"filter": "color = red"}, {"orderBy": "start,"},
                  {"pageSize": -1}, {"filter": "x" * 5000}, {"filter": "type < hang AND"},
                  {"pageToken": "00/1"}):  # fmt: skip
        assert refused(server, "EventService/ListEvents", **wrong)[1] == "invalid_argument", wrong


def test_an_event_changes_by_etag(server: Server) -> None:
    event = create(server, **EVENT)
    uid = event["uid"]
    after = call(server, "EventService/UpdateEvent", uid=uid, etag="1",
                 values={"severity": "SEVERITY_ERROR", "attempt": "0"})  # fmt: skip
    assert after["etag"] == "2" and after["severity"] == "SEVERITY_ERROR"
    assert after["attempt"] == "0" and after["evidence"] == event["evidence"]
    stale = refused(server, "EventService/UpdateEvent", uid=uid, etag="1", values={})
    assert stale[0] == 409 and stale[1] == "aborted" and 'its etag is "2"' in stale[2]
    # What is named and not given is cleared; what is given and not named stays.
    after = call(server, "EventService/UpdateEvent", uid=uid,
                 updateMask=["end_time", "analyzer_reports", "display_name"],
                 values={"severity": "SEVERITY_INFO", "displayName": "slow"})  # fmt: skip
    assert after["severity"] == "SEVERITY_ERROR" and after["displayName"] == "slow"
    assert "endTime" not in after and after["analyzerReports"] == []
    assert not after["insightFound"] and uids(server, filter="insight_found = true") == []
    # A list is set as a whole.
    after = call(server, "EventService/UpdateEvent", uid=uid,
                 values={"analyzerReports": [REPORT, REPORT | {"state": 3}]})  # fmt: skip
    assert len(after["analyzerReports"]) == 2 and after["insightFound"]
    after = call(server, "EventService/UpdateEvent", uid=uid, updateMask=["*"],
                 values={"type": "EVENT_TYPE_OTHER", "customType": "ecc"})  # fmt: skip
    assert after["displayName"] == "ecc" and "scope" not in after, after
    assert after["uid"] == uid and after["run"] == "r"
    for mask in ("uid", "creator", "insight_found", "nothing", "scope.layer"):
        told = refused(server, "EventService/UpdateEvent", uid=uid, updateMask=[mask], values={})
        assert told[1] == "invalid_argument" and "analyzer_reports" in told[2]
    told = refused(server, "EventService/UpdateEvent", uid=uid, updateMask=["type"], values={})
    assert "event.type is missing" in told[2]
    # Whoever says no etag loses nothing that others said.
    names = [f"host-{n}" for n in range(16)]

    def change(name: str) -> None:
        call(server, "EventService/UpdateEvent", uid=uid, values={"displayName": name})

    threads = [threading.Thread(target=change, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    last = call(server, "EventService/GetEvent", uid=uid)
    assert last["displayName"] in names and int(last["etag"]) == int(after["etag"]) + 16
    assert refused(server, "EventService/DeleteEvent", uid=uid, etag="1")[1] == "aborted"
    call(server, "EventService/DeleteEvent", uid=uid, etag=last["etag"])
    for method in ("GetEvent", "UpdateEvent", "DeleteEvent"):
        assert refused(server, f"EventService/{method}", uid=uid)[1] == "not_found"
    assert {action for action, _ in audit(server)} == {
        "events.create", "events.update", "events.delete"}  # fmt: skip


def test_hostile_values_are_refused_by_name(headway: Headway, server: Server) -> None:
    action = {"description": "x"}
    report: dict[str, Any] = {"analyzer": "a", "state": "DETECTION_STATE_ERROR"}
    hostile: list[tuple[dict[str, Any], str]] = [
        ({"type": 0}, "event.type"),
        ({"type": 77}, "event.type"),
        ({"severity": -1}, "event.severity"),
        ({"customType": "x"}, "event.custom_type"),
        ({"type": "EVENT_TYPE_OTHER"}, "event.custom_type"),
        ({"displayName": "a\nb"}, "event.display_name"),
        ({"displayName": "x" * 257}, "event.display_name"),
        ({"displayName": "a\u202eb"}, "event.display_name"),
        ({"startTime": "-1"}, "event.start_time"),
        ({"startTime": str(2**63 - 1)}, "event.start_time"),
        ({"startTime": "5", "endTime": "4"}, "event.end_time"),
        ({"attempt": "-1"}, "event.attempt"),
        ({"scope": {"hosts": ["a", ""]}}, "event.scope.hosts[1]"),
        ({"scope": {"devices": ["\u0000"]}}, "event.scope.devices[0]"),
        ({"scope": {"layer": "\u001b[m"}}, "event.scope.layer"),
        ({"evidence": [{"text": "x" * 16_385}]}, "event.evidence[0].text"),
        ({"evidence": [{"text": "\u001b[m"}]}, "event.evidence[0].text"),
        ({"evidence": [{"startTime": "5", "endTime": "4"}]}, "event.evidence[0].end_time"),
        ({"analyzerReports": [{"state": 1}]}, "event.analyzer_reports[0].analyzer"),
        ({"analyzerReports": [{"analyzer": "a"}]}, "event.analyzer_reports[0].state"),
        ({"analyzerReports": [report | {"confidence": "NaN"}]}, "[0].confidence"),
        ({"analyzerReports": [report | {"confidence": "Infinity"}]}, "[0].confidence"),
        ({"analyzerReports": [report | {"confidence": 1.01}]}, "[0].confidence"),
        ({"analyzerReports": [report | {"recommendedActions": [{}]}]}, "actions[0].description"),
        ({"analyzerReports": [report | {"recommendedActions": [
            {"description": "ü" * 1025}]}]}, "actions[0].description"),
        *(({"analyzerReports": [report | {"recommendedActions": [
            action | {"documentationUrl": url}]}]}, "actions[0].documentation_url")
          for url in ("javascript:alert(1)", "file:///etc/passwd", "docs/x", "https://",
                      "http://a\nb", "data:text/html,x", "https://" + "x" * 5000)),
        ({"uid": "x"}, "event.uid"),
        ({"evidence": [{"text": "x" * 16_000}] * 17}, "the event has"),
    ]  # fmt: skip
    for event, field in hostile:
        made = {"type": "EVENT_TYPE_HANG"} | event
        status, code, message = refused(server, "EventService/CreateEvent", run="r", event=made)
        assert (status, code) == (400, "invalid_argument") and field in message, (event, message)
    told = refused(server, "EventService/CreateEvent", run="r", event={"type": "HANG?"})
    assert told[1] == "invalid_argument"
    assert refused(server, "EventService/CreateEvent", run="x", event=EVENT)[1] == "not_found"
    long = refused(server, "EventService/CreateEvent", run="r", event=EVENT, requestId="x" * 129)
    assert "request_id" in long[2]
    both = EVENT | {"uid": "1" * 32}
    known = refused(server, "EventService/CreateEvent", run="r", event=both, requestId="once")
    assert "a request_id or a uid, not both" in known[2]
    assert uids(server) == []
    # What is as large as it may be, and odd but allowed, comes back as it was.
    kept = create(server, "r", displayName="'; DROP TABLE run_item; -- 漢字 👩‍🚀",
                  evidence=[{"text": "x" * 16_384, "value": "-Infinity"}],
                  analyzerReports=[report | {"recommendedActions": [
                      {"description": "ü" * 1024}], "confidence": 0}])  # fmt: skip
    assert call(server, "EventService/GetEvent", uid=kept["uid"]) == kept
    assert "DROP TABLE" in headway("events", "list", env=server.env | {"COLUMNS": "200"}).stdout


def test_secrets_in_texts_and_addresses_are_masked(server: Server) -> None:
    secret = "hunter2hunter2"
    report = {"analyzer": "a", "state": "DETECTION_STATE_ERROR",
              "details": f"connect to postgres://u:{secret}@db/x failed",
              "recommendedActions": [{"description": f"export API_KEY={secret}",
                                      "documentationUrl": f"https://u:{secret}@host/x"}]}
    said = f"password={secret}"
    evidence = {"text": said, "what": said, "metric": said, "unit": said}
    event = create(server, analyzerReports=[report | {"version": said}],
                   evidence=[evidence], displayName=f"token={secret}",
                   scope={"hosts": [said, "h", said], "layer": said})  # fmt: skip
    assert event["scope"]["hosts"] == ["password=[masked]", "h"], "each once"
    assert secret not in json.dumps(event) and "[masked]" in json.dumps(event)
    told = {"host": "h", "address": f"grpc://u:{secret}@h:9999"}
    target = call(server, "ProfileService/CreateProfilerTarget", run="r", target=told)["target"]
    assert target["address"] == "grpc://u:[masked]@h:9999"
    assert not any(secret.encode() in path.read_bytes()
                   for path in (server.folder / "server").rglob("*") if path.is_file())


def test_uids_names_and_pages_are_what_they_say(headway: Headway, server: Server) -> None:
    zero = "0" * 32
    assert refused(server, "EventService/CreateEvent", run="r",
                   event={**EVENT, "uid": zero})[1] == "invalid_argument"  # fmt: skip
    assert refused(server, "RunService/CreateRun", run={"name": "z", "uid": zero})[1] == (
        "invalid_argument")  # fmt: skip
    assert "must not be empty" in headway("events", "list", "", env=server.env, code=2).stderr
    # Its name is that of its type, whatever that becomes.
    made = call(server, "EventService/CreateEvent", run="r", event={"type": "EVENT_TYPE_HANG"})
    assert made["event"]["displayName"] == "Hang"
    changed = call(server, "EventService/UpdateEvent", uid=made["event"]["uid"],
                   values={"type": "EVENT_TYPE_OTHER", "customType": "my"})  # fmt: skip
    assert changed["displayName"] == "my"
    # A page of one list is none of another.
    for _ in range(2):
        create(server, "r")
    token = call(server, "EventService/ListEvents", run="r", pageSize=1)["nextPageToken"]
    assert refused(server, "ProfileService/ListProfileSessions", run="r", pageSize=1,
                   pageToken=token)[1] == "invalid_argument"  # fmt: skip
    # As JSON each little part takes more than it has bytes.
    many = {**EVENT, "evidence": [{"what": "w"}] * 6000}
    assert "10000 fields" in refused(server, "EventService/CreateEvent", run="r", event=many)[2]


def test_events_go_with_their_run(headway: Headway, server: Server, tmp_path: Path) -> None:
    here, there = create(server, "r"), create(server, "s")
    run_uid = here["runUid"]
    call(server, "RunService/DeleteRun", run="r")
    # Hidden with it, and found by the run's uid.
    assert uids(server) == [there["uid"]]
    assert uids(server, run=run_uid) == [here["uid"]]
    assert call(server, "EventService/GetEvent", uid=here["uid"])["run"] == run_uid
    call(server, "RunService/UndeleteRun", run=run_uid)
    assert sorted(uids(server)) == sorted([here["uid"], there["uid"]])
    backup = tmp_path / "backup.sqlite"
    headway("backup", str(backup), "--dir", str(server.folder))
    operation = call(server, "RunService/DeleteRun", run="r", force=True)["operation"]
    get = "OperationService/GetOperation"
    wait_until(lambda: call(server, get, id=operation)["endTime"] != "0", "the end of the purge")
    assert uids(server) == [there["uid"]]
    assert refused(server, "EventService/GetEvent", uid=here["uid"])[1] == "not_found"
    assert refused(server, "EventService/ListEvents", run=run_uid)[1] == "not_found"
    told = refused(server, "EventService/CreateEvent", run=run_uid, event=EVENT)
    assert told[1] == "not_found"
    # A run of that name is another one.
    call(server, "RunService/CreateRun", run={"name": "r"})
    assert uids(server, run="r") == []
    # A backup of before has them, and a server that is killed keeps what it answered for.
    server.kill()
    server.start()
    assert uids(server) == [there["uid"]]
    server.stop()
    kept = server.folder / "server" / "records.sqlite"
    for path in kept.parent.glob("records.sqlite*"):
        path.unlink()
    kept.write_bytes(backup.read_bytes())
    server.start()
    assert sorted(uids(server)) == sorted([here["uid"], there["uid"]])
    assert call(server, "EventService/GetEvent", uid=here["uid"]) == here


def test_a_link_shows_no_events(server: Server) -> None:
    event = create(server, **EVENT)
    word = call(server, "LinkService/CreateLink", run="r")["secret"]
    for method, request in (("GetEvent", {"uid": event["uid"]}), ("ListEvents", {"run": "r"})):
        status, answer = server.call(f"EventService/{method}", request, word)
        assert status == 403 and answer["code"] == "permission_denied"
    assert "node-17" not in json.dumps(server.call("RunService/GetRun", {}, word)[1])


def test_labels_of_runs_that_share_a_name(server: Server) -> None:
    first = create(server, "r")
    call(server, "RunService/CreateRun", run={"name": "r"})
    second = create(server, "r")
    found = {e["uid"]: e["run"] for e in call(server, "EventService/ListEvents")["events"]}
    assert found[second["uid"]] == "r" and found[first["uid"]].startswith("r@")
    assert uids(server, run=found[first["uid"]]) == [first["uid"]]


SESSION: dict[str, Any] = {
    "kind": "PROFILE_KIND_PROGRAMMATIC", "trigger": "step 1000", "attempt": "0",
    "startTime": str(START), "durationNs": str(5 * SECOND),
    "storageUri": "gs://bucket/r/plugins/profile/2026_01_01",
    "dashboardUri": "https://xprof.example.org/r", "hostTracerLevel": "HOST_TRACER_LEVEL_INFO",
    "deviceTracerLevel": "TRACER_LEVEL_ENABLED", "pythonTracerLevel": "TRACER_LEVEL_DISABLED",
    "targets": [
        {"target": "node-1-0", "phase": "CAPTURE_PHASE_SUCCEEDED", "startTime": str(START),
         "endTime": str(START + 5 * SECOND),
         "files": [{"path": "node-1.xplane.pb", "bytes": "1048576"}]},
        {"target": "node-2-0", "phase": "CAPTURE_PHASE_FAILED", "error": "no room\nleft"},
    ],
}  # fmt: skip


def test_profiles_are_noted_and_read(headway: Headway, server: Server) -> None:
    made = call(server, "TokenService/CreateToken", role="writer", project="default", run="r")
    writer, env = made["secret"], server.env | {"COLUMNS": "160"}
    told = headway("profiles", "list", "r", env=env).stdout
    assert told.startswith("no profile sessions of run r in project default on http://")
    assert "CreateProfileSession" in told and "no process has said" in told

    def send(method: str, token: str | None = writer, **request: Any) -> tuple[int, Any]:
        return server.call(f"ProfileService/{method}", request, token)

    for n in range(3):
        target = {"host": f"node-{n % 2}", "index": str(n // 2), "rank": str(n),
                  "isMaster": n == 0, "address": f"node-{n % 2}:9012"}  # fmt: skip
        status, answer = send("CreateProfilerTarget", run="r", target=target)
        assert status == 200 and not answer["existed"], answer
        assert answer["target"]["id"] == f"node-{n % 2}-{n // 2}"
    # One that was started again tells its new address; one that says the same changes nothing.
    again = target | {"address": "node-0:9999"}
    for etag in ("2", "2"):
        status, answer = send("CreateProfilerTarget", None, run="r", target=again)
        assert status == 200 and answer["existed"] and answer["target"]["etag"] == etag
    assert answer["target"]["creator"].startswith("token ")
    ask: dict[str, Any] = {"run": "r", "session": SESSION, "requestId": "one"}
    status, answer = send("CreateProfileSession", **ask)
    session = answer["session"]
    assert status == 200 and session["name"] == "20260101T000000Z" and not answer["existed"]
    assert send("CreateProfileSession", **ask)[1] == {"session": session, "existed": True}
    reading: list[tuple[str, dict[str, Any]]] = [
        ("GetProfileSession", {"uid": session["uid"]}), ("ListProfileSessions", {"run": "r"}),
        ("GetProfilerTarget", {"run": "r", "id": "node-0-0"}), ("ListProfilerTargets", {}),
        ("UpdateProfileSession", {"uid": session["uid"]}),
        ("DeleteProfilerTarget", {"run": "r", "id": "node-0-0"}),
    ]  # fmt: skip
    for method, request in reading:
        assert send(method, **request)[0] == 403, method
    assert send("CreateProfileSession", **(ask | {"run": "s"}))[0] == 403
    assert send("CreateProfilerTarget", run="s", target={"host": "h"})[0] == 403

    listed = headway("profiles", "list", "r", env=env).stdout
    for word in (session["uid"], "1 succeeded, 1 failed", "node-0:9999"):
        assert word in listed
    assert listed.index("node-0-0") < listed.index("node-0-1") < listed.index("node-1-0")
    assert session["uid"] in headway("profiles", "list", env=env | {"COLUMNS": "60"}).stdout
    shown = headway("profiles", "show", session["uid"], env=env).stdout
    for word in ("programmatic", "step 1000", "gs://bucket", "https://xprof", "host tracer", "info",
                 "succeeded on node-1-0", "failed on node-2-0", "no room",
                 "node-1.xplane.pb, 1.0 MiB"):  # fmt: skip
        assert word in shown, (word, shown)
    facts = json.loads(headway("profiles", "show", session["uid"], "--json", env=env).stdout)
    assert facts["kind"] == "programmatic" and facts["targets"][0]["phase"] == "succeeded"
    both = json.loads(headway("profiles", "list", "--json", env=env).stdout)
    assert both["sessions"] == [facts] and [one["rank"] for one in both["targets"]] == [0, 2, 1]
    wrong = headway("profiles", "list", "--filter", "severity = info", env=env, code=2).stderr
    assert "there are kind, start, end" in wrong
    assert headway("profiles", "list", "--filter", "kind = scanned", env=env).stdout.startswith(
        "no such profile sessions")  # fmt: skip

    page = call(server, "ProfileService/ListProfilerTargets", run="r", pageSize=2)
    rest = call(server, "ProfileService/ListProfilerTargets", run="r", pageSize=2,
                pageToken=page["nextPageToken"])  # fmt: skip
    found = [target["id"] for target in page["targets"] + rest["targets"]]
    assert found == ["node-0-0", "node-0-1", "node-1-0"] and rest["nextPageToken"] == ""
    some = call(server, "ProfileService/ListProfilerTargets", filter="host:1 OR index >= 1")
    assert [target["id"] for target in some["targets"]] == ["node-0-1", "node-1-0"]
    uid = session["uid"]
    after = call(server, "ProfileService/UpdateProfileSession", uid=uid, etag="1",
                 updateMask=["duration_ns", "trigger"], values={"trigger": "x"})  # fmt: skip
    assert after["etag"] == "2" and "durationNs" not in after and after["trigger"] == "x"
    open_ones = call(server, "ProfileService/ListProfileSessions", filter="NOT end:*")["sessions"]
    assert open_ones == [after]
    for etag in ("1", "3"):
        stale = refused(server, "ProfileService/DeleteProfileSession", uid=uid, etag=etag)
        assert stale[1] == "aborted"
    call(server, "ProfileService/DeleteProfileSession", uid=uid, etag="2")
    target_of = {"run": "r", "id": "node-0-1"}
    assert refused(server, "ProfileService/DeleteProfilerTarget", etag="1", **target_of)[0] == 409
    call(server, "ProfileService/DeleteProfilerTarget", etag="2", **target_of)
    assert refused(server, "ProfileService/GetProfilerTarget", **target_of)[1] == "not_found"
    # An id is one within its run only, and no event's uid.
    other = {"run": "s", "target": {"host": "node-0"}}
    assert not call(server, "ProfileService/CreateProfilerTarget", **other)["existed"]
    assert refused(server, "EventService/GetEvent", uid=uid)[1] == "not_found"
    event = create(server)
    taken = SESSION | {"uid": event["uid"]}
    answered = refused(server, "ProfileService/CreateProfileSession", run="r", session=taken)
    assert answered[1] == "already_exists"
    call(server, "RunService/DeleteRun", run="r")
    targets = call(server, "ProfileService/ListProfilerTargets")["targets"]
    assert [target["run"] for target in targets] == ["s"]


def test_hostile_profiles_are_refused_by_name(server: Server) -> None:
    captured = {"target": "a", "phase": "CAPTURE_PHASE_ACTIVE"}
    sessions: list[tuple[dict[str, Any], str]] = [
        ({"kind": 0}, "session.kind"),
        ({"kind": 9}, "session.kind"),
        ({"durationNs": "-1"}, "session.duration_ns"),
        ({"durationNs": str(2**62), "startTime": str(2**62)}, "session.duration_ns"),
        ({"startTime": str(2**62 + 1)}, "session.start_time"),
        ({"name": "a\tb"}, "session.name"),
        ({"storageUri": "javascript:alert(1)"}, "session.storage_uri"),
        ({"storageUri": "ftp://host/x"}, "session.storage_uri"),
        ({"storageUri": "/a\u0000b"}, "session.storage_uri"),
        ({"dashboardUri": "/path"}, "session.dashboard_uri"),
        ({"dashboardUri": "gs://bucket/x"}, "session.dashboard_uri"),
        ({"hostTracerLevel": 77}, "session.host_tracer_level"),
        ({"targets": [{"phase": 1}]}, "session.targets[0].target"),
        ({"targets": [{"target": "a"}]}, "session.targets[0].phase"),
        ({"targets": [captured, captured]}, "session.targets[1].target"),
        ({"targets": [captured | {"startTime": "5", "endTime": "4"}]}, "targets[0].end_time"),
        ({"targets": [captured | {"files": [{}]}]}, "targets[0].files[0].path"),
        ({"targets": [captured | {"files": [{"path": "x", "bytes": "-1"}]}]}, "files[0].bytes"),
        ({"targets": [captured | {"error": "x" * 16_385}]}, "targets[0].error"),
        ({"uid": "1"}, "session.uid"),
        ({"targets": [captured | {"target": f"t{n}", "error": "x" * 16_000}
                      for n in range(17)]}, "the session has"),
    ]  # fmt: skip
    for session, field in sessions:
        made = {"kind": "PROFILE_KIND_SCANNED"} | session
        told = refused(server, "ProfileService/CreateProfileSession", run="r", session=made)
        assert told[:2] == (400, "invalid_argument") and field in told[2], (session, told)
    targets: list[tuple[dict[str, Any], str]] = [
        ({}, "target.host"),
        ({"host": "a\nb"}, "target.host"),
        ({"host": "a", "index": "-1"}, "target.index"),
        ({"host": "a", "rank": "-1"}, "target.rank"),
        ({"host": "a", "id": "x" * 257}, "target.id"),
        ({"host": "x" * 256}, "target.id"),  # which is longer
        ({"host": "a", "address": "\u001b"}, "target.address"),
    ]
    for target, field in targets:
        told = refused(server, "ProfileService/CreateProfilerTarget", run="r", target=target)
        assert told[:2] == (400, "invalid_argument") and field in told[2], (target, told)
    # Nobody captures any here.
    wanted = {"kind": "PROFILE_KIND_ON_DEMAND"}
    told = refused(server, "ProfileService/CreateProfileSession", run="r", session=wanted)
    assert told[1] == "failed_precondition" and "nobody here captures profiles yet" in told[2]
    made = call(server, "ProfileService/CreateProfileSession", run="r",
                session={"kind": "PROFILE_KIND_SNAPSHOT", "storageUri": "some folder/é"})["session"]
    assert made["storageUri"] == "some folder/é"
    told = refused(server, "ProfileService/UpdateProfileSession", uid=made["uid"], values=wanted)
    assert told[1] == "failed_precondition"
    assert len(call(server, "ProfileService/ListProfileSessions")["sessions"]) == 1
    assert call(server, "ProfileService/ListProfilerTargets")["targets"] == []
