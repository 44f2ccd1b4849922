"""The page of the server: how it is served, and what a browser makes of it.

HEADWAY_PICTURES=1 also renews docs/images/page-*.png.
"""

from __future__ import annotations

import gzip
import http.client
import json
import os
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from browser import find_browser
from conftest import EXAMPLES, ROOT, Headway, wait_until
from headway import _html, _native
from node import run_node
from test_server import Server, train
from test_view import ns_of

RENEW = os.environ.get("HEADWAY_PICTURES") == "1"
FIRST_LOAD_BYTES = 150 * 1024
BROWSER = "gzip, deflate, br, zstd"
POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "connect-src": "'self'",
    "base-uri": "'none'",
    "form-action": "'none'",
    "frame-ancestors": "'none'",
}


@pytest.fixture
def server(headway: Headway, tmp_path: Path) -> Iterator[Server]:
    with closing(Server(headway, tmp_path / "far")) as one:
        yield one


class Answer:
    def __init__(self, answer: http.client.HTTPResponse) -> None:
        self.status = answer.status
        self.headers = answer.headers
        self.body = answer.read()

    @property
    def encoding(self) -> str | None:
        return self.headers["Content-Encoding"]


def ask(server: Server, path: str, method: str = "GET", **headers: str) -> Answer:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    with closing(connection):
        connection.request(method, path, headers=headers)
        return Answer(connection.getresponse())


def index_of(server: Server) -> str:
    answer = ask(server, "/")
    if answer.status == 404 and b"built without" in answer.body:
        pytest.skip("the page was not built (HEADWAY_UI)")
    assert answer.status == 200
    return answer.body.decode()


def parts_of(index: str) -> list[str]:
    """What the browser fetches for the first view."""
    return re.findall(r'(?:src|href)="(/[^"]+)"', index)


def test_views_are_one_page_and_shadow_nothing(server: Server) -> None:
    index = index_of(server)
    for path in ("/runs", "/runs/", "/runs/llama-7b", "/runs/a%2Fb?project=p", "/?x=1",
                 "/compare?run=a&run=b"):  # fmt: skip
        answer = ask(server, path)
        assert (answer.status, answer.body.decode()) == (200, index), path
        assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    assert ask(server, "/healthz").body == b"ok\n"
    assert ask(server, "/metrics").status == 401
    assert ask(server, "/share/nothing").status == 404
    for path in ("/v1/metrics", "/api/v1/write"):
        assert ask(server, path).status == 405, path  # they are written to
    for path in ("/headway.v1.RunService/ListRuns", "/runs2", "/compare/x"):
        assert ask(server, path).status == 401, path
    for path in ("/assets/none.js", "/assets/", "/assets/../index.html"):
        answer = ask(server, path)
        assert (answer.status, answer.headers["Cache-Control"]) == (404, "no-store"), path
    for method in ("POST", "PUT", "DELETE"):
        assert ask(server, "/", method).status == 405


def test_files_come_as_small_as_they_can_and_once(server: Server) -> None:
    index = index_of(server)
    parts = parts_of(index)
    assert any(part.endswith(".js") for part in parts)
    assert any(part.endswith(".css") for part in parts)
    first_load = 0
    for path in ["/", *parts]:
        plain = ask(server, path)
        assert (plain.status, plain.encoding) == (200, None), path
        assert plain.headers["Vary"] == "Accept-Encoding"
        packed = ask(server, path, **{"Accept-Encoding": "gzip"})
        assert packed.encoding in ("gzip", None)
        body = gzip.decompress(packed.body) if packed.encoding else packed.body
        assert body == plain.body
        first_load += len(packed.body)
        best = ask(server, path, **{"Accept-Encoding": BROWSER})
        assert len(best.body) <= len(packed.body)
        assert best.encoding == "br" or len(plain.body) < 300
        tags = [answer.headers["ETag"] for answer in (plain, packed, best)]
        assert len(set(tags)) == len({answer.encoding for answer in (plain, packed, best)})

        head = ask(server, path, "HEAD", **{"Accept-Encoding": BROWSER})
        assert (head.status, head.body) == (200, b"")
        assert head.headers["Content-Length"] == str(len(best.body))
        assert {k: v for k, v in head.headers.items() if k != "Date"} == {
            k: v for k, v in best.headers.items() if k != "Date"
        }
        again = ask(server, path, **{"Accept-Encoding": BROWSER, "If-None-Match": tags[2]})
        assert (again.status, again.body) == (304, b"")
        assert again.headers["ETag"] == tags[2]
        other = ask(server, path, **{"Accept-Encoding": BROWSER, "If-None-Match": '"other"'})
        assert other.status == 200
        kept = "immutable" in plain.headers["Cache-Control"]
        assert kept == path.startswith("/assets/"), path
    licences = ask(server, "/licenses.md")
    assert licences.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert b"preact" in licences.body
    print(f"first load: {first_load} bytes with gzip")
    assert first_load <= FIRST_LOAD_BYTES


def test_nothing_comes_from_elsewhere(server: Server) -> None:
    index = index_of(server)
    assert not re.search(r"https?://|<style|<script(?![^>]* src=)| style=| on\w+=", index)
    for path in ["/", *parts_of(index)]:
        headers = ask(server, path).headers
        policy = dict(
            rule.strip().split(" ", 1) for rule in headers["Content-Security-Policy"].split(";")
        )
        assert policy.items() >= POLICY.items()
        assert not re.search(r"unsafe|http|\*|data:", headers["Content-Security-Policy"])
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "no-referrer"


