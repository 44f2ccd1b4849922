"""The services that the monitor sends to, on this machine: google_server.py as a process."""

from __future__ import annotations

import json
import subprocess
import urllib.request
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
SECONDS = 60


class Cloud:
    """Runs until it is stopped."""

    def __init__(self, python: str) -> None:
        self.process = subprocess.Popen(
            [python, str(HERE / "google_server.py")], stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout
        start = json.loads(self.process.stdout.readline())
        self.url: str = start["url"]
        self.host = self.url.removeprefix("http://")
        self.tls_url: str = start["tls_url"]
        self.certificate: str = start["certificate"]  # of tls_url
        self.private_key: str = start["private_key"]

    def control(self, **what: Any) -> dict[str, Any]:
        """Tells the server what to do; returns what it has seen so far."""
        request = urllib.request.Request(
            self.url + "/control", json.dumps(what).encode(), method="POST"
        )
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(
            request, timeout=SECONDS
        ) as answer:
            seen: dict[str, Any] = json.load(answer)
        return seen

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()
