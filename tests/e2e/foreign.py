"""Requests of Prometheus remote write, made by hand."""

from __future__ import annotations

import struct
import urllib.error
import urllib.request
from collections.abc import Iterable

Series = tuple[dict[str, str], list[tuple[int, float]]]

STALE = struct.unpack("<d", struct.pack("<Q", 0x7FF0000000000002))[0]


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(number: int, content: bytes | str) -> bytes:
    content = content.encode() if isinstance(content, str) else content
    return varint(number << 3 | 2) + varint(len(content)) + content


def snappy(content: bytes) -> bytes:
    """As literals: every reader takes that."""
    out = varint(len(content))
    for at in range(0, len(content), 65536):
        piece = content[at : at + 65536]
        out += bytes([61 << 2]) + struct.pack("<H", len(piece) - 1) + piece
    return out


def write_request(all_series: Iterable[Series]) -> bytes:
    """`prometheus.WriteRequest`: labels, and samples of (milliseconds, value)."""
    out = b""
    for labels, samples in all_series:
        series = b"".join(
            field(1, field(1, key) + field(2, value)) for key, value in sorted(labels.items())
        )
        for time_ms, value in samples:
            series += field(2, b"\x09" + struct.pack("<d", value) + b"\x10" + varint(time_ms))
        out += field(1, series)
    return out


def post(
    url: str, token: str, body: bytes, **headers: str
) -> tuple[int, bytes, urllib.request.Request]:
    """Status and body of the answer, and its headers."""
    sent = {"Authorization": f"Bearer {token}"} if token else {}
    sent |= {key.replace("_", "-"): value for key, value in headers.items() if value}
    wanted = urllib.request.Request(url, body, sent)
    try:
        with urllib.request.urlopen(wanted, timeout=30) as answer:
            return answer.status, answer.read(), answer.headers
    except urllib.error.HTTPError as error:
        return error.code, error.read(), error.headers


def remote_write(
    url: str, token: str, all_series: Iterable[Series], query: str = "", **headers: str
) -> tuple[int, str]:
    status, answer, _ = post(
        f"{url}/api/v1/write{query}", token, snappy(write_request(all_series)),
        **{"Content_Type": "application/x-protobuf", "Content_Encoding": "snappy",
           "X_Prometheus_Remote_Write_Version": "0.1.0", **headers},
    )  # fmt: skip
    return status, answer.decode()
