"""What the tests of sending to networks share."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SECONDS = 60
FOREIGN = (
    "AWS_", "CLOUDSDK_", "CURL_", "GCE_", "GOOGLE_", "HEADWAY_", "SSL_", "STORAGE_EMULATOR_",
    "all_proxy", "http_proxy", "https_proxy", "ALL_PROXY", "HTTPS_PROXY",
)  # fmt: skip

sys.path[:0] = [str(HERE), str(ROOT / "tools")]
from cloud import Cloud as Cloud  # noqa: E402
from environments import NotInstallable, environment  # noqa: E402


@pytest.fixture(scope="session")
def google_python() -> str:
    """Python of an environment with Google's own types; where it can't be had tests are skipped."""
    requirements = ROOT / "tools" / "requirements-google.txt"
    try:
        return str(environment(ROOT / "build" / "google", requirements))
    except NotInstallable as error:
        pytest.skip(f"Google's packages can't be installed: {error}")


@pytest.fixture(scope="module")
def running_cloud(google_python: str) -> Iterator[Cloud]:
    cloud = Cloud(google_python)
    yield cloud
    cloud.stop()


@pytest.fixture
def cloud(running_cloud: Cloud) -> Cloud:
    """With nothing stored and nothing planned."""
    running_cloud.control(reset=True)
    return running_cloud


class Sender:
    """The program monitor_send: a command in, an answer out."""

    def __init__(self, program: Path, variables: dict[str, str]) -> None:
        kept = {key: text for key, text in os.environ.items() if not key.startswith(FOREIGN)}
        self.process = subprocess.Popen(
            [program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**kept, "HOME": "/proc/nonexistent", **variables},
        )

    def __call__(self, *words: Any) -> dict[str, Any]:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        return answer

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture
def sender() -> Iterator[Callable[..., Sender]]:
    program = Path(os.environ["HEADWAY_BIN"]).parent / "tests/monitor_send"
    started: list[Sender] = []

    def start(**variables: str) -> Sender:
        started.append(Sender(program, variables))
        return started[-1]

    yield start
    for one in started:
        one.kill()
