"""`headway goodput --accounting compat` and `--explain-difference`."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import calls
import pytest
from ml_goodput_measurement import goodput_elastic

# A crash after step 4, another restart an hour after the last step, and a hang.
RECORDS = [
    {"ts": 0, "type": "job_start"},
    *({"ts": 10 * i, "type": "step_start", "step": i} for i in range(5)),
    {"ts": 48, "type": "heartbeat"},
    {"ts": 100, "type": "job_start"},
    *({"ts": 70 + 10 * i, "type": "step_start", "step": i} for i in range(3, 6)),
    {"ts": 128, "type": "heartbeat"},
    {"ts": 3700, "type": "job_start"},
    *({"ts": 3640 + 10 * i, "type": "step_start", "step": i} for i in range(6, 10)),
    {"ts": 4740, "type": "step_start", "step": 10},
    {"ts": 4750, "type": "custom_start", "name": "final_eval"},
    {"ts": 4800, "type": "custom_end", "name": "final_eval"},
    {"ts": 4800, "type": "job_end"},
]


@pytest.fixture
def run(tmp_path: Path) -> Any:
    events = tmp_path / "events.jsonl"
    events.write_text("".join(json.dumps(record) + "\n" for record in RECORDS))

    def headway(*arguments: str, code: int = 0) -> str:
        done = subprocess.run(
            ["headway", *arguments, "--dir", str(tmp_path / "data")], capture_output=True, text=True
        )
        assert done.returncode == code, done.stderr
        return done.stdout if code == 0 else done.stderr

    headway("import", str(events), "--run", "r", "--as", "jsonl")
    return headway


def test_history_of_the_original_is_imported(tmp_path: Path) -> None:
    """The original's entries, as the service would give them back, answer as the drop-in does."""
    from ml_goodput_measurement import goodput

    class Log:
        def __init__(self) -> None:
            self.entries: list[dict[str, Any]] = []

        def write_cloud_logging_entry(self, entry: dict[str, Any]) -> None:
            self.entries.append(entry)

        def read_cloud_logging_entries(self, **_: Any) -> Any:
            return self.entries, (None, None)

    log = Log()
    history = calls.random_history(3)
    recorder = goodput_elastic.ElasticGoodputRecorder("job", "log", True, log)
    for call in history["calls"]:
        calls.apply(call, recorder, log.entries.append)
    recorder.record_job_end_time(calls.at(history["now"]))
    entries = [
        {"insertId": str(i), "jsonPayload": entry, "severity": "INFO"}
        for i, entry in enumerate(log.entries)
    ]
    file = tmp_path / "log.json"
    file.write_text(json.dumps(entries, indent=1))
    arguments = ["headway", "import", str(file), "--as", "cloud-logging", "--dir", str(tmp_path)]
    subprocess.run(arguments, check=True, capture_output=True)
    asked = ["headway", "goodput", "job", "--accounting", "compat", "--dir", str(tmp_path)]
    done = subprocess.run([*asked, "--json"], check=True, capture_output=True)
    report = json.loads(done.stdout)
    expected = goodput.GoodputCalculator("job", "log", log).get_job_goodput()
    assert report["goodput"] * 100 == pytest.approx(expected[0], rel=1e-9)
    assert report["steps"]["max_productive_step"] == expected[2]


def seconds(report: dict[str, Any]) -> dict[str, float]:
    return {
        category["category"]: category["ns"] / 1e9 for category in report["categories"]
    }


def test_compat_answers_as_the_original(run: Any) -> None:
    report = json.loads(run("goodput", "r", "--accounting", "compat", "--json"))
    assert report["accounting"] == "compat"
    assert report["elapsed_ns"] == 4800 * 10**9
    # One number came again. The outage is a step, and so is the hang.
    assert len(report["disruptions"]) == 1
    assert report["disruptions"][0]["resumed_from"] == 3
    assert seconds(report) == {
        "productive": 30 + 4700, "wasted_progress": 10, "infrastructure_recovery": 60,
    }
    assert report["steps"]["last_step"] == 10


