"""The demo in TensorBoard itself, as `headway monitor` tells it while it trains.

HEADWAY_PICTURES=1 also renews docs/images/tensorboard.png.
"""

from __future__ import annotations

import json
import os
import re
import signal
import struct
import subprocess
import sys
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import headway as package
import pytest
from browser import Page, find_browser
from conftest import ROOT, Headway, wait_until

sys.path.insert(0, str(ROOT / "tools"))
from environments import NotInstallable, environment  # noqa: E402

PICTURE = ROOT / "docs/images/tensorboard.png"
RENEW = os.environ.get("HEADWAY_PICTURES") == "1"
PINNED = ["goodput/goodput", "badput/wasted_progress", "step_deviation"]
BYTES_LIMIT = 150_000


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the demo's data, and TensorBoard's in tb/: both made at the same time."""
    folder = tmp_path_factory.mktemp("demo")
    headway = Headway(folder)
    programs = f"{Path(sys.executable).parent}:{Path(headway.program).parent}"
    variables = {
        **headway.environment,
        "PATH": f"{programs}:{os.environ['PATH']}",
        "DEMO_DIR": str(folder / "demo"),
        "DEMO_STEPS": "500" if RENEW else "150",
        "DEMO_SEED": "1",
    }
    training = subprocess.Popen(
        [ROOT / "examples/demo/run"], env=variables, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    data = folder / "demo/headway"
    wait_until((data / "journals/demo/demo").exists, "the demo records")
    monitor = headway.start(
        *["monitor", "demo", "--dir", data, "--project", "demo", "--every", "500ms"],
        *["--tensorboard", folder / "tb/demo"],
    )
    output, _ = training.communicate(timeout=240)
    assert training.returncode == 0, output
    monitor.send_signal(signal.SIGTERM)
    _, complaints = monitor.communicate(timeout=60)
    assert (monitor.returncode, complaints) == (0, "")
    return folder


@pytest.fixture(scope="module")
def tensorboard(demo: Path) -> Iterator[str]:
    """The address at which TensorBoard shows it."""
    requirements = ROOT / "tools/requirements-tensorboard.txt"
    try:
        python = environment(ROOT / "build/tensorboard", requirements)
    except NotInstallable as error:
        pytest.skip(f"TensorBoard can't be installed: {error}")
    command = [python, "-m", "tensorboard.main", "--logdir", demo / "tb", "--load_fast=false"]
    server = subprocess.Popen(
        [*command, "--host", "127.0.0.1", "--port", "0"], stderr=subprocess.PIPE, text=True
    )
    assert server.stderr
    said = ""
    for line in server.stderr:
        said += line
        if found := re.search(r"http://127\.0\.0\.1:\d+", line):
            break
    else:
        raise AssertionError(said)
    yield found.group()
    server.terminate()
    server.communicate(timeout=60)


def ask(address: str, path: str, **query: str) -> Any:
    url = f"{address}/data/plugin/scalars/{path}?{urllib.parse.urlencode(query)}"
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(url, timeout=60) as answer:
        return json.load(answer)


def test_the_last_values_are_those_of_the_report(demo: Path, tensorboard: str) -> None:
    tags = wait_until(lambda: ask(tensorboard, "tags").get("demo"), "TensorBoard reads the run")
    report = package.report("demo", project="demo", dir=demo / "demo/headway")
    assert report.state == "completed" and len(report.disruptions) == 2
    assert report.goodput and report.steps.deviation_ns and report.steps.ideal_ns
    wanted = {
        "goodput/goodput": report.goodput,
        "goodput/elapsed": report.elapsed_ns / 1e9,
        "goodput/disruptions": 2,
        "goodput/ideal_step_time": report.steps.ideal_ns / 1e9,
        "step_deviation": report.steps.deviation_ns / 1e9,
    }
    for time in report.categories:
        if time.category == "productive":
            wanted["goodput/time"] = time.ns / 1e9
        else:
            name = f"{time.category}/{time.name}" if time.name else time.category
            wanted[f"badput/{name}"] = time.ns / 1e9
    assert {"badput/wasted_progress", "badput/infrastructure_recovery"} <= wanted.keys()
    assert wanted.keys() <= tags.keys()
    for tag, value in wanted.items():
        points = ask(tensorboard, "scalars", run="demo", tag=tag)
        assert points[-1][1] == report.steps.max_productive_step
        assert points[-1][2] == pytest.approx(value, rel=1e-5), tag
    # It was told while it trained, not only at the end.
    assert len(ask(tensorboard, "scalars", run="demo", tag="goodput/goodput")) > 3


def test_the_page_shows_them(tensorboard: str, tmp_path: Path) -> None:
    program = find_browser()
    if program is None:
        pytest.skip("there is no browser; apt-get install chromium")
    pins = json.dumps([{"plugin": "scalars", "tag": tag} for tag in PINNED])
    query = urllib.parse.urlencode({"pinnedCards": pins, "smoothing": "0"})
    page = Page(program, tmp_path / "profile", 1400, 1000)
    try:
        page.open(f"{tensorboard}/?{query}#timeseries")
        cards = "[...document.querySelectorAll('metrics-pinned-view card-view')]"
        # Each has a curve, whose last point stands in a table below it.
        page.wait_for(f"{cards}.filter(card => / sec/.test(card.innerText)).length == 3")
        texts = page.evaluate(f"{cards}.map(card => card.innerText.replace(/\\s/g, ''))")
        page.evaluate("document.querySelector('[aria-label=\"Close side pane\"]').click()")
        picture = page.picture()
    finally:
        page.close()
    for text, tag in zip(texts, PINNED, strict=True):
        assert text.startswith(tag)
    width, height = struct.unpack(">II", picture[16:24])
    assert picture.startswith(b"\x89PNG") and width == 1400 and height > 800
    assert len(picture) <= BYTES_LIMIT
    if RENEW:
        PICTURE.write_bytes(picture)
