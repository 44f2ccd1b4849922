"""OTLP requests, as the published message types read them."""

from __future__ import annotations

import json
import subprocess
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from conftest import EXAMPLES, ROOT, probe
from environments import NotInstallable, environment

# Prints a request that is read from both encodings, as {"same": bool, "request": {...}}.
READER = """
import json, sys
from google.protobuf import json_format
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest as Request,
)

binary, text = (open(name, "rb").read() for name in sys.argv[1:])
request = Request.FromString(binary)
known = Request.FromString(binary)
known.DiscardUnknownFields()
print(json.dumps({
    "same": json_format.Parse(text, Request()) == request,
    "unknown_bytes": len(binary) - known.ByteSize(),
    "request": json_format.MessageToDict(request),
}))
"""


@pytest.fixture(scope="session")
def python() -> Path:
    try:
        return environment(ROOT / "build/otlp", ROOT / "tools/requirements-otlp.txt")
    except NotInstallable as error:
        pytest.skip(f"opentelemetry-proto can't be installed: {error}")


def attributes(**values: str) -> list[dict[str, Any]]:
    return [{"key": key, "value": {"stringValue": value}} for key, value in values.items() if value]


def nanoseconds(time: str) -> int:
    whole, _, fraction = time.removesuffix("Z").partition(".")
    second = datetime.fromisoformat(whole).replace(tzinfo=timezone.utc)
    return int(second.timestamp()) * 1_000_000_000 + int(fraction)


def points_of(report: dict[str, Any], windows: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """{name: (unit, [(attributes, value)...])}, from reports in JSON."""

    def badput(report: dict[str, Any], unit: int, **labels: str) -> list[tuple[Any, float]]:
        return [
            (attributes(**labels, category=row["category"], name=row["name"]), row["ns"] / unit)
            for row in report["categories"]
            if row["category"] != "productive"
        ]

    steps = report["steps"]
    productive = sum(
        row["ns"] for row in report["categories"] if row["category"] == "productive"
    )
    expected: dict[str, tuple[str, list[tuple[Any, Any]]]] = {
        "headway.goodput.ratio": ("1", [([], report["goodput"])]),
        "headway.goodput.time": ("s", [([], productive / 1e9)]),
        "headway.badput.time": ("s", badput(report, 1_000_000_000)),
        "headway.elapsed": ("s", [([], report["elapsed_ns"] / 1e9)]),
        "headway.interval.goodput": (
            "1",
            [(attributes(window=window), of["goodput"]) for window, of in windows.items()],
        ),
        "headway.interval.badput": (
            "1",
            [
                point
                for window, of in windows.items()
                for point in badput(of, of["elapsed_ns"], window=window)
            ],
        ),
        "headway.disruptions": ("{disruption}", [([], str(len(report["disruptions"])))]),
    }
    for name, field in (("deviation", "deviation_ns"), ("ideal", "ideal_ns")):
        if steps[field] is not None:
            expected[f"headway.step.{name}"] = ("s", [([], steps[field] / 1e9)])
    if steps["max_productive_step"] is not None:
        value = str(steps["max_productive_step"])
        expected["headway.step.max_productive"] = ("{step}", [([], value)])
    return {name: (unit, points) for name, (unit, points) in expected.items() if points}


@pytest.mark.parametrize("example", ["A", "B", "E", "N", "W", "Z"])
def test_every_field(python: Path, tmp_path: Path, example: str) -> None:
    run = b'a "run"\xff\xc3\xa9'
    events = EXAMPLES / f"{example}.jsonl"
    files = []
    for encoding in ("otlp", "otlp-json"):
        files.append(tmp_path / encoding)
        files[-1].write_bytes(probe(encoding, run, events, "30", "100000").stdout)
    command: list[str | Path] = [python, "-c", READER, *files]
    found = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    assert found["same"]
    assert found["unknown_bytes"] == 0

    (resource_metrics,) = found["request"]["resourceMetrics"]
    assert set(resource_metrics) == {"resource", "scopeMetrics"}
    name = 'a "run"\ufffdé'
    assert resource_metrics["resource"]["attributes"] == attributes(
        **{
            "service.name": "headway",
            "service.instance.id": f"default/{name}",
            "headway.project": "default",
            "headway.run": name,
        }
    )
    (scope_metrics,) = resource_metrics["scopeMetrics"]
    assert set(scope_metrics) == {"scope", "metrics"}
    version = probe("version").stdout.decode().strip()
    assert scope_metrics["scope"] == {"name": "headway", "version": version}

    reports = map(json.loads, probe("report", run, events, "30", "100000").stdout.splitlines())
    report, last, all_of_it = reports
    windows = {"30s": last, "100000s": all_of_it}
    expected = points_of(report, windows)
    assert [metric["name"] for metric in scope_metrics["metrics"]] == list(expected)
    for metric in scope_metrics["metrics"]:
        assert set(metric) == {"name", "description", "unit", "gauge"}
        unit, points = expected[metric["name"]]
        assert metric["unit"] == unit
        whole = unit in ("{step}", "{disruption}")
        assert metric["gauge"] == {
            "dataPoints": [
                {
                    **({"attributes": labels} if labels else {}),
                    "timeUnixNano": str(nanoseconds(report["as_of"])),
                    "asInt" if whole else "asDouble": value,
                }
                for labels, value in points
            ]
        }


def test_the_document_shows_what_is_written() -> None:
    page = (ROOT / "docs/formats/otlp.md").read_text()
    shown = json.loads(page.partition("```json\n")[2].partition("```")[0])
    written = json.loads(probe("otlp-json", "llama-7b", EXAMPLES / "B.jsonl").stdout)
    (shown,), (written,) = shown["resourceMetrics"], written["resourceMetrics"]
    assert shown["resource"] == written["resource"]
    (shown,), (written,) = shown["scopeMetrics"], written["scopeMetrics"]
    assert shown["scope"]["name"] == written["scope"]["name"]
    metrics = {metric["name"]: metric for metric in written["metrics"]}
    for metric in shown["metrics"]:  # some, and the first points of them
        points = metrics[metric["name"]]["gauge"]["dataPoints"]
        del points[len(metric["gauge"]["dataPoints"]) :]
        assert metric == metrics[metric["name"]]
    assert shown["metrics"]
