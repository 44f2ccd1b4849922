"""docs/compat.md says what compat and exact accounting answer where the original is wrong."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from pathlib import Path

import defects
import pytest
import runner
from ml_goodput_measurement.src import _sources

ROOT = Path(__file__).resolve().parents[2]


def _rows() -> dict[int, tuple[str, str]]:
    """The cells for compat and exact by number."""
    text = (ROOT / "docs/compat.md").read_text()
    rows = re.findall(r"^\| (\d+) \| .* \| (.*) \| (.*) \| .* \|$", text, re.MULTILINE)
    return {int(number): (compat, exact) for number, compat, exact in rows}


ROWS = _rows()


def test_all_defects_have_a_row() -> None:
    assert sorted(ROWS) == list(range(1, 50))


def test_rows_with_numbers_are_checked() -> None:
    numbered = {number for number, cells in ROWS.items() if "%" in "".join(cells)}
    assert numbered == set(defects.HISTORIES)


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(_sources, "now", _sources.now)  # the runner sets this clock
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("number", defects.HISTORIES)
def test_number(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = []
    for accounting in ("compat", "exact"):
        monkeypatch.setenv("HEADWAY_ACCOUNTING", accounting)
        answer = runner.Runner("drop-in-log").answer(defects.HISTORIES[number])
        if answer["windows"]:
            goodput = answer["windows"][0]
        elif answer["without"]:
            goodput = answer["without"][0][0]
        else:
            goodput = answer["cumulative"]
        answers.append(goodput if isinstance(goodput, str) else f"{goodput[0]:.2f} %")
    assert tuple(answers) == ROWS[number]


def test_an_entry_that_comes_once_more_is_a_disruption_in_compat_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for accounting, disruptions in (("compat", 1), ("exact", 0)):
        monkeypatch.setenv("HEADWAY_ACCOUNTING", accounting)
        details = runner.Runner("drop-in-log").answer(defects.HISTORIES[49])["details"]
        assert details["disruption_count"] == disruptions, accounting
