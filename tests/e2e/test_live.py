"""Live updates of a server: `GET /live`."""

from __future__ import annotations

import http.client
import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from conftest import Headway, wait_until
from live import Stream
from test_server import Server, same_everywhere, train
from test_tls import TlsServer

# A training process whose records are sent while it runs; it says when it has made each step.
STEPS = """
import os, sys, time
import headway

run = headway.init(run=sys.argv[1], server=os.environ["HEADWAY_SERVER"])
for step in range(int(sys.argv[2])):
    print(step, time.time(), flush=True)
    run.step(step)
    run.log({"loss": 1 / (step + 1)}, step=step)
    time.sleep(float(sys.argv[3]))
run.finish()
"""


@pytest.fixture
def server(headway: Headway, tmp_path: Path) -> Iterator[Server]:
    with closing(Server(headway, tmp_path / "far")) as one:
        yield one


def steps(
    headway: Headway, server: Server, run: str, count: int, pause: float = 0.02
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", STEPS, run, str(count), str(pause)],
        env={**headway.environment, **server.env}, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip


def create(server: Server, name: str, **more: object) -> str:
    status, made = server.call("RunService/CreateRun", {"run": {"name": name, **more}})
    assert status == 200, made
    return str(made["run"]["uid"])


def last_step(report: dict[str, object]) -> int:
    found = report["steps"]
    assert isinstance(found, dict)
    return int(found.get("lastStep", -1))


def test_a_run_is_told_as_it_goes(headway: Headway, server: Server, tmp_path: Path) -> None:
    trainer = headway.start(*train(headway, tmp_path, "r", 1, 3000), env=server.env)
    known = {"project": "default", "run": "r"}
    wait_until(lambda: server.call("RunService/GetRun", known)[0] == 200, "the run")
    with closing(Stream(server, run="r")) as stream:
        assert stream.wait("report").data["project"] == "default"
        assert stream.retry == 1000
        first = stream.wait("report", lambda report: last_step(report) > 0)
        stream.wait("report", lambda report: last_step(report) > last_step(first.data) + 100)
        assert stream.last("run")["name"] == "r"
        newest = [int(step["step"]) for step in stream.last("steps")["steps"]]
        assert 1 < len(newest) <= 50 and newest[-1] >= last_step(first.data)
        assert stream.last("journals")["journals"] >= 2
        assert trainer.wait(timeout=120) == 0
        end = stream.wait("report", lambda report: report["state"] == "RUN_STATE_COMPLETED").data
        assert stream.wait("run", lambda run: run["state"] == "RUN_STATE_COMPLETED")

        def is_told_to_whoever_asks() -> bool:
            report = stream.last("report")
            asked = {**known, "time": {"asOf": f"@{report['asOf']}"}}
            return bool(server.call("RunService/GetReport", asked)[1] == report)

        # Once all has arrived: how the supervisor saw it end comes last.
        wait_until(is_told_to_whoever_asks, "the same report")
        disrupted = len(end["disruptions"])
        assert disrupted > 0  # it was killed, and went on
        # Numbers grow, and so few come as was promised.
        numbers = [int(event.id.split("-")[1]) for event in stream.events]
        assert numbers == sorted(set(numbers))
        reports = stream.of("report")
        assert len(reports) <= (reports[-1].came - reports[0].came) / 0.9 + 2
        assert not stream.ended.is_set()
    same_everywhere(headway, server, "r")


def test_what_is_recorded_is_told_within_a_second(headway: Headway, server: Server) -> None:
    program = steps(headway, server, "r", 100, 0.1)
    wait_until(lambda: server.call("RunService/GetRun", {"run": "r"})[0] == 200, "the run")
    with closing(Stream(server, run="r")) as stream:
        assert program.stdout is not None
        said = [line.split() for line in program.stdout]
        assert program.wait() == 0
        stream.wait("report", lambda report: report["state"] == "RUN_STATE_COMPLETED")
        arrived: dict[int, float] = {}
        for event in stream.of("report"):
            for step in range(last_step(event.data) + 1):
                arrived.setdefault(step, event.came)
        late = sorted(arrived[int(step)] - float(at) for step, at in said[20:])
        # It is sent once a second, and told within one of its arrival.
        print(f"median {late[len(late) // 2]:.3f} s, most {late[-1]:.3f} s")
        assert late[-1] < 10
        loss = [metric for event in stream.of("metrics") for metric in event.data["metrics"]]
        assert {metric["name"] for metric in loss} == {"loss"}
        assert int(loss[-1]["points"]) == 100 and int(loss[-1]["lastStep"]) == 99


def test_the_list_of_runs(headway: Headway, server: Server) -> None:
    with closing(Stream(server, project="default")) as stream:
        reset = stream.wait("reset")
        uid = create(server, "a", group="g")
        made = stream.wait("run", lambda run: run["uid"] == uid)
        assert made.data["group"] == "g"
        seen = server.call("RunService/ListRuns", {})[1]["runs"]
        assert made.data == seen[0]
        server.call("RunService/UpdateRun", {"run": "a", "values": {"phase": "RUN_PHASE_ACTIVE"}})
        stream.wait("run", lambda run: run["phase"] == "RUN_PHASE_ACTIVE")
        # Another one takes the name: the first one is called otherwise from now on.
        newer = create(server, "a")
        stream.wait("run", lambda run: run["uid"] == newer and run["label"] == "a")
        stream.wait("run", lambda run: run["uid"] == uid and run["label"].startswith("a@"))
        server.call("RunService/DeleteRun", {"run": newer})
        stream.wait("run", lambda run: run["uid"] == newer and run["deleteTime"] != "0")
        wait_until(lambda: [e for e in stream.of("run") if e.data["uid"] == uid][-1].data["label"]
                   == "a", "its name again")  # fmt: skip
        server.call("RunService/DeleteRun", {"run": newer, "force": True})
        assert stream.wait("gone").data == {"project": "default", "uid": newer}
        # What journals bring, too, and how it stands.
        program = steps(headway, server, "b", 20)
        stream.wait("run", lambda run: run["name"] == "b")
        program.communicate()
        stream.wait("run", lambda run: run["name"] == "b" and run["state"] == "RUN_STATE_COMPLETED"
                    and run["lastStep"] == "19")  # fmt: skip
        # Of another project nothing is told.
        server.call("RunService/CreateRun", {"project": "q", "run": {"name": "c"}})
        create(server, "d")
        stream.wait("run", lambda run: run["name"] == "d")
        assert not [event for event in stream.of("run") if event.data["name"] == "c"]
        middle = stream.of("gone")[0].id
    # Whoever comes back gets what has changed since.
    with closing(Stream(server, last_id=middle)) as stream:
        stream.wait("run", lambda run: run["name"] == "d")
        assert {event.data["name"] for event in stream.events} == {"b", "d"}
    server.kill()
    server.start()
    for stale in (middle, reset.id, "x", "-1", middle.split("-")[0] + "-" + "9" * 40):
        with closing(Stream(server, last_id=stale)) as stream:
            assert stream.wait("reset") and not stream.of("run"), stale


def test_what_can_not_be_watched(server: Server) -> None:
    create(server, "r")
    for query, status, word in (
        ({"run": "none"}, 404, 'no run \\"none\\"'),
        ({"run": "r", "every": "soon"}, 400, "every: "),
        ({"run": "r", "every": "2h"}, 400, "at most an hour"),
        ({"runs": "r"}, 400, "takes project, run and every"),
    ):
        stream = Stream(server, **query)
        assert stream.status == status and word in stream.text, stream.text
    for path, status in (("/live?run=%zz", 400), ("/live?run=r&run=s", 400), ("/live/", 501)):
        connection = http.client.HTTPConnection("127.0.0.1", server.port)
        connection.request("GET", path, headers={"Authorization": f"Bearer {server.token}"})
        assert connection.getresponse().status == status, path
    for method in ("POST", "HEAD", "PUT"):
        connection = http.client.HTTPConnection("127.0.0.1", server.port)
        connection.request(method, "/live", headers={"Authorization": f"Bearer {server.token}"})
        answer = connection.getresponse()
        assert answer.status == 405 and answer.headers["allow"] == "GET", method


def test_it_may_be_told_more_rarely(headway: Headway, server: Server) -> None:
    program = steps(headway, server, "r", 400)
    wait_until(lambda: server.call("RunService/GetRun", {"run": "r"})[0] == 200, "the run")
    with closing(Stream(server, run="r", every="3s")) as stream:
        program.communicate()
        stream.wait("report", lambda report: report["state"] == "RUN_STATE_COMPLETED")
        came = [event.came for event in stream.of("report")]
        assert len(came) > 2
        assert min(after - before for before, after in zip(came, came[1:], strict=False)) > 2.5


def test_who_may_not_watch_any_more(headway: Headway, server: Server) -> None:
    create(server, "r")
    made = server.call("TokenService/CreateToken", {"role": "viewer"})[1]
    soon = server.call("TokenService/CreateToken", {"role": "viewer", "lifetimeNs": "3000000000"})
    role = {"name": "looker", "permissions": ["runs.get"]}
    assert server.call("RoleService/PutRole", role)[0] == 200
    looker = server.call("TokenService/CreateToken", {"role": "looker"})[1]
    link = server.call("LinkService/CreateLink", {"run": "r"})[1]
    other = server.call("LinkService/CreateLink", {"run": "r"})[1]
    with ExitStack() as stack:

        def watch(token: str, **query: str) -> Stream:
            return stack.enter_context(closing(Stream(server, token, **query)))

        revoked = [watch(made["secret"], run="r"), watch(made["secret"])]
        expired = watch(soon[1]["secret"], run="r")
        changed = watch(looker["secret"], run="r")
        by_link = [watch(link["secret"]), watch(link["secret"], run="r")]
        deleted = watch(other["secret"])
        stays = watch(server.token, run="r")
        for stream in (*revoked[:1], expired, changed, *by_link, deleted, stays):
            assert stream.wait("run").data["name"] == "r"
        assert by_link[0].last("run")["creator"] == "" != stays.last("run")["creator"]

        def ends(stream: Stream, code: str, after: float) -> None:
            assert stream.ended.wait(10) and stream.error == "", stream.error
            assert stream.events[-1].kind == "end" and stream.events[-1].data["code"] == code
            assert stream.events[-1].came - after < 2

        now = time.time()
        server.call("TokenService/RevokeToken", {"id": made["token"]["id"]})
        for stream in revoked:
            ends(stream, "unauthenticated", now)
        now = time.time()
        role["permissions"] = ["runs.list"]
        server.call("RoleService/PutRole", role)
        ends(changed, "permission_denied", now)
        now = time.time()
        server.call("LinkService/RevokeLink", {"id": link["link"]["id"]})
        for stream in by_link:
            ends(stream, "unauthenticated", now)
        ends(expired, "unauthenticated", time.time())
        now = time.time()
        server.call("RunService/DeleteRun", {"run": "r"})
        ends(deleted, "unauthenticated", now)
        stays.wait("run", lambda run: run["deleteTime"] != "0")
        uid = stays.last("run")["uid"]
        server.call("RunService/DeleteRun", {"run": uid, "force": True})
        ends(stays, "not_found", time.time() - 1)
        assert Stream(server, made["secret"], run="r").status == 401


def test_many_watch_and_one_reads_slowly(headway: Headway, server: Server) -> None:
    program = steps(headway, server, "r", 1500)
    wait_until(lambda: server.call("RunService/GetRun", {"run": "r"})[0] == 200, "the run")
    slow = socket.socket()
    slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
    slow.connect(("127.0.0.1", server.port))
    slow.sendall(b"GET /live?run=r HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "
                 + server.token.encode() + b"\r\n\r\n")  # fmt: skip
    assert server.process is not None

    def memory() -> int:
        assert server.process is not None
        status = Path(f"/proc/{server.process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0])

    with ExitStack() as stack:
        streams = [stack.enter_context(closing(Stream(server, run="r"))) for _ in range(199)]
        for stream in streams:
            stream.wait("report", lambda report: last_step(report) > 100)
        before = memory()
        looks = live_metrics(server)
        assert looks['live_streams{of="run"}'] == 200
        started = time.time()
        out, _ = program.communicate()
        for stream in streams:
            stream.wait("report", lambda report: report["state"] == "RUN_STATE_COMPLETED")
        took = time.time() - started
        after = live_metrics(server)
        # One look is for all of them.
        assert after["live_updates_total"] - looks["live_updates_total"] < took / 0.9 + 3
        assert memory() < before + 50_000, (before, memory())
        ends = {event.id: event.came for event in streams[0].of("report")}
        spread = 0.0
        for stream in streams:
            for event in stream.of("report")[1:]:
                spread = max(spread, event.came - ends.get(event.id, event.came))
        print(f"199 streams: an update reaches the last one {spread:.3f} s after the first")
        # Whoever reads slowly gets the newest, when it reads.
        slow.settimeout(20)
        text = b""
        while b"RUN_STATE_COMPLETED" not in text:
            text += slow.recv(65536)
    slow.close()
    wait_until(lambda: live_metrics(server)['live_streams{of="run"}'] == 0, "their end")


def test_through_tls(headway: Headway, tmp_path: Path) -> None:
    with closing(TlsServer(headway, tmp_path / "far")) as server:
        program = steps(headway, server, "r", 200)
        wait_until(lambda: headway("goodput", "r", env=server.env, code=None).returncode == 0, "it")
        trusted = str(server.certificate)
        with closing(Stream(server, run="r", trusted=trusted)) as stream:
            documents = headway.start("watch", "r", "--json", env=server.env)
            program.communicate()
            stream.wait("report", lambda report: report["state"] == "RUN_STATE_COMPLETED")
            out, err = documents.communicate(timeout=30)
            assert documents.returncode == 0, err
            assert json.loads(out.splitlines()[-1])["state"] == "completed"
            assert server.process is not None
            server.process.terminate()
            assert stream.ended.wait(5) and stream.error == ""
        nobody = {**server.env, "HEADWAY_CA": ""}
        server.process.wait()
        server.start()
        told = headway("watch", "r", env=nobody, code=None)
        assert told.returncode != 0 and "HEADWAY_CA" in told.stderr


def test_the_list_says_soon_how_a_run_stands(headway: Headway, server: Server) -> None:
    with closing(Stream(server, project="default")) as stream:
        stream.wait("reset")
        program = steps(headway, server, "r", 50)
        begun = stream.wait("run", lambda run: run["state"] == "RUN_STATE_RUNNING").came
        out, _ = program.communicate()
        done = time.time()
        ended = stream.wait("run", lambda run: run["state"] == "RUN_STATE_COMPLETED").came
        started = float(out.splitlines()[0].split()[1])
        # finish() returns once the end has arrived.
        print(f"running {begun - started:.3f} s after it was, completed {ended - done:.3f} s")


def live_metrics(server: Server) -> dict[str, float]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    connection.request("GET", "/metrics", headers={"Authorization": f"Bearer {server.token}"})
    lines = connection.getresponse().read().decode().splitlines()
    return {
        line.split(" ")[0].removeprefix("headway_server_"): float(line.split(" ")[1])
        for line in lines
        if line.startswith("headway_server_live")
    }


def test_there_are_so_many_at_most(server: Server) -> None:
    create(server, "r")
    with ExitStack() as stack:
        for i in range(256):
            stack.enter_context(closing(Stream(server, **({"run": "r"} if i % 2 else {}))))
        refused = Stream(server, run="r")
        assert refused.status == 429 and refused.answer.headers["retry-after"] == "10"
        assert json.loads(refused.text)["code"] == "resource_exhausted"
        token = server.call("TokenService/CreateToken", {"role": "viewer"})[1]["secret"]
        with closing(Stream(server, token, run="r")) as another:
            assert another.wait("run")
        assert live_metrics(server)["live_streams_refused_total"] == 1
        # Calls are answered meanwhile.
        assert server.call("RunService/ListRuns", {})[0] == 200
    wait_until(lambda: live_metrics(server)['live_streams{of="run"}'] == 0, "their end")
    with closing(Stream(server, run="r")) as stream:
        assert stream.wait("run")


def test_the_end_of_the_server_ends_them(headway: Headway, server: Server) -> None:
    create(server, "r")
    slow = socket.create_connection(("127.0.0.1", server.port))
    slow.sendall(b"GET /live?run=r HTTP/1.0\r\nAuthorization: Bearer "
                 + server.token.encode() + b"\r\n\r\n")  # fmt: skip
    with ExitStack() as stack:
        streams = [stack.enter_context(closing(Stream(server, run="r"))) for _ in range(20)]
        for stream in streams:
            stream.wait("run")
        assert server.process is not None
        began = time.time()
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(timeout=20) == 0
        assert time.time() - began < 3
        for stream in streams:
            assert stream.ended.wait(5) and stream.error == ""
        last = streams[0].events[-1].id
        text = b""
        while some := slow.recv(65536):
            text += some
        head, _, body = text.partition(b"\r\n\r\n")
        assert b"chunked" not in head and b"\nevent: run\ndata: {" in body
    server.start()
    with closing(Stream(server, run="r", last_id=last)) as stream:
        assert stream.wait("run") and stream.wait("journals")


def test_nothing_new_is_said_now_and_then(server: Server) -> None:
    create(server, "r")
    with closing(Stream(server, project="none")) as stream:
        stream.wait("reset")
        began = time.time()
        wait_until(lambda: stream.pulses > 0, "a sign of life")
        assert 13 < time.time() - began < 20
