"""What the real Orbax saves and restores is recorded by itself, beside a stopwatch.

The package is in an environment of its own; where it can't be had the tests are skipped.
"""

from __future__ import annotations

import dataclasses
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Span, recorded

import headway

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tools"))
from environments import NotInstallable, environment  # noqa: E402

#: What may lie between a stopwatch and the span in it: a part, and nanoseconds a call.
PART = 0.05
EACH_NS = 20_000_000


@dataclasses.dataclass
class Call:
    kind: str  # of the span, or "": there must be none
    begin_ns: int
    end_ns: int
    step: int | None


@pytest.fixture(scope="module")
def orbax_python() -> str:
    try:
        return str(environment(ROOT / "build/orbax", ROOT / "tools/requirements-orbax.txt"))
    except NotInstallable as error:
        pytest.skip(f"Orbax can't be installed: {error}")


def environ(**more: str) -> dict[str, str]:
    package = str(Path(headway.__file__).parents[1])
    return {**os.environ, "PYTHONPATH": package, "JAX_PLATFORMS": "cpu", **more}


def free_port() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return str(free.getsockname()[1])


def called(python: str, name: str, folder: Path, **env: str) -> list[Call]:
    done = subprocess.run(
        [python, str(HERE / "orbax_calls.py"), name, str(folder)],
        env=environ(**env), capture_output=True, text=True, timeout=240, check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return [Call(*values) for values in json.loads(done.stdout.splitlines()[-1])]


def compare(calls: list[Call], spans: list[Span]) -> None:
    """One span a call, within it, and nearly as long."""
    wanted = [call for call in calls if call.kind]
    assert [span.kind for span in spans] == [call.kind for call in wanted]
    for call, span in zip(wanted, spans):
        # The clocks are read a moment apart, and one of them may be adjusted.
        assert call.begin_ns - 1_000_000 <= span.begin_ns <= span.end_ns, (call, span)
        assert span.end_ns <= call.end_ns + 1_000_000, (call, span)
        assert span.step == call.step and span.thread == 0
    stopwatch = sum(call.end_ns - call.begin_ns for call in wanted)
    total = sum(span.end_ns - span.begin_ns for span in spans)
    assert stopwatch - total <= stopwatch * PART + len(wanted) * EACH_NS, (stopwatch, total)


def check(report: headway.Report, spans: list[Span]) -> None:
    """No time counts twice, and nothing had to be guessed about spans."""
    for kind in ("checkpoint_save", "checkpoint_restore"):
        accounted = sum(time.ns for time in report.categories if time.category == kind)
        total = sum(span.end_ns - span.begin_ns for span in spans if span.kind == kind)
        assert accounted == total
    assert not [note for note in report.notes if note.code.startswith("span_")]


def test_managers(orbax_python: str, headway_bin: Path, tmp_path: Path) -> None:
    calls = called(orbax_python, "managers", tmp_path / "c")
    spans, saved = recorded(headway_bin, "managers")
    compare(calls, spans)
    check(headway.report("managers"), spans)
    assert saved == [*range(6), *range(6), 0, 3]


def test_checkpointers(orbax_python: str, headway_bin: Path, tmp_path: Path) -> None:
    calls = called(orbax_python, "checkpointers", tmp_path / "c")
    spans, saved = recorded(headway_bin, "checkpointers")
    compare(calls, spans)
    check(headway.report("checkpointers"), spans)
    assert saved == []  # a path is no step


def test_functions(orbax_python: str, headway_bin: Path, tmp_path: Path) -> None:
    calls = called(orbax_python, "functions", tmp_path / "c")
    spans, saved = recorded(headway_bin, "functions")
    compare(calls, spans)
    assert saved == [2]


def test_a_long_wait_and_a_failure(orbax_python: str, headway_bin: Path, tmp_path: Path) -> None:
    calls = called(orbax_python, "slow", tmp_path / "c")
    spans, saved = recorded(headway_bin, "slow")
    compare(calls, spans)
    check(headway.report("slow"), spans)
    assert sum(span.end_ns - span.begin_ns for span in spans) > 7_000_000_000
    assert saved == [0, 1]


def test_import_order_unwatch_fork_threads_and_the_end(
    orbax_python: str, headway_bin: Path, tmp_path: Path
) -> None:
    calls = called(orbax_python, "before", tmp_path / "c")
    spans, _ = recorded(headway_bin, "before")
    *own, threaded = spans
    compare(calls, own)
    assert threaded.kind == "checkpoint_restore" and threaded.thread != 0
    report = headway.report("before")
    assert "checkpoint_restore" not in [time.category for time in report.categories]
    assert recorded(headway_bin, "second") == ([], [])


def test_off(orbax_python: str, headway_bin: Path, tmp_path: Path) -> None:
    called(orbax_python, "managers", tmp_path / "c", HEADWAY_ORBAX="0")
    assert recorded(headway_bin, "managers") == ([], [])


def test_multi_tier(orbax_python: str, headway_bin: Path, tmp_path: Path) -> None:
    calls = called(
        orbax_python, "replicator", tmp_path / "c", RANK="0", WORLD_SIZE="1", PORT=free_port()
    )
    spans, saved = recorded(headway_bin, "replicator")
    compare(calls, spans)
    assert saved == [1]


def test_emergency(orbax_python: str, headway_bin: Path, tmp_path: Path) -> None:
    port = free_port()
    processes = [
        subprocess.Popen(
            [orbax_python, str(HERE / "orbax_calls.py"), "emergency", str(tmp_path / "c")],
            env=environ(RANK=str(rank), WORLD_SIZE="2", PORT=port, HEADWAY_JOB_ID="job",
                        HEADWAY_ATTEMPT_KEY="job#0"),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for rank in (0, 1)
    ]
    outputs = []
    try:
        for process in processes:
            outputs.append(process.communicate(timeout=240))
    finally:
        for process in processes:
            process.kill()
    assert [process.returncode for process in processes] == [0, 0], outputs
    calls = [Call(*values) for values in json.loads(outputs[0][0].splitlines()[-1])]
    spans, saved = recorded(headway_bin, "emergency")
    compare(calls, spans)
    assert saved == [1, 2]
