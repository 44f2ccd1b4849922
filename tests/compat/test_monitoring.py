"""The drop-in's monitors: what they upload, and that the training program doesn't notice them."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from environments import NotInstallable, environment
from ml_goodput_measurement import goodput, monitoring, monitoring_elastic

ROOT = Path(__file__).resolve().parents[2]

# Prints {tag: [[step, wall time, value]...]} of a directory, as TensorBoard reads it.
READER = """
import json, sys
from tensorboard.backend.event_processing import plugin_event_accumulator as accumulator
from tensorboard.util import tensor_util

events = accumulator.EventAccumulator(
    sys.argv[1], size_guidance={accumulator.TENSORS: 0}
).Reload()
print(json.dumps({
    tag: [
        [e.step, e.wall_time, tensor_util.make_ndarray(e.tensor_proto).item()]
        for e in events.Tensors(tag)
    ]
    for tag in events.Tags()["tensors"]
}))
"""


@pytest.fixture(scope="session")
def tensorboard_python() -> str:
    requirements = ROOT / "tools" / "requirements-tensorboard.txt"
    try:
        return str(environment(ROOT / "build" / "tensorboard", requirements))
    except NotInstallable as error:
        pytest.skip(f"TensorBoard can't be installed: {error}")


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HEADWAY_DIR", str(tmp_path / "data"))
    for variable in ("HEADWAY_BACKEND", "HEADWAY_ACCOUNTING", "HEADWAY_PROJECT", "RANK"):
        monkeypatch.delenv(variable, raising=False)
    return tmp_path / "data"


def curves(python: str, directory: Path) -> dict[str, list[list[float]]]:
    done = subprocess.run(
        [python, "-c", READER, str(directory)], capture_output=True, text=True, check=True
    )
    result: dict[str, list[list[float]]] = json.loads(done.stdout)
    return result


def states(data: Path, job: str) -> list[dict[str, Any]]:
    folder = data / "monitors" / "default" / job
    return [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]


def train(job: str, steps: int = 20, every: float = 0.05) -> None:
    recorder = goodput.GoodputRecorder(job, f"goodput_{job}", True)
    recorder.record_job_start_time()
    recorder.record_training_preparation_start_time()
    time.sleep(every)
    recorder.record_training_preparation_end_time()
    for step in range(steps):
        recorder.record_step_start_time(step)
        if step == steps // 2:
            recorder.record_custom_badput_event_start_time(custom_badput_event_type="eval_step")
            time.sleep(every)
            recorder.record_custom_badput_event_end_time(custom_badput_event_type="eval_step")
        time.sleep(every)
    recorder.record_job_end_time()


def alive(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return status.rsplit(")", 1)[1].split()[0] != "Z"


def wait_for(condition: Any, seconds: float = 10.0) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.02)


def test_uploads_what_the_calculator_answers(
    data: Path, tmp_path: Path, tensorboard_python: str
) -> None:
    monitor = monitoring.GoodputMonitor(
        job_name="job",
        logger_name="goodput_job",
        tensorboard_dir=str(tmp_path / "tb"),
        upload_interval=0.25,  # type: ignore[arg-type]
        monitoring_enabled=True,
        pathway_enabled=True,
        include_badput_breakdown=True,
        include_step_deviation=True,
        configured_ideal_step_time=0.04,
        step_deviation_interval_seconds=0.25,  # type: ignore[arg-type]
    )
    monitor.start_goodput_uploader()
    monitor.start_step_deviation_uploader()
    train("job", steps=30)
    monitor.stop_goodput_uploader()
    monitor.stop_step_deviation_uploader()

    calculator = goodput.GoodputCalculator("job", "goodput_job")
    percent, badput, step = calculator.get_job_goodput(include_badput_breakdown=True)
    shown = curves(tensorboard_python, tmp_path / "tb" / "goodput")
    assert shown["goodput/goodput"][-1][0] == step == 29
    assert shown["goodput/goodput"][-1][2] == pytest.approx(percent, rel=1e-6)
    for kind, value in badput.items():
        if isinstance(value, dict):
            assert value.keys() == {"EVAL_STEP"}
            tag, value = "badput/custom_badput_events/eval_step", value["EVAL_STEP"]
        else:
            tag = f"badput/{kind.name.lower()}"
        assert shown[tag][-1][2] == pytest.approx(value, rel=1e-6), tag
    # A sample for each interval, at its time.
    times = [point[1] for point in shown["goodput/goodput"]]
    gaps = [b - a for a, b in zip(times, times[1:-1], strict=False)]
    assert len(times) >= 6
    assert gaps == pytest.approx([0.25] * len(gaps), abs=1e-3)
    deviations = calculator.get_step_deviation(configured_ideal_step_time=0.04)
    told = {point[0]: point[2] for point in shown["step_deviation"]}
    assert len(shown["step_deviation"]) == len(told)  # each once
    assert told == pytest.approx(deviations, abs=1e-6)
    for state in states(data, "job"):
        assert state["ended"] and not state["destinations"][0]["error"]


def test_two_monitors_of_a_job_do_not_disturb_each_other(
    tmp_path: Path, tensorboard_python: str
) -> None:
    names = ["a", "b"]
    monitors = [
        monitoring.GoodputMonitor(
            "twice",
            "goodput_twice",
            str(tmp_path / name),
            0.1,  # type: ignore[arg-type]
            monitoring_enabled=True,
        )
        for name in names
    ]
    for monitor in monitors:
        monitor.start_goodput_uploader()
    train("twice")
    for monitor in monitors:
        monitor.stop_goodput_uploader()
    last = [
        curves(tensorboard_python, tmp_path / name / "goodput")["goodput/goodput"][-1][::2]
        for name in names
    ]
    assert last[0] == last[1] and last[0][0] == 19


def test_final_values_alone(tmp_path: Path, tensorboard_python: str) -> None:
    train("late", steps=3)
    monitor = monitoring.GoodputMonitor(
        "late", "", str(tmp_path), 30, monitoring_enabled=True, include_badput_breakdown=True
    )
    monitor.stop_goodput_uploader(skip_final_flush=True)
    assert not (tmp_path / "goodput").exists()
    monitor.stop_goodput_uploader()
    assert len(curves(tensorboard_python, tmp_path / "goodput")["goodput/goodput"]) == 1


def test_an_elastic_monitor(tmp_path: Path, tensorboard_python: str) -> None:
    train("elastic", steps=3)
    monitor = monitoring_elastic.ElasticGoodputMonitor(
        "elastic", "", str(tmp_path), 30, monitoring_enabled=True, include_badput_breakdown=True
    )
    monitor.start_goodput_uploader()
    monitor.stop_goodput_uploader()
    assert "badput/elastic_slice_down" in curves(tensorboard_python, tmp_path / "goodput")


def test_what_is_off_says_so_once_in_process_0(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    for rank in ("1", "0"):
        monkeypatch.setenv("RANK", rank)
        for _ in range(2):
            monitor = monitoring.GoodputMonitor(f"off{rank}", "", str(tmp_path), 1)
            monitor.start_goodput_uploader()
            monitor.stop_goodput_uploader()
            goodput.GoodputRecorder(f"off{rank}", "", logging_enabled=False)
    said = [record.message for record in caplog.records]
    assert said == [
        "monitoring of goodput of 'off0' is disabled in this process",
        "recording of goodput of 'off0' is disabled in this process",
    ]
    assert not list(tmp_path.iterdir())


def test_trouble_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("")
    train("troubled", steps=2)
    monitor = monitoring.GoodputMonitor(
        "troubled", "", str(tmp_path / "file"), 30, monitoring_enabled=True
    )
    monitor.start_goodput_uploader()
    monitor.stop_goodput_uploader()
    assert str(tmp_path / "file") in caplog.text


@pytest.mark.parametrize("variable", ["HEADWAY_BACKEND", "HEADWAY_ACCOUNTING"])
def test_a_wrong_word_stops_no_training(
    variable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(variable, "wrong")
    monitor = monitoring.GoodputMonitor("job", "", str(tmp_path), 1, monitoring_enabled=True)
    monitor.start_goodput_uploader()
    monitor.stop_goodput_uploader()
    assert "wrong" in caplog.text


def test_odd_values_stop_no_training(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train("job", steps=2, every=0.01)
    for interval in (0, -1, None, float("nan"), float("inf")):
        monitor = monitoring.GoodputMonitor(
            "job",
            "",
            str(tmp_path / "tb"),
            interval,  # type: ignore[arg-type]
            monitoring_enabled=True,
            final_flush_timeout_seconds=float("inf"),
        )
        monitor.start_goodput_uploader()
        monitor.stop_goodput_uploader()
    assert len(states(data, "job")) == 5
    monitor = monitoring.GoodputMonitor("a\0b", "", str(tmp_path), 1, monitoring_enabled=True)
    monitor.start_goodput_uploader()
    monkeypatch.setenv("HEADWAY_DISABLED", "1")
    monitor = monitoring.GoodputMonitor("job", "", str(tmp_path), 1, monitoring_enabled=True)
    monitor.start_goodput_uploader()
    monitor.stop_goodput_uploader()
    assert len(states(data, "job")) == 5


def test_an_empty_directory_is_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    train("job", steps=2, every=0.01)
    for directory in ("", None):
        monitor = monitoring.GoodputMonitor(
            "job",
            "",
            directory,  # type: ignore[arg-type]
            30,
            monitoring_enabled=True,
        )
        monitor.start_goodput_uploader()
        monitor.stop_goodput_uploader()
        assert len(list((tmp_path / "goodput").glob("events.out.tfevents.*"))) == 1


def test_without_a_journal_to_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("HEADWAY_BACKEND", "cloud-logging")
    monitor = monitoring.GoodputMonitor("cloud", "", str(tmp_path), 1, monitoring_enabled=True)
    monitor.start_goodput_uploader()
    monitor.stop_goodput_uploader()
    assert "HEADWAY_BACKEND=both" in caplog.text


PROGRAM = """
import os, signal, sys, time
from ml_goodput_measurement import goodput, monitoring

