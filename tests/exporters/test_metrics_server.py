"""The server of /metrics before clients of every kind."""

from __future__ import annotations

import http.client
import random
import socket
import subprocess
import threading
import urllib.request
from pathlib import Path

import pytest
from conftest import EXAMPLES, SECONDS, Server, probe, probe_command

TEXT = b"# TYPE headway_elapsed_seconds gauge\nheadway_elapsed_seconds 1\n"
TYPE = "text/plain; version=0.0.4; charset=utf-8"
CONNECTIONS = 32  # limits::kMetricsConnections


def connect(server: Server) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), SECONDS)


def answers(connection: socket.socket) -> bytes:
    """Everything up to the end of the connection."""
    received = b""
    try:
        while chunk := connection.recv(65536):
            received += chunk
    except ConnectionResetError:
        pass
    return received


def raw(server: Server, request: bytes) -> bytes:
    with connect(server) as connection:
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        return answers(connection)


def status(answer: bytes) -> int:
    version, code = answer.split(b" ", 2)[:2]
    assert version == b"HTTP/1.1"
    return int(code)


def get(server: Server, path: str = "/metrics", method: str = "GET") -> tuple[int, str, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=SECONDS)
    connection.request(method, path)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, answer.headers["Content-Type"], body


def test_it_answers_with_what_was_published(server: Server) -> None:
    assert get(server) == (200, TYPE, b"")
    server.publish(TEXT)
    assert get(server) == (200, TYPE, TEXT)
    assert get(server, "/metrics?name=x") == (200, TYPE, TEXT)
    server.publish(TEXT * 2)
    assert get(server) == (200, TYPE, TEXT * 2)
    assert get(server, "/healthz") == (200, "text/plain; charset=utf-8", b"ok\n")


def test_head_has_no_body(server: Server) -> None:
    server.publish(TEXT)
    answer = raw(server, b"HEAD /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"Content-Length: %d" % len(TEXT) in head
    assert body == b""


@pytest.mark.parametrize(
    ("request_line", "code"),
    [
        (b"GET / HTTP/1.1", 404),
        (b"GET /metrics/ HTTP/1.1", 404),
        (b"GET /metricsx HTTP/1.1", 404),
        (b"GET /../metrics HTTP/1.1", 404),
        (b"GET http://127.0.0.1/metrics HTTP/1.1", 200),
        (b"GET http://127.0.0.1 HTTP/1.1", 404),
        (b"POST /metrics HTTP/1.1\r\nContent-Length: 5", 405),
        (b"DELETE / HTTP/1.1", 405),
        (b"OPTIONS * HTTP/1.1", 405),
        (b"BREW /metrics HTTP/1.1", 405),
        (b"GET /metrics HTTP/1.1\r\nContent-Length: 5", 413),
        (b"GET /metrics HTTP/1.1\r\nContent-Length: 18446744073709551615", 413),
        (b"GET /metrics HTTP/1.1\r\nTransfer-Encoding: chunked", 413),
        (b"GET /metrics HTTP/1.1\r\nContent-Length: -1", 400),
        (b"GET /metrics HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2", 400),
        (b"GET /metrics HTTP/1.1\r\nNo colon", 400),
        (b"GET /\x01 HTTP/1.1", 400),
        (b"GET /metrics HTTP/1.1\r\nName: \0", 400),
        (b"GET /metrics HTTP/2.0", 505),
        (b"PRI * HTTP/2.0", 505),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400),  # someone speaks TLS
        (b"GET /" + b"x" * 9000 + b" HTTP/1.1", 431),
        (b"GET /metrics HTTP/1.1\r\nName: " + b"x" * 9000, 431),
        (b"GET /metrics HTTP/1.1" + b"\r\nA: b" * 2000, 431),
        (b"GET /metrics HTTP/1.1\r\nName: " + b"x" * 7000, 200),
    ],
)
def test_what_is_asked_for(server: Server, request_line: bytes, code: int) -> None:
    with connect(server) as connection:
        connection.sendall(request_line + b"\r\nConnection: close\r\n\r\n")
        answer = answers(connection)
    assert status(answer) == code
    assert (b"\r\nAllow: GET, HEAD\r\n" in answer) == (code == 405)


def test_a_client_may_finish_what_is_refused(server: Server) -> None:
    with connect(server) as connection:
        connection.sendall(b"POST / HTTP/1.1\r\nContent-Length: 60000\r\n\r\n")
        answer = b""
        while not answer.endswith(b"answered\n"):
            answer += connection.recv(65536)
        assert status(answer) == 405
        for _ in range(6):
            connection.sendall(b"x" * 10000)  # fails after a reset
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(65536) == b""