def test_who_needs_no_token_is_told(headway: Headway, server: Server, tmp_path: Path) -> None:
    assert ask(server, "/healthz", "HEAD").headers["WWW-Authenticate"] == "Bearer"
    with closing(Server(headway, tmp_path / "open", "--no-access-control")) as other:
        assert ask(other, "/healthz", "HEAD").headers["WWW-Authenticate"] is None


def test_a_browser_is_opened_where_there_is_a_desktop(headway: Headway, tmp_path: Path) -> None:
    opened = tmp_path / "opened"
    program = tmp_path / "bin/xdg-open"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\necho "$*" > {opened}.new && mv {opened}.new {opened}\n')
    program.chmod(0o755)
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        headway.environment.pop(name, None)
    env = {"PATH": f"{program.parent}:{os.environ['PATH']}"}
    for desktop in ({"DISPLAY": ":0"}, {"WAYLAND_DISPLAY": "wayland-0"}, {}):
        server = headway.start(
            "ui", "--listen", "127.0.0.1:0", "--no-access-control", env=env | desktop
        )
        assert server.stdout
        url = server.stdout.readline().removeprefix("headway serve: ").strip()
        assert url.startswith("http://127.0.0.1:")
        assert "without access control" in server.stdout.readline()
        if desktop:
            wait_until(opened.exists, "it is opened")
            assert opened.read_text() == f"{url}\n"
            opened.unlink()
        else:
            assert "open that address" in server.stdout.readline()
        server.terminate()
        server.communicate(timeout=30)
        assert server.returncode == 0
    assert not opened.exists()


def test_a_category_looks_the_same_everywhere() -> None:
    """In notebooks, in the help of the command, and on the page."""
    table = json.loads((ROOT / "ui/src/categories.json").read_text())
    assert [(row["name"], row["about"]) for row in table] == _native.categories()
    assert {row["name"]: row["light"] for row in table} == _html.COLORS
    assert len({row["dark"] for row in table}) == len(table)


def test_values_are_written_as_the_command_line_writes_them(tmp_path: Path) -> None:
    examples = (ROOT / "src/model/text_test.cc").read_text()
    durations = re.findall(r"\{(-?[\d']+), \"([^\"]+)\"\}", examples.partition("TEST(ShowTime")[0])
    assert len(durations) > 9
    given = {"durations": [[ns.replace("'", ""), text] for ns, text in durations]}
    run_node("format.test.ts", given, tmp_path)


@pytest.mark.parametrize(
    "part",
    ["configs", "event_stream", "figure", "filter_completion", "history", "metric_lines", "records",
     "timeline"],
)
def test_what_is_computed_in_the_page(part: str, tmp_path: Path) -> None:
    run_node(f"{part}.test.ts", {}, tmp_path)


def intervals_of(headway: Headway, run: str) -> list[dict[str, str]]:
    labels = {row["name"]: row["label"]
              for row in json.loads((ROOT / "ui/src/categories.json").read_text())}  # fmt: skip
    return [{"begin": str(ns_of(one["begin"])), "end": str(ns_of(one["end"])),
             "label": labels[one["category"]]}
            for one in headway.json("timeline", run)]  # fmt: skip


def test_the_page_in_a_browser(headway: Headway, server: Server, tmp_path: Path) -> None:
    index_of(server)
    if find_browser() is None:
        pytest.skip("there is no browser; apt-get install chromium")
    for seed in range(4):
        headway(*train(headway, tmp_path, f"llama-{seed}", seed, 250))
    headway("import", EXAMPLES / "B.jsonl", "--run", "advised")
    headway("ship", "advised", env=server.env)
    advice = [one["text"] for one in
              server.call("RunService/GetAdvice", {"run": "advised"})[1]["advice"]]  # fmt: skip
    told = " ".join(headway("goodput", "advised").stdout.split())
    assert advice and all(f"• {text}" in told for text in advice), (advice, told)
    headway("ship", env=server.env)
    reports: list[dict[str, Any]] = [headway.json("goodput", f"llama-{i}") for i in range(4)]
    report = max(reports, key=lambda one: len(one["disruptions"]))
    assert report["disruptions"] and report["goodput"]
    window = headway.json("goodput", report["run"], "--window", "+50ms..+200ms")
    viewer = server.call("TokenService/CreateToken", {"role": "viewer"})[1]["secret"]
    given = {
        "url": server.url,
        "token": server.token,
        "viewer": viewer,
        "run": report["run"],
        "runs": len(reports) + 1,
        "advised": {"run": "advised", "advice": advice},
        "report": report,
        "window": {
            "from": "+50ms", "to": "+200ms",
            "goodput": window["goodput"], "elapsed_ns": window["elapsed_ns"],
        },
        "intervals": intervals_of(headway, report["run"]),
        "live": {"project": "live", "run": "live"},
        "pictures": str(tmp_path / "pictures"),
    }  # fmt: skip
    command, *rest = train(headway, tmp_path, "live", 1, 1_000_000)
    training = headway.start(command, "--project", "live", *rest, env=server.env)
    try:
        ask_live = {"project": "live", "run": "live"}
        wait_until(
            lambda: server.call("RunService/GetReport", ask_live)[1].get("elapsedNs", "0") != "0",
            "the live run is on the server",
        )
        run_node("journey.test.ts", given, tmp_path)
    finally:
        training.terminate()
        training.communicate(timeout=60)
    for name in ("runs", "run", "timeline") if RENEW else ():
        (ROOT / f"docs/images/page-{name}.png").write_bytes(
            (tmp_path / f"pictures/{name}.png").read_bytes()
        )