how = sys.argv[1]
recorder = goodput.GoodputRecorder("job", "goodput_job", True)
monitor = monitoring.GoodputMonitor("job", "goodput_job", sys.argv[2], 0.1, monitoring_enabled=True)
monitor.start_goodput_uploader()
recorder.record_job_start_time()
if how == "children":
    # A supervisor's loop: any child that it did not start is a surprise.
    children = {os.fork() for _ in range(3)}
    if 0 in children:
        time.sleep(0.2)
        os._exit(0)
    found = set()
    while True:
        try:
            found.add(os.waitpid(-1, 0)[0])
        except ChildProcessError:
            break
    assert found == children, (found, children)
for step in range(10):
    recorder.record_step_start_time(step)
    time.sleep(0.03)
print("pid", monitor._goodput._companion.pid, flush=True)
if how == "kill":
    if os.fork() == 0:  # holds what it has inherited, for a while
        time.sleep(5)
        os._exit(0)
    os.kill(os.getpid(), signal.SIGKILL)
if how == "forked":
    if os.fork() == 0:
        monitor.stop_goodput_uploader()
        os._exit(0)
    os.wait()
    assert monitor._goodput.running
recorder.record_job_end_time()
if how == "raise":
    raise SystemExit("as it does")
"""


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "p.py"
    path.write_text(textwrap.dedent(PROGRAM))
    yield path


@pytest.mark.parametrize("how", ["plain", "children", "kill", "forked", "raise"])
def test_no_process_is_left_behind(
    how: str, program: Path, data: Path, tmp_path: Path, tensorboard_python: str
) -> None:
    # The pipe ends with the program, whoever has inherited what.
    begin = time.monotonic()
    done = subprocess.run(
        f"{sys.executable} {program} {how} {tmp_path} | cat",
        shell=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert "Traceback" not in done.stderr, done.stderr
    if how != "kill":  # there a child of the program's own keeps the pipe open
        assert time.monotonic() - begin < 10
    pid = int(done.stdout.split()[1])
    wait_for(lambda: not alive(pid))
    (state,) = states(data, "job")
    assert state["ended"]
    shown = curves(tensorboard_python, tmp_path / "goodput")["goodput/goodput"]
    # Only an end that was recorded makes the last step one that was finished.
    assert shown[-1][0] == (8 if how == "kill" else 9)


def test_stopping_is_bounded(data: Path, tmp_path: Path) -> None:
    train("stuck", steps=2)
    monitor = monitoring.GoodputMonitor(
        "stuck", "", str(tmp_path), 30, monitoring_enabled=True, final_flush_timeout_seconds=0.3
    )
    monitor.start_goodput_uploader()
    assert monitor._goodput is not None and monitor._goodput._companion is not None
    pid = monitor._goodput._companion.pid
    os.kill(pid, signal.SIGSTOP)
    begin = time.monotonic()
    monitor.stop_goodput_uploader()
    assert time.monotonic() - begin < 1
    os.kill(pid, signal.SIGCONT)
    wait_for(lambda: not alive(pid))


def test_a_pause_leaves_no_hole(tmp_path: Path, tensorboard_python: str) -> None:
    monitor = monitoring.GoodputMonitor(
        "paused",
        "",
        str(tmp_path),
        0.1,  # type: ignore[arg-type]
        monitoring_enabled=True,
    )
    monitor.start_goodput_uploader()
    assert monitor._goodput is not None and monitor._goodput._companion is not None
    pid = monitor._goodput._companion.pid
    recorder = goodput.GoodputRecorder("paused", "", True)
    recorder.record_job_start_time()
    for step in range(40):
        recorder.record_step_start_time(step)
        if step == 15:
            os.kill(pid, signal.SIGSTOP)
        if step == 30:
            os.kill(pid, signal.SIGCONT)
        time.sleep(0.03)
    monitor.stop_goodput_uploader()
    points = curves(tensorboard_python, tmp_path / "goodput")["goodput/goodput"]
    gaps = [b[1] - a[1] for a, b in zip(points, points[1:-1], strict=False)]
    assert gaps == pytest.approx([0.1] * len(gaps), abs=1e-3)
    steps = [point[0] for point in points]
    assert steps == sorted(steps) and len(set(steps)) > 7  # each as of its own time


ELSEWHERE = """
import sys
from ml_goodput_measurement import monitoring, monitoring_elastic

