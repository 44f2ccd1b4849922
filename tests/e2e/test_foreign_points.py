"""Points that Prometheus and OpenTelemetry send to a server: made by hand, and by the real ones."""

from __future__ import annotations

import gzip
import http.server
import json
import math
import re
import shutil
import socket
import struct
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Headway, wait_until
from foreign import STALE, field, post, remote_write, snappy, varint, write_request
from test_server import Server

sys.path.insert(0, str(ROOT / "tools"))
from environments import NotInstallable, debian_package, environment  # noqa: E402

NOW = 1_900_000_000_000  # ms
Points = list[tuple[int, float]]


@pytest.fixture
def server(headway: Headway, tmp_path: Path) -> Iterator[Server]:
    with closing(Server(headway, tmp_path / "far")) as one:
        for project, run in (("default", "r"), ("p", "r"), ("p", "s")):
            call(one, "RunService/CreateRun", project=project, run={"name": run})
        yield one


def call(server: Server, method: str, **request: Any) -> Any:
    if method == "RunService/CreateRun":
        request["run"]["project"] = request.get("project", "default")
    status, answer = server.call(method, request)
    assert status == 200, (method, answer)
    return answer


def points_of(server: Server, run: str = "r", project: str = "default") -> dict[str, Points]:
    """What is kept of a run, by name, unit and labels: (ms, value)."""
    lines = call(server, "SeriesService/QuerySeries", project=project, runs=[run], buckets=4096)
    found: dict[str, Points] = {}
    for line in lines.get("lines", []):
        series = line["series"]
        key = f"{series['name']}[{series['unit']}]" + json.dumps(series["labels"], sort_keys=True)
        assert key not in found
        found[key] = [
            (int(at) // 10**6, float(value))
            for at, value in zip(line["times"], line["values"], strict=True)
        ]
    return found


def labels(name: str, run: str = "r", **more: str) -> dict[str, str]:
    return {"__name__": name, "run": run, **more}


def test_what_prometheus_sends_is_kept_once(server: Server) -> None:
    kept: dict[str, Points] = {}
    for n in range(50):
        at = NOW + 15_000 * n
        values = {"node_load1": n / 8, "node_memory_bytes": 4096.0 * n, "loss": 1 / (n + 1)}
        request = [
            (labels(name, job="node", instance="a:1"), [(at, value)])
            for name, value in values.items()
        ]
        request.append((labels("up"), [(at, math.nan if n == 7 else 1.0), (at + 1, STALE)]))
        assert remote_write(server.url, server.token, request) == (204, "")
        for (name, value), unit in zip(values.items(), ("", "By", "1"), strict=True):
            key = f'{name}[{unit}]{{"instance": "a:1", "job": "node"}}'
            kept.setdefault(key, []).append((at, value))
        kept.setdefault("up[]{}", []).append((at, math.nan if n == 7 else 1.0))
        # Prometheus sends a request again when it has got no answer, and so does the second of two.
        if n % 3 == 0:
            assert remote_write(server.url, server.token, request) == (204, "")
        if n in (20, 40):
            server.kill()
            server.start()
            assert remote_write(server.url, server.token, request) == (204, "")
    assert str(points_of(server)) == str(dict(sorted(kept.items())))  # NaN is no equal of itself
    listed = call(server, "SeriesService/ListSeries", run="r")["series"]
    assert {one["source"] for one in listed} == {"remote-write"}
    assert {int(one["summary"]["count"]) for one in listed} == {50}
    # What comes late is kept, too; and another value at the same time is not.
    late = [(labels("loss", job="node", instance="a:1"), [(NOW - 5, 7.0), (NOW + 7, 8.0)])]
    assert remote_write(server.url, server.token, late) == (204, "")
    other = [(labels("loss", job="node", instance="a:1"), [(NOW - 5, 7.5), (NOW + 8, 9.0)])]
    status, text = remote_write(server.url, server.token, other)
    assert status == 400 and "1 of 2 points are not kept" in text and '"loss"' in text
    found = points_of(server)['loss[1]{"instance": "a:1", "job": "node"}']
    assert sorted(found)[0] == (NOW - 5, 7.0) and len(found) == 53
    # All of it goes with the run.
    uid = call(server, "RunService/GetRun", run="r")["uid"]
    call(server, "RunService/DeleteRun", run="r", force=True)
    status, text = remote_write(server.url, server.token, late)
    assert status == 404 and 'no run "r"' in text
    wait_until(lambda: server.call("SeriesService/ListSeries", {"run": uid})[0] == 404, "a purge")
    server.headway("backup", "--check", "--dir", server.folder)


def test_which_run_a_point_is_of(server: Server) -> None:
    def sent(query: str, token: str = "", **more: str) -> tuple[int, str]:
        series = {"__name__": "m", **more}
        return remote_write(server.url, token or server.token, [(series, [(NOW, 1.0)])], query)

    def token(**request: str) -> str:
        return str(call(server, "TokenService/CreateToken", role="writer", **request)["secret"])

    assert sent("", run="r") == (204, "")
    assert sent("", run="s", project="p", job="j") == (204, "")
    assert sent("?run=r&project=p", run="x", job="j") == (204, "")
    assert sent("?run=%72", project="elsewhere") == (204, "")
    assert sent("?project=p", run="r", project="none") == (204, "")
    uid = call(server, "RunService/GetRun", run="s", project="p")["uid"]
    assert sent("?project=p&run=" + uid, n="1") == (204, "")
    only = token(project="p", run="s")
    assert sent("", only, n="2") == (204, "")  # which names it
    assert list(points_of(server)) == ["m[]{}", 'm[]{"project": "elsewhere"}']
    assert list(points_of(server, "r", "p")) == [
        'm[]{"job": "j", "run": "x"}', 'm[]{"project": "none"}']  # fmt: skip
    assert list(points_of(server, "s", "p")) == [
        'm[]{"job": "j"}', 'm[]{"n": "1"}', 'm[]{"n": "2"}']  # fmt: skip

    for query, secret, more, status, words in (
        ("", "", {}, 400, "says of no run"),
        ("", "", {"run": "none"}, 404, 'no run "none" in project "default"'),
        ("?project=q", "", {"run": "r"}, 404, 'no run "r" in project "q"'),
        ("?run=", "", {}, 400, "says no run"),
        ("?runs=r", "", {}, 400, 'parameter "runs"'),
        ("?run=r&run=s", "", {}, 400, "twice"),
        ("?run=%7", "", {}, 400, "escape"),
        ("?run=r", "wrong", {}, 401, "does not know the token"),
        ("?run=r", only, {}, 403, 'for run "s" only'),
        ("", only, {"run": "r"}, 403, 'for run "s" only'),
        ("?run=r&project=default", token(project="p"), {}, 403, 'project "p" only'),
    ):
        answer = sent(query, secret, **more)
        assert answer[0] == status and words in answer[1], (query, more, answer)
        assert answer[1].count("\n") == 1 or answer[1].startswith("{")
    # Who may not send points, and who has a link, is refused before the body is read.
    viewer = call(server, "TokenService/CreateToken", role="viewer")["secret"]
    shared = call(server, "LinkService/CreateLink", run="r")["secret"]
    for path in ("/api/v1/write", "/v1/metrics"):
        for secret in (viewer, shared):
            assert post(server.url + path, secret, b"x")[0] == 403
        assert post(server.url + path, "", b"x")[0] == 401
    # Those of other runs do not suffer.
    request = [({"__name__": "m", "run": run}, [(NOW + 9, 1.0)]) for run in ("none", "r", "nix")]
    status, text = remote_write(server.url, server.token, request)
    assert status == 404 and text == (
        '2 of 3 points are not kept, the others are: no run "none" in project "default"; '
        "the newest are: r\n")  # fmt: skip
    assert (NOW + 9, 1.0) in points_of(server)["m[]{}"]


def test_what_is_no_remote_write_is_refused(server: Server) -> None:
    def sent(body: bytes, **headers: str) -> tuple[int, bytes]:
        known = {"Content_Type": "application/x-protobuf", "Content_Encoding": "snappy"}
        return post(f"{server.url}/api/v1/write", server.token, body, **{**known, **headers})[:2]

    good = snappy(write_request([(labels("m"), [(NOW, 1.0)])]))
    new = "application/x-protobuf;proto=io.prometheus.write.v2.Request"
    for body, headers, status, words in (
        (good, {"Content_Type": new}, 415, b"remote write 1.0"),
        (good, {"Content_Type": "application/json"}, 415, b"remote write 1.0"),
        (good, {"Content_Encoding": ""}, 415, b"snappy"),
        (good, {"Content_Encoding": "gzip"}, 415, b"snappy"),
        (good[:-1], {}, 400, b"snappy"),
        (b"", {}, 400, b"snappy"),
        (varint(1 << 31) + b"x" * 100, {}, 400, b"67108864 bytes"),
        (varint(60 << 20) + b"x" * 100, {}, 400, b"cut off"),
        (snappy(b"\x0a\xff"), {}, 400, b"prometheus.WriteRequest"),
        (snappy(field(1, b"\x0a\xff")), {}, 400, b"series 0"),
    ):
        assert sent(body, **headers)[0] == status, (headers, sent(body, **headers))
        assert words in sent(body, **headers)[1]
    request = urllib.request.Request(f"{server.url}/api/v1/write", method="GET")
    request.add_header("Authorization", f"Bearer {server.token}")
    with pytest.raises(urllib.error.HTTPError, match="405"):
        urllib.request.urlopen(request)
    named = "application/x-protobuf;proto=prometheus.WriteRequest"
    assert sent(good, Content_Type=named) == (204, b"")
    for series, words in (
        ({"run": "r"}, "needs a name"),
        (labels("a\nb"), "control"),
        (labels("x" * 257), "256"),
        (labels("m", **{f"l{n}": "x" for n in range(65)}), "at most 64 labels"),
        (labels("m", a="x" * 1025), "1024 bytes"),
    ):
        both = [(series, [(NOW, 2.0)]), (labels("ok"), [(NOW, 2.0)])]
        status, text = remote_write(server.url, server.token, both)
        assert status == 400 and words in text, (series, text)
    far = [(labels("far"), [(1 << 62, 1.0), (NOW, 1.0), (-(1 << 60), 2.0)])]
    status, text = remote_write(server.url, server.token, far)
    assert status == 400 and "2 of 3 points are not kept" in text
    assert list(points_of(server)) == ["far[]{}", "m[]{}", "ok[]{}"]
    # A name of the source belongs to the protocol.
    for source in ("remote-write", "otlp"):
        status, answer = server.call("SeriesService/WritePoints", {"run": "r", "source": source})
        assert status == 400 and source in answer["message"]


def test_native_histograms_are_count_and_sum(server: Server) -> None:
    histogram = (
        b"\x08\x05" + b"\x19" + struct.pack("<d", 2.5) + varint(15 << 3) + varint(NOW)
    )  # count 5, sum 2.5
    series = b"".join(field(1, field(1, k) + field(2, v)) for k, v in labels("d_seconds").items())
    body = snappy(field(1, series + field(4, histogram)))
    status = post(f"{server.url}/api/v1/write", server.token, body, Content_Encoding="snappy",
                  Content_Type="application/x-protobuf")[0]  # fmt: skip
    assert status == 204
    assert points_of(server) == {"d_seconds_count[]{}": [(NOW, 5.0)],
                                 "d_seconds_sum[s]{}": [(NOW, 2.5)]}  # fmt: skip


def otlp(resource: dict[str, str], metrics: list[dict[str, Any]]) -> dict[str, Any]:
    return {"resourceMetrics": [{
        "resource": {"attributes": [
            {"key": key, "value": {"stringValue": value}} for key, value in resource.items()]},
        "scopeMetrics": [{"scope": {"name": "lib"}, "metrics": metrics}],
    }]}  # fmt: skip


def number(name: str, *values: float, **attributes: str) -> dict[str, Any]:
    said = [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()]
    return {"name": name, "unit": "s", "gauge": {"dataPoints": [
        {"attributes": said, "timeUnixNano": str((NOW + n) * 10**6), "asDouble": value}
        for n, value in enumerate(values)]}}  # fmt: skip


def test_otlp_by_hand(server: Server) -> None:
    def sent(body: Any, query: str = "", **headers: str) -> tuple[int, Any]:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        headers = {"Content_Type": "application/json", **headers}
        status, answer, got = post(f"{server.url}/v1/metrics{query}", server.token, content,
                                   **headers)  # fmt: skip
        if status == 415:
            return status, answer.decode()
        assert got["Content-Type"] == headers["Content_Type"].split(";")[0]
        return status, json.loads(answer) if answer.startswith(b"{") else answer

    of_run = {"headway.run": "r", "service.name": "t", "telemetry.sdk.version": "1"}
    request = otlp(of_run, [number("a", 1, 2, k="v"), number("b", math.inf)])
    text = json.dumps(request).replace(": Infinity", ': "Infinity"').encode()
    assert sent(text) == (200, {})
    assert sent(gzip.compress(text), Content_Encoding="gzip") == (200, {})  # once more
    rest = '"otel.scope.name": "lib", "service.name": "t"}'
    kept = {'a[s]{"k": "v", ' + rest: [(NOW, 1.0), (NOW + 1, 2.0)],
            "b[s]{" + rest: [(NOW, math.inf)]}  # fmt: skip
    assert points_of(server) == kept
    # The same said by attributes, by the query, and by nobody.
    assert sent(otlp({}, [number("c", 1, run="s", project="p")])) == (200, {})
    assert sent(otlp({}, [number("c", 2, run="x")]), "?run=s&project=p") == (200, {})
    assert points_of(server, "s", "p") == {
        'c[s]{"otel.scope.name": "lib"}': [(NOW, 1.0)],
        'c[s]{"otel.scope.name": "lib", "run": "x"}': [(NOW, 2.0)]}  # fmt: skip
    status, answer = sent(otlp({}, [number("c", 1)]))
    assert status == 400 and answer["code"] == 3 and "headway.run" in answer["message"]
    status, answer = sent(otlp({"headway.run": "none"}, [number("c", 1)]))
    assert status == 404 and answer["code"] == 5 and 'no run "none"' in answer["message"]
    bad = [number("d", 1, 2, run="none"), number("", 1, run="r")]
    mixed = otlp({}, [*bad, number("d", 3, run="r")])
    status, answer = sent(mixed)
    assert status == 200 and answer["partialSuccess"]["rejectedDataPoints"] == "3"
    assert 'no run "none"' in answer["partialSuccess"]["errorMessage"]
    # In protocol buffers: google.rpc.Status.
    status, answer = sent(b"\x0a\xff", Content_Type="application/x-protobuf")
    assert status == 400 and answer.startswith(b"\x08\x03\x12") and b"resource 0" in answer
    assert sent(b"", Content_Type="application/x-protobuf") == (200, b"")
    for body, headers, code in (
        (b"", {}, 400), (b"[", {}, 400), (b"{}", {"Content_Encoding": "gzip"}, 400),
        (gzip.compress(b" " * (65 << 20)), {"Content_Encoding": "gzip"}, 400),
        (b"{}", {"Content_Encoding": "br"}, 415), (b"{}", {"Content_Type": "text/plain"}, 415),
        (gzip.compress(b"{}") + b"x", {"Content_Encoding": "gzip"}, 400),
        (b"{}", {"Content_Type": "application/json; charset=utf-8"}, 200),
    ):  # fmt: skip
        assert sent(body, **headers)[0] == code, (body[:20], headers)
    for at in ("0", str(1 << 63)):
        bad = number("t", 1)
        bad["gauge"]["dataPoints"][0]["timeUnixNano"] = at
        assert sent(otlp(of_run, [bad]))[0] == 400
    metrics = post(f"{server.url}/metrics", server.token, b"")[0]
    assert metrics == 405
    request = urllib.request.Request(f"{server.url}/metrics")
    request.add_header("Authorization", f"Bearer {server.token}")
    with urllib.request.urlopen(request) as answered:
        page = answered.read().decode()
    counted = dict(re.findall(r'ingest_points_total\{result="(\w+)"\} (\d+)', page))
    assert counted == {"kept": "6", "repeated": "3", "refused": "7"}


# --- The real ones


@pytest.fixture(scope="session")
def prometheus() -> str:
    if installed := shutil.which("prometheus"):
        return installed
    try:
        folder = debian_package(ROOT / "build/prometheus", "prometheus")
    except NotInstallable as error:
        pytest.skip(f"prometheus can't be had: {error}")
    return str(folder / "usr/bin/prometheus")


class Target(http.server.BaseHTTPRequestHandler):
    """Something to scrape, whose values change."""

    scrapes = 0

    def do_GET(self) -> None:
        type(self).scrapes += 1
        text = "".join(
            f'app_level_bytes{{device="{n}"}} {n * 1000 + self.scrapes}\n' for n in range(200)
        )
        text += f"app_requests_total {self.scrapes}\napp_odd NaN\n"
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_: Any) -> None:
        pass


