"""The drop-in as a package: what its users import, and what they must not notice."""

from __future__ import annotations

import datetime
import doctest
import importlib
import importlib.util
import inspect
import json
import os
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from typing import Any

import headway
import pytest

ROOT = Path(__file__).resolve().parents[2]
UTC = datetime.timezone.utc
START = datetime.datetime(2026, 1, 1, tzinfo=UTC)


def at(seconds: float) -> datetime.datetime:
    return START + datetime.timedelta(seconds=seconds)


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HEADWAY_DIR", str(tmp_path / "data"))
    for variable in ("HEADWAY_BACKEND", "HEADWAY_ACCOUNTING", "HEADWAY_PROJECT"):
        monkeypatch.delenv(variable, raising=False)
    return tmp_path / "data"


class Log:
    """A logger and reader to inject; times of entries are their log times."""

    def __init__(self) -> None:
        self.entries: list[dict[str, Any]] = []

    def write_cloud_logging_entry(self, entry: dict[str, Any]) -> None:
        self.entries.append(entry)

    def flush(self) -> None:
        pass

    def read_cloud_logging_entries(
        self, start_time: Any = None, end_time: Any = None, last_entry_info: Any = None
    ) -> tuple[list[dict[str, Any]], tuple[Any, Any]]:
        if last_entry_info is not None:
            return [], (None, None)
        return list(self.entries), (START, "1")


def record(recorder: Any, steps: int = 5, every: float = 3.0) -> None:
    recorder.record_job_start_time(at(0))
    for step in range(steps):
        recorder.record_step_start_time(step, at(5 + step * every))
    recorder.record_job_end_time(at(5 + steps * every))


