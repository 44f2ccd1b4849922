"""What the methods of a run record, and that nothing in a loop raises."""

from __future__ import annotations

import asyncio
import datetime
import inspect
import json
import logging
import math
import subprocess
import sys
import threading
import time
import types
from collections import OrderedDict
from collections.abc import AsyncGenerator, Generator, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headway


def names(report: headway.Report) -> set[str]:
    return {t.category + (f":{t.name}" if t.name else "") for t in report.categories}


def test_the_documented_loop() -> None:
    run = headway.init(project="lm", run="llama-7b", config={"lr": 3e-4})
    with run.accelerator_init():
        time.sleep(0.001)
    with run.training_prep():
        time.sleep(0.001)
    for i in range(20):
        with run.data_loading():
            pass
        with run.step(i):
            time.sleep(0.001)
        run.log({"loss": 1 / (i + 1), "lr": 3e-4}, step=i)
        if i % 5 == 4:
            with run.checkpoint_save(step=i):
                time.sleep(0.001)
            run.checkpoint_saved(i)
        with run.span("eval"):
            time.sleep(0.0005)
    run.finish()
    assert run.dropped == 0

    report = headway.report("llama-7b", project="lm")
    assert report.state == "completed"
    assert report.steps.count == 20
    assert report.checkpointing.saves == 4
    assert sum(t.ns for t in report.categories) == report.elapsed_ns
    assert {"productive", "accelerator_init", "training_prep", "checkpoint_save"} <= names(report)
    assert report.ns("custom") >= 20 * 500_000


def test_step_needs_no_with(run: headway.Run) -> None:
    for i in range(5):
        run.step(i)
    run.step_end(4)
    assert headway.report(run).steps.count == 5


def test_hard_and_soft_ends(run: headway.Run) -> None:
    with run.step(0):
        pass
    assert headway.report(run).steps.count == 0  # the device may still work
    with run.step(1, blocking=True):
        pass
    assert headway.report(run).steps.count == 2
    with pytest.raises(ZeroDivisionError), run.step(2, blocking=True):
        raise ZeroDivisionError
    assert headway.report(run).steps.count == 2  # who raises promises nothing


def test_contexts_are_used_again_and_kept_ones_are_not(run: headway.Run) -> None:
    def step() -> headway.Step:
        return run.step(0)

    assert step() is not None
    first = id(step())
    assert id(step()) == first
    kept = step()
    assert step() is not kept
    for make in (run.data_loading, run.training_prep, lambda: run.span("a")):
        first = id(make())
        assert id(make()) == first
    held = [run.span("a") for _ in range(10)]
    assert len({id(span) for span in held}) == 10


def test_nested_steps_end_their_own() -> None:
    run = headway.init(run="nested", heartbeat=False)
    with run.step(1, blocking=True):
        with run.step(2, blocking=True):
            pass
    run.finish()
    ends = {s.step: s.complete for s in headway.steps("nested")}
    assert ends == {1: True, 2: True}


def test_spans_nest_and_recur(run: headway.Run) -> None:
    span = run.span("same")
    with span, span, span:
        time.sleep(0.001)
    assert [i.name for i in headway.timeline(run)].count("SAME") == 1

    @run.span("deep")
    def deep(n: int) -> int:
        return 0 if n == 0 else 1 + deep(n - 1)

    assert deep(20) == 20
    with pytest.raises(ValueError), run.span("failing"):
        raise ValueError
    report = headway.report(run)
    assert {"custom:SAME", "custom:DEEP", "custom:FAILING"} <= names(report)
    assert "span_unclosed" not in {note.code for note in report.notes}


def test_one_span_in_many_threads(run: headway.Run) -> None:
    span = run.span("shared")
    barrier = threading.Barrier(8)

    def work() -> None:
        for _ in range(200):
            with span:
                barrier.wait()

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert run.dropped == 0
    codes = {note.code for note in headway.report(run).notes}
    assert not codes & {"span_unclosed", "span_unopened"}


