"""Reading the live updates of a server."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import ssl
import threading
import time
import urllib.parse
from dataclasses import dataclass
from typing import Any

from conftest import wait_until
from test_server import Server


@dataclass
class Event:
    kind: str
    data: Any
    id: str
    came: float  # time.time()
    size: int


class Stream:
    """One stream, read by a thread of its own until it ends."""

    def __init__(
        self, server: Server, token: str | None = None, *, last_id: str = "", trusted: str = "",
        **query: str,
    ) -> None:  # fmt: skip
        self.events: list[Event] = []
        self.pulses = 0
        self.retry = 0
        self.ended = threading.Event()
        self.error = ""  # how it ended, if not as HTTP has it
        headers = {"Authorization": f"Bearer {server.token if token is None else token}"}
        if last_id:
            headers["Last-Event-ID"] = last_id
        if server.scheme == "https":
            context = ssl.create_default_context(cafile=trusted)
            self.connection: http.client.HTTPConnection = http.client.HTTPSConnection(
                "127.0.0.1", server.port, timeout=60, context=context
            )
        else:
            self.connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        self.connection.request("GET", "/live?" + urllib.parse.urlencode(query), headers=headers)
        self.socket = self.connection.sock  # which the answer takes over
        self.answer = self.connection.getresponse()
        self.status = self.answer.status
        self.thread = threading.Thread(target=self.read, daemon=True)
        if self.status == 200:
            assert self.answer.headers["content-type"] == "text/event-stream"
            self.thread.start()
        else:
            self.text = self.answer.read().decode()
            self.ended.set()

    def read(self) -> None:
        block: list[str] = []
        try:
            while line := self.answer.readline():
                text = line.decode().rstrip("\n")
                if text:
                    block.append(text)
                    continue
                self.take(block)
                block = []
        except (OSError, http.client.HTTPException, ValueError, AttributeError) as error:
            self.error = repr(error)
        self.ended.set()

    def take(self, block: list[str]) -> None:
        fields = dict(line.split(": ", 1) for line in block)
        if "" in fields or not fields:
            self.pulses += 1
        if "retry" in fields:
            self.retry = int(fields["retry"])
        if "data" in fields:
            size = sum(len(line) + 1 for line in block)
            self.events.append(
                Event(fields["event"], json.loads(fields["data"]), fields["id"], time.time(), size)
            )

    def of(self, kind: str) -> list[Event]:
        return [event for event in list(self.events) if event.kind == kind]

    def last(self, kind: str) -> Any:
        found = self.of(kind)
        return found[-1].data if found else None

    def wait(self, kind: str, holds: Any = lambda data: True) -> Event:
        """The first event of that kind for which it holds."""

        def find() -> Event | None:
            return next((event for event in self.of(kind) if holds(event.data)), None)

        found: Event = wait_until(find, f"{kind} among {[e.kind for e in self.events]}")
        return found

    def close(self) -> None:
        with contextlib.suppress(OSError):  # it has ended
            self.socket.shutdown(socket.SHUT_RDWR)
        if self.status == 200:
            self.thread.join()
        self.answer.close()
        self.connection.close()
