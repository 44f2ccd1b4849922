"""Prometheus: what promtool says of our text, and a real server and a real node_exporter read."""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from conftest import EXAMPLES, ROOT, Server, probe, wait_until
from environments import NotInstallable, debian_package

# No name is too strange for a label. (Event files have custom names in capitals.)
NAME = 'EVAL "A"\\B\n\t\0{C="D"} é\u2028'
HOSTILE_RUN = NAME.replace("\0", "").encode() + b"\xff"
HOSTILE_LABEL = NAME.replace("\0", "\ufffd")


@pytest.fixture(scope="session")
def tool() -> Callable[[str, str], str]:
    """Finds a program, or fetches the Debian package; where it can't be had the test is skipped."""

    def find(package: str, program: str) -> str:
        if installed := shutil.which(program):
            return installed
        try:
            folder = debian_package(ROOT / "build" / package, package)
        except NotInstallable as error:
            pytest.skip(f"{program} can't be had: {error}")
        return str(folder / "usr/bin" / program)

    return find


def hostile_events(folder: Path) -> Path:
    """A run whose time is spent in custom spans with strange names."""
    lines: list[dict[str, Any]] = [{"ts": 0, "type": "job_start"}]
    for second, name in enumerate([NAME, "", 'x"', "\\", "\n", "a/b", "<category>"]):
        lines.append({"ts": 10 * second, "type": "custom_start", "name": name})
        lines.append({"ts": 10 * second + 5, "type": "custom_end", "name": name})
    lines.append({"ts": 100, "type": "job_end"})
    path = folder / "events.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.mark.parametrize("example", sorted(path.stem for path in EXAMPLES.glob("*.jsonl")))
def test_promtool_has_nothing_to_say(tool: Callable[..., str], example: str) -> None:
    text = probe("prometheus", HOSTILE_RUN, EXAMPLES / f"{example}.jsonl", "30", "3600").stdout
    check(tool, text)


def test_promtool_has_nothing_to_say_of_strange_names(
    tool: Callable[..., str], tmp_path: Path
) -> None:
    text = probe("prometheus", HOSTILE_RUN, hostile_events(tmp_path), "30").stdout
    assert text.count(b"headway_badput_seconds{") >= 7
    check(tool, text)


def check(tool: Callable[..., str], text: bytes) -> None:
    command = [tool("prometheus", "promtool"), "check", "metrics"]
    done = subprocess.run(command, input=text, capture_output=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, b"")


Series = dict[tuple[tuple[str, str], ...], float]


def series_of(text: str) -> Series:
    """The samples of a text, by their labels and their name."""
    series: Series = {}
    for line in text.split("\n"):
        if line and not line.startswith("#"):
            sample = re.fullmatch(r"(\w+)\{(.*)\} (\S+)", line)
            assert sample
            name, labels, number = sample.groups()
            pairs = re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels)
            # node_exporter fills labels up with empty ones, which are the same as none.
            plain = {key: re.sub(r"\\(.)", unescape, value) for key, value in pairs if value}
            key = tuple(sorted({**plain, "__name__": name}.items()))
            assert key not in series
            series[key] = float(number)
    return series


def unescape(match: re.Match[str]) -> str:
    return "\n" if match[1] == "n" else match[1]


def free_port() -> int:
    with socket.socket() as any_port:
        any_port.bind(("127.0.0.1", 0))
        return int(any_port.getsockname()[1])


@contextmanager
def running(command: list[str], folder: Path) -> Iterator[None]:
    with open(folder / "log", "w") as log:
        process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=subprocess.STDOUT)
    try:
        yield
        assert process.poll() is None, (folder / "log").read_text()
    finally:
        process.kill()
        process.wait()


def fetch(url: str) -> str:
    """The answer, or nothing as long as nobody listens."""
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return str(answer.read().decode())
    except urllib.error.URLError:
        return ""


def test_a_prometheus_scrapes_it(
    tool: Callable[..., str], server: Server, tmp_path: Path
) -> None:
    text = probe("prometheus", HOSTILE_RUN, hostile_events(tmp_path), "30", "3600").stdout
    server.publish(text)
    port = free_port()
    job = {"job_name": "headway", "static_configs": [{"targets": [f"127.0.0.1:{server.port}"]}]}
    config = {"global": {"scrape_interval": "200ms"}, "scrape_configs": [job]}
    (tmp_path / "config.json").write_text(json.dumps(config))  # JSON is YAML
    command = [
        tool("prometheus", "prometheus"),
        f"--config.file={tmp_path}/config.json",
        f"--storage.tsdb.path={tmp_path}/data",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    expected = series_of(text.decode())
    assert any(("name", HOSTILE_LABEL) in labels for labels in expected)

    def scraped() -> Series:
        query = urllib.parse.urlencode({"query": '{__name__=~"headway_.*"}'})
        answer = fetch(f"http://127.0.0.1:{port}/api/v1/query?{query}")
        found: Series = {}
        for row in json.loads(answer)["data"]["result"] if answer else []:
            labels = row["metric"]
            assert labels.pop("job") == "headway"
            assert labels.pop("instance") == f"127.0.0.1:{server.port}"
            found[tuple(sorted(labels.items()))] = float(row["value"][1])
        return found

    with running(command, tmp_path):
        assert wait_until(scraped, "a scrape") == expected


def test_a_node_exporter_reads_it(tool: Callable[..., str], tmp_path: Path) -> None:
    events = hostile_events(tmp_path)
    (tmp_path / "textfiles").mkdir()
    probe("textfile", tmp_path / "textfiles/r.prom", HOSTILE_RUN, events, "30")
    port = free_port()
    command = [
        tool("prometheus-node-exporter", "prometheus-node-exporter"),
        "--collector.disable-defaults",
        "--collector.textfile",
        f"--collector.textfile.directory={tmp_path}/textfiles",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    with running(command, tmp_path):
        page = wait_until(lambda: fetch(f"http://127.0.0.1:{port}/metrics"), "an answer")
    assert "node_textfile_scrape_error 0\n" in page
    lines = [line for line in page.split("\n") if line.startswith("headway_")]
    text = probe("prometheus", HOSTILE_RUN, events, "30").stdout.decode()
    assert series_of("\n".join(lines)) == series_of(text)
    for line in text.split("\n"):
        assert not line.startswith("# HELP") or line in page


def test_the_documents_show_what_is_written() -> None:
    page = (ROOT / "docs/formats/prometheus.md").read_text()
    text = probe("prometheus", "llama-7b", EXAMPLES / "B.jsonl", "60").stdout.decode()
    assert f"```text\n{text}```\n" in page
    table = probe("table").stdout.decode()
    assert f"| --- |\n{table}\n" in (ROOT / "docs/metrics.md").read_text()
