"""Cloud Monitoring, Cloud Logging and object stores: what is sent, to whom, and what survives."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import Cloud, Sender

TOKEN = "ya29.fixed"
MINUTES = 300  # seconds of an outage that no test waits for


@pytest.fixture
def account(cloud: Cloud, tmp_path: Path) -> str:
    """A service account's file, whose tokens come from the cloud on this machine."""
    path = tmp_path / "account.json"
    path.write_text(
        json.dumps(
            {
                "type": "service_account",
                "project_id": "p1",
                "client_email": "a@p1.iam.gserviceaccount.com",
                "private_key_id": "key-1",
                "private_key": cloud.private_key,
                "token_uri": cloud.url + "/token",
            }
        )
    )
    return str(path)


@pytest.fixture
def variables(cloud: Cloud) -> dict[str, str]:
    """With a fixed token; metadata servers are looked for where none is."""
    cloud.control(tokens=[TOKEN])
    return {
        "HEADWAY_MONITORING_ENDPOINT": cloud.url,
        "HEADWAY_LOGGING_ENDPOINT": cloud.url,
        "STORAGE_EMULATOR_HOST": cloud.url,
        "AWS_ENDPOINT_URL": cloud.url + "/s3",
        "AWS_REGION": "eu-west-1",
        "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
        "AWS_SECRET_ACCESS_KEY": "secret/of+s3",
        "AWS_SESSION_TOKEN": "session",
        "GCE_METADATA_HOST": "127.0.0.1:9",
        "HEADWAY_GOOGLE_ACCESS_TOKEN": TOKEN,
    }


Start = Callable[..., Sender]


def monitoring(start: Start, variables: dict[str, str], folder: Path) -> Sender:
    send = start(**variables)
    assert send("monitoring", folder / "box", "p1", "job", "us-central1-a")["code"] == "OK"
    return send


def logging(start: Start, variables: dict[str, str], folder: Path) -> Sender:
    send = start(**variables)
    assert send("logging", folder / "box", "p1", "goodput_a/b", "a/b")["code"] == "OK"
    return send


def goodput(seen: dict[str, Any]) -> list[float]:
    return [point["value"] for point in seen["points"] if point["name"] == "goodput_time"]


def test_points_are_as_the_service_wants_them(
    cloud: Cloud, variables: dict[str, str], sender: Start, tmp_path: Path
) -> None:
    send = monitoring(sender, variables, tmp_path)
    send("sample", -10, 30)
    assert send("deliver", 10) | {"ms": 0} == {
        "code": "OK", "message": "", "waiting": 0, "refused": 0, "lost": 0, "damaged": 0, "ms": 0,
    }  # fmt: skip
    seen = cloud.control()
    assert seen["faults"] == []
    assert {point["name"] for point in seen["points"]} == {
        "goodput_time", "badput_time", "disruptions", "max_productive_steps",
        "step_time_deviation", "total_elapsed_time", "performance", "interval_goodput",
        "interval_badput", "stepping_slice_efficiency", "available_slice_efficiency",
    }  # fmt: skip
    badput = {
        point["labels"]["badput_source"]: point["value"]
        for point in seen["points"]
        if point["name"] == "badput_time"
    }
    assert badput == {
        "TPU_INITIALIZATION": 1.5,
        "WASTED_PROGRESS_FROM_DISRUPTION": 2,
        "CUSTOM_BADPUT_EVENTS.EVAL0": 1,
    }
    (steps,) = [p for p in seen["points"] if p["name"] == "max_productive_steps"]
    assert steps["value"] == "41" or steps["value"] == 41
    assert seen["requests"][0][2].startswith("headway/")


def test_many_series_are_several_requests(
    cloud: Cloud, variables: dict[str, str], sender: Start, tmp_path: Path
) -> None:
    send = monitoring(sender, variables, tmp_path)
    send("sample", -10, 30, 250)
    assert send("deliver", 20)["code"] == "OK"
    seen = cloud.control()
    assert seen["faults"] == []
    assert len(seen["requests"]) == 3
    assert len([p for p in seen["points"] if "EVAL" in str(p["labels"])]) == 500


