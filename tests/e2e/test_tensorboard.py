"""Event files of TensorBoard: what the real package reads of ours, and we of its own."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import EXAMPLES, ROOT, Headway

sys.path.insert(0, str(ROOT / "tools"))
from environments import NotInstallable, environment  # noqa: E402

# Prints what TensorBoard shows of a directory: {tag: [name, [[step, wall time, value]...]]}.
READER = """
import json, sys
from tensorboard.backend.event_processing import plugin_event_accumulator as accumulator
from tensorboard.util import tensor_util

events = accumulator.EventAccumulator(
    sys.argv[1], size_guidance={accumulator.TENSORS: 0}
).Reload()
print(json.dumps({
    tag: [
        events.SummaryMetadata(tag).display_name,
        [
            [e.step, e.wall_time, tensor_util.make_ndarray(e.tensor_proto).item()]
            for e in events.Tensors(tag)
        ],
    ]
    for tag in events.Tags()["tensors"]
    if events.SummaryMetadata(tag).plugin_data.plugin_name == "scalars"
}))
"""

# Writes a directory with the package's own writer: scalars old and new, and what is none.
WRITER = """
import sys
import numpy as np
from tensorboard.compat.proto import event_pb2, summary_pb2
from tensorboard.summary.writer.event_file_writer import EventFileWriter
from tensorboard.util import tensor_util

def add(step, **value):
    summary = summary_pb2.Summary(value=[summary_pb2.Summary.Value(**value)])
    time = 1700000000.25 + min(step, 1000)
    writer.add_event(event_pb2.Event(wall_time=time, step=step, summary=summary))

writer = EventFileWriter(sys.argv[1])
scalars = summary_pb2.SummaryMetadata(plugin_data={"plugin_name": "scalars"})
for step in range(100):
    add(step, tag="loss", simple_value=1 / (step + 1))
add(2**53 + 1, tag="loss", simple_value=float("nan"))
add(-5, tag="loss", simple_value=float("inf"))
for number, kind in enumerate(
    [np.float32, np.float64, np.float16, np.int32, np.int64, np.uint8, np.int8]
):
    add(number, tag=kind.__name__, tensor=tensor_util.make_tensor_proto(kind(3)), metadata=scalars)
add(0, tag="vector", tensor=tensor_util.make_tensor_proto(np.arange(4.0)))
add(0, tag="word", tensor=tensor_util.make_tensor_proto("one"))
writer.close()
"""

SUMMARY_WRITER = """
import sys
from tensorboardX import SummaryWriter

for first, last, purge in ((0, 5, None), (3, 8, 3)):
    writer = SummaryWriter(sys.argv[1], purge_step=purge, filename_suffix=f".{first}")
    for step in range(first, last):
        # Its second attempt is a minute after the first.
        writer.add_scalar("loss", 100 * first + step, step, walltime=1700000000 + 60 * first + step)
    writer.add_text("words", "not a number", last)
    writer.close()
