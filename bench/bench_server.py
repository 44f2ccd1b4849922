"""A headway server of a benchmark's own."""

from __future__ import annotations

import http.client
import json
import os
import ssl
import subprocess
from pathlib import Path
from typing import Any


class Server:
    """`headway serve` on an empty directory."""

    def __init__(self, headway: str, folder: Path, *options: str) -> None:
        self.process = subprocess.Popen(
            [headway, "serve", "--dir", folder, "--listen", "127.0.0.1:0", *options],
            stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().split()[-1]
        self.process.stdout.readline()
        token = (folder / "server/admin-token").read_text().strip()
        self.environment = {**os.environ, "HEADWAY_SERVER": self.url, "HEADWAY_TOKEN": token}
        self.tls: ssl.SSLContext | None = None
        if options:
            certificate = str(folder / "server/tls-certificate.pem")
            self.environment["HEADWAY_CA"] = certificate
            self.tls = ssl.create_default_context(cafile=certificate)

    def connect(self) -> http.client.HTTPConnection:
        port = int(self.url.rsplit(":", 1)[1])
        if self.tls is None:
            return http.client.HTTPConnection("127.0.0.1", port)
        return http.client.HTTPSConnection("127.0.0.1", port, context=self.tls)

    def stop(self) -> None:
        self.process.terminate()
        self.process.communicate()


class Caller:
    """Calls methods over one connection, with JSON."""

    def __init__(self, server: Server) -> None:
        self.connection = server.connect()
        self.headers = {
            "Authorization": f"Bearer {server.environment['HEADWAY_TOKEN']}",
            "Content-Type": "application/json",
        }

    def __call__(self, method: str, request: Any) -> Any:
        path = f"/headway.v1.{method}"
        self.connection.request("POST", path, json.dumps(request), self.headers)
        response = self.connection.getresponse()
        body = response.read()
        assert response.status == 200, body
        return json.loads(body)

    def close(self) -> None:
        self.connection.close()