def test_samples_that_come_too_often_are_coalesced(
    cloud: Cloud, variables: dict[str, str], sender: Start, tmp_path: Path
) -> None:
    send = monitoring(sender, variables, tmp_path)
    for tenth in range(30):
        send("sample", tenth / 10 - 7, 100 + tenth)
    assert send("deliver", 20)["code"] == "OK"
    assert send("finish", 20)["code"] == "OK"
    seen = cloud.control()
    assert (seen["faults"], seen["early"]) == ([], 0)
    assert goodput(seen) == [100, 129]


def test_an_answer_that_gets_lost_is_no_error(
    cloud: Cloud, variables: dict[str, str], sender: Start, tmp_path: Path
) -> None:
    send = monitoring(sender, variables, tmp_path)
    cloud.control(plan=[{"lose": True}])
    send("sample", -20, 1)
    send("sample", -10, 2)
    answer = send("deliver", 20)
    assert (answer["code"], answer["refused"], answer["waiting"]) == ("OK", 0, 0)
    seen = cloud.control()
    assert goodput(seen) == [1, 2]
    assert seen["early"] == 1  # it was sent again


def test_a_service_account_signs_for_its_tokens(
    cloud: Cloud, variables: dict[str, str], account: str, sender: Start, tmp_path: Path
) -> None:
    del variables["HEADWAY_GOOGLE_ACCESS_TOKEN"]
    send = monitoring(sender, variables | {"GOOGLE_APPLICATION_CREDENTIALS": account}, tmp_path)
    for at in (-30, -20):
        send("sample", at, -at)
        assert send("deliver", 10)["code"] == "OK"
    assert cloud.control()["assertions"] == 1  # one token for both
    cloud.control(tokens=[])  # revoked
    send("sample", -10, 10)
    assert send("deliver", 10)["code"] == "OK"
    seen = cloud.control()
    assert seen["faults"] == []
    assert seen["assertions"] == 2
    assert goodput(seen) == [30, 20, 10]


def test_machines_on_google_cloud_have_a_metadata_server(
    cloud: Cloud, variables: dict[str, str], sender: Start, tmp_path: Path
) -> None:
    del variables["HEADWAY_GOOGLE_ACCESS_TOKEN"]
    cloud.control(metadata=True)
    send = monitoring(sender, variables | {"GCE_METADATA_HOST": cloud.host}, tmp_path)
    machine = send("machine")
    assert machine["project"] == "p1"
    assert machine["zone"] == "us-central1-a"
    assert machine["machine_type"] == "ct5lp-hightpu-4t"
    assert machine["cluster"] == ""
    send("sample", -10, 30)
    assert send("deliver", 10)["code"] == "OK"
    assert goodput(cloud.control()) == [30]


def test_without_a_metadata_server_nobody_waits_for_long(
    variables: dict[str, str], sender: Start, tmp_path: Path
) -> None:
    del variables["HEADWAY_GOOGLE_ACCESS_TOKEN"]
    with socket.create_server(("127.0.0.1", 0)) as silent:  # takes connections, says nothing
        host = f"127.0.0.1:{silent.getsockname()[1]}"
        send = monitoring(sender, variables | {"GCE_METADATA_HOST": host}, tmp_path)
        answer = send("machine")
        assert answer["project"] == ""
        send("sample", -10, 30)
        delivered = send("deliver", 0.2)
    assert delivered["code"] == "UNAUTHENTICATED"
    assert "GOOGLE_APPLICATION_CREDENTIALS" in delivered["message"]
    assert delivered["waiting"] == 1


