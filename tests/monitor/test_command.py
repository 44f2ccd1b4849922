"""`headway monitor` beside a program that trains: what arrives where, and what survives."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from conftest import FOREIGN, ROOT, SECONDS, Cloud

TOKEN = "ya29.fixed"

TRAINING = """
import sys, time
import headway
run = headway.init(run="job")
with run.training_prep():
    time.sleep(0.05)
for i in range(int(sys.argv[1])):
    with run.step(i):
        time.sleep(0.02)
    if i == 10:
        with run.span("eval"):
            time.sleep(0.05)
run.finish()
"""

DROP_IN = """
import time
from ml_goodput_measurement import goodput, monitoring
options = monitoring.GCPOptions(project_id="p1", location="us-central1-a", acc_type="TPU-v5p")
monitor = monitoring.GoodputMonitor(
    "job", "goodput_job", None, 30, monitoring_enabled=True, include_badput_breakdown=True,
    gcp_options=options,
)
recorder = goodput.GoodputRecorder("job", "goodput_job", True)
recorder.record_job_start_time()
monitor.start_goodput_uploader()
monitor.start_rolling_window_goodput_uploader([3600])
for step in range(20):
    recorder.record_step_start_time(step)
    time.sleep(0.02)
recorder.record_job_end_time()
monitor.stop_goodput_uploader()
monitor.stop_rolling_window_goodput_uploader()
"""


class Place:
    """A data directory, and an environment in which nothing of this machine matters."""

    def __init__(self, folder: Path, cloud: Cloud | None) -> None:
        self.dir = folder / "data"
        kept = {key: text for key, text in os.environ.items() if not key.startswith(FOREIGN)}
        self.env = {
            **kept,
            "HOME": "/proc/nonexistent",
            "HEADWAY_DIR": str(self.dir),
            "HEADWAY_PROGRAM": os.environ["HEADWAY_BIN"] + "/headway",
            "GCE_METADATA_HOST": "127.0.0.1:9",
            "PYTHONPATH": os.pathsep.join(
                [str(ROOT / "python/compat"), kept.get("PYTHONPATH", "")]
            ),
        }
        if cloud is not None:
            cloud.control(tokens=[TOKEN])
            self.env |= {
                "HEADWAY_MONITORING_ENDPOINT": cloud.url,
                "HEADWAY_LOGGING_ENDPOINT": cloud.url,
                "STORAGE_EMULATOR_HOST": cloud.url,
                "HEADWAY_GOOGLE_ACCESS_TOKEN": TOKEN,
            }

    def python(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [sys.executable, "-c", program, *arguments], env=self.env, timeout=SECONDS,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""

    def monitor(self, *options: str, steps: int = 30) -> subprocess.CompletedProcess[str]:
        """Trains with a monitor beside it; returns when both have ended."""
        training = subprocess.Popen([sys.executable, "-c", TRAINING, str(steps)], env=self.env)
        done = subprocess.run(
            [
                self.env["HEADWAY_PROGRAM"], "monitor", "job", "--beside", str(training.pid),
                "--every", "200ms", *options,
            ],
            env=self.env, timeout=SECONDS, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert training.wait() == 0
        return done

    def begun(self, pid: int, run: str = "job") -> bool:
        """Whether that monitor has written down how it does."""
        return any((self.dir / "monitors/default" / run).glob(f"*-{pid}.json"))

    def state(self) -> dict[str, Any]:
        folder = self.dir / "monitors/default/job"
        newest = max(folder.glob("*.json"), key=lambda path: path.stat().st_mtime_ns)
        state: dict[str, Any] = json.loads(newest.read_text())
        return state

    def waiting(self) -> list[Path]:
        """Requests and event files that have not been sent."""
        folder = self.dir / "monitors/default/job/waiting"
        return [
            path
            for path in folder.rglob("*")
            if path.is_file() and path.stat().st_size > 0 and path.name != "last-point"
        ]


@pytest.fixture
def place(tmp_path: Path, cloud: Cloud) -> Place:
    return Place(tmp_path, cloud)


CLOUD = ("--cloud-monitoring", "--cloud-project", "p1", "--cloud-location", "us-central1-a")


def test_everything_arrives_in_google_cloud(place: Place, cloud: Cloud) -> None:
    done = place.monitor(
        *CLOUD, "--window", "1h", "--cloud-log", "goodput_job", "--tensorboard",
        "gs://bucket/logs/job", "--final", "20s",
    )  # fmt: skip
    assert done.returncode == 0, (done.stderr, place.state())
    seen = cloud.control()
    assert seen["faults"] == []
    names = {point["name"] for point in seen["points"]}
    assert {"goodput_time", "badput_time", "total_elapsed_time", "interval_goodput"} <= names
    last = [p for p in seen["points"] if p["name"] == "max_productive_steps"][-1]
    assert int(last["value"]) == 29
    sources = {p["labels"].get("badput_source") for p in seen["points"]}
    assert "CUSTOM_BADPUT_EVENTS.EVAL" in sources
    # What ml-goodput-measurement would have logged: each start and each end.
    steps = [e["payload"]["step_count"] for e in seen["entries"] if "step_count" in e["payload"]]
    assert steps == list(range(30))
    assert {"job_start_time", "training_prep_end_time", "job_end_time"} <= {
        key for entry in seen["entries"] for key in entry["payload"]
    }
    assert [name.rsplit("/", 1)[0] for name in seen["objects"]] == ["gs://bucket/logs/job"]
    assert place.waiting() == []
    state = place.state()
    assert [d["error"] for d in state["destinations"]] == ["", "", ""]
    assert any("Cloud Monitoring of project p1" in d["destination"] for d in state["destinations"])


def awaited(condition: Callable[[], Any], what: str) -> Any:
    until = time.monotonic() + SECONDS
    while not (value := condition()):
        assert time.monotonic() < until, what
        time.sleep(0.05)
    return value


def test_two_monitors_of_one_run_send_each_series_once(place: Place, cloud: Cloud) -> None:
    place.python(TRAINING, "5")

    def start(*options: str) -> subprocess.Popen[str]:
        command = [place.env["HEADWAY_PROGRAM"], "monitor", "job", "--every", "100ms", *CLOUD]
        return subprocess.Popen(
            [*command, *options], env=place.env, stderr=subprocess.PIPE, text=True
        )

    def destination(monitor: subprocess.Popen[str]) -> dict[str, Any]:
        for path in (place.dir / "monitors/default/job").glob(f"*-{monitor.pid}.json"):
            one: dict[str, Any] = json.loads(path.read_text())["destinations"][0]
            return one
        return {}

    first = start()
    awaited(lambda: destination(first).get("delivered"), "the first one sends")
    second = start("--window", "1h")
    error = awaited(lambda: destination(second).get("error"), "it is told that there is another")
    assert "another monitor of this run sends the numbers of the whole run" in error
    windows = {"interval_goodput", "interval_badput"}
    sent = awaited(
        lambda: {p["name"] for p in cloud.control()["points"]} & windows, "windows are its own"
    )
    assert sent == windows
    doctor = subprocess.run(
        [place.env["HEADWAY_PROGRAM"], "doctor", "job", "--json"],
        env=place.env, capture_output=True, text=True, check=False,
    )  # fmt: skip
    (check,) = [c for c in json.loads(doctor.stdout)["checks"] if "another monitor" in c["message"]]
    assert (check["name"], check["verdict"]) == ("cloud_metrics", "note")

    first.terminate()
    assert first.wait(timeout=SECONDS) == 0
    awaited(lambda: not destination(second)["error"], "it takes over")
    second.terminate()
    _, told = second.communicate(timeout=SECONDS)
    assert (second.returncode, told) == (0, "")
    seen = cloud.control()
    assert (seen["faults"], seen["early"]) == ([], 0)
    assert len([p for p in seen["points"] if p["name"] == "goodput_time"]) >= 2
    assert place.waiting() == []


def test_what_the_service_refuses_is_told_in_its_words(place: Place, cloud: Cloud) -> None:
    message = "Permission monitoring.timeSeries.create denied (or the resource may not exist)."
    body = json.dumps({"error": {"code": 403, "message": message}})
    cloud.control(plan=[{"status": 403, "body": body}] * 50)
    done = place.monitor(*CLOUD)
    assert done.returncode == 4
    (destination,) = place.state()["destinations"]
    assert message in destination["error"] and "403" in destination["error"]
    assert TOKEN not in json.dumps(place.state())


def test_what_could_not_be_sent_is_sent_by_the_next_monitor(place: Place, cloud: Cloud) -> None:
    options = (*CLOUD, "--cloud-log", "goodput_job", "--tensorboard", "gs://bucket/tb")
    away = Place(place.dir.parent, cloud)
    services = ("HEADWAY_MONITORING_ENDPOINT", "HEADWAY_LOGGING_ENDPOINT", "STORAGE_EMULATOR_HOST")
    away.env |= dict.fromkeys(services, "http://127.0.0.1:9")
    begin = time.monotonic()
    done = away.monitor(*options, "--final", "1s")
    assert done.returncode == 4
    assert time.monotonic() - begin < 20
    assert cloud.control()["points"] == []
    assert len(away.waiting()) >= 3
    assert all(d["failures"] > 0 for d in away.state()["destinations"])

    assert place.monitor(*options, "--final", "20s").returncode == 0, place.state()
    seen = cloud.control()
    assert seen["faults"] == []
    # Both runs' values, the first one's with the times at which they were taken.
    ends = sorted(p["end"] for p in seen["points"] if p["name"] == "goodput_time")
    assert len(ends) >= 2
    assert len(seen["objects"]) == 2
    assert place.waiting() == []


def test_without_google_cloud_nothing_is_sent_and_nothing_waits(tmp_path: Path) -> None:
    place = Place(tmp_path, None)
    begin = time.monotonic()
    done = place.monitor("--cloud-monitoring", "--cloud-if-there", "--tensorboard", str(tmp_path))
    assert done.returncode == 0, place.state()
    assert time.monotonic() - begin < 15
    assert any("off" in d["destination"] for d in place.state()["destinations"])
    done = place.monitor("--cloud-monitoring")
    assert done.returncode == 4
    assert "project" in place.state()["destinations"][0]["error"]


def test_the_drop_in_sends_the_incumbents_metrics(place: Place, cloud: Cloud) -> None:
    place.python(DROP_IN)
    seen = cloud.control()
    assert seen["faults"] == []
    named = {p["name"]: p for p in seen["points"]}
    assert int(named["max_productive_steps"]["value"]) == 19
    assert named["goodput_time"]["labels"]["accelerator_type"] == "TPU-v5p"
    assert named["interval_goodput"]["labels"]["rolling_window_size"] == "3600"
    assert 0 < named["interval_goodput"]["value"] <= 100


class Collector:
    """An OTLP endpoint that keeps what it is sent; `plan` are statuses to answer first."""

    def __init__(self) -> None:
        collector = self
        self.plan: list[int] = []
        self.answer = b"{}"
        self.type = ""  # of the answer
        self.bodies: list[tuple[str, dict[str, str], bytes]] = []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status = collector.plan.pop(0) if collector.plan else 200
                if status == 200:
                    collector.bodies.append((self.path, dict(self.headers), body))
                self.send_response(status)
                self.send_header("Content-Length", str(len(collector.answer)))
                if collector.type:
                    self.send_header("Content-Type", collector.type)
                self.end_headers()
                self.wfile.write(collector.answer)

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def collector() -> Iterator[Collector]:
    one = Collector()
    yield one
    one.server.shutdown()


def test_a_collector_gets_each_sample_once(tmp_path: Path, collector: Collector) -> None:
    place = Place(tmp_path, None)
    secret = "Bearer%20secret-of-otel"
    place.env["OTEL_EXPORTER_OTLP_HEADERS"] = f"x-tenant=a%20b, authorization={secret}"
    collector.plan = [503, 429]
    done = place.monitor("--otlp", collector.url, "--otlp-json", "--window", "600s")
    assert done.returncode == 0, place.state()
    path, headers, body = collector.bodies[-1]
    assert path == "/v1/metrics"
    assert (headers["Content-Type"], headers["x-tenant"]) == ("application/json", "a b")
    (resource,) = json.loads(body)["resourceMetrics"]
    metrics = {m["name"]: m for m in resource["scopeMetrics"][0]["metrics"]}
    point = metrics["headway.step.max_productive"]["gauge"]["dataPoints"][0]
    assert int(point["asInt"]) == 29
    assert "headway.interval.goodput" in {
        m["name"]
        for _, _, text in collector.bodies
        for m in json.loads(text)["resourceMetrics"][0]["scopeMetrics"][0]["metrics"]
    }
    times = [
        json.loads(text)["resourceMetrics"][0]["scopeMetrics"][0]["metrics"][0]["gauge"][
            "dataPoints"
        ][0]["timeUnixNano"]
        for _, _, text in collector.bodies
    ]
    assert times == sorted(times, key=int)
    assert "secret-of-otel" not in json.dumps(place.state())


@pytest.mark.parametrize("encoding", ["protobuf", "json"])
def test_points_that_a_collector_rejects_are_told(
    tmp_path: Path, collector: Collector, encoding: str
) -> None:
    place = Place(tmp_path, None)
    collector.answer = b"\x0a\x0b\x08\x07\x12\x07too old"
    collector.type = "application/x-protobuf"
    if encoding == "json":
        partial = {"rejectedDataPoints": "7", "errorMessage": "too old"}
        collector.answer = json.dumps({"partialSuccess": partial}).encode()
        collector.type = "application/json"
    done = place.monitor("--otlp", collector.url)
    assert done.returncode == 4
    assert "rejected 7 data points" in done.stderr and "too old" in done.stderr
    (destination,) = place.state()["destinations"]
    samples = place.state()["samples"]
    assert destination["rejected_points"] == 7 * samples
    # None is sent again, but the one whose answer the monitor's end cut off.
    bodies = [body for _, _, body in collector.bodies]
    assert len(set(bodies)) == samples and len(bodies) <= samples + 1
    doctor = subprocess.run(
        [place.env["HEADWAY_PROGRAM"], "doctor", "job"],
        env=place.env, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert doctor.returncode == 1 and "too old" in doctor.stdout


def test_a_secret_that_the_server_repeats_is_masked(tmp_path: Path, collector: Collector) -> None:
    place = Place(tmp_path, None)
    place.env["OTEL_EXPORTER_OTLP_HEADERS"] = "x-api-key=Key%20secret-of-otel"
    collector.plan = [400] * 50
    collector.answer = b"no such key: secret-of-otel"
    done = place.monitor("--otlp", collector.url)
    assert done.returncode == 4
    assert "no such key: [masked]" in done.stderr
    assert "secret-of-otel" not in done.stderr + json.dumps(place.state())


def test_its_end_can_be_hurried(tmp_path: Path) -> None:
    place = Place(tmp_path, None)
    place.env["STORAGE_EMULATOR_HOST"] = "http://127.0.0.1:9"
    place.python(TRAINING, "3")
    monitor = subprocess.Popen(
        [
            place.env["HEADWAY_PROGRAM"], "monitor", "job", "--every", "50ms", "--tensorboard",
            "gs://bucket/tb", "--final", "1s",
        ],
        env=place.env, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    awaited(lambda: place.begun(monitor.pid) and place.state()["samples"], "a sample")
    monitor.terminate()
    begin = time.monotonic()
    assert monitor.wait(timeout=20) == 4
    assert time.monotonic() - begin < 5
    # Once more, with more time than anybody has.
    place.python(
        """
