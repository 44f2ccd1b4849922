"""headway doctor RUN: the published questions about missing numbers, each made to arise."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import headway
import pytest
from environments import NotInstallable, environment
from headway._beside import find_program
from ml_goodput_measurement import goodput, monitoring
from ml_goodput_measurement.src import _sinks

ROOT = Path(__file__).resolve().parents[2]
TOKEN = "ya29.fixed"
NO_CLOUD = monitoring.GCPOptions(
    enable_gcp_goodput_metrics=False, enable_gcp_step_deviation_metrics=False
)
SOMEWHERE = monitoring.GCPOptions(
    project_id="p1", location="us-central1-a", cluster_name="cluster"
)

sys.path.append(str(ROOT / "tests/monitor"))
from cloud import Cloud  # noqa: E402


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No variable of this machine, and no cloud that it could be on."""
    for name in list(os.environ):
        if name.startswith(("HEADWAY_", "GOOGLE_", "CLOUDSDK_", "SLURM_", "RANK", "WORLD_SIZE")):
            if name != "HEADWAY_BIN":
                monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HEADWAY_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("HEADWAY_NODE_DIR", str(tmp_path / "node"))
    monkeypatch.setenv("GCE_METADATA_HOST", "127.0.0.1:9")
    return tmp_path / "data"


@pytest.fixture(scope="module")
def running_cloud() -> Iterator[Cloud]:
    requirements = ROOT / "tools" / "requirements-google.txt"
    try:
        running = Cloud(str(environment(ROOT / "build" / "google", requirements)))
    except NotInstallable as error:
        pytest.skip(f"Google's packages can't be installed: {error}")
    yield running
    running.stop()