@pytest.mark.parametrize(
    "status, words, body",
    [
        (403, "Permission denied: x", '{"error": {"message": "Permission denied: x"}}'),
        (400, "One or more", '{"error": {"message": "One or more could not be written"}}'),
        (404, "no such project", "<html>no such project, and here is ya29.secretsecret</html>"),
    ],
)
def test_what_is_refused_for_good_is_told_and_dropped(
    cloud: Cloud,
    variables: dict[str, str],
    sender: Start,
    tmp_path: Path,
    status: int,
    words: str,
    body: str,
) -> None:
    send = monitoring(sender, variables, tmp_path)
    cloud.control(plan=[{"status": status, "body": body}])
    send("sample", -20, 1)
    send("sample", -10, 2)
    answer = send("deliver", 10)
    assert answer["code"] in ("PERMISSION_DENIED", "INVALID_ARGUMENT", "FAILED_PRECONDITION")
    assert str(status) in answer["message"]
    assert words in answer["message"]
    assert "secretsecret" not in answer["message"] and TOKEN not in answer["message"]
    assert (answer["refused"], answer["waiting"]) == (1, 0)
    assert goodput(cloud.control()) == [2]


@pytest.mark.parametrize(
    "trouble",
    [
        {"status": 401},
        {"status": 429},
        {"status": 500},
        {"status": 503, "body": "x" * 100_000},
        {"close": True},
    ],
)
def test_what_another_try_can_help_is_tried_again(
    cloud: Cloud, variables: dict[str, str], sender: Start, tmp_path: Path, trouble: dict[str, Any]
) -> None:
    send = monitoring(sender, variables, tmp_path)
    cloud.control(plan=[trouble, trouble])
    send("sample", -20, 1)
    send("sample", -10, 2)
    answer = send("deliver", 30)
    assert (answer["code"], answer["waiting"]) == ("OK", 0)
    seen = cloud.control()
    assert goodput(seen) == [1, 2]
    assert seen["faults"] == []


def test_the_service_says_how_long_to_wait(
    cloud: Cloud, variables: dict[str, str], sender: Start, tmp_path: Path
) -> None:
    send = monitoring(sender, variables, tmp_path)
    cloud.control(plan=[{"status": 429, "headers": {"Retry-After": "2"}}])
    send("sample", -10, 1)
    answer = send("deliver", 1)
    assert (answer["code"], answer["waiting"]) == ("UNAVAILABLE", 1)
    assert "429" in answer["message"]
    assert send("finish", 0.1)["waiting"] == 1
    assert len(cloud.control()["requests"]) == 1
    assert send("deliver", 30)["code"] == "OK"
    assert goodput(cloud.control()) == [1]


def test_a_slow_service_costs_no_more_than_the_deadline(
    cloud: Cloud, variables: dict[str, str], sender: Start, tmp_path: Path
) -> None:
    send = monitoring(sender, variables, tmp_path)
    cloud.control(plan=[{"delay_s": MINUTES}])
    send("sample", -10, 1)
    begin = time.monotonic()
    answer = send("deliver", 0.5)
    assert time.monotonic() - begin < MINUTES / 10
    assert (answer["code"], answer["waiting"]) == ("UNAVAILABLE", 1)
    assert cloud.host in answer["message"]
    assert send("finish", 10)["code"] == "OK"
    assert goodput(cloud.control()) == [1]


def test_without_a_network_samples_wait_also_for_the_next_process(
    cloud: Cloud, variables: dict[str, str], sender: Start, tmp_path: Path
) -> None:
    nowhere = variables | {"HEADWAY_MONITORING_ENDPOINT": "http://127.0.0.1:9"}
    send = monitoring(sender, nowhere, tmp_path)
    for at in (-40, -30, -20):
        send("sample", at, -at)
        answer = send("deliver", 0.3)
    assert (answer["code"], answer["waiting"]) == ("UNAVAILABLE", 3)
    assert "127.0.0.1:9" in answer["message"]
    send.kill()
    torn = sorted((tmp_path / "box").glob("*.body"))[1]
    torn.write_bytes(torn.read_bytes()[:-20])
    send = monitoring(sender, variables, tmp_path)
    send("sample", -10, 10)
    answer = send("deliver", 10)
    assert (answer["code"], answer["waiting"], answer["damaged"]) == ("DATA_LOSS", 0, 1)
    assert goodput(cloud.control()) == [40, 20, 10]


