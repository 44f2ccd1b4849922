"""Programs that call the package as MaxText and AXLearn do, unmodified, in hard circumstances."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import headway
import pytest
from environments import NotInstallable, environment
from ml_goodput_measurement import goodput, goodput_elastic

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
STEPS = 20
SECONDS = 30

# For each directory on a line: what TensorBoard shows of it, {tag: [[step, time, value]...]}.
READER = """
import json, sys
from tensorboard.backend.event_processing import plugin_event_accumulator as accumulator
from tensorboard.util import tensor_util

for line in sys.stdin:
    events = accumulator.EventAccumulator(
        line.rstrip(), size_guidance={accumulator.TENSORS: 0}
    ).Reload()
    print(json.dumps({
        tag: [
            [e.step, e.wall_time, tensor_util.make_ndarray(e.tensor_proto).item()]
            for e in events.Tensors(tag)
        ]
        for tag in events.Tags()["tensors"]
    }), flush=True)
"""

Curves = dict[str, list[list[float]]]


@pytest.fixture(scope="module")
def curves() -> Iterator[Callable[[Path], Curves]]:
    requirements = ROOT / "tools" / "requirements-tensorboard.txt"
    try:
        python = environment(ROOT / "build" / "tensorboard", requirements)
    except NotInstallable as error:
        pytest.skip(f"TensorBoard can't be installed: {error}")
    reader = subprocess.Popen(
        [python, "-c", READER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert reader.stdin and reader.stdout

    def read(directory: Path) -> Curves:
        assert reader.stdin and reader.stdout
        reader.stdin.write(f"{directory}\n")
        reader.stdin.flush()
        found: Curves = json.loads(reader.stdout.readline())
        return found

    yield read
    reader.stdin.close()
    reader.wait()


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in list(os.environ):
        if name.startswith(("HEADWAY_", "RANK", "WORLD_SIZE")) and name != "HEADWAY_BIN":
            monkeypatch.delenv(name)
    monkeypatch.setenv("HEADWAY_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("GCE_METADATA_HOST", "127.0.0.1:9")  # no machine on Google Cloud
    return tmp_path / "data"


def processes() -> dict[int, tuple[int, list[str]]]:
    """Session and command line of each process that runs."""
    found = {}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            fields = (folder / "stat").read_text().rsplit(")", 1)[1].split()
            words = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")
        except (FileNotFoundError, ProcessLookupError):
            continue
        if fields[0] not in "ZX":
            found[int(folder.name)] = (int(fields[3]), words)
    return found


def monitors_of(pid: int) -> list[int]:
    """Monitors that run beside the process."""
    return [
        one
        for one, (_, words) in processes().items()
        if "monitor" in words and ["--beside", str(pid)] in [words[i : i + 2] for i in range(60)]
    ]


def wait_for(condition: Callable[[], Any]) -> None:
    until = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.02)


class Program:
    """A program of the folder frameworks, as the leader of a session."""

    def __init__(self, name: str, *arguments: str, pipe: bool = False, **variables: str) -> None:
        command = [sys.executable, str(HERE / "frameworks" / f"{name}.py"), *arguments]
        self.process = subprocess.Popen(
            ["sh", "-c", '"$@" | cat', "sh", *command] if pipe else command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env={**os.environ, **variables},
        )
        assert self.process.stdout
        self.pid = int(self.process.stdout.readline().split()[1])

    def left(self) -> list[int]:
        """What is left of it: its descendants, and what ran beside it."""
        leader = self.process.pid
        session = [one for one, (session, _) in processes().items() if session == leader]
        return session + monitors_of(self.pid)

    def until_step(self, step: int) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            if line == f"step {step}\n":
                return
        raise AssertionError(f"there is no step {step}")

    def end(self) -> list[str]:
        """Waits until all have closed its standard output; what it printed."""
        out, err = self.process.communicate(timeout=SECONDS)
        assert "Traceback" not in err, err
        return out.splitlines()


HOW = ["plain", "pipe", "reap", "kill"]


def play(how: str, name: str, *arguments: str) -> None:
    """Runs it to its end, whichever that is; nothing is left of it."""
    variables = {"plain": {}, "pipe": {}, "reap": {"REAP": "1"}, "kill": {"PAUSE": "1"}}[how]
    program = Program(name, *arguments, pipe=how == "pipe", **variables)
    program.until_step(STEPS // 2)
    assert monitors_of(program.pid)
    if how == "kill":
        os.kill(program.pid, signal.SIGKILL)
        program.end()
        assert program.process.returncode == -signal.SIGKILL
        wait_for(lambda: not program.left())
        return
    assert program.end()[-1] == "done"
    assert program.process.returncode == 0
    assert program.left() == []  # at once: the uploaders were stopped


def check(shown: Curves, calculator: Any, how: str) -> dict[Any, Any]:
    """The last values that TensorBoard shows are the calculator's; returns its badput."""
    percent, badput, step = calculator.get_job_goodput(include_badput_breakdown=True)
    last_step, wall, last = shown["goodput/goodput"][-1]
    if how == "kill":
        # For the calculator a job without an end goes on: as of the last values it was this.
        details = calculator.get_job_goodput_details()
        total = wall - headway.report(calculator.job_name).start.timestamp()
        percent = details["goodput_time"][goodput.GoodputType.TOTAL] / total * 100
        badput = {
            kind: {name: part / total * 100 for name, part in seconds.items()}
            if isinstance(seconds, dict)
            else seconds / total * 100
            for kind, seconds in details["badput_time"].items()
            if kind != goodput.BadputType.OTHER
        }
    assert last_step == step == (STEPS // 2 - 1 if how == "kill" else STEPS - 1)
    assert last == pytest.approx(percent, rel=1e-4)
    assert len(shown["goodput/goodput"]) >= 2  # not only at the end
    for kind, value in badput.items():
        if isinstance(value, dict):
            for name, part in value.items():
                tag = f"badput/custom_badput_events/{name.lower()}"
                assert shown[tag][-1][2] == pytest.approx(part, rel=1e-4), tag
            continue
        tag = f"badput/{kind.name.lower()}"
        assert shown[tag][-1][::2] == [step, pytest.approx(value, rel=1e-4, abs=1e-4)], tag
    return dict(badput)


def check_window(shown: Curves, seconds: int, job: str) -> None:
    """A window that is longer than the job is all of it."""
    _, wall, last = shown[f"exact/interval/{seconds}s/goodput"][-1]
    report = headway.report(job, as_of=f"@{round(wall * 1e9)}")
    assert last == pytest.approx(report.goodput, abs=1e-3)


@pytest.mark.parametrize("how", HOW)
def test_maxtext(how: str, curves: Callable[[Path], Curves], tmp_path: Path) -> None:
    play(how, "maxtext_like", "a/run", str(tmp_path / "tb"), "all")
    shown = curves(tmp_path / "tb" / "goodput")
    calculator = goodput.GoodputCalculator("a/run", "goodput_a/run")
    check(shown, calculator, how)
    deviations = calculator.get_step_deviation(configured_ideal_step_time=0.02)
    told = {step: value for step, _, value in shown["step_deviation"]}
    assert told == pytest.approx(deviations, abs=1e-6)
    assert len(told) == len(shown["step_deviation"])
    check_window(shown, 60, "a/run")
    check_window(shown, 3600, "a/run")


def test_maxtext_with_goodput_alone(curves: Callable[[Path], Curves], tmp_path: Path) -> None:
    play("plain", "maxtext_like", "run", str(tmp_path / "tb"), "goodput")
    shown = curves(tmp_path / "tb" / "goodput")
    check(shown, goodput.GoodputCalculator("run", "goodput_run"), "plain")
    assert "step_deviation" not in shown


def test_maxtext_elastic(curves: Callable[[Path], Curves], tmp_path: Path) -> None:
    play("plain", "maxtext_like", "run", str(tmp_path / "tb"), "elastic")
    shown = curves(tmp_path / "tb" / "goodput")
    badput = check(shown, goodput_elastic.ElasticGoodputCalculator("run", "goodput_run"), "plain")
    assert badput[goodput.BadputType.ELASTIC_SLICE_DOWN] > 0


@pytest.mark.parametrize("how", HOW)
def test_axlearn(how: str, curves: Callable[[Path], Curves], tmp_path: Path) -> None:
    play(how, "axlearn_like", "run", str(tmp_path / "tb"))
    shown = curves(tmp_path / "tb" / "goodput")
    badput = check(shown, goodput.GoodputCalculator("run", "goodput_logger_run"), how)
    custom = badput[goodput.BadputType.CUSTOM_BADPUT_EVENTS]
    assert custom.keys() == {"CUSTOM_EVAL", "SDC_CHECK"}
    rolling = curves(tmp_path / "tb" / "rolling" / "goodput")
    check_window(rolling, 3600, "run")
    assert "goodput/goodput" not in rolling  # each has its own
    assert not any("interval" in tag for tag in shown)