@pytest.fixture
def cloud(running_cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> Cloud:
    running_cloud.control(reset=True, tokens=[TOKEN])
    monkeypatch.setenv("HEADWAY_MONITORING_ENDPOINT", running_cloud.url)
    return running_cloud


def doctor(run: str, *arguments: str, ok: bool) -> list[dict[str, str]]:
    """Its checks; and what it prints for people says the same."""
    command = [find_program(), "doctor", run, *arguments]
    done = subprocess.run([*command, "--json"], capture_output=True, text=True, timeout=60)
    answer = json.loads(done.stdout)
    assert (answer["ok"], done.returncode) == (ok, 0 if ok else 1), done.stdout
    text = subprocess.run(
        command, capture_output=True, text=True, timeout=60, env={**os.environ, "COLUMNS": "9999"}
    ).stdout
    for check in answer["checks"]:
        assert f"{check['verdict']:9}{check['message']}" in text
        assert check["remedy"] in text
    checks: list[dict[str, str]] = answer["checks"]
    return checks


def only(checks: list[dict[str, str]], name: str, verdict: str) -> dict[str, str]:
    found = [check for check in checks if (check["name"], check["verdict"]) == (name, verdict)]
    assert len(found) == 1, checks
    return found[0]


def names(checks: list[dict[str, str]], verdict: str) -> set[str]:
    return {check["name"] for check in checks if check["verdict"] == verdict}


def train(job: str, steps: int = 5, end: bool = True) -> None:
    """As a process of its own would."""
    recorder = goodput.GoodputRecorder(job, f"goodput_{job}", True)
    recorder.record_job_start_time()
    for step in range(steps):
        recorder.record_step_start_time(step)
    if end:
        recorder.record_job_end_time()
        _sinks.forget_journal(job)


def monitor(job: str, directory: Path | None, **options: Any) -> monitoring.GoodputMonitor:
    options.setdefault("gcp_options", NO_CLOUD)
    return monitoring.GoodputMonitor(
        job,
        f"goodput_{job}",
        None if directory is None else str(directory),  # type: ignore[arg-type]
        60,
        monitoring_enabled=True,
        **options,
    )


def upload(job: str, directory: Path | None, **options: Any) -> None:
    """The final values alone."""
    monitor(job, directory, **options).stop_goodput_uploader()


def test_a_run_of_which_nothing_is_missing(tmp_path: Path) -> None:
    run = headway.init(run="fine")
    for step in range(5):
        run.step(step)
        if step == 3:
            with run.checkpoint_save(step):
                pass
    run.finish()
    upload("fine", tmp_path / "tb", include_badput_breakdown=True)
    checks = doctor("fine", ok=True)
    assert names(checks, "good") == {"records", "values", "checkpoints", "metrics"}
    assert str(tmp_path / "tb") in only(checks, "metrics", "good")["message"]
    assert not names(checks, "warning")


# Question 1: metrics are missing in Cloud Monitoring.


def test_cloud_metrics_with_the_flag_off(tmp_path: Path) -> None:
    train("job")
    upload("job", tmp_path / "tb")
    found = only(doctor("job", ok=True), "cloud_metrics", "note")
    assert "enable_gcp_goodput_metrics is off" in found["message"]
    assert found["remedy"] == "GCPOptions(enable_gcp_goodput_metrics=True)"


def test_cloud_metrics_away_from_google_cloud(tmp_path: Path) -> None:
    train("job")
    upload("job", tmp_path / "tb", gcp_options=monitoring.GCPOptions())
    found = only(doctor("job", ok=True), "cloud_metrics", "note")
    assert "no machine on Google Cloud" in found["message"]
    assert "GCPOptions(project_id=" in found["remedy"]


DENIED = "Permission '{}' denied on resource 'projects/p1' (or it may not exist)."
REFUSALS = {
    "time_series": (403, DENIED.format("monitoring.timeSeries.create"), "metricWriter"),
    "descriptors": (403, DENIED.format("monitoring.metricDescriptors.create"), "metricWriter"),
    "disabled": (
        403,
        "Cloud Monitoring API has not been used in project 1 before or it is disabled.",
        "gcloud services enable monitoring.googleapis.com --project p1",
    ),
    "quota": (429, "Quota exceeded for quota metric 'Time series ingestion requests'", "quota"),
    "login": (401, "Request had invalid authentication credentials.", "credentials"),
}


@pytest.mark.parametrize("why", REFUSALS)
def test_cloud_metrics_that_are_refused(
    why: str, cloud: Cloud, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    status, words, remedy = REFUSALS[why]
    body = json.dumps({"error": {"code": status, "message": words}})
    cloud.control(plan=[{"path": "/v3/projects/p1/", "status": status, "body": body}] * 50)
    monkeypatch.setenv("HEADWAY_GOOGLE_ACCESS_TOKEN", TOKEN)
    train("job")
    upload("job", tmp_path / "tb", gcp_options=SOMEWHERE, final_flush_timeout_seconds=1)
    checks = doctor("job", ok=False)
    found = only(checks, "cloud_metrics", "problem")
    assert f"the server answers {status}: {words}" in found["message"]
    assert remedy in found["remedy"]
    if remedy == "metricWriter":
        assert "add-iam-policy-binding p1 " in found["remedy"]
        assert "monitoring.metricDescriptors.create" in found["remedy"]
    assert names(checks, "problem") == {"cloud_metrics"}  # the other destinations do well


def test_cloud_metrics_that_arrive(
    cloud: Cloud, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADWAY_GOOGLE_ACCESS_TOKEN", TOKEN)
    train("job")
    upload("job", tmp_path / "tb", gcp_options=SOMEWHERE)
    found = only(doctor("job", ok=True), "cloud_metrics", "good")
    assert "Cloud Monitoring of project p1, workload job in us-central1-a" in found["message"]


def test_cloud_metrics_without_credentials(cloud: Cloud, tmp_path: Path) -> None:
    train("job")
    upload("job", tmp_path / "tb", gcp_options=SOMEWHERE, final_flush_timeout_seconds=3)
    found = only(doctor("job", ok=False), "cloud_metrics", "problem")
    assert "no credentials for Google Cloud" in found["message"]
    assert "GOOGLE_APPLICATION_CREDENTIALS" in found["remedy"]


# Question 2: any metric is missing.


def test_a_run_that_nobody_monitors(tmp_path: Path) -> None:
    train("job")
    disabled = monitoring.GoodputMonitor("job", "", str(tmp_path / "tb"), 60)
    disabled.start_goodput_uploader()
    disabled.stop_goodput_uploader()
    found = only(doctor("job", ok=True), "metrics", "note")
    assert "no monitor of this run has ever started" in found["message"]
    assert "monitoring_enabled=True" in found["remedy"]


def test_a_destination_that_fails(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    train("job")
    upload("job", tmp_path / "file")
    found = only(doctor("job", ok=False), "metrics", "problem")
    assert str(tmp_path / "file" / "goodput") in found["message"]
    assert "choose another" in found["remedy"]


def test_a_monitor_that_was_killed(tmp_path: Path) -> None:
    train("job", end=False)
    uploader = monitor("job", tmp_path / "tb")
    uploader.start_goodput_uploader()
    assert uploader._goodput is not None and uploader._goodput._companion is not None
    companion = uploader._goodput._companion
    states = tmp_path / "data/monitors/default/job"
    while not list(states.glob("*.json")):  # it has not begun yet
        companion._hear(0.05)
    checks = doctor("job", ok=True)
    assert any("nothing has been told yet" in check["message"] for check in checks)
    ended = os.pidfd_open(companion.pid)
    os.kill(companion.pid, signal.SIGKILL)
    assert select.select([ended], [], [], 30)[0]  # its last thread too
    os.close(ended)
    found = only(doctor("job", ok=False), "metrics", "problem")
    assert "was killed" in found["message"] and str(companion.pid) in found["message"]
    _sinks.forget_journal("job")


def test_a_monitor_that_stopped_before_the_run_did(tmp_path: Path) -> None:
    train("job", end=False)
    upload("job", tmp_path / "tb")
    found = only(doctor("job", ok=True), "metrics", "warning")
    assert "the run goes on" in found["message"]
    _sinks.forget_journal("job")


def test_a_monitor_that_had_nowhere_to_go() -> None:
    train("job")
    upload("job", None)
    found = only(doctor("job", ok=False), "metrics", "problem")
    assert "a monitor needs somewhere to tell its numbers" in found["message"]


def test_what_no_monitor_tells(tmp_path: Path) -> None:
    train("job")
    upload("job", tmp_path / "tb")
    gaps = [c["message"] for c in doctor("job", ok=True) if c["name"] == "metrics"]
    assert "no monitor tells the step deviations" in gaps
    assert "no monitor tells the goodput of rolling windows" in gaps
    assert "badput is not told by kind in TensorBoard" in gaps
    again = monitor("job", tmp_path / "tb", include_badput_breakdown=True)
    again.start_rolling_window_goodput_uploader([60])
    again.stop_rolling_window_goodput_uploader()
    gaps = [c["message"] for c in doctor("job", ok=True) if c["name"] == "metrics"]
    assert "no monitor tells the goodput of rolling windows" not in gaps


def test_a_state_that_cannot_be_read(data: Path, tmp_path: Path) -> None:
    train("job")
    upload("job", tmp_path / "tb")
    (state,) = (data / "monitors/default/job").glob("*.json")
    damaged = state.with_name("99991231T000000Z-1.json")
    damaged.write_text('{"started": 7')
    found = only(doctor("job", ok=True), "metrics", "warning")
    assert str(damaged) in found["message"]


# Question 3: values are strange.


def test_a_damaged_journal_was_recorded_all_the_same(data: Path, tmp_path: Path) -> None:
    train("job")
    upload("job", tmp_path / "tb")
    (journal,) = data.rglob("*.hwj")
    damaged = bytearray(journal.read_bytes())
    damaged[100] ^= 1
    journal.write_bytes(damaged)
    found = only(doctor("job", ok=False), "records", "problem")
    assert "damaged" in found["message"] and "copy" in found["remedy"]


def test_a_name_that_was_used_again() -> None:
    train("job")
    train("job")
    found = only(doctor("job", ok=True), "values", "warning")
    assert "the name was used for 2 runs: job, job@" in found["message"]
    assert "a name of its own" in found["remedy"]
    older = found["message"].split("job, ")[1].split(";")[0]
    assert "the numbers of " + older in only(doctor(older, ok=True), "values", "warning")["message"]


def test_a_name_that_was_used_again_in_an_event_file(tmp_path: Path) -> None:
    lines: list[dict[str, Any]] = []
    for begin in (0, 100):
        lines += [{"ts": begin, "type": "job_start"}]
        lines += [{"ts": begin + 10 * n, "type": "step_start", "step": n} for n in range(3)]
        lines += [{"ts": begin + 40, "type": "job_end"}]
    path = tmp_path / "events.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    command = [find_program(), "import", str(path), "--run", "job"]
    subprocess.run(command, check=True, capture_output=True)
    messages = [c["message"] for c in doctor("job", ok=True) if c["name"] == "values"]
    assert any(message.startswith("run_name_reused") for message in messages)


def test_attempts_of_different_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWAY_RUN_UID", "0123456789abcdef0123456789abcdef")
    for job in ("first", "second"):
        monkeypatch.setenv("HEADWAY_JOB_ID", job)
        train("job")
    found = only(doctor("job", ok=True), "values", "warning")
    assert "belong to different jobs" in found["message"]
    assert "first" in found["message"] and "second" in found["message"]


# Question 4: there are no records.


def test_recording_is_disabled(tmp_path: Path) -> None:
    recorder = goodput.GoodputRecorder("job", "", logging_enabled=False)
    recorder.record_job_start_time()
    upload("job", tmp_path / "tb", final_flush_timeout_seconds=1)
    checks = doctor("job", ok=False)
    messages = [check["message"] for check in checks if check["name"] == "records"]
    assert messages[0].startswith('no run "job" in project "default"')
    assert "a monitor of that name ran" in messages[1]
    assert "logging_enabled" in next(c for c in checks if c["name"] == "records")["remedy"]


@pytest.mark.parametrize(
    "name, value", [("HEADWAY_DISABLED", "1"), ("HEADWAY_BACKEND", "cloud-logging")]
)
def test_recording_is_switched_off(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, value)
    found = next(c for c in doctor("job", ok=False) if c["name"] == "records")
    assert f"{name}={value} in this environment" in found["message"]


def test_only_other_ranks_record(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWAY_JOB_ID", "7")
    for rank in ("3", "1"):
        monkeypatch.setenv("RANK", rank)
        train("job")
    found = only(doctor("job", ok=False), "records", "problem")
    assert "no process with rank 0 has recorded, only rank 1, 3" in found["message"]
    monkeypatch.setenv("RANK", "0")
    train("job")
    assert only(doctor("job", ok=True), "records", "good")


def test_the_supervisor_alone_records() -> None:
    command = [find_program(), "run", "--run", "job", "--", "true"]
    subprocess.run(command, check=True, capture_output=True)
    found = only(doctor("job", ok=False), "records", "problem")
    assert "only headway run recorded" in found["message"]


def test_records_lie_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    train("job")
    monkeypatch.setenv("HEADWAY_PROJECT", "other")
    checks = doctor("job", ok=False)
    found = next(check for check in checks if check["name"] == "records")
    assert found["message"] == f"a run of that name lies in {tmp_path}/data, project default"
    # The command that it advises works.
    words = found["remedy"].split(";")[0].split()[2:]
    assert only(doctor(words[0], *words[1:], ok=True), "records", "good")
    monkeypatch.setenv("HEADWAY_DIR", str(tmp_path / "home" / ".headway"))
    monkeypatch.delenv("HEADWAY_PROJECT")
    train("another")
    monkeypatch.setenv("HEADWAY_DIR", str(tmp_path / "elsewhere"))
    found = next(check for check in doctor("another", ok=False) if check["name"] == "records")
    assert str(tmp_path / "home/.headway") in found["message"]


def test_a_name_that_is_nearly_right() -> None:
    train("llama-7b")
    found = only(doctor("llama-7B", ok=False), "records", "problem")
    assert found["remedy"].startswith("did you mean llama-7b?")


def test_records_without_steps() -> None:
    train("job", steps=0)
    assert "of no step" in only(doctor("job", ok=True), "records", "warning")["message"]


# Question 5: there is no time of checkpoints.


def test_saves_that_nobody_saw(monkeypatch: pytest.MonkeyPatch) -> None:
    train("job")
    found = only(doctor("job", ok=True), "checkpoints", "warning")
    assert "no save and no restore" in found["message"]
    assert "run.checkpoint_save(step)" in found["remedy"]
    monkeypatch.setenv("HEADWAY_ORBAX", "0")
    found = only(doctor("job", ok=True), "checkpoints", "warning")
    assert found["message"].endswith("HEADWAY_ORBAX=0 in this environment")


def test_a_wrong_call() -> None:
    done = subprocess.run([find_program(), "doctor", ""], capture_output=True, text=True)
    assert done.returncode == 2 and "RUN must not be empty" in done.stderr