def test_tokens_are_not_sent_in_clear(
    variables: dict[str, str], sender: Start, tmp_path: Path
) -> None:
    far = variables | {"HEADWAY_MONITORING_ENDPOINT": "http://192.0.2.1:1"}
    send = monitoring(sender, far, tmp_path)
    send("sample", -10, 1)
    answer = send("deliver", 0.2)
    assert answer["code"] == "INVALID_ARGUMENT"
    assert "https" in answer["message"]


def test_certificates_are_checked(
    cloud: Cloud, variables: dict[str, str], sender: Start, tmp_path: Path
) -> None:
    variables = variables | {"HEADWAY_MONITORING_ENDPOINT": cloud.tls_url}
    send = monitoring(sender, variables, tmp_path)
    send("sample", -20, 1)
    answer = send("deliver", 0.2)
    assert (answer["code"], answer["waiting"]) == ("FAILED_PRECONDITION", 1)
    assert "certificate" in answer["message"]
    assert cloud.control()["requests"] == []
    send.kill()
    (tmp_path / "trusted.pem").write_text(cloud.certificate)
    for name in ("SSL_CERT_FILE", "CURL_CA_BUNDLE"):
        send = monitoring(sender, variables | {name: str(tmp_path / "trusted.pem")}, tmp_path)
        send("sample", -10, 2)
        answer = send("deliver", 10)
        assert (answer["code"], answer["message"]) == ("OK", "")
        send.kill()
        cloud.control(last={})
    assert goodput(cloud.control()) == [1, 2, 2]


def test_a_name_service_that_does_not_answer_costs_no_more_than_the_deadline(
    variables: dict[str, str], sender: Start, tmp_path: Path
) -> None:
    silent = Path(os.environ["HEADWAY_BIN"]).parent / "tests/libsilent_names.so"
    variables = variables | {
        "HEADWAY_MONITORING_ENDPOINT": "https://no.such.host",
        "LD_PRELOAD": str(silent),
    }
    send = monitoring(sender, variables, tmp_path)
    send("sample", -10, 1)
    answer = send("deliver", 0.5)
    assert (answer["code"], answer["waiting"]) == ("UNAVAILABLE", 1)
    assert "no.such.host" in answer["message"]
    assert answer["ms"] < MINUTES * 1000 / 10


def test_without_libcurl_it_says_what_to_install(
    variables: dict[str, str], sender: Start, tmp_path: Path
) -> None:
    for name in ("libcurl.so.4", "libcurl-gnutls.so.4"):
        (tmp_path / name).write_bytes(b"no library")
    send = monitoring(sender, variables | {"LD_LIBRARY_PATH": str(tmp_path)}, tmp_path)
    send("sample", -10, 1)
    answer = send("deliver", 0.2)
    assert (answer["code"], answer["waiting"]) == ("UNAVAILABLE", 1)
    assert "install libcurl" in answer["message"]


def test_entries_arrive_once(
    cloud: Cloud, variables: dict[str, str], sender: Start, tmp_path: Path
) -> None:
    send = logging(sender, variables, tmp_path)
    cloud.control(plan=[{"lose": True}, {"status": 502}])
    send("entries", 1200, 0)
    assert send("deliver", 20)["code"] == "OK"
    send("entries", 5, 1200)
    assert send("deliver", 20)["code"] == "OK"
    seen = cloud.control()
    assert seen["faults"] == []
    assert len(seen["requests"]) == 6
    payloads = [entry["payload"] for entry in seen["entries"]]
    assert payloads[0].keys() == {"job_name", "job_start_time"}
    assert [p["step_count"] for p in payloads[1:]] == list(range(1205))
    assert {entry["log"] for entry in seen["entries"]} == {"projects/p1/logs/goodput_a%2Fb"}


def test_entries_sent_twice_are_kept_once(
    cloud: Cloud, variables: dict[str, str], sender: Start, tmp_path: Path
) -> None:
    send = logging(sender, variables, tmp_path)
    send("entries", 100, 0)
    box = tmp_path / "box"
    (body,) = box.glob("*.body")
    kept = body.read_bytes()
    assert send("deliver", 20)["code"] == "OK"
    send.kill()
    body.write_bytes(kept)  # as if it had been killed before it took note of the answer
    send = logging(sender, variables, tmp_path)
    assert send("deliver", 20)["code"] == "OK"
    seen = cloud.control()
    assert len(seen["requests"]) == 2
    assert len(seen["entries"]) == 101


