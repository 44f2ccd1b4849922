"""The original's log as a backend, through Google's own client; the service is a stand-in."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import headway
import pytest

PROGRAM = """
    import datetime, json, os, sys
    import google.auth
    from google.auth.credentials import AnonymousCredentials

    google.auth.default = lambda *args, **kwargs: (AnonymousCredentials(), "project")
    os.environ["GOOGLE_CLOUD_PROJECT"] = "project"
    os.environ["NO_GCE_CHECK"] = "true"
    from google.cloud.logging_v2.handlers import _monitored_resources
    _monitored_resources.retrieve_metadata_server = lambda *args, **kwargs: None
    from ml_goodput_measurement import goodput

    written = []

    class Service:
        def write_entries(self, entries, **options):
            written.extend(entries)

    recorder = goodput.GoodputRecorder("job", "goodput_job", True)
    recorder._cloud_logger._async_handler.client._logging_api = Service()
    start = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)
    recorder.record_job_start_time(start)
    for step in range(3):
        recorder.record_step_start_time(step, start + datetime.timedelta(seconds=step))
    recorder.record_job_end_time(start + datetime.timedelta(seconds=3))
    recorder.flush()
    logger = recorder._cloud_logger
    logger.write_cloud_logging_entry({"job_name": "another", "job_start_time": 1.0})
    logger.write_cloud_logging_entry(None)
    recorder.flush()
    end = start + datetime.timedelta(days=9)
    print(json.dumps({
        "payloads": [dict(entry["jsonPayload"]) for entry in written],
        "severities": sorted({entry["severity"] for entry in written}),
        "filters": [
            logger._get_filter_msg(None, end, None),
            logger._get_filter_msg(start, end, None),
            logger._get_filter_msg(None, end, (start, "id7")),
        ],
    }))
"""


@pytest.fixture(scope="module")
def google_packages(original_python: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Google's clients without the original, which is installed beside them."""
    folder = tmp_path_factory.mktemp("google")
    (site,) = Path(original_python).parents[1].glob("lib/python*/site-packages")
    for path in site.iterdir():
        if not path.name.startswith(("ml_goodput", "pip", "setuptools")):
            (folder / path.name).symlink_to(path)
    return folder


def run(google: Path, data: Path, backend: str) -> dict[str, Any]:
    environment = {**os.environ, "HEADWAY_DIR": str(data), "HEADWAY_BACKEND": backend}
    environment["PYTHONPATH"] += os.pathsep + str(google)
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(PROGRAM)],
        capture_output=True, text=True, env=environment, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@pytest.mark.parametrize("backend", ["cloud-logging", "both"])
def test_entries_reach_the_service(google_packages: Path, tmp_path: Path, backend: str) -> None:
    answer = run(google_packages, tmp_path / "data", backend)
    start = 1767225600.0
    assert answer["payloads"] == [
        {"job_name": "job", "job_start_time": start},
        *(
            {"job_name": "job", "step_count": step, "step_start_time": start + step}
            for step in range(3)
        ),
        {"job_name": "job", "job_end_time": start + 3},
    ]
    assert answer["severities"] == [200]  # INFO
    assert (tmp_path / "data").exists() == (backend == "both")
    if backend == "both":
        report = headway.report("job", dir=tmp_path / "data")
        assert (report.state, report.steps.last_step) == ("completed", 2)


def test_what_is_asked_of_the_log(google_packages: Path, tmp_path: Path) -> None:
    whole, later, rest = run(google_packages, tmp_path / "data", "cloud-logging")["filters"]
    common = (
        'logName="projects/project/logs/goodput_job" AND severity=INFO AND '
        'jsonPayload.job_name="job" AND timestamp<="2026-01-10T00:00:00+00:00" AND '
    )
    assert whole == common + 'timestamp>"2026-01-03T00:00:00+00:00"'
    assert later == common + 'timestamp>"2026-01-01T00:00:00+00:00"'
    assert rest == common + (
        '(timestamp > "2026-01-01T00:00:00+00:00" OR (timestamp = "2026-01-01T00:00:00+00:00" '
        'AND insertId > "id7"))'
    )


def test_without_the_client_it_says_what_is_missing(tmp_path: Path) -> None:
    environment = {**os.environ, "HEADWAY_BACKEND": "cloud-logging"}
    code = "from ml_goodput_measurement import goodput; goodput.GoodputRecorder('j', 'l', True)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment
    )
    assert "needs the package google-cloud-logging" in done.stderr