def test_connections_are_kept(server: Server) -> None:
    server.publish(TEXT)
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=SECONDS)
    for _ in range(100):
        connection.request("GET", "/metrics")
        assert connection.getresponse().read() == TEXT
    one_socket = connection.sock
    connection.request("GET", "/nothing")
    assert connection.getresponse().read()
    assert connection.sock is one_socket
    connection.close()
    pipelined = raw(server, b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n" * 20)
    assert pipelined.count(b"HTTP/1.1 200 OK\r\n") == 20
    old = b"GET /metrics HTTP/1.0\r\n\r\n"
    with connect(server) as kept:
        kept.sendall(old)
        assert answers(kept).endswith(TEXT)


def test_a_crowd_waits_and_is_answered(server: Server) -> None:
    idle = [connect(server) for _ in range(CONNECTIONS)]
    for connection in idle:  # all are accepted
        connection.sendall(b"GET /healthz HTTP/1.1\r\n\r\n")
        assert connection.recv(65536)
    with connect(server) as waiting:
        waiting.sendall(b"GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n")
        idle.pop().close()
        assert status(answers(waiting)) == 200
    for connection in idle:
        connection.close()
    assert get(server)[0] == 200


def test_the_slow_are_cut_off(server: Server) -> None:
    """Whoever sends or takes bytes slowly, or nothing, loses the connection; others are served."""
    server.publish(b"x" * (64 << 20))
    silent, drip, greedy = connect(server), connect(server), connect(server)
    greedy.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
    ended = threading.Event()

    def send_slowly() -> None:
        try:
            for byte in b"GET /metrics HTTP/1.1\r\nName: " + b"x" * 7000:
                drip.sendall(bytes([byte]))
                if ended.wait(0.05):
                    return
        except OSError:
            pass

    sender = threading.Thread(target=send_slowly)
    sender.start()
    assert get(server, "/healthz")[0] == 200
    assert answers(silent) == b""
    assert answers(drip) == b""
    ended.set()
    sender.join()
    assert len(answers(greedy)) < 64 << 20
    for connection in (silent, drip, greedy):
        connection.close()
    assert get(server, "/healthz")[0] == 200


def test_noise(server: Server) -> None:
    source = random.Random(1)
    good = b"GET /metrics HTTP/1.1\r\nHost: x\r\nAccept: */*\r\nConnection: close\r\n\r\n"
    for _ in range(300):
        noise = bytearray(good * source.randint(1, 3))
        for _ in range(source.randint(1, 10)):
            noise[source.randrange(len(noise))] = source.randrange(256)
        with connect(server) as connection:
            connection.sendall(noise[: source.randint(0, len(noise))])
            if source.random() < 0.8:
                connection.shutdown(socket.SHUT_WR)
                answer = answers(connection)
                assert not answer or status(answer) in (200, 400, 404, 405, 413, 505)
    server.publish(TEXT)
    assert get(server) == (200, TYPE, TEXT)


def test_an_answer_is_of_one_text(server: Server) -> None:
    texts = [b"%d\n" % digit * 100_000 for digit in range(10)]
    server.publish(texts[0])
    found: list[bytes] = []

    def scrape() -> None:
        for _ in range(20):
            found.append(get(server)[2])

    scrapers = [threading.Thread(target=scrape) for _ in range(4)]
    for scraper in scrapers:
        scraper.start()
    for text in texts:
        server.publish(text)
    for scraper in scrapers:
        scraper.join()
    assert len(found) == 80
    assert set(found) <= set(texts)


def test_it_ends_whoever_is_connected(server: Server) -> None:
    server.publish(b"x" * (64 << 20))
    connections = [connect(server) for _ in range(2 * CONNECTIONS)]
    for connection in connections[::2]:
        connection.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
    server.close()
    for connection in connections:
        connection.close()


def test_a_sink_shows_its_samples() -> None:
    arguments: list[str | Path] = ["default run", EXAMPLES / "B.jsonl", "60"]
    for address in ("127.0.0.1", "::1"):
        if address == "::1" and not socket.has_dualstack_ipv6():
            continue
        sink = subprocess.Popen(
            [probe_command(), "show", address, "0", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert sink.stdout is not None
        with urllib.request.urlopen(sink.stdout.readline().strip(), timeout=SECONDS) as answer:
            assert answer.read() == probe("prometheus", *arguments).stdout
        sink.communicate("\n")
        assert sink.returncode == 0


def test_where_it_cannot_listen(server: Server) -> None:
    taken = probe("serve", "127.0.0.1", str(server.port), code=1).stderr.decode()
    assert "FAILED_PRECONDITION" in taken
    assert f"cannot listen on 127.0.0.1:{server.port}: Address already in use" in taken
    assert "name another port" in taken
    assert "is no IP address" in probe("serve", "example.invalid", "0", code=2).stderr.decode()
    assert "of this machine" in probe("serve", "192.0.2.1", "0", code=2).stderr.decode()
