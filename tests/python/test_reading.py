"""Reports, timelines, steps and runs as Python sees them."""

from __future__ import annotations

import datetime
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import Script

import headway

CRASH = """
    run = headway.init(run="r", project="p")
    with run.training_prep():
        time.sleep(0.01)
    for i in range(int(sys.argv[1]), int(sys.argv[2])):
        with run.data_loading():
            pass
        with run.step(i):
            time.sleep(0.005)
    with run.span("eval <b>"):
        pass
    if sys.argv[3:]:
        os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def crashed(script: Script) -> headway.Report:
    """A run that is killed in step 9 and goes on from step 5."""
    assert script(CRASH, "0", "10", "die").returncode == -9
    assert script(CRASH, "5", "20").returncode == 0
    return headway.report("r", project="p")


def test_report(crashed: headway.Report) -> None:
    report = crashed
    assert (report.run, report.project, report.state) == ("r", "p", "completed")
    assert report.accounting == "exact"
    assert sum(t.ns for t in report.categories) == report.elapsed_ns
    assert sum(t.share for t in report.categories) == pytest.approx(1)
    assert report.goodput == pytest.approx(report.ns("productive") / report.elapsed_ns)
    assert report.steps.count == 20 and report.steps.max_productive_step == 19
    assert [a.end_kind for a in report.attempts] == ["lost", "clean"]
    (disruption,) = report.disruptions
    assert (disruption.step_reached, disruption.resumed_from) == (9, 5)
    assert disruption.wasted_ns == report.ns("wasted_progress") > 20_000_000
    assert disruption.regained is not None and disruption.regained > disruption.time
    assert report.start is not None and report.start.tzinfo is datetime.timezone.utc
    assert ("custom", "EVAL <B>") in {(t.category, t.name) for t in report.categories}
    assert dict(report.to_dict())["elapsed_ns"] == report.elapsed_ns
    assert headway.Report.from_dict(report.to_dict()) == report
    with pytest.raises(AttributeError):
        report.run = "x"  # type: ignore[misc]


def test_the_same_json_as_the_command_line(crashed: headway.Report, folder: Path) -> None:
    program = shutil.which("headway")
    if program is None:
        pytest.skip("the command headway is not built")

    def ask(*words: str) -> Any:
        command = [program or "", *words, "--project", "p", "--dir", str(folder), "--json"]
        return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)

    assert crashed.to_dict() == ask("goodput", "r")
    window = headway.report("r", project="p", window="+20ms..+60ms")
    assert window.to_dict() == ask("goodput", "r", "--window", "+20ms..+60ms")
    early = headway.report("r", project="p", as_of="+40ms")
    assert early.to_dict() == ask("goodput", "r", "--as-of", "+40ms")
    assert headway.timeline("r", project="p").to_list() == ask("timeline", "r")


def test_text_and_html(crashed: headway.Report) -> None:
    text = str(crashed)
    assert text.startswith("p/r: ") and "wasted_progress" in text
    html = crashed._repr_html_()
    assert "EVAL &lt;B&gt;" in html and "<B>" not in html
    assert "#2f9e62" in html and "script" not in html
    picture = headway.timeline("r", project="p")._repr_html_()
    assert "<svg" in picture and "<B>" not in picture


def test_timeline(crashed: headway.Report) -> None:
    timeline = headway.timeline("r", project="p")
    assert sum(i.duration_ns for i in timeline) == crashed.elapsed_ns
    for before, after in zip(timeline, timeline[1:], strict=False):
        assert before.end == after.begin
    assert {i.category for i in timeline} == {t.category for t in crashed.categories}
    assert len(timeline) == len(timeline.to_list())
    assert timeline[-1].attempt == 1 and isinstance(timeline[:2], tuple)


def test_steps(crashed: headway.Report) -> None:
    steps = headway.steps("r", project="p")
    assert [s.step for s in steps] == [*range(10), *range(5, 20)]
    assert [s.retained for s in steps] == [True] * 5 + [False] * 5 + [True] * 15
    assert all(s.end > s.start and s.work_ns > 0 for s in steps)


def test_windows_add_up(crashed: headway.Report) -> None:
    assert crashed.start is not None and crashed.end is not None
    middle = crashed.start + (crashed.end - crashed.start) / 2
    first = headway.report("r", project="p", window=(None, middle))
    last = headway.report("r", project="p", window=(middle, None))
    assert first.elapsed_ns + last.elapsed_ns == crashed.elapsed_ns
    assert first.ns("productive") + last.ns("productive") == crashed.ns("productive")
    text = headway.report("r", project="p", window=f"..{middle.isoformat()}")
    assert text.to_dict() == first.to_dict()
    since = datetime.timedelta(milliseconds=20)
    assert headway.report("r", project="p", window=(since, "+30ms")).elapsed_ns == 10_000_000


def test_as_of(crashed: headway.Report) -> None:
    early = headway.report("r", project="p", as_of=datetime.timedelta(milliseconds=40))
    assert early.state == "running" and len(early.attempts) == 1
    assert early.ns("wasted_progress") == 0
    time_ns = int(early.as_of.timestamp() * 1e6) * 1000
    assert headway.report("r", project="p", as_of=time_ns).state == "running"


@pytest.mark.parametrize(
    "asked",
    [
        {"window": "yesterday"},
        {"window": 5},
        {"window": (1, 2, 3)},
        {"window": "+2s..+1s"},
        {"window": "x..y"},
        {"as_of": "teatime"},
        {"as_of": "12"},
        {"project": ""},
    ],
)
def test_times_that_mean_nothing(crashed: headway.Report, asked: dict[str, Any]) -> None:
    with pytest.raises(headway.InvalidArgumentError) as caught:
        headway.report("r", **{"project": "p", **asked})
    assert caught.value.code == "INVALID_ARGUMENT" and isinstance(caught.value, ValueError)


def test_wrong_types() -> None:
    wrong: list[dict[str, Any]] = [{"as_of": 1.5}, {"window": (1.5, 2)}]
    for asked in wrong:
        with pytest.raises(TypeError):
            headway.report("r", **asked)
    with pytest.raises(TypeError):
        headway.report(3)  # type: ignore[arg-type]


def test_no_such_run(run: headway.Run) -> None:
    with pytest.raises(headway.NotFoundError, match='no run "other"') as caught:
        headway.report("other")
    assert isinstance(caught.value, LookupError) and isinstance(caught.value, headway.Error)
    with pytest.raises(headway.NotFoundError):
        headway.steps("r", project="nowhere")
    with pytest.raises(headway.NotFoundError):
        headway.timeline("r", dir="/proc/nonexistent")


def test_runs(script: Script, folder: Path) -> None:
    assert headway.runs() == []
    for status in (0, 0):
        with headway.init(run="a", heartbeat=False) as run:
            run.step(0)
    with headway.init(run="b", heartbeat=False) as other:
        pass
    found = headway.runs()
    assert found[0].run == "b" and found[1].run == "a" and found[2].run.startswith("a@")
    assert found[0].uid == other.uid and found[1].uid == run.uid
    older = headway.report(found[2].run)
    assert older.run == found[2].run
    assert headway.report(found[2].uid).to_dict() == older.to_dict()
    assert headway.runs(dir=[folder, folder]) == found
    with headway.init(run="c", heartbeat=False) as run:
        run.step(4)
        living = headway.runs()[0]
        assert (living.state, living.last_step, living.journals) == ("running", 4, 1)
    for known in headway.runs():
        report = headway.report(known.run)
        assert (known.state, known.goodput) == (report.state, report.goodput)
        assert (known.elapsed_ns, known.last_step) == (report.elapsed_ns, report.steps.last_step)
        assert known.state == "completed"


def test_a_run_of_this_process_is_found_by_itself(tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    with headway.init(project="p", run="x/../y", dir=folder, heartbeat=False) as run:
        run.step(0)
        assert headway.report(run).state == "running"
    report = headway.report(run)
    assert (report.run, report.project, report.state) == ("x/../y", "p", "completed")


def test_a_journal_is_read_while_it_is_written(script: Script, tmp_path: Path) -> None:
    program = tmp_path / "writer.py"
    program.write_text(
        "import headway, time\n"
        "run = headway.init(run='live')\n"
        "end = time.monotonic() + 2.5\n"
        "i = 0\n"
        "while time.monotonic() < end:\n"
        "    with run.data_loading():\n"
        "        pass\n"
        "    with run.step(i):\n"
        "        run.log({'i': i}, step=i)\n"
        "    i += 1\n"
        "print(i, run.dropped)\n"
    )
    writer = subprocess.Popen(
        [sys.executable, str(program)], stdout=subprocess.PIPE, text=True, env=os.environ
    )
    counts = []
    while writer.poll() is None:
        try:
            report = headway.report("live")
        except headway.NotFoundError:
            time.sleep(0.01)
            continue
        assert sum(t.ns for t in report.categories) == report.elapsed_ns
        assert report.state in ("running", "completed")
        assert not {note.code for note in report.notes} & {"torn_tail", "corrupt", "dropped"}
        counts.append(report.steps.count)
    assert writer.stdout is not None
    steps, dropped = map(int, writer.stdout.read().split())
    writer.stdout.close()
    assert len(counts) >= 2 and counts == sorted(counts) and counts[0] < counts[-1] <= steps
    assert headway.report("live").steps.count == steps and dropped == 0


def test_threads_may_read_at_once(crashed: headway.Report) -> None:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(4) as pool:
        reports = list(pool.map(lambda _: headway.report("r", project="p"), range(12)))
    assert all(report == crashed for report in reports)


def test_damage_is_told(crashed: headway.Report, folder: Path, caplog: Any) -> None:
    journal = sorted(folder.glob("journals/p/r/*.hwj"))[0]
    data = bytearray(journal.read_bytes())
    slot = 4096 + 5 * 32  # the sixth record: others follow, so that it is damage and no torn end
    assert any(data[slot : slot + 32]) and any(data[slot + 96 : slot + 128])
    data[slot : slot + 80] = b"\xff" * 80
    journal.write_bytes(data)
    report = headway.report("r", project="p")
    assert sum(t.ns for t in report.categories) == report.elapsed_ns
    assert "journal_damage" in {note.code for note in report.notes}
    assert journal.name in caplog.text
