"""A training loop allocates nothing, and its only system calls let the journal grow."""

from __future__ import annotations

import gc
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import headway

LOOP = """
import sys
import headway
run = headway.init(run="r", heartbeat=False)
metrics = {"loss": 1.5}
for i in range(int(sys.argv[1])):
    with run.data_loading():
        pass
    with run.step(i):
        pass
    run.log(metrics, step=i)
    with run.span("eval"):
        pass
run.finish()
"""
# By which a journal grows and is let go.
GROWTH = {"fallocate", "madvise", "mmap", "munmap", "mremap", "mprotect"}


def loop(run: headway.Run, steps: int) -> None:
    metrics = {"loss": 1.5}
    for i in range(steps):
        with run.data_loading():
            pass
        with run.step(i):
            pass
        run.step(i + 1, blocking=True)
        run.step_end(i + 1)
        run.log(metrics, step=i)
        with run.span("eval", blocking=False), run.checkpoint_save(step=i):
            pass


def anonymous_kib() -> int:
    """Memory of this process that no file backs: the journal's pages are not the program's."""
    text = Path("/proc/self/status").read_text()
    found = re.search(r"RssAnon:\s+(\d+)", text)
    assert found is not None
    return int(found[1])


def test_no_memory_is_kept(run: headway.Run) -> None:
    loop(run, 1000)
    gc.collect()
    blocks, memory = sys.getallocatedblocks(), anonymous_kib()
    loop(run, 200_000)
    gc.collect()
    assert sys.getallocatedblocks() - blocks < 20
    assert anonymous_kib() - memory < 1024
    assert run.dropped == 0


def test_no_object_is_made_in_a_loop(run: headway.Run) -> None:
    for make in (lambda: run.step(3), run.data_loading, lambda: run.span("eval")):
        function: Callable[[], object] = make
        assert len({id(function()) for _ in range(1000)}) == 1


def test_references_stay(run: headway.Run) -> None:
    word, number, metrics, value = "a rare name", 123456789, {"a rare name": 1.25}, object()

    def counts() -> list[int]:
        things = (run, word, number, metrics, value, headway.Step, headway.Span, None, True)
        return [sys.getrefcount(thing) for thing in things]

    def everything() -> None:
        with run.step(number), run.span(word), run.data_loading(blocking=True):
            run.log(metrics, step=number)
        run.step(value)  # type: ignore[arg-type]
        run.log({word: value})
        run.span(value)  # type: ignore[arg-type]
        run.step_end(number)
        run.capacity(number, None, True)
        kept = [run.step(number), run.step(number), run.span(word), run.span(word)]
        assert len(kept) == 4
        assert (run.name, run.uid, run.rank, run.dropped, run.error) is not None

    everything()
    before = counts()
    for _ in range(1000):
        everything()
    growth = [after - b for after, b in zip(counts(), before, strict=True)]
    assert all(abs(n) < 50 for n in growth), growth


def test_recorders_are_freed(tmp_path: Path) -> None:
    def once(number: int) -> None:
        with headway.init(run=f"r{number}", dir=tmp_path, heartbeat=False) as run:
            run.step(number)
            run.log({"a": 1.0})

    once(0)
    blocks = sys.getallocatedblocks()
    for number in range(1, 150):  # more than may be open at once
        once(number)
    assert len(headway.runs(dir=tmp_path)) == 150
    gc.collect()
    assert sys.getallocatedblocks() - blocks < 2000


def calls(steps: int, folder: Path) -> dict[str, int]:
    """System calls by name of a program with so many steps."""
    counts = folder / f"calls-{steps}"
    command = ["strace", "-f", "-c", "-o", str(counts), sys.executable, "-c", LOOP, str(steps)]
    # A folder of its own, for opening a run looks at the earlier ones.
    env = {**os.environ, "HEADWAY_DIR": str(folder / f"data-{steps}")}
    result = subprocess.run(command, capture_output=True, text=True, env=env)
    if result.returncode != 0 or not counts.exists():
        pytest.skip(f"strace is not permitted here: {result.stderr.strip()[-200:]}")
    rows = (line.split() for line in counts.read_text().splitlines())
    return {row[-1]: int(row[3]) for row in rows if len(row) >= 5 and row[3].isdigit()}


def test_no_system_calls_a_step(tmp_path: Path) -> None:
    if shutil.which("strace") is None:
        pytest.skip("no strace here")
    calls(10, tmp_path)  # byte code is compiled
    once, twice = calls(100_000, tmp_path), calls(200_000, tmp_path)
    del once["total"], twice["total"]
    more = {name: n - once.get(name, 0) for name, n in twice.items() if n != once.get(name, 0)}
    assert sum(n for name, n in more.items() if name not in GROWTH) < 6, more
    # 700,000 records more: one madvise in 4096, and few reservations.
    assert 0 < sum(n for name, n in more.items() if name in GROWTH) < 700_000 / 4096 * 1.5, more