"""


@pytest.fixture(scope="session")
def tensorboard() -> Callable[..., str]:
    """Runs a program in an environment that holds the real package, from the package index.

    Where it can't be had the test is skipped.
    """
    requirements = ROOT / "tools" / "requirements-tensorboard.txt"
    try:
        python = environment(ROOT / "build" / "tensorboard", requirements)
    except NotInstallable as error:
        pytest.skip(f"tensorboard can't be installed: {error}")

    def run(program: str, *arguments: str | Path) -> str:
        command = [str(python), "-c", program, *map(str, arguments)]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    return run


def metrics(headway: Headway, run: str) -> list[dict[str, Any]]:
    """The metrics of a run, as its event file has them."""
    lines = map(json.loads, headway("export", run, "--as", "jsonl").stdout.splitlines())
    return [line for line in lines if line["type"] == "log"]


def points(lines: list[dict[str, Any]], tag: str) -> list[tuple[int, float]]:
    return [(line["step"], float(line["value"])) for line in lines if line["name"] == tag]


def write_log(path: Path, *lines: dict[str, object]) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_tensorboard_reads_what_we_write(
    headway: Headway, tensorboard: Callable[..., str], tmp_path: Path
) -> None:
    headway("import", EXAMPLES / "B.jsonl", "--run", "b")
    report = headway.json("goodput", "b")
    path = Path(headway("export", "b", "--as", "tensorboard", "--out", tmp_path / "tb").stdout[:-1])
    assert path.parent == tmp_path / "tb"
    assert path.name.startswith("events.out.tfevents.") and path.name.endswith(".headway")
    shown = json.loads(tensorboard(READER, tmp_path / "tb"))
    values = {tag: curve[-1][2] for tag, (_, curve) in shown.items()}
    assert values["goodput/goodput"] == pytest.approx(report["goodput"])
    assert values["goodput/elapsed"] == pytest.approx(report["elapsed_ns"] / 1e9)
    assert values["goodput/disruptions"] == len(report["disruptions"])
    assert values["goodput/max_productive_step"] == report["steps"]["max_productive_step"]
    assert values["goodput/ideal_step_time"] == pytest.approx(report["steps"]["ideal_ns"] / 1e9)
    assert values["step_deviation"] == pytest.approx(report["steps"]["deviation_ns"] / 1e9)
    for entry in report["categories"]:
        name = entry["category"] + ("/" + entry["name"] if entry["name"] else "")
        tag = "goodput/time" if name == "productive" else f"badput/{name}"
        assert values[tag] == pytest.approx(entry["ns"] / 1e9)
    assert shown["goodput/elapsed"][0] == "elapsed (s)"
    assert shown["goodput/elapsed"][1][0][0] == report["steps"]["last_step"]


def test_metrics_come_back_from_tensorboard(
    headway: Headway, tensorboard: Callable[..., str], tmp_path: Path
) -> None:
    values = [0.5, "NaN", "Infinity", -2.25]
    steps = [0, 2**31, 2**53 + 1, 2**63 - 1]
    lines: list[dict[str, object]] = [
        {"ts": 1700000000.125 + i, "type": "log", "name": "t/loss", "step": step, "value": value}
        for i, (step, value) in enumerate(zip(steps, values, strict=True))
    ]
    write_log(tmp_path / "log.jsonl", *lines)
    headway("import", tmp_path / "log.jsonl", "--run", "r")
    headway("export", "r", "--as", "tensorboard", "--out", tmp_path / "tb")
    _, curve = json.loads(tensorboard(READER, tmp_path / "tb"))["t/loss"]
    assert [step for step, _, _ in curve] == steps
    assert [time for _, time, _ in curve] == [1700000000.125 + i for i in range(4)]
    assert str([value for _, _, value in curve]) == str([0.5, math.nan, math.inf, -2.25])
    # And back again.
    (file,) = (tmp_path / "tb").iterdir()
    headway("import", file, "--as", "tensorboard", "--run", "back")
    kept = ("ts_ns", "name", "step", "value")
    assert [
        {key: line[key] for key in kept}
        for line in metrics(headway, "back")
        if line["name"] == "t/loss"
    ] == [{key: line[key] for key in kept} for line in metrics(headway, "r")]


def test_tensorboard_shows_the_later_of_two_attempts(
    headway: Headway, tensorboard: Callable[..., str], tmp_path: Path
) -> None:
    def attempt(start: int, steps: range) -> list[dict[str, object]]:
        lines: list[dict[str, object]] = [{"ts": start, "type": "job_start"}]
        for i, step in enumerate(steps):
            lines.append({"ts": start + i + 1, "type": "step_start", "step": step})
            lines.append(
                {"ts": start + i + 1.5, "type": "log", "name": "a", "step": step, "value": start}
            )
        return lines

    write_log(tmp_path / "log.jsonl", *attempt(0, range(4)), *attempt(100, range(2, 6)))
    headway("import", tmp_path / "log.jsonl", "--run", "r")
    headway("export", "r", "--as", "tensorboard", "--out", tmp_path / "tb")
    _, curve = json.loads(tensorboard(READER, tmp_path / "tb"))["a"]
    assert [(step, value) for step, _, value in curve] == [
        *((step, 0) for step in (0, 1)),
        *((step, 100) for step in (2, 3, 4, 5)),
    ]
    (file,) = (tmp_path / "tb").iterdir()
    found = headway.json("import", file, "--as", "tensorboard", "--run", "back")
    assert found["restarts"] == [{"file": str(file), "step": 2, "superseded": {"a": 2}}]
    assert len(points(metrics(headway, "back"), "a")) == 8


def test_an_export_never_overwrites(headway: Headway, tmp_path: Path) -> None:
    headway("import", EXAMPLES / "B.jsonl", "--run", "b")
    made = {
        headway("export", "b", "--as", "tensorboard", "--out", tmp_path / "tb").stdout
        for _ in range(3)
    }
    assert len(made) == 3
    assert len(list((tmp_path / "tb").iterdir())) == 3
    for wrong in (["--what", "steps"], ["--as-of", "+1s"]):
        out = ["--out", tmp_path / "tb"]
        headway("export", "b", "--as", "tensorboard", *out, *wrong, code=2)
    assert "--out DIR" in headway("export", "b", "--as", "tensorboard", code=2).stderr
    (tmp_path / "file").write_text("")
    headway("export", "b", "--as", "tensorboard", "--out", tmp_path / "file", code=None)
    assert (tmp_path / "file").read_text() == ""


def test_what_the_package_wrote(
    headway: Headway, tensorboard: Callable[..., str], tmp_path: Path
) -> None:
    tensorboard(WRITER, tmp_path / "tb")
    (file,) = (tmp_path / "tb").iterdir()
    done = headway("import", file, "--as", "tensorboard", "--run", "r")
    assert "2 values are no scalars" in done.stderr
    lines = metrics(headway, "r")
    loss = points(lines, "loss")
    assert [step for step, _ in loss] == [-5, *range(100), 2**53 + 1]  # in order of time
    assert loss[10][1] == pytest.approx(0.1)
    assert loss[0][1] == math.inf and math.isnan(loss[-1][1])
    assert lines[0]["ts_ns"] == 1699999995_250000000
    for kind in ("float32", "float64", "float16", "int32", "int64", "uint8", "int8"):
        assert [value for _, value in points(lines, kind)] == [3]


def test_what_a_summary_writer_wrote(
    headway: Headway, tensorboard: Callable[..., str], tmp_path: Path
) -> None:
    tensorboard(SUMMARY_WRITER, tmp_path / "tb")
    files = sorted((tmp_path / "tb").iterdir(), key=lambda path: path.suffix)
    assert len(files) == 2
    done = headway("import", *files, "--as", "tensorboard", "--run", "r", "--json")
    found = json.loads(done.stdout)
    assert found["problems"] == []
    assert found["restarts"] == [{"file": str(files[1]), "step": 3, "superseded": {"loss": 2}}]
    assert points(metrics(headway, "r"), "loss") == [
        *((step, step) for step in range(5)),
        *((step, 300 + step) for step in range(3, 8)),
    ]


def test_damage_is_told_with_its_place(headway: Headway, tmp_path: Path) -> None:
    headway("import", EXAMPLES / "B.jsonl", "--run", "b")
    path = headway("export", "b", "--as", "tensorboard", "--out", tmp_path / "tb").stdout[:-1]
    whole = Path(path).read_bytes()
    torn = tmp_path / "torn"
    torn.write_bytes(whole[:-3])
    done = headway("import", torn, "--as", "tensorboard", "--run", "torn")
    assert f"{torn} (byte " in done.stderr and "ends within a record" in done.stderr
    found = headway.json("import", torn, "--as", "tensorboard", "--run", "torn")
    assert [problem["code"] for problem in found["problems"]] == ["torn_tail"]
    assert found["problems_total"] == 1 and found["runs"][0]["unchanged"]
    strict = headway("import", torn, "--as", "tensorboard", "--run", "s", "--strict", code=3)
    assert "ends within a record" in strict.stderr
    damaged = bytearray(whole)
    damaged[len(whole) // 2] ^= 1
    torn.write_bytes(damaged)
    headway("import", torn, "--as", "tensorboard", "--run", "s", "--strict", code=3)
    headway("import", torn, "--as", "tensorboard", "--run", "damaged")
    torn.write_text("no event file at all")
    assert "no TensorBoard event file" in (
        headway("import", torn, "--as", "tensorboard", "--run", "s", code=3).stderr
    )
    torn.write_text("")
    empty = headway("import", torn, "--as", "tensorboard", "--run", "s", code=3)
    assert "no scalar" in empty.stderr
    assert "--run NAME" in headway("import", path, "--as", "tensorboard", code=2).stderr


class Case:
    """A recorded case: files, and what a correct reader makes of them."""

    def __init__(self, name: str, headway: Headway) -> None:
        cases = os.environ.get("HEADWAY_CASES_DIR")
        if not cases or not (Path(cases) / name).is_dir():
            pytest.skip("HEADWAY_CASES_DIR does not lead to the cases")
        self.folder = Path(cases) / name
        self.expected = json.loads((self.folder / "expected.json").read_text())
        self.headway = headway

    def take(self, *files: Path) -> tuple[Any, list[dict[str, Any]]]:
        arguments = [*files, "--as", "tensorboard", "--run", "case", "--replace"]
        found = self.headway.json("import", *arguments)
        return found, metrics(self.headway, "case")


def test_case_zeros_at_the_end(headway: Headway) -> None:
    case = Case("B01", headway)
    found, lines = case.take(case.folder / "stage1.tfevents")
    assert len(lines) == case.expected["stage1"]["scalars"]
    (problem,) = found["problems"]
    assert problem["code"] == "torn_tail"
    assert problem["offset"] == case.expected["stage1"]["error_offset"]
    found, lines = case.take(case.folder / "stage2.tfevents")
    assert (found["problems"], len(lines)) == ([], case.expected["stage2"]["scalars"])


def test_case_cut_record(headway: Headway, tmp_path: Path) -> None:
    case = Case("B03", headway)
    file = case.folder / "truncated.tfevents"
    found, lines = case.take(file)
    assert len(lines) == case.expected["first_read"]["scalars"]
    assert [problem["code"] for problem in found["problems"]] == ["torn_tail"]
    longer = tmp_path / "longer"
    longer.write_bytes(file.read_bytes() + (case.folder / "append.bin").read_bytes())
    found, lines = case.take(longer)
    assert (found["problems"], len(lines)) == ([], case.expected["after_append"]["scalars"])
    assert lines[-1]["step"] == case.expected["after_append"]["last_step"]


def test_case_restart(headway: Headway) -> None:
    case = Case("B05", headway)
    files = sorted(case.folder.glob("events.*"))
    found, lines = case.take(*files)
    (restart,) = found["restarts"]
    assert restart["step"] == case.expected["restart_at_step"]
    assert restart["superseded"] == case.expected["superseded_points"]
    for tag in ("a", "b"):
        curve = dict(points(lines, tag))  # the later of two with the same step
        assert list(curve) == case.expected[tag]["steps"]
        assert list(curve.values()) == case.expected[tag]["values"]


def test_case_two_writers(headway: Headway, tmp_path: Path) -> None:
    case = Case("B07", headway)
    files = sorted(case.folder.glob("events.*"))
    found, lines = case.take(*files)
    assert [step for step, _ in points(lines, "loss")] == case.expected["initial_steps"]
    assert found["restarts"] == []
    for file in files:
        host = file.name.rsplit(".", 1)[1]
        (tmp_path / file.name).write_bytes(
            file.read_bytes() + (case.folder / f"append_to_{host}.bin").read_bytes()
        )
    found, lines = case.take(*sorted(tmp_path.glob("events.*")))
    assert [step for step, _ in points(lines, "loss")] == case.expected["after_append_steps"]
    assert found["restarts"] == []


def test_case_steps_beyond_doubles(headway: Headway) -> None:
    case = Case("B09", headway)
    _, lines = case.take(case.folder / "bigstep.tfevents")
    assert [step for step, _ in points(lines, "tokens")] == case.expected["steps_exact"]


def test_case_nothing_is_sampled(headway: Headway) -> None:
    case = Case("B11", headway)
    _, lines = case.take(case.folder / "many.tfevents")
    assert len(lines) == case.expected["points_stored"]
    assert lines[-1]["step"] == case.expected["last_step"]
    assert lines[-1]["value"] == case.expected["last_value"]
    assert sum(line["value"] for line in lines) / len(lines) == pytest.approx(
        case.expected["mean"], abs=1e-3
    )