for kind, name in (
    (monitoring.GoodputMonitor, "job"), (monitoring_elastic.ElasticGoodputMonitor, "elastic")
):
    monitor = kind(
        "job", "goodput_job", sys.argv[1] + "/" + name, 30, monitoring_enabled=True,
        include_badput_breakdown=True, include_step_deviation=True,
    )
    monitor.start_goodput_uploader()
    monitor.start_step_deviation_uploader()
    monitor.start_rolling_window_goodput_uploader([3600, 7200])
    monitor.stop_goodput_uploader()
    monitor.stop_step_deviation_uploader()
    monitor.stop_rolling_window_goodput_uploader()
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[dict[str, str]]:
    """A server, as variables."""
    program = Path(os.environ["HEADWAY_BIN"]) / "headway"
    folder = tmp_path / "far"
    process = subprocess.Popen(
        [program, "serve", "--dir", folder, "--listen", "127.0.0.1:0"],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    url = process.stdout.readline().removeprefix("headway serve: ").strip()
    process.stdout.readline()
    yield {
        "HEADWAY_SERVER": url,
        "HEADWAY_TOKEN": (folder / "server/admin-token").read_text().strip(),
    }
    process.terminate()
    process.communicate(timeout=30)


@pytest.mark.parametrize("accounting", ["compat", "exact"])
def test_reads_a_server_on_any_machine(
    data: Path, tmp_path: Path, server: dict[str, str], tensorboard_python: str, accounting: str
) -> None:
    train("job", steps=30)
    program = Path(os.environ["HEADWAY_BIN"]) / "headway"
    subprocess.run([program, "ship"], env={**os.environ, **server}, check=True)
    base = {**os.environ, "HEADWAY_ACCOUNTING": accounting}
    shown = []
    for where, more in (
        ("here", {}), ("there", {**server, "HEADWAY_DIR": str(tmp_path / "elsewhere")})
    ):  # fmt: skip
        done = subprocess.run(
            [sys.executable, "-c", ELSEWHERE, str(tmp_path / where)],
            env={**base, **more}, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, "")
        told = {}
        for name in ("job", "elastic"):
            folder = tmp_path / where / name / "goodput"
            for tag, points in curves(tensorboard_python, folder).items():
                told[f"{name}/{tag}"] = [(step, value) for step, _, value in points]
        shown.append(told)
    here, there = shown
    assert there == here
    assert {"job/goodput/goodput", "elastic/goodput/goodput"} <= here.keys()
    assert any("/interval/" in tag for tag in here) and any("deviation" in tag for tag in here)
    # A token that is none: the training goes on, and is told.
    done = subprocess.run(
        [sys.executable, "-c", ELSEWHERE, str(tmp_path / "none")],
        env={**base, **server, "HEADWAY_TOKEN": "none"},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0 and "token" in done.stderr


def test_who_records_the_job_reads_its_journal(
    data: Path, tmp_path: Path, tensorboard_python: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADWAY_SERVER", "http://127.0.0.1:9")
    monitor = monitoring.GoodputMonitor(
        "job", "goodput_job", str(tmp_path / "tb"), 30, monitoring_enabled=True
    )
    recorder = goodput.GoodputRecorder("job", "goodput_job", True)
    recorder.record_job_start_time()
    monitor.start_goodput_uploader()
    for step in range(3):
        recorder.record_step_start_time(step)
    recorder.record_job_end_time()
    monitor.stop_goodput_uploader()
    shown = curves(tensorboard_python, tmp_path / "tb" / "goodput")
    assert shown["goodput/goodput"][-1][0] == 2