import fcntl, glob, os, signal, struct, termios, time
from headway._beside import Companion
companion = Companion(["monitor", "job", "--tensorboard", "gs://bucket/tb", "--final", "1s"])
state = f"{os.environ['HEADWAY_DIR']}/monitors/default/job/*-{companion.pid}.json"
until = time.monotonic() + 20
while not glob.glob(state):
    assert time.monotonic() < until, "it has not begun"
companion._control.send(b"stop 60000000\\n")
while struct.unpack("i", fcntl.ioctl(companion._control, termios.TIOCOUTQ, bytes(4)))[0]:
    assert time.monotonic() < until, "it has not heard"
assert companion.running
os.kill(companion.pid, signal.SIGTERM)
companion._hear(10)
assert not companion.running
"""
    )


def test_a_run_that_does_not_exist(tmp_path: Path) -> None:
    place = Place(tmp_path, None)
    monitor = subprocess.Popen(
        [place.env["HEADWAY_PROGRAM"], "monitor", "nobody", "--every", "1s", "--tensorboard", "tb"],
        env=place.env, cwd=tmp_path, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    awaited(lambda: place.begun(monitor.pid, "nobody"), "its begin")
    monitor.terminate()
    _, told = monitor.communicate(timeout=20)
    assert monitor.returncode == 1
    assert 'no run "nobody"' in told


def test_protocol_buffers_are_the_default(tmp_path: Path, collector: Collector) -> None:
    place = Place(tmp_path, None)
    place.env["OTEL_EXPORTER_OTLP_ENDPOINT"] = collector.url + "/"
    assert place.monitor("--otlp", "env").returncode == 0
    path, headers, body = collector.bodies[-1]
    assert (path, headers["Content-Type"]) == ("/v1/metrics", "application/x-protobuf")
    assert body[:1] == b"\x0a" and b"headway.goodput.ratio" in body


def test_prometheus_sees_it_while_it_trains(tmp_path: Path) -> None:
    place = Place(tmp_path, None)
    file = tmp_path / "job.prom"
    training = subprocess.Popen([sys.executable, "-c", TRAINING, "60"], env=place.env)
    monitor = subprocess.Popen(
        [
            place.env["HEADWAY_PROGRAM"], "monitor", "job", "--beside", str(training.pid),
            "--every", "100ms", "--prometheus-listen", "0", "--prometheus-file", str(file),
        ],
        env=place.env,
    )  # fmt: skip
    text = ""
    until = time.monotonic() + SECONDS
    while "headway_goodput_ratio" not in text:
        assert time.monotonic() < until
        time.sleep(0.05)
        states = list((place.dir / "monitors/default/job").glob("*.json"))
        if states:
            state = json.loads(states[0].read_text())
            (url,) = [
                word
                for d in state["destinations"]
                for word in d["destination"].split()
                if word.startswith("http://")
            ]
            with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url) as answer:
                text = answer.read().decode()
    assert training.wait() == 0 and monitor.wait() == 0
    assert 'headway_max_productive_step{project="default",run="job"} 59' in file.read_text()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), "somewhere to tell"),
        (("--tensorboard", ""), "--tensorboard must not be empty"),
        (("--tensorboard=", "--json"), "--tensorboard must not be empty"),
        (("--tensorboard", "x", "--prometheus-file", ""), "--prometheus-file must not be empty"),
        (("--tensorboard", "x", "--prometheus-listen", ""), "--prometheus-listen"),
        (("--tensorboard", "x", "--otlp", ""), "--otlp must not be empty"),
        (("--tensorboard", "x", "--cloud-log", ""), "--cloud-log must not be empty"),
        (("--tensorboard", "ftp://host/x"), "ftp://host/x"),
        (("--tensorboard", "gs://"), "gs://"),
        (("--prometheus-file", "x.txt"), ".prom"),
        (("--prometheus-listen", "nowhere"), "nowhere"),
        (("--otlp", "env"), "OTEL_EXPORTER_OTLP_ENDPOINT"),
        (("--otlp", "gopher://x"), "OTLP endpoint"),
        (("--tensorboard", "x", "--window", "1ms"), "1ms"),
        (("--tensorboard", "x", "--every", "1ns"), "--every"),
        (("--tensorboard", "x", "--ideal-step", "fast"), "fast"),
        (("--tensorboard", "x", "--beside", "me"), "--beside"),
        (("--tensorboard", "x", "--windows-only"), "--window"),
    ],
)
def test_calls_that_are_wrong(tmp_path: Path, options: tuple[str, ...], words: str) -> None:
    place = Place(tmp_path, None)
    done = subprocess.run(
        [place.env["HEADWAY_PROGRAM"], "monitor", "job", *options],
        env=place.env, cwd=tmp_path, timeout=SECONDS, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode in (1, 2), done.stderr
    assert words in done.stderr


def test_what_can_not_be_opened_yet_holds_up_no_other(place: Place, tmp_path: Path) -> None:
    folder, curves = tmp_path / "textfiles", tmp_path / "curves"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        training = subprocess.Popen([sys.executable, "-c", TRAINING, "60"], env=place.env)
        monitor = subprocess.Popen(
            [
                place.env["HEADWAY_PROGRAM"], "monitor", "job", "--beside", str(training.pid),
                "--every", "100ms", "--prometheus-listen", str(port),
                "--prometheus-file", str(folder / "job.prom"), "--tensorboard", str(curves),
            ],
            env=place.env,
        )  # fmt: skip
        until = time.monotonic() + SECONDS
        while not list(curves.glob("*")):
            assert time.monotonic() < until and monitor.poll() is None
            time.sleep(0.05)
    folder.mkdir()
    assert training.wait() == 0 and monitor.wait() == 0
    assert 'headway_max_productive_step{project="default",run="job"} 59' in (
        folder / "job.prom"
    ).read_text()


def test_it_says_that_it_waits_for_a_run(tmp_path: Path) -> None:
    place = Place(tmp_path, None)
    with subprocess.Popen(
        [place.env["HEADWAY_PROGRAM"], "monitor", "jbo", "--tensorboard", str(tmp_path / "tb")],
        env=place.env, stderr=subprocess.PIPE, text=True,
    ) as monitor:  # fmt: skip
        assert monitor.stderr is not None
        assert 'waiting for run "jbo"' in monitor.stderr.readline()
        monitor.terminate()
        assert monitor.wait() == 1


# What a monitor sees begins with others than the process that leads.
LATE = """
import os, sys, time
time.sleep(float(sys.argv[1]))
import headway
run = headway.init(run="job")
first = 10 * int(os.environ.get("HEADWAY_ATTEMPT", "0"))
for step in range(first, first + 20):
    with run.step(step):
        time.sleep(0.02)
