"""The drop-in beside the original, on the same calls: every value that either returns."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import calls
import conformance
import pytest

HERE = Path(__file__).resolve().parent
RANDOM = 20_000 if os.environ.get("HEADWAY_FULL") == "1" else 2_000
JOURNALS = RANDOM // 10  # of the random histories, also through journals
TOLERANCE = 1e-9

Answer = dict[str, Any]


def _answers(python: str, kind: str, histories: list[calls.History], folder: Path) -> list[Answer]:
    environment = {**os.environ, "HEADWAY_DIR": str(folder / kind)}
    if kind == "original":
        environment.pop("PYTHONPATH", None)  # its package is this environment's
    done = subprocess.run(
        [python, str(HERE / "runner.py"), kind],
        input="".join(json.dumps(history) + "\n" for history in histories),
        capture_output=True,
        text=True,
        env=environment,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def _differences(ours: Any, theirs: Any, path: str = "") -> Iterator[str]:
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in sorted(ours.keys() | theirs.keys()):
            yield from _differences(
                ours.get(key, "absent"), theirs.get(key, "absent"), f"{path}/{key}"
            )
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for i, (one, other) in enumerate(zip(ours, theirs)):
            yield from _differences(one, other, f"{path}[{i}]")
    elif isinstance(ours, (int, float)) and isinstance(theirs, (int, float)):
        if abs(ours - theirs) > TOLERANCE * max(1.0, abs(theirs)):
            yield f"{path}: {ours} instead of {theirs}"
    elif ours != theirs:
        yield f"{path}: {ours!r} instead of {theirs!r}"


def _compare(
    histories: list[calls.History], ours: list[Answer], theirs: list[Answer], names: list[str]
) -> None:
    assert len(ours) == len(theirs) == len(histories)
    wrong = []
    for name, one, other in zip(names, ours, theirs):
        found = list(_differences(one, other))
        if found:
            wrong.append(f"{name}: " + "; ".join(found[:5]))
    assert not wrong, f"{len(wrong)} of {len(histories)} differ:\n" + "\n".join(wrong[:10])


def test_random_histories(original_python: str, tmp_path: Path) -> None:
    histories = [calls.random_history(seed) for seed in range(RANDOM)]
    names = [f"seed {seed}" for seed in range(RANDOM)]
    theirs = _answers(original_python, "original", histories, tmp_path)
    ours = _answers(sys.executable, "drop-in-log", histories, tmp_path)
    _compare(histories, ours, theirs, names)
    assert any(answer["cumulative"] == "ValueError" for answer in theirs)
    recorded = _answers(sys.executable, "drop-in-journal", histories[:JOURNALS], tmp_path)
    _compare(histories[:JOURNALS], recorded, theirs[:JOURNALS], names)


def test_conformance_with_the_original(original_python: str, tmp_path: Path) -> None:
    histories = [history for history, _ in conformance.CASES.values()]
    theirs = _answers(original_python, "original", histories, tmp_path)
    for kind in ("drop-in-log", "drop-in-journal"):
        ours = _answers(sys.executable, kind, histories, tmp_path)
        _compare(histories, ours, theirs, list(conformance.CASES))


@pytest.mark.parametrize("kind", ["drop-in-log", "drop-in-journal"])
def test_conformance(kind: str, tmp_path: Path) -> None:
    histories = [history for history, _ in conformance.CASES.values()]
    answers = _answers(sys.executable, kind, histories, tmp_path)
    for (name, (_, expected)), answer in zip(conformance.CASES.items(), answers):
        _check(name, expected, answer)


def _check(name: str, expected: conformance.Expected, answer: Answer) -> None:
    goodput, badput, step = answer["cumulative"]
    details = answer["details"]
    seconds = details["badput_time"]
    for key, value in expected.items():
        match key:
            case "goodput":
                got: Any = goodput
            case "step":
                got = step
            case "disruptions":
                got = details["disruption_count"]
            case "CUSTOM":
                got = badput["CUSTOM_BADPUT_EVENTS"]
            case "stepping" | "available":
                got = details[f"{key}_slice_efficiency"]
            case "without":
                got = [(answer[0], answer[3]) for answer, _ in answer["without"]]
                got, value = sum(got, ()), sum(value, ())
            case "window_answers":
                got = [(w[0], w[2], w[3], w[4]) for w in answer["windows"]]
                got, value = sum(got, ()), sum(value, ())
            case _:
                got = badput[key]
                if key.startswith("ELASTIC"):
                    got = seconds[key]
        assert got == pytest.approx(value, rel=1e-9, abs=1e-9), f"{name}: {key}"
