"""A browser without a window, driven over its pipe: chromium, if this machine has it."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

SECONDS = 60


def find_browser() -> str | None:
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if found := shutil.which(name):
            return found
    return None


class Page:
    """One page of a browser of its own. Ends with `close`."""

    def __init__(self, program: str, profile: Path, width: int, height: int) -> None:
        commands, self._commands = os.pipe()
        self._answers, answers = os.pipe()
        arguments = [
            *["--headless=new", "--remote-debugging-pipe", f"--user-data-dir={profile}"],
            *["--disable-gpu", "--hide-scrollbars", f"--window-size={width},{height}"],
            *["--no-first-run", "--disable-background-networking", "--disable-dev-shm-usage"],
            *(["--no-sandbox"] if os.geteuid() == 0 else []),  # as root it has none
        ]
        self._process = subprocess.Popen(
            # It reads from descriptor 3 and writes to 4.
            ["bash", "-c", f'exec "$@" 3<&{commands} 4>&{answers}', "bash", program, *arguments],
            pass_fds=(commands, answers),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(commands)
        os.close(answers)
        self._heard = b""
        self._number = 0
        self._session = ""
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        attached = self._call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]

    def open(self, url: str) -> None:
        self._call("Page.navigate", url=url)

    def evaluate(self, script: str) -> Any:
        """The value of an expression in the page."""
        answer = self._call("Runtime.evaluate", expression=script, returnByValue=True)
        return answer["result"].get("value")

    def wait_for(self, script: str) -> Any:
        """Waits until the expression is true."""
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            if value := self.evaluate(script):
                return value
            time.sleep(0.1)
        raise AssertionError(f"never true in the page: {script}")

    def picture(self) -> bytes:
        """What the page looks like once it no longer changes, as PNG."""
        until = time.monotonic() + SECONDS
        before = b""
        while time.monotonic() < until:
            data = self._call("Page.captureScreenshot", format="png")["data"]
            if (now := base64.b64decode(data)) == before:
                return now
            before = now
            time.sleep(0.3)
        raise AssertionError("the page never stops changing")

    def close(self) -> None:
        os.close(self._commands)
        os.close(self._answers)
        self._process.kill()
        self._process.wait()

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        call: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            call["sessionId"] = self._session
        os.write(self._commands, json.dumps(call).encode() + b"\0")
        until = time.monotonic() + SECONDS
        while True:
            while b"\0" in self._heard:
                text, _, self._heard = self._heard.partition(b"\0")
                answer = json.loads(text)
                if answer.get("id") == self._number:
                    assert "result" in answer, answer
                    result: dict[str, Any] = answer["result"]
                    return result
            ready, _, _ = select.select([self._answers], [], [], until - time.monotonic())
            heard = os.read(self._answers, 1 << 20) if ready else b""
            assert heard, f"the browser does not answer to {method}"
            self._heard += heard