if first == 0 and "die" in sys.argv:
    os.kill(os.getpid(), 9)
run.finish()
"""


@pytest.mark.parametrize("how", ["supervised", "ranks"])
def test_the_log_is_that_of_the_process_that_leads(
    how: str, place: Place, cloud: Cloud, tmp_path: Path
) -> None:
    program = place.env["HEADWAY_PROGRAM"]

    def start(*command: str, **more: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            command, env={**place.env, **more}, text=True, stderr=subprocess.DEVNULL
        )

    if how == "supervised":
        training = [
            start(
                program, "run", "--run", "job", "--restarts", "1", "--backoff", "300ms", "--",
                sys.executable, "-c", LATE, "0.8", "die",
            )
        ]  # fmt: skip
    else:
        job = {"HEADWAY_JOB_ID": "j", "HEADWAY_ATTEMPT_KEY": "j0", "HEADWAY_WORLD_SIZE": "2"}
        training = [
            start(sys.executable, "-c", LATE, late, HEADWAY_RANK=rank, **job)
            for rank, late in (("0", "0.6"), ("1", "0"))
        ]
    done = subprocess.run(
        [
            program, "monitor", "job", "--beside", str(training[0].pid), "--every", "50ms",
            "--cloud-project", "p1", "--cloud-log", "goodput_job", "--final", "20s",
        ],
        env=place.env, timeout=SECONDS, capture_output=True, text=True, check=False,
    )  # fmt: skip
    for process in training:
        process.wait(SECONDS)
    assert done.returncode == 0, done.stderr
    other = Place(tmp_path / "other", cloud)

    def goodput(where: Place) -> dict[str, Any]:
        told = subprocess.run(
            [program, "goodput", "job", "--accounting", "compat", "--json"],
            env=where.env, timeout=SECONDS, capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip
        report: dict[str, Any] = json.loads(told)
        return report

    subprocess.run(
        [program, "import", "cloud-logging://p1/goodput_job", "--run", "job"],
        env=other.env, timeout=SECONDS, check=True, capture_output=True,
    )  # fmt: skip
    recorded, kept = goodput(place), goodput(other)
    assert len(kept["disruptions"]) == len(recorded["disruptions"]) == (how == "supervised")
    assert kept["steps"]["count"] == recorded["steps"]["count"]
    assert kept["goodput"] == pytest.approx(recorded["goodput"], rel=1e-5)


def test_a_log_is_read_back_from_the_cloud(place: Place, cloud: Cloud, tmp_path: Path) -> None:
    done = place.monitor("--cloud-project", "p1", "--cloud-log", "goodput_job", "--final", "20s")
    assert done.returncode == 0, place.state()
    other = Place(tmp_path / "other", cloud)

    def headway(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [place.env["HEADWAY_PROGRAM"], *arguments],
            env=other.env, timeout=SECONDS, capture_output=True, text=True, check=False,
        )  # fmt: skip

    made = headway("import", "cloud-logging://p1/goodput_job", "--run", "job")
    assert made.returncode == 0, made.stderr
    report = json.loads(headway("goodput", "job", "--accounting", "compat", "--json").stdout)
    assert (report["state"], report["steps"]["max_productive_step"]) == ("completed", 29)
    for wrong, words in (
        (("cloud-logging://p1", "--run", "job"), "cloud-logging://PROJECT/LOG"),
        (("cloud-logging://p1/goodput_job",), "--run JOB"),
        (("cloud-logging://p1/goodput_job", "--run", "nobody"), "no entry"),
    ):
        done = headway("import", *wrong)
        assert done.returncode in (1, 2, 3) and words in done.stderr, done.stderr