def free_port() -> int:
    with socket.socket() as any_port:
        any_port.bind(("127.0.0.1", 0))
        return int(any_port.getsockname()[1])


def test_a_prometheus_writes_to_it(
    headway: Headway, server: Server, tmp_path: Path, prometheus: str
) -> None:
    """With the configuration of the document, and the server killed meanwhile."""
    token = call(server, "TokenService/CreateToken", role="writer")["secret"]
    (tmp_path / "token").write_text(token)
    Target.scrapes = 0
    target = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Target)
    threading.Thread(target=target.serve_forever, daemon=True).start()
    page = (ROOT / "docs/metrics.md").read_text()
    match = re.search(r"```yaml\n(remote_write:.*?)```", page, re.S)
    assert match
    config = match[1]
    for there, here in (
        ("/etc/prometheus/headway-token", str(tmp_path / "token")),
        ("https://goodput:8460", server.url),
        ("run=llama-7b", "run=r"),
    ):
        assert there in config
        config = config.replace(there, here)
    (tmp_path / "config.yml").write_text(
        "global: {scrape_interval: 100ms}\n"
        "scrape_configs:\n  - job_name: app\n    static_configs:\n"
        f"      - targets: ['127.0.0.1:{target.server_port}']\n" + config)  # fmt: skip
    port = free_port()
    command = [prometheus, f"--config.file={tmp_path}/config.yml",
               f"--storage.tsdb.path={tmp_path}/data",
               f"--web.listen-address=127.0.0.1:{port}"]  # fmt: skip
    with open(tmp_path / "log", "w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)

    def theirs(query: str) -> dict[str, Points]:
        ask = urllib.parse.urlencode({"query": query})
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/query?{ask}") as answer:
            rows = json.loads(answer.read())["data"]["result"]
        return {
            row["metric"]["device"]: [(round(at * 1000), float(v)) for at, v in row["values"]]
            for row in rows
        }

    def arrived(at_least: int) -> bool:
        found = points_of(server)
        return len(found) > 200 and min(map(len, found.values())) >= at_least

    try:
        wait_until(lambda: arrived(3), "the first points")
        server.kill()
        seen = Target.scrapes
        wait_until(lambda: Target.scrapes > seen + 10, "scrapes while it is away")
        server.start()
        wait_until(lambda: arrived(20), "points from then")
        scraped = theirs("app_level_bytes[1h]")
        last = max(at for points in scraped.values() for at, _ in points)

        def ours() -> dict[str, Points]:
            found = points_of(server)
            return {
                json.loads(key.partition("]")[2])["device"]: points
                for key, points in found.items()
                if key.startswith("app_level_bytes[By]")
            }

        wait_until(lambda: min(points[-1][0] for points in ours().values()) >= last, "all of it")
        for device, points in ours().items():
            assert [one for one in points if one[0] <= last] == scraped[device], device
        key = next(key for key in points_of(server) if key.startswith("app_requests_total"))
        assert json.loads(key.partition("]")[2]) == {
            "instance": f"127.0.0.1:{target.server_port}", "job": "app"}  # fmt: skip
    finally:
        process.terminate()
        process.wait(timeout=60)
        target.shutdown()
    assert "non-recoverable" not in (tmp_path / "log").read_text()


EXPORT = """
import sys
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.metrics import Observation
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource

exporter = OTLPMetricExporter(compression=Compression(sys.argv[1]))
reader = PeriodicExportingMetricReader(exporter, export_interval_millis=3_600_000)
provider = MeterProvider([reader], resource=Resource({"headway.run": "r", "host.name": "n1"}))
meter = provider.get_meter("train")
steps = meter.create_counter("steps", unit="{step}")
times = meter.create_histogram("step.time", unit="s")
meter.create_observable_gauge("gpu.power", [lambda _: [
    Observation(250.5, {"device": 0}), Observation(240, {"device": 1})]], unit="W")
for n in range(3):
    steps.add(10, {"phase": "train"})
    times.record(0.5 + n)
    assert provider.force_flush()
provider.shutdown()
"""


@pytest.mark.parametrize("compression", ["none", "gzip"])
def test_the_exporter_of_opentelemetry_writes_to_it(
    headway: Headway, server: Server, compression: str
) -> None:
    try:
        python = environment(ROOT / "build/otlp", ROOT / "tools/requirements-otlp.txt")
    except NotInstallable as error:
        pytest.skip(f"opentelemetry-exporter-otlp-proto-http can't be installed: {error}")
    token = call(server, "TokenService/CreateToken", role="writer")["secret"]
    subprocess.run(
        [python, "-c", EXPORT, compression], check=True, timeout=60,
        env={**headway.environment, "OTEL_EXPORTER_OTLP_ENDPOINT": server.url,
             "OTEL_EXPORTER_OTLP_HEADERS": f"Authorization=Bearer%20{token}"},
    )  # fmt: skip
    found = {}
    for key, points in points_of(server).items():
        name, _, said = key.partition("]")
        found[f"{name}]{json.loads(said).get('device', '')}"] = [value for _, value in points]
    # It exports once more when it is shut down.
    assert {key: values[:3] for key, values in found.items()} == {
        "steps[{step}]": [10, 20, 30], "gpu.power[W]0": [250.5] * 3, "gpu.power[W]1": [240] * 3,
        "step.time_count[1]": [1, 2, 3], "step.time_sum[s]": [0.5, 2, 4.5],
        "step.time_min[s]": [0.5] * 3, "step.time_max[s]": [0.5, 1.5, 2.5],
    }  # fmt: skip
    one = next(key for key in points_of(server) if key.startswith("steps"))
    said = json.loads(one.partition("]")[2])
    assert said["host.name"] == "n1" and said["phase"] == "train"
    assert said["otel.scope.name"] == "train" and "headway.run" not in said


@pytest.mark.parametrize("encoding", [[], ["--otlp-json"]])
def test_a_monitor_of_headway_writes_to_it(
    headway: Headway, server: Server, encoding: list[str]
) -> None:
    program = """
import headway, time
with headway.init(run="m") as run:
    for step in range(20):
        with run.step(step):
            time.sleep(0.01)
"""
    subprocess.run([sys.executable, "-c", program], env=headway.environment, check=True)
    headway("ship", env=server.env)
    monitor = headway.start(
        "monitor", "m", "--every", "100ms", "--otlp", "env", *encoding,
        env={"OTEL_EXPORTER_OTLP_ENDPOINT": server.url,
             "OTEL_EXPORTER_OTLP_HEADERS": f"Authorization=Bearer {server.token}"},
    )  # fmt: skip
    try:
        wait_until(lambda: any(len(points) > 2 for points in points_of(server, "m").values()),
                   "points of the monitor")  # fmt: skip
    finally:
        monitor.terminate()
        _, said = monitor.communicate(timeout=30)
    assert monitor.returncode == 0, said
    found = points_of(server, "m")
    key = next(key for key in found if key.startswith("headway.goodput.ratio[1]"))
    assert found[key][-1][1] == pytest.approx(headway.json("goodput", "m")["goodput"], abs=1e-9)
    assert json.loads(key.partition("]")[2]) == {
        "otel.scope.name": "headway", "service.instance.id": "default/m", "service.name": "headway",
    }  # fmt: skip
    assert any('"category": "program_startup"' in key for key in found)
