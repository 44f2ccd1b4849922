"""What a server tells of itself at `/metrics`."""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from conftest import ROOT, Headway, wait_until
from test_server import Server, train
from test_tls import TlsServer

sys.path.insert(0, str(ROOT / "tools"))
from environments import NotInstallable, debian_package  # noqa: E402


@pytest.fixture
def server(headway: Headway, tmp_path: Path) -> Iterator[Server]:
    with closing(Server(headway, tmp_path / "far")) as one:
        yield one


@pytest.fixture(scope="session")
def tool() -> Callable[[str], str]:
    """Finds a program of Prometheus, or fetches it; where it can't be had the test is skipped."""

    def find(program: str) -> str:
        if installed := shutil.which(program):
            return installed
        try:
            folder = debian_package(ROOT / "build/prometheus", "prometheus")
        except NotInstallable as error:
            pytest.skip(f"{program} can't be had: {error}")
        return str(folder / "usr/bin" / program)

    return find


def ask(server: Server, token: str | None, method: str = "GET") -> tuple[int, str]:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    wanted = urllib.request.Request(f"{server.url}/metrics", headers=headers, method=method)
    try:
        with urllib.request.urlopen(wanted, timeout=30) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def metrics(server: Server) -> dict[str, float]:
    status, text = ask(server, server.token)
    assert status == 200
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return {name.removeprefix("headway_server_"): float(value)
            for name, value in (line.rsplit(" ", 1) for line in lines)}  # fmt: skip


def test_it_counts_what_happens(headway: Headway, server: Server, tmp_path: Path) -> None:
    headway(*train(headway, tmp_path, "r", 1, 100))
    sent = json.loads(headway("ship", "--json", env=server.env).stdout)
    headway("goodput", "r", env=server.env)
    headway("goodput", "none", env=server.env, code=1)
    headway("goodput", "r", env={**server.env, "HEADWAY_TOKEN": "x"}, code=5)
    for path in range(5):
        server.call(f"No/Such{path}", {})
    found = metrics(server)
    assert found["ingest_journals_total"] == sent["journals"]
    assert found["ingest_records_total"] == sent["slots_sent"]
    assert found["ingest_record_bytes_total"] == 32 * sent["slots_sent"]
    assert 0 < found["ingest_packed_bytes_total"] < 32 * sent["slots_sent"]
    report = 'requests_total{method="RunService/GetReport",code='
    assert [found[f'{report}"{code}"}}'] for code in (200, 404, 401)] == [1, 1, 1]
    assert found['requests_total{method="other",code="501"}'] == 5
    assert not [name for name in found if "Such" in name]
    assert found['tokens_refused_total{code="401"}'] == 1
    count = 'request_duration_seconds_count{method="RunService/GetReport"}'
    assert found[count] == 3
    assert 0 < found[count.replace("count", "sum")] < 60
    assert found["ledgers_held"] == 1
    assert found["store_bytes"] > 4096
    assert found["uptime_seconds"] > 0
    assert found["connections_open"] == 1
    assert found["requests_waiting"] == 0
    assert found["received_bytes_total"] > found["ingest_packed_bytes_total"]
    assert found["sent_bytes_total"] > 0
    assert 'requests_refused_total{reason="queue"}' in found
    again = metrics(server)
    assert again['requests_total{method="/metrics",code="200"}'] == 1
    # What was sent before is taken in once.
    headway("ship", env=server.env)
    assert metrics(server)["ingest_records_total"] == sent["slots_sent"]


def test_who_may_read_them(headway: Headway, server: Server, tmp_path: Path) -> None:
    for role, project, expected in (
        ("viewer", "", 200), ("editor", "", 200), ("admin", "", 200), ("writer", "", 403),
        ("viewer", "p", 403), ("editor", "p", 403), ("admin", "p", 403),
    ):  # fmt: skip
        status, answer = server.call("TokenService/CreateToken", {"role": role, "project": project})
        assert status == 200
        status, text = ask(server, answer["secret"])
        assert status == expected, (role, project, text)
        if status == 403:
            assert json.loads(text)["code"] == "permission_denied"
    for token in (None, "", "x", server.token + "x"):
        status, text = ask(server, token)
        assert status == 401 and json.loads(text)["code"] == "unauthenticated"
    assert ask(server, server.token, "HEAD") == (200, "")
    assert ask(server, server.token, "POST")[0] == 405
    found = metrics(server)
    assert found['tokens_refused_total{code="401"}'] == 4
    assert found['tokens_refused_total{code="403"}'] == 4
    with closing(Server(headway, tmp_path / "open", "--no-access-control")) as open_one:
        assert ask(open_one, None)[0] == 200


def test_promtool_has_nothing_to_say(
    headway: Headway, server: Server, tmp_path: Path, tool: Callable[[str], str]
) -> None:
    headway(*train(headway, tmp_path, "r", 1, 5))
    headway("ship", env=server.env)
    status, text = ask(server, server.token)
    assert status == 200
    done = subprocess.run([tool("promtool"), "check", "metrics"], input=text, capture_output=True,
                          text=True)  # fmt: skip
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_a_prometheus_scrapes_it_with_a_token(
    headway: Headway, tmp_path: Path, tool: Callable[[str], str]
) -> None:
    program = tool("prometheus")
    with closing(TlsServer(headway, tmp_path / "far")) as server:
        viewer = headway("tokens", "create", env=server.env).stdout.strip()
        (tmp_path / "token").write_text(viewer)
        # That of the document, with the places of this test.
        page = (ROOT / "docs/server.md").read_text()
        match = re.search(r"```yaml\n(scrape_configs:.*?)```", page, re.S)
        assert match
        config = match[1]
        for there, here in (
            ("/etc/prometheus/headway-token", str(tmp_path / "token")),
            ("/etc/prometheus/headway-ca.pem", str(server.certificate)),
            ("goodput:8460", f"127.0.0.1:{server.port}"),
        ):
            assert there in config
            config = config.replace(there, here)
        (tmp_path / "config.yml").write_text("global: {scrape_interval: 200ms}\n" + config)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        command = [program, f"--config.file={tmp_path}/config.yml",
                   f"--storage.tsdb.path={tmp_path}/data",
                   f"--web.listen-address=127.0.0.1:{port}"]  # fmt: skip
        query = urllib.parse.urlencode({"query": "headway_server_tls_handshakes_total"})

        def scraped() -> list[str]:
            url = f"http://127.0.0.1:{port}/api/v1/query?{query}"
            try:
                with urllib.request.urlopen(url, timeout=10) as answer:
                    rows = json.loads(answer.read())["data"]["result"]
            except OSError:
                return []
            return sorted(row["metric"]["result"] for row in rows)

        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            assert wait_until(scraped, "a scrape") == ["done", "failed"]
        finally:
            process.terminate()
            process.wait(timeout=30)