def run_program(source: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    program = [sys.executable, "-c", textwrap.dedent(source), *arguments]
    return subprocess.run(program, capture_output=True, text=True, timeout=60)


# --- names
# ------------------------------------------------------------------------------------------------


def test_every_public_name_is_that_of_the_original(original_python: str) -> None:
    listing = """
        import importlib, inspect, json
        names = {}
        for module in (
            "checkpoint_badput_calculator", "exclusion_utils", "goodput", "goodput_cache",
            "goodput_elastic", "goodput_exclusion", "goodput_utils",
        ):
            loaded = importlib.import_module(f"ml_goodput_measurement.src.{module}")
            for name, value in vars(loaded).items():
                if name.startswith("_") or inspect.ismodule(value):
                    continue
                if getattr(value, "__module__", "").startswith("ml_goodput"):
                    names[f"{module}.{name}"] = signatures = {}
                    members = vars(value).items() if inspect.isclass(value) else [("", value)]
                    for member, function in members:
                        if member.startswith("_") and member != "__init__":
                            continue
                        if isinstance(function, staticmethod):
                            function = function.__func__
                        if inspect.isfunction(function):
                            parameters = inspect.signature(function).parameters.values()
                            signatures[member] = [
                                (p.name, str(p.kind),
                                 None if p.default is p.empty else repr(p.default))
                                for p in parameters
                            ]
        print(json.dumps(names))
    """
    code = textwrap.dedent(listing)
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    theirs = subprocess.run(
        [original_python, "-c", code], capture_output=True, text=True, env=environment, check=True
    )
    ours = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    expected, found = json.loads(theirs.stdout), json.loads(ours.stdout)
    assert not expected.keys() - found.keys()
    # The base class of another module is the calculator itself here.
    del expected["goodput_exclusion.GoodputExclusion"]
    for name, signatures in expected.items():
        for member, parameters in signatures.items():
            got = found[name].get(member)
            if got is None:  # inherited
                got = found["goodput.GoodputCalculator"].get(member)
            if name.endswith(".GoodputInfo"):
                parameters = [p for p in parameters if p[0] != "last_updated_timestamp"]
                got = [p for p in got if p[0] != "last_updated_timestamp"]
            if name.endswith(".CheckpointBadputCalculator"):
                parameters = [p[:2] for p in parameters]
                got = [p[:2] for p in got]
            assert got == parameters, f"{name}.{member}"


def test_modules_are_attributes_of_the_package() -> None:
    package = importlib.import_module("ml_goodput_measurement")
    for name in ("goodput", "goodput_utils", "goodput_cache", "goodput_elastic", "measurement"):
        assert inspect.ismodule(getattr(package, name))


def test_types() -> None:
    if importlib.util.find_spec("mypy") is None:
        pytest.skip("mypy is not installed")
    environment = {**os.environ, "MYPYPATH": os.environ["PYTHONPATH"]}
    command = [sys.executable, "-m", "mypy", "--strict", "--no-incremental"]
    done = subprocess.run(
        [*command, "-p", "ml_goodput_measurement"], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("module", ["_result", "measurement"])
def test_examples(module: str) -> None:
    loaded = importlib.import_module(f"ml_goodput_measurement.src.{module}")
    failed, tried = doctest.testmod(loaded)
    assert tried > 0
    assert failed == 0


def test_beside_the_original_importing_it_says_so(original_python: str) -> None:
    done = subprocess.run(
        [original_python, "-c", "import ml_goodput_measurement"], capture_output=True, text=True
    )
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: ml-goodput-measurement 0.2.3 is installed beside")


# --- usage
# ------------------------------------------------------------------------------------------------


def test_published_usage_runs() -> None:
    done = run_program(
        """
        from ml_goodput_measurement import goodput
        recorder = goodput.GoodputRecorder("run", "goodput_run", True)
        recorder.record_job_start_time()
        recorder.record_tpu_init_start_time()
        recorder.record_tpu_init_end_time()
        for step in range(5):
            recorder.record_data_loading_start_time()
            recorder.record_data_loading_end_time()
            recorder.record_step_start_time(step)
        recorder.record_custom_badput_event_start_time(custom_badput_event_type="eval_step")
        recorder.record_custom_badput_event_end_time(custom_badput_event_type="eval_step")
        recorder.record_job_end_time()
        recorder.flush()
        calculator = goodput.GoodputCalculator(job_name="run", logger_name="goodput_run")
        current_goodput, badput_breakdown, last_step = calculator.get_job_goodput(
            include_badput_breakdown=True
        )
        assert 0 <= current_goodput <= 100 and last_step == 4, (current_goodput, last_step)
        prep = badput_breakdown[goodput.BadputType.TRAINING_PREP]
        print(f"{current_goodput:.2f}%", f"{prep:.2f}%")
        print(f"{calculator.get_job_goodput():.2f}%")
        """
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert len(done.stdout.split()) == 3


def test_an_injected_logger_gets_the_originals_entries() -> None:
    from ml_goodput_measurement import goodput_elastic

    log = Log()
    recorder = goodput_elastic.ElasticGoodputRecorder("job", "log", True, log)
    time, seconds = at(1.5), START.timestamp() + 1.5
    recorder.record_job_start_time(time)
    recorder.record_step_start_time(7.0, time)
    recorder.record_tpu_init_start_time(time)
    recorder.record_training_preparation_end_time(time)
    recorder.record_data_loading_start_time(time)
    recorder.record_custom_badput_event_end_time(time, "eval")
    recorder.record_elastic_slice_counts(2, 4, 3, time)
    recorder.record_elastic_wait_start_time("scale_up", time)
    recorder.record_elastic_reinit_end_time(time)
    recorder.record_checkpoint_progress(1, time)
    recorder.record_job_end_time(time)
    assert [list(entry.items()) for entry in log.entries] == [
        [("job_name", "job"), *entry.items()]
        for entry in (
            {"job_start_time": seconds},
            {"step_count": 7, "step_start_time": seconds},
            {"tpu_init_start_time": seconds},
            {"training_prep_end_time": seconds},
            {"data_loading_start_time": seconds},
            {"custom_badput_event_type": "eval", "custom_badput_event_end_time": seconds},
            {
                "active_slices": 2,
                "total_slices": 4,
                "available_slices": 3,
                "elastic_slice_counts_timestamp": seconds,
            },
            {"elastic_wait_event_type": "scale_up", "elastic_wait_start_time": seconds},
            {"elastic_reinit_end_time": seconds},
            {"job_end_time": seconds},
        )
    ]


def test_a_disabled_recorder_does_nothing(data: Path) -> None:
    from ml_goodput_measurement import goodput

    log = Log()
    for arguments in ((), (False, log)):
        recorder = goodput.GoodputRecorder("off", "log", *arguments)
        assert recorder._cloud_logger is None
        record(recorder)
        recorder.flush()
    assert log.entries == []
    assert not data.exists()


@pytest.mark.parametrize("question", ["whole", "interval", "exclusions"])
def test_without_a_job_start_exact_answers_from_the_first_record_on(
    question: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from ml_goodput_measurement import goodput

    log = Log()
    recorder = goodput.GoodputRecorder("job", "log", True, log)
    for step in range(50, 60):
        recorder.record_step_start_time(step, at((step - 50) * 10))
    recorder.record_job_end_time(at(100))

    def ask(calculator: Any) -> float:
        if question == "interval":
            return float(calculator.get_job_goodput_interval(at(-50), at(100))[0])
        if question == "exclusions":
            return float(calculator.get_job_goodput_with_exclusions([])[0])
        return float(calculator.get_job_goodput()[0])

    if question == "whole":
        with pytest.raises(ValueError, match="no job start was recorded"):
            ask(goodput.GoodputCalculator("job", "log", log))
    monkeypatch.setenv("HEADWAY_ACCOUNTING", "exact")
    caplog.clear()
    calculator = goodput.GoodputCalculator("job", "log", log)
    assert [ask(calculator), ask(calculator)] == [100.0, 100.0]
    assert [m for m in caplog.messages if "no job start is among" in m] == caplog.messages[:1]
    assert len(caplog.messages) == 1


@pytest.mark.parametrize("hours", [-5, 0, 5, None])
@pytest.mark.parametrize("far", [datetime.datetime.max, datetime.datetime.min])
def test_the_first_and_the_last_datetime_in_any_zone(
    far: datetime.datetime,
    hours: int | None,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    from ml_goodput_measurement import goodput

    def zoned(time: datetime.datetime) -> datetime.datetime:
        if hours is None:
            return time
        return time.replace(tzinfo=datetime.timezone(datetime.timedelta(hours=hours)))

    # What can't be is left out; the training goes on, and the job has its numbers.
    recorder = goodput.GoodputRecorder("far", "log", True)
    recorder.record_job_start_time(at(0))
    for step in range(5):
        recorder.record_step_start_time(step, at(5 + step * 3))
    recorder.record_step_start_time(5, zoned(far))
    recorder.record_data_loading_start_time(zoned(far))
    recorder.record_data_loading_end_time(zoned(far))
    assert [record.message for record in caplog.records if "is left out" in record.message]
    recorder.record_job_end_time(at(20))
    log = Log()
    goodput.GoodputRecorder("far", "log", True, log).record_job_start_time(zoned(far))
    (entry,) = log.entries
    assert abs(entry["job_start_time"]) > 6e10

    everything = zoned(datetime.datetime.min), zoned(datetime.datetime.max)
    for accounting in ("compat", "exact"):
        monkeypatch.setenv("HEADWAY_ACCOUNTING", accounting)
        calculator = goodput.GoodputCalculator("far", "log")
        goodput_, _, _, seconds, _ = calculator.get_job_goodput_interval(*everything)
        assert (round(goodput_, 6), seconds) == (75.0, 20.0), accounting
        assert calculator.get_interval_metric_details(*everything)["interval_goodput"]


def test_names_times_and_arguments_that_broke_the_original() -> None:
    from ml_goodput_measurement import goodput

    name = 'team/a "b" ü'
    record(goodput.GoodputRecorder(name, "log", True))
    calculators = [
        goodput.GoodputCalculator(name, "log", max_logs_retention_period=7 * 24 * 3600)
        for _ in range(2)
    ]
    assert [c.get_job_goodput()[0] for c in calculators] == [75.0, 75.0]
    naive = at(0).replace(tzinfo=None), at(20).replace(tzinfo=None)
    assert calculators[0].get_job_goodput_interval(*naive)[3] > 0
    with pytest.raises(ValueError):
        goodput.GoodputCalculator("nobody", "log").get_job_goodput()


@pytest.mark.parametrize("zone", ["America/Los_Angeles", "Asia/Tokyo", "Asia/Kolkata", "UTC"])
def test_now_without_a_zone_is_now_in_any_zone(zone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = """
        import datetime, time
        from ml_goodput_measurement import goodput
        now = datetime.datetime.now
        utc = datetime.timezone.utc
        for name, given in (("local", now), ("utc", lambda: now(utc).replace(tzinfo=None))):
            recorder = goodput.GoodputRecorder(name, "log", True)
            recorder.record_job_start_time(given())
            for step in range(5):
                recorder.record_step_start_time(step, given())
                time.sleep(0.05)
            recorder.record_job_end_time(given())
            percent, _, step, seconds, _ = (
                goodput.GoodputCalculator(name, "log").get_job_goodput_interval(
                    now(utc) - datetime.timedelta(hours=1), now(utc)
                )
            )
            assert percent > 50 and 0.2 < seconds < 60, (percent, seconds)
        # History is UTC.
        past = datetime.datetime(2026, 1, 1, 12)
        recorder = goodput.GoodputRecorder("past", "log", True)
        recorder.record_job_start_time(past)
        recorder.record_job_end_time(past + datetime.timedelta(seconds=20))
        import headway
        print(headway.report("past").start)
    """
    monkeypatch.setenv("TZ", zone)
    done = run_program(program)
    assert done.stdout.startswith(("2026-01-01T12:00:00", "2026-01-01 12:00:00")), done
    assert done.stderr.count("has no time zone") == (0 if zone == "UTC" else 1), done.stderr


def test_an_odd_event_type_does_not_reach_the_training_loop() -> None:
    from ml_goodput_measurement import goodput

    recorder: Any = goodput.GoodputRecorder("odd", "log", True)
    recorder.record_job_start_time(at(0))
    recorder.record_custom_badput_event_start_time(at(1), None)
    recorder.record_custom_badput_event_end_time(at(2), None)
    recorder.record_custom_badput_event_end_time(at(2), "never started")
    recorder.record_job_end_time(at(4))
    times = {time.name: time.ns for time in headway.report("odd").categories}
    assert times["NONE"] == 10**9


def test_several_threads_may_ask_at_once() -> None:
    from ml_goodput_measurement import goodput

    record(goodput.GoodputRecorder("threads", "log", True))
    calculator = goodput.GoodputCalculator("threads", "log")
    failures: list[BaseException] = []

    def ask() -> None:
        try:
            for _ in range(5):
                assert calculator.get_job_goodput(True)[0] == 75.0
                assert len(calculator.get_step_deviation()) == 4
                assert calculator.get_job_goodput_details()["max_productive_step"] == 4
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_unusable_entries_are_left_out(caplog: pytest.LogCaptureFixture) -> None:
    from ml_goodput_measurement import goodput

    log = Log()
    record(goodput.GoodputRecorder("job", "log", True, log))
    log.entries[3:3] = [
        {"job_name": "job", "step_start_time": None, "step_count": 1},
        {"job_name": "job", "event_type": "save", "step": 1, "directory": "gs://b"},
        {"job_name": "job", "custom_badput_event_start_time": 1.0},
        {"something": "else"},
        {"job_name": "job", "step_count": "many", "step_start_time": 5.0},
    ]
    assert goodput.GoodputCalculator("job", "log", log).get_job_goodput()[0] == 75.0
    assert "5 of 12 log entries" in caplog.text


def test_exact_accounting_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    from ml_goodput_measurement import goodput

    log = Log()
    recorders = goodput.GoodputRecorder("exact", "l", True, log), goodput.GoodputRecorder(
        "exact", "l", True
    )
    for recorder in recorders:
        recorder.record_job_start_time(at(0))
        for step in range(5):
            recorder.record_step_start_time(step, at(10 * step))
        recorder.record_custom_badput_event_start_time(at(50), "eval")
        recorder.record_custom_badput_event_end_time(at(150), "eval")
        recorder.record_job_end_time(at(150))
    calculators = [
        goodput.GoodputCalculator("exact", "l", log),
        goodput.GoodputCalculator("exact", "l"),
    ]
    assert [c.get_job_goodput()[0] for c in calculators] == [100.0, 100.0]
    monkeypatch.setenv("HEADWAY_ACCOUNTING", "exact")
    for calculator in calculators:
        percent, breakdown, step = calculator.get_job_goodput(True)
        assert percent == pytest.approx(100 / 3)
        custom = breakdown[goodput.BadputType.CUSTOM_BADPUT_EVENTS]
        assert custom == {"EVAL": pytest.approx(200 / 3)}
        excluded = calculator.get_job_goodput_with_exclusions([(at(50), at(150))])
        assert (excluded[0], excluded[3]) == (pytest.approx(100), 100.0)
        interval = calculator.get_job_goodput_interval(at(45), at(55))
        assert (interval[0], interval[3]) == (pytest.approx(50), 10.0)
    monkeypatch.setenv("HEADWAY_ACCOUNTING", "nearly")
    with pytest.raises(ValueError, match="HEADWAY_ACCOUNTING"):
        calculators[0].get_job_goodput()


# --- processes
# ------------------------------------------------------------------------------------------------

_JOB = """
    import os, sys
    from ml_goodput_measurement import goodput
    recorder = goodput.GoodputRecorder("job", "log", True)
    recorder.record_job_start_time()
    for step in range(int(sys.argv[1]), int(sys.argv[1]) + 10):
        recorder.record_step_start_time(step)
    {end}
"""


@pytest.mark.parametrize(
    ("end", "state"),
    [
        ("recorder.record_job_end_time()", "completed"),
        ("sys.exit(3)", "failed"),
        ("raise RuntimeError", "failed"),
        ("os.kill(os.getpid(), 9)", "interrupted"),
    ],
)
def test_how_a_program_ends(end: str, state: str) -> None:
    run_program(_JOB.format(end=end), "0")
    report = headway.report("job")
    assert report.state == state
    assert report.steps.last_step == 9


def test_a_program_that_says_no_end_has_none() -> None:
    from ml_goodput_measurement import goodput

    run_program(_JOB.format(end="pass"), "0")
    assert headway.report("job").attempts[0].exit_status == 0
    # As in the original, the last step then counts nothing, and time goes on.
    details = goodput.GoodputCalculator("job", "log")
    details.get_job_goodput()
    assert details.get_job_goodput_details()["max_productive_step"] == 8


def test_a_restarted_program_continues_the_job() -> None:
    from ml_goodput_measurement import goodput

    run_program(_JOB.format(end="os.kill(os.getpid(), 9)"), "0")
    run_program(_JOB.format(end="recorder.record_job_end_time()"), "5")
    report = headway.report("job")
    assert len(report.attempts) == 2
    assert report.disruptions[0].resumed_from == 5
    calculator = goodput.GoodputCalculator("job", "log")
    calculator.get_job_goodput()
    assert calculator.get_job_goodput_details()["disruption_count"] == 1


def test_a_job_that_starts_again_within_its_process_is_two_attempts() -> None:
    from ml_goodput_measurement import goodput

    recorder = goodput.GoodputRecorder("again", "log", True)
    recorder.record_job_start_time(at(0))
    for step in range(5):
        recorder.record_step_start_time(step, at(10 * step))
    recorder.record_job_start_time(at(100))
    for step in range(3, 6):
        recorder.record_step_start_time(step, at(70 + 10 * step))
    recorder.record_job_end_time(at(130))
    report = headway.report("again")
    assert [attempt.end_kind for attempt in report.attempts] == ["lost", "clean"]
    assert report.disruptions[0].downtime_ns == 60 * 10**9


def test_a_process_may_record_any_number_of_jobs(data: Path) -> None:
    from ml_goodput_measurement import goodput

    class Recorder(goodput.GoodputRecorder):
        def __eq__(self, other: object) -> bool:  # and so without a hash
            return True

    for number in range(140):
        recorder = Recorder(f"job{number}", "l", True)
        recorder.record_job_start_time()
        recorder.record_step_start_time(0)
        if number % 3 == 0:
            recorder.record_job_end_time()
    assert len(list((data / "journals/default").iterdir())) == 140


def test_journals_of_recorders_that_are_still_there_stay_open(data: Path) -> None:
    from ml_goodput_measurement import goodput

    kept = [goodput.GoodputRecorder(f"kept{number}", "l", True) for number in range(20)]
    for recorder in kept:
        recorder.record_job_start_time()
    for number in range(60):
        goodput.GoodputRecorder(f"gone{number}", "l", True).record_job_start_time()
    for step in range(3):
        for recorder in kept:
            recorder.record_step_start_time(step)
    for number in range(20):
        report = headway.report(f"kept{number}")
        assert report.steps.last_step == 2 and len(report.attempts) == 1


def test_recorders_of_one_job_share_a_journal(data: Path) -> None:
    from ml_goodput_measurement import goodput

    one = goodput.GoodputRecorder("shared", "log", True)
    other = goodput.GoodputRecorder("shared", "another log", True)
    one.record_job_start_time(at(0))
    other.record_step_start_time(0, at(1))
    one.record_step_start_time(1, at(2))
    other.record_job_end_time(at(3))
    assert len(list(data.rglob("*.hwj"))) == 1
    assert headway.report("shared").steps.count == 2


def test_a_forked_child_records_a_journal_of_its_own(data: Path) -> None:
    done = run_program(
        """
        import os
        from ml_goodput_measurement import goodput
        recorder = goodput.GoodputRecorder("parent", "log", True)
        recorder.record_job_start_time()
        child = os.fork()
        recorder = goodput.GoodputRecorder("child" if child == 0 else "parent", "log", True)
        recorder.record_step_start_time(0)
        if child:
            os.waitpid(child, 0)
        """
    )
    assert done.returncode == 0, done.stderr
    assert {path.parent.name for path in data.rglob("*.hwj")} == {"parent", "child"}


# --- what a job that runs must not notice
# ------------------------------------------------------------------------------------------------


def test_intervals_of_a_live_job_have_answers() -> None:
    """Times that a journal took itself have nanoseconds; the intervals asked for have not."""
    from ml_goodput_measurement import goodput

    recorder = goodput.GoodputRecorder("live", "log", True)
    recorder.record_job_start_time()
    begin = datetime.datetime.now(UTC)
    for step in range(400):
        recorder.record_step_start_time(step)
        time.sleep(0.001)
    calculator = goodput.GoodputCalculator("live", "log")
    for i in range(200):
        start = begin + datetime.timedelta(milliseconds=i)
        answer = calculator.get_job_goodput_interval(start, start + datetime.timedelta(seconds=0.1))
        assert answer[0] > 90


def test_a_job_is_asked_about_while_it_records(data: Path) -> None:
    from ml_goodput_measurement import goodput

    source = """
        import time
        from ml_goodput_measurement import goodput
        recorder = goodput.GoodputRecorder("live", "log", True)
        recorder.record_job_start_time()
        print("ready", flush=True)
        end = time.monotonic() + 20
        step = 0
        while time.monotonic() < end:
            recorder.record_step_start_time(step)
            step += 1
            time.sleep(0.0001)
    """
    program = [sys.executable, "-c", textwrap.dedent(source)]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout is not None and child.stdout.readline() == "ready\n"
            calculator = goodput.GoodputCalculator("live", "log")
            for _ in range(300):
                calculator.get_job_goodput()
        finally:
            child.kill()


@pytest.mark.parametrize("name", [20250101, Path("a/b"), ("a", 1), ["a"], "a\0b", "\udc80", ""])
def test_no_name_stops_training(name: Any) -> None:
    from ml_goodput_measurement import goodput

    recorder = goodput.GoodputRecorder(name, "log", True)
    record(recorder)
    try:
        calculator = goodput.GoodputCalculator(name, "log")
        assert calculator.get_job_goodput()[0] == pytest.approx(75)
    except ValueError:
        assert name in ("a\0b", "\udc80", "")


def test_no_backend_stops_training(monkeypatch: pytest.MonkeyPatch) -> None:
    from ml_goodput_measurement import goodput

    for backend in ("bogus", "both"):  # both: the cloud's packages are not there
        monkeypatch.setenv("HEADWAY_BACKEND", backend)
        record(goodput.GoodputRecorder(backend, "log", True))
    monkeypatch.setenv("HEADWAY_BACKEND", "journal")
    monkeypatch.setenv("HEADWAY_PROJECT", "")
    for job in ("bogus", "both"):
        assert goodput.GoodputCalculator(job, "log").get_job_goodput()[0] == pytest.approx(75)


def test_many_jobs_in_one_process() -> None:
    from ml_goodput_measurement import goodput

    for i in range(100):
        record(goodput.GoodputRecorder(f"job{i}", "log", True))
    for i in range(100):
        assert goodput.GoodputCalculator(f"job{i}", "log").get_job_goodput()[0] == pytest.approx(75)


def test_exact_answers_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    from ml_goodput_measurement import goodput

    monkeypatch.setenv("HEADWAY_ACCOUNTING", "exact")
    recorder = goodput.GoodputRecorder("job", "log", True)
    recorder.record_job_start_time(at(0))
    recorder.record_tpu_init_start_time(at(0))
    recorder.record_tpu_init_end_time(at(100))
    recorder.record_step_start_time(0, at(100))
    recorder.record_job_end_time(at(110))
    _, badput, *_ = goodput.GoodputCalculator("job", "log").get_job_goodput_interval(at(10), at(50))
    assert badput[goodput.BadputType.TPU_INITIALIZATION] == pytest.approx(100)