def test_windows(run: Any) -> None:
    window = "goodput", "r", "--accounting", "compat", "--window", "+95s..+125s"
    report = json.loads(run(*window, "--json"))
    assert report["elapsed_ns"] == 20 * 10**9  # from the first record in it to the last
    empty = "goodput", "r", "--accounting", "compat", "--window", "+1000s..+2000s"
    assert "nothing was recorded within the interval" in run(*empty, code=1)


def test_the_difference_is_explained(run: Any) -> None:
    answer = json.loads(run("goodput", "r", "--explain-difference", "--json"))
    assert answer["goodput_compat"] == pytest.approx(4730 / 4800)
    assert answer["goodput_exact"] < 0.03
    by_code = {reason["code"]: reason["ns"] for reason in answer["reasons"]}
    assert by_code["outage_as_step"] == (3700 - 128) * 10**9
    assert by_code["custom"] == 50 * 10**9
    assert by_code["stall"] > 900 * 10**9
    assert [reason["ns"] for reason in answer["reasons"]] == sorted(by_code.values(), reverse=True)
    text = run("goodput", "r", "--explain-difference")
    assert "1 restart went on after the last step" in text
    assert "98.54 % compat" in text


def test_what_does_not_go_together_is_refused(run: Any) -> None:
    assert "sums only" in run(
        "goodput", "r", "--accounting", "compat", "--explain", "custom", code=2
    )
    assert "stands alone" in run(
        "goodput", "r", "--accounting", "exact", "--explain-difference", code=2
    )


def test_one_bad_entry_keeps_no_job_out(tmp_path: Path) -> None:
    good = [
        {"job_name": "job", "job_start_time": 1000.0},
        *({"job_name": "job", "step_count": i, "step_start_time": 1010.0 + i} for i in range(3)),
    ]
    bad = [
        {"job_start_time": 5},  # names no job
        {"job_name": "a", "step_start_time": "x", "step_count": 1},
        {"job_name": "n" * 300, "job_start_time": 1000.0},
    ]
    file = tmp_path / "log.jsonl"
    file.write_text("".join(json.dumps(entry) + "\n" for entry in [*bad, *good]))
    command = ["headway", "import", str(file), "--as", "cloud-logging", "--dir", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0 and "imported run job: 4 records" in done.stdout, done.stderr
    assert "name no job" in done.stderr and "log.jsonl:2" in done.stderr and "256" in done.stderr
    assert subprocess.run([*command, "--strict"], capture_output=True).returncode == 3
    file.write_text(json.dumps(bad[1]) + "\n")
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 3 and "log.jsonl:1" in done.stderr and "can be used" in done.stderr


def test_hosts_report_one_restore(tmp_path: Path) -> None:
    """Several reports overlap; each keeps its time, and those of one step are averaged."""
    entries: list[dict[str, Any]] = [{"job_name": "job", "job_start_time": 1000.0}]
    for host in range(8):
        entries.append({
            "job_name": "job", "event_type": "restore", "step": 0, "directory": "gs://bucket/c",
            "checkpoint_manager_start_time": 1001.0 + host / 10,
            "checkpoint_manager_duration_secs": 4.0 - host / 10,
        })  # fmt: skip
    entries += [
        {"job_name": "job", "step_count": i, "step_start_time": 1010.0 + i} for i in range(3)
    ]
    entries.append({"job_name": "job", "job_end_time": 1013.0})
    file = tmp_path / "log.json"
    file.write_text(
        json.dumps([{"insertId": str(i), "jsonPayload": e} for i, e in enumerate(entries)])
    )
    place = ["--dir", str(tmp_path)]
    subprocess.run(["headway", "import", str(file), "--as", "cloud-logging", *place], check=True)
    asked = ["headway", "goodput", "job", "--accounting", "compat", "--json", *place]
    report = json.loads(subprocess.run(asked, check=True, capture_output=True).stdout)
    assert seconds(report)["checkpoint_restore"] == pytest.approx(3.65)