def test_decorators(run: headway.Run) -> None:
    @run.span("eval")
    def evaluate(x: int, *, y: int = 2) -> int:
        """Doc."""
        return x + y

    assert evaluate(1, y=3) == 4
    assert evaluate.__name__ == "evaluate" and evaluate.__doc__ == "Doc."

    @run.phase("rollout")
    async def rollout() -> str:
        await asyncio.sleep(0.002)
        return "done"

    assert asyncio.run(rollout()) == "done"
    assert headway.report(run).ns("productive") >= 2_000_000
    with pytest.raises(TypeError):
        run.span("eval")(3)  # type: ignore[type-var]


def lengths_of(run: headway.Run, name: str) -> list[int]:
    return [stretch.duration_ns for stretch in headway.timeline(run) if stretch.name == name]


def test_a_generators_span_is_open_while_its_own_code_runs(run: headway.Run) -> None:
    @run.span("outer")
    @run.span("read")
    def batches(count: int) -> Iterator[int]:
        for i in range(count):
            time.sleep(0.002)
            yield i

    assert inspect.isgeneratorfunction(batches) and batches.__name__ == "batches"
    seen = []
    for batch in batches(3):
        seen.append(batch)
        time.sleep(0.001)  # the loop's own time, and not the generator's
    assert seen == [0, 1, 2]
    assert len(lengths_of(run, "READ")) == 4  # three times to a yield, once to the end
    assert sum(lengths_of(run, "READ")) >= 3 * 2_000_000
    assert "span_unclosed" not in {note.code for note in headway.report(run).notes}


def test_a_decorated_generator_can_be_spoken_to(run: headway.Run) -> None:
    closed = []

    @run.span("talk")
    def talk() -> Generator[str, str, int]:
        try:
            heard = yield "ready"
            try:
                yield heard.upper()
            except KeyError:
                yield "caught"
            return 7
        finally:
            closed.append(True)

    talking = talk()
    assert next(talking) == "ready"
    assert talking.send("a") == "A"
    assert talking.throw(KeyError()) == "caught"
    with pytest.raises(StopIteration) as end:
        next(talking)
    assert end.value.value == 7 and closed == [True]

    talking = talk()
    next(talking)
    talking.close()
    assert closed == [True, True]
    talking = talk()
    next(talking)
    with pytest.raises(ZeroDivisionError):
        talking.throw(ZeroDivisionError())
    assert closed == [True, True, True]
    assert not {"span_unclosed", "span_unopened"} & {n.code for n in headway.report(run).notes}


def test_an_async_generators_span_is_open_while_its_own_code_runs(run: headway.Run) -> None:
    closed = []

    @run.span("outer")
    @run.span("stream")
    async def stream(count: int) -> AsyncGenerator[int, int]:
        try:
            for i in range(count):
                await asyncio.sleep(0.002)
                try:
                    i += (yield i) or 0
                except KeyError:
                    yield -1
                if i > 100:
                    return
        finally:
            closed.append(count)

    assert inspect.isasyncgenfunction(stream)

    async def use() -> None:
        seen = []
        async for item in stream(3):
            seen.append(item)
            time.sleep(0.001)
        assert seen == [0, 1, 2]

        asked = stream(4)
        assert await asked.__anext__() == 0
        assert await asked.athrow(KeyError()) == -1
        assert await asked.__anext__() == 1
        with pytest.raises(StopAsyncIteration):
            await asked.asend(1000)

        left = stream(5)
        await left.__anext__()
        await left.aclose()
        failing = stream(6)
        await failing.__anext__()
        with pytest.raises(ZeroDivisionError):
            await failing.athrow(ZeroDivisionError())

    asyncio.run(use())
    assert closed == [3, 4, 5, 6]
    assert len(lengths_of(run, "STREAM")) >= 4
    assert sum(lengths_of(run, "STREAM")) >= 3 * 2_000_000
    assert not {"span_unclosed", "span_unopened"} & {n.code for n in headway.report(run).notes}


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        (1, True),
        (True, True),
        (-2.5, True),
        (math.nan, True),
        (10**30, True),
        (np.float32(1), True),
        (np.float64(1), True),
        (np.float16(1), True),
        (np.int8(1), True),
        (np.bool_(True), True),
        (10**400, False),
        (np.zeros(1), False),
        (np.array(1.0), False),
        ("1", False),
        (None, False),
        (1j, False),
        (np.complex64(1), False),
        (np.str_("1"), False),
        ({"nested": 1}, False),
    ],
)
def test_what_log_takes(run: headway.Run, value: Any, kept: bool) -> None:
    run.log({"good": 1.0, "value": value}, step=1)
    assert run.dropped == (0 if kept else 1)