def test_entries_are_read_back_with_the_filter_of_the_original(
    cloud: Cloud, variables: dict[str, str], sender: Start, tmp_path: Path
) -> None:
    job = 'a"b\\c'
    for folder, name in (("one", job), ("two", "other")):
        send = sender(**variables)
        send("logging", tmp_path / folder, "p1", "goodput_x", name)
        send("entries", 250, 0)
        assert send("deliver", 20)["code"] == "OK"
    cloud.control(plan=[{"status": 429, "headers": {"Retry-After": "0"}}])
    answer = send("read", "p1", "goodput_x", job, 20)
    assert (answer["code"], answer["message"]) == ("OK", "")
    assert (answer["jobs"], answer["events"]) == (job, 251)
    assert cloud.control()["faults"] == []


@pytest.mark.parametrize("scheme", ["gs", "s3"])
def test_objects_follow_their_file(
    cloud: Cloud, variables: dict[str, str], sender: Start, tmp_path: Path, scheme: str
) -> None:
    events = tmp_path / "events"
    url = f"{scheme}://bucket/dir/events one.1"
    url = url.replace(" ", "+")
    send = sender(**variables)
    assert send("object", events, url)["code"] == "OK"
    assert send("deliver", 1)["code"] == "OK"
    events.write_bytes(b"\0one\xff\r\n--")
    assert send("deliver", 10)["code"] == "OK"
    assert cloud.control()["objects"][url]["text"] == "\0one\xff\r\n--"
    events.write_bytes(b"one two")
    cloud.control(plan=[{"status": 503}, {"close": True}, {"lose": True}])
    assert send("deliver", 30)["code"] == "OK"
    assert cloud.control()["objects"][url]["text"] == "one two"

    # A later process goes on with the object of the one before.
    send.kill()
    events.write_bytes(b"one two three")
    send = sender(**variables)
    send("object", events, url)
    assert send("finish", 10)["code"] == "OK"
    seen = cloud.control()
    assert seen["objects"][url]["text"] == "one two three"
    assert seen["faults"] == []


@pytest.mark.parametrize("scheme", ["gs", "s3"])
def test_objects_of_others_are_not_replaced(
    cloud: Cloud, variables: dict[str, str], sender: Start, tmp_path: Path, scheme: str
) -> None:
    url = f"{scheme}://bucket/events"
    for name in ("mine", "yours"):
        (tmp_path / name).write_text(name)
    mine, yours = sender(**variables), sender(**variables)
    mine("object", tmp_path / "mine", url)
    assert mine("deliver", 10)["code"] == "OK"
    yours("object", tmp_path / "yours", url)
    answer = yours("deliver", 10)
    assert answer["code"] == "ALREADY_EXISTS"
    assert url in answer["message"]
    assert cloud.control()["objects"][url]["text"] == "mine"


def test_a_store_without_preconditions(
    cloud: Cloud, variables: dict[str, str], sender: Start, tmp_path: Path
) -> None:
    cloud.control(preconditions=False)
    events = tmp_path / "events"
    send = sender(**variables)
    send("object", events, "s3://bucket/events")
    for text in ("one", "one two"):
        events.write_text(text)
        assert send("deliver", 10)["code"] == "OK"
    assert cloud.control()["objects"]["s3://bucket/events"]["text"] == "one two"


def test_a_store_that_refuses(
    cloud: Cloud, variables: dict[str, str], sender: Start, tmp_path: Path
) -> None:
    (tmp_path / "events").write_text("one")
    send = sender(**variables | {"AWS_SECRET_ACCESS_KEY": "wrong"})
    send("object", tmp_path / "events", "s3://bucket/events")
    answer = send("deliver", 1)
    assert answer["code"] == "PERMISSION_DENIED"
    assert "SignatureDoesNotMatch" in answer["message"]
    assert cloud.control()["objects"] == {}