def test_log_never_asks_a_device(run: headway.Run) -> None:
    class DeviceArray:
        asked = 0

        def __float__(self) -> float:
            DeviceArray.asked += 1
            return 1.0

        __int__ = __index__ = __bool__ = __array__ = __float__

    array: Any = DeviceArray()
    run.log({"loss": array}, step=array)
    run.step(array)
    run.data_loading(blocking=array)
    assert DeviceArray.asked == 0
    assert run.dropped == 4


def test_dicts_of_other_kinds(run: headway.Run) -> None:
    run.log(OrderedDict(a=1.0))
    run.log({})
    assert run.dropped == 0
    run.log(types.MappingProxyType({"a": 1}))
    run.log({1: 1.0})  # type: ignore[dict-item]
    run.log({"\udc80": 1.0})
    assert run.dropped == 3


def test_metrics_of_one_call_have_one_time(run: headway.Run, headway_bin: Path) -> None:
    many = {f"m{i}": float(i) for i in range(100)}
    for step in range(3):
        run.log({"loss": 0.5, "bad": None, "accuracy": 1, **many}, step=step)
    run.finish()
    done = subprocess.run(
        [headway_bin, "export", run.name, "--as", "jsonl"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    logged = [line for line in lines if line["type"] == "log"]
    assert [line["name"] for line in logged] == ["loss", "accuracy", *many] * 3
    times = [{line["ts_ns"] for line in logged if line["step"] == step} for step in range(3)]
    assert [len(one) for one in times] == [1, 1, 1]
    assert len(set.union(*times)) == 3


def test_numpy_step_numbers(run: headway.Run) -> None:
    for number in (np.int64(0), np.int32(1), np.uint8(2)):
        run.step(number)
    assert run.last_step == 2 and run.dropped == 0


WRONG: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("step", (None,), {}),
    ("step", (), {}),
    ("step", ("1",), {}),
    ("step", (1.5,), {}),
    ("step", (2**70,), {}),
    ("step", (True,), {}),
    ("step", (-3,), {}),
    ("step", (np.int64(-3),), {"blocking": True}),
    ("step", (2**63 - 1,), {}),
    ("step_end", (-1,), {}),
    ("step_end", (2**63 - 1,), {}),
    ("step_end", (False,), {}),
    ("log", ({"a": 1},), {"step": -1}),
    ("checkpoint_save", (-1,), {}),
    ("checkpoint_saved", (True,), {}),
    ("rollback", (-1,), {}),
    ("step", (1, False, 3), {}),
    ("step", (1,), {"other": 2}),
    ("step", (1,), {"blocking": "yes"}),
    ("step_end", (None,), {}),
    ("step_end", (), {}),
    ("log", (), {}),
    ("log", (None,), {}),
    ("log", ([("a", 1)],), {}),
    ("log", ({"a": 1},), {"step": "x"}),
    ("step", (1,), {"blocking": b"1"}),
    ("data_loading", ("x",), {}),
    ("accelerator_init", (1,), {}),
    ("checkpoint_save", (), {"step": "x"}),
    ("checkpoint_saved", (None,), {}),
    ("span", (), {}),
    ("span", (None,), {}),
    ("span", (b"eval",), {}),
    ("phase", (3,), {}),
    ("elastic_wait", (), {}),
    ("rollback", ("back",), {}),
    ("capacity", ("many",), {}),
    ("notice", ("now",), {}),
    ("exclude", ("yesterday",), {}),
    ("exclude", (object(),), {}),
    ("config", (3,), {}),
    ("config", ([],), {}),
]


@pytest.mark.parametrize(("method", "args", "kwargs"), WRONG)
def test_wrong_arguments_are_counted(
    run: headway.Run,
    caplog: pytest.LogCaptureFixture,
    method: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> None:
    for _ in range(3):
        result = getattr(run, method)(*args, **kwargs)
        if isinstance(result, (headway.Step, headway.Span)):
            with result:
                pass
    assert run.dropped == 3
    assert run.last_step in (None, 1)
    told = [record for record in caplog.records if record.name == "headway"]
    assert len(told) == 1 and told[0].levelno == logging.WARNING


@pytest.mark.parametrize("number", [2**63, 2**64, -(2**63) - 1, 10**40])
def test_any_number_says_yes(run: headway.Run, number: Any) -> None:
    with run.step(1, number), run.data_loading(number), run.span("eval", number):
        pass
    with run.checkpoint_save(1, number), run.step(2, blocking=number):
        pass
    assert run.dropped == 0 and run.last_step == 2


@pytest.mark.parametrize(("signal", "recorded"), [(64, 64), (65, 0), (-1, 0), (2**40, 0)])
def test_what_is_no_signal_is_a_notice_too(
    run: headway.Run, signal: int, recorded: int
) -> None:
    run.step(1)
    run.notice(signal)
    assert run.dropped == 0
    assert headway.report(run).attempts[0].notice == recorded


def test_a_logger_that_fails_does_no_harm(
    run: headway.Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: object) -> None:
        raise RuntimeError("no log")

    monkeypatch.setattr(logging.getLogger("headway"), "warning", fail)
    run.step(None)  # type: ignore[arg-type]
    assert run.dropped == 1


def test_everything_is_silent_after_finish(run: headway.Run) -> None:
    run.step(1)
    run.finish()
    before = headway.report(run).to_dict()
    exercise(run)
    run.finish(3)
    assert headway.report(run).to_dict() == before
    assert not run.enabled


def test_what_comes_after_finish_is_counted(run: headway.Run) -> None:
    span = run.span("eval")
    run.finish()
    assert run.dropped == 0
    for i in range(10):
        run.step(i)
    run.log({"a": 1, "b": 2})
    run.config({"a": 1})
    run.notice()
    run.exclude(1, 2)
    with span:
        pass
    run.finish()
    assert run.dropped == 10 + 2 + 1 + 1 + 1 + 1
    disabled = headway.Run(disabled=True)
    disabled.step(1)
    disabled.config({})
    assert disabled.dropped == 0


def exercise(run: headway.Run) -> None:
    """Calls everything once."""
    with run.step(7), run.data_loading(), run.async_data_loading(), run.span("eval"):
        run.log({"loss": 1.0}, step=7)
    for span in (
        run.accelerator_init(),
        run.training_prep(),
        run.checkpoint_save(step=7, blocking=False),
        run.checkpoint_restore(),
        run.phase("rollout"),
        run.elastic_wait("scale_up"),
        run.elastic_reinit(),
    ):
        with span:
            pass
    run.step_end(7)
    run.checkpoint_saved(7)
    run.rollback(3)
    run.exclude(time.time_ns() - 10, time.time_ns(), "stop")
    run.exclude(time.time(), reason="stop")
    run.exclude(datetime.datetime.now(), datetime.datetime.now(datetime.timezone.utc))
    run.capacity(available=3, active=2, total=4)
    run.capacity()
    run.config({"a": 1}, kind="software")
    run.notice()
    run.notice(15)
    run.heartbeat()


def test_everything_once(run: headway.Run) -> None:
    exercise(run)
    assert run.dropped == 0


def test_disabled(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setenv("HEADWAY_DISABLED", "1")
    run = headway.init(run="off")
    assert not run.enabled and run.journal_path == "" and run.rank is None
    exercise(run)
    run.step(None)  # type: ignore[arg-type]
    run.finish()
    assert not folder.exists()
    assert repr(run) == "<headway.Run, disabled>"


def test_a_recorder_that_cannot_open_warns_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    run = headway.init(dir=tmp_path / "file")
    assert not run.enabled and run.error
    exercise(run)
    run.finish()
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "records nothing" in caplog.text


def test_a_step_that_is_none_names_itself(
    run: headway.Run, caplog: pytest.LogCaptureFixture
) -> None:
    run.step(-3)
    assert "step() that it could not understand (-3: a step is a whole number" in caplog.text
    assert [s.step for s in headway.steps(run)] == []


@pytest.mark.parametrize(
    "kwargs",
    [
        {"run": 3},
        {"project": b"x"},
        {"config": [1]},
        {"rank": "0"},
        {"rank": 0.0},
        {"rank": True},
        {"world_size": "8"},
        {"attempt": False},
        {"dir": 3},
        {"heartbeat": "no"},
        {"heartbeat": 0},
        {"unknown": 1},
    ],
)
def test_wrong_types_at_set_up_raise(kwargs: dict[str, Any]) -> None:
    with pytest.raises(TypeError):
        headway.init(**kwargs)


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"rank": -5}, "rank must be from 0 to .*, not -5"),
        ({"rank": 2**63}, "rank must be"),
        ({"world_size": 0}, "world_size must be from 1 to"),
        ({"local_rank": -1}, "local_rank must be"),
        ({"attempt": np.int64(-1)}, "attempt must be"),
        ({"rank": 8, "world_size": 8}, "rank 8 is not below world_size 8"),
        ({"run": "n" * 300}, "run has 300 bytes"),
        ({"project": "é" * 129}, "project has 258 bytes"),
        ({"run": "a\0b"}, "control characters"),
        ({"run": "a\nb"}, "control characters"),
        ({"job_id": "\udc80"}, "valid Unicode"),
        ({"dir": "a\0b"}, "NUL"),
        *(
            ({name: ""}, f"{name} must not be empty")
            for name in ("project", "run", "job_id", "attempt_key", "dir")
        ),
    ],
)
def test_values_at_set_up_that_cannot_be_meant_raise(
    folder: Path, kwargs: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        headway.init(**kwargs)
    assert not folder.exists()


def test_an_empty_variable_is_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWAY_PROJECT", "")
    with headway.init(run="r", heartbeat=False) as run:
        assert run.project == "default"
    assert headway.report("r").project == "default"


def test_a_reversed_exclusion_is_dropped_and_told(
    run: headway.Run, caplog: pytest.LogCaptureFixture
) -> None:
    run.exclude(2_000_000_000, 1_000_000_000)
    run.exclude(2_000_000_000, 2_000_000_000)
    assert run.dropped == 1
    assert "exclude() that it could not understand (it ends before it begins)" in caplog.text


def test_wrong_resume_raises() -> None:
    with pytest.raises(ValueError, match="auto, must, never"):
        headway.init(resume="perhaps")  # type: ignore[arg-type]


def test_init_again_is_the_same_run() -> None:
    run = headway.init(run="twice", heartbeat=False)
    assert headway.init(run="twice", heartbeat=False) is run
    assert headway.current_run() is run
    run.finish()
    assert headway.current_run() is None
    again = headway.init(run="twice", heartbeat=False)
    assert again is not run and again.uid != run.uid and not again.continued
    again.finish()


def test_a_failed_run_is_continued() -> None:
    run = headway.init(run="again", heartbeat=False)
    run.step(0)
    run.finish(1)
    with headway.init(run="again", heartbeat=False) as more:
        assert more.continued and more.uid == run.uid
    with pytest.raises(KeyError), headway.init(run="again", heartbeat=False):
        raise KeyError
    assert headway.report("again").state == "failed"


@pytest.mark.parametrize("status", [2**31, 2**32, 2**40, 2**63, 2**80, -(2**31) - 1, -(2**32)])
def test_a_status_that_no_system_knows_is_a_failure(folder: Path, status: int) -> None:
    run = headway.init(run="r", dir=str(folder))
    run.step(0)
    run.finish(status)
    (attempt,) = headway.report(run).to_dict()["attempts"]
    assert (attempt["end_kind"], attempt["exit_status"]) == ("failed", None)


def test_finish_inside_finally_knows_the_failure() -> None:
    run = headway.init(run="finally", heartbeat=False)
    with pytest.raises(KeyError):
        try:
            raise KeyError
        finally:
            run.finish()
    assert headway.report("finally").state == "failed"


def test_facts_about_a_run(folder: Path) -> None:
    run = headway.init(project="p", run="r", rank=0, world_size=2, heartbeat=False)
    assert (run.project, run.name, run.rank, run.world_size) == ("p", "r", 0, 2)
    assert len(run.uid) == 32 and run.journal_path.startswith(str(folder))
    assert run.last_step is None
    assert repr(run) == "<headway.Run p/r, recording>"
    run.finish()


def test_instrument() -> None:
    run = headway.init(run="loop", heartbeat=False)
    loop = headway.instrument([10, 20, 30])
    assert len(loop) == 3
    seen = [(run.last_step, item) for item in loop]
    assert seen == [(0, 10), (1, 20), (2, 30)]
    for _ in loop:  # a second epoch goes on counting
        pass
    assert run.last_step == 5
    for _ in headway.instrument(iter("abc"), start=100, blocking=True):
        break
    assert run.last_step == 100
    run.finish()
    report = headway.report("loop")
    assert report.steps.count == 7
    assert run.dropped == 0


def test_instrument_without_a_run() -> None:
    assert headway.current_run() is None
    assert list(headway.instrument(range(3))) == [0, 1, 2]


def test_many_threads_record(run: headway.Run) -> None:
    def work(worker: int) -> None:
        for i in range(2000):
            with run.async_data_loading():
                run.log({f"worker/{worker}": i})

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for i in range(2000):
        run.step(i)
    for thread in threads:
        thread.join()
    run.step_end(1999)
    assert run.dropped == 0
    assert headway.report(run).steps.count == 2000


def test_more_names_than_are_kept_at_hand(run: headway.Run) -> None:
    for i in range(70_000):
        run.log({f"metric/{i}": i})
    assert run.dropped == 0


def test_config_takes_what_programs_have(run: headway.Run) -> None:
    class Odd:
        def __str__(self) -> str:
            return "odd"

    odd: Any = {"path": Path("/x"), "nan": math.nan, 3: (1, 2), "odd": Odd(), "none": None}
    run.config(odd)
    loop: dict[str, Any] = {}
    loop["loop"] = loop
    assert run.dropped == 0
    run.config(loop)
    assert run.dropped == 1


def test_attributes_do_not_appear_by_accident(run: headway.Run) -> None:
    with pytest.raises(AttributeError):
        run.loss = 3  # type: ignore[attr-defined]
    with pytest.raises(TypeError):
        headway.Step()
    assert sys.getrefcount(run) < 20


def test_none_is_told_as_a_wrong_type_and_no_argument_as_missing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with headway.init(run="none", dir=tmp_path) as run:
        run.step(None)  # type: ignore[arg-type]
        run.rollback()  # type: ignore[call-arg]
    assert "step() that it could not understand (NoneType)" in caplog.text
    assert "rollback() that it could not understand (missing or surplus arguments)" in caplog.text


def test_not_even_an_exit_is_raised_into_the_loop(tmp_path: Path) -> None:
    class Leaving:
        def __index__(self) -> int:
            raise SystemExit(3)

        __float__ = __bool__ = __index__

    class LeavingInt(int):
        __index__ = Leaving.__index__

    with headway.init(run="leaving", dir=tmp_path) as run:
        run.step(Leaving())  # type: ignore[arg-type]
        run.step(LeavingInt(3))
        run.log({"loss": Leaving()})  # type: ignore[dict-item]
        assert run.dropped == 2
