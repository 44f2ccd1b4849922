"""What is read from journals can be read from a server, with the same bytes."""

from __future__ import annotations

import json
import os
import ssl
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Headway, wait_until
from test_config import Recorder, record
from test_server import Server, train

__all__ = ["record"]  # a fixture

WINDOWS = ((), ("--window", "+100ms..+1s"), ("--last", "300ms"), ("--as-of", "+700ms"))


@pytest.fixture
def server(headway: Headway, tmp_path: Path) -> Iterator[Server]:
    with closing(Server(headway, tmp_path / "far")) as one:
        yield one


def same(headway: Headway, server: Server, *words: str) -> str:
    """What the command prints, here and there, errors and exit codes too."""
    here = headway(*words, code=None)
    there = headway(*words, code=None, env=server.env)
    assert there.returncode == here.returncode, (words, here.stderr, there.stderr)
    assert there.stdout == here.stdout, words
    if here.returncode != 0:
        assert there.stderr == here.stderr, words
    return here.stdout


def test_compat_accounting(headway: Headway, server: Server, tmp_path: Path) -> None:
    runs = [f"r{seed}" for seed in range(3)]
    for seed, run in enumerate(runs):
        headway(*train(headway, tmp_path, run, seed, 300))
    # A run that compat accounting has no answer for.
    program = "import headway\nwith headway.init(run='empty') as run: run.config({'lr': 1})"
    subprocess.run([sys.executable, "-c", program], check=True, env=headway.environment)
    headway("ship", env=server.env)
    for run in runs:
        as_of = headway.json("goodput", run)["as_of"]
        for more in (*WINDOWS, ("--as-of", as_of)):
            how = ("--accounting", "compat", "--json")
            compat = same(headway, server, "goodput", run, *how, *more)
            if more == WINDOWS[0]:
                assert json.loads(compat)["accounting"] == "compat"
            same(headway, server, "goodput", run, "--explain-difference", "--json", *more)
        same(headway, server, "goodput", run, "--accounting", "compat")
        assert "compat" in same(headway, server, "goodput", run, "--explain-difference")
    for how in (("--accounting", "compat"), ("--explain-difference",)):
        same(headway, server, "goodput", "empty", "--window", "+0s..+1s", *how)
        same(headway, server, "goodput", "empty", "--window", "nonsense", *how)
    status, answer = server.call("RunService/GetReport", {"run": "r0", "accounting": 7})
    assert status == 400 and "no accounting 7" in answer["message"], answer


def test_configurations(headway: Headway, server: Server, record: Recorder) -> None:
    for attempt, lr in ((0, 1e-3), (1, 1e-4)):
        for rank in range(3):
            record(("user", {"lr": lr, "rank": rank, "api_key": f"secret-{rank}"}),
                   ("software", {"jax": "0.4.30"}), ("data", {"päth": "/d"}), rank=rank, size=3,
                   attempt=attempt, code=1 if attempt == 0 else 0)  # fmt: skip
    record(("user", {"lr": 1, "env": {"HF_TOKEN": "hf_abcdefghijklmnopqrstuvwxyz"}}), run="other")
    record(run="silent")
    headway("ship", env=server.env)
    for more in ((), ("--attempt", "0"), ("--attempt", "7"), ("--rank", "1"), ("--rank", "9"),
                 ("--class", "data"), ("--search", "LR"), ("--search", "nowhere"),
                 ("--diff", "other"), ("--diff", "other", "--all"), ("--diff", "none"),
                 ("--diff-attempts", "0..1"), ("--diff-hosts",)):  # fmt: skip
        for form in ((), ("--json",)):
            if "none" in more:
                assert headway("config", "r", *more, *form, code=1, env=server.env).stderr
                continue
            same(headway, server, "config", "r", *more, *form)
    for run in ("silent", "other"):
        same(headway, server, "config", run)
        same(headway, server, "config", run, "--json")
    # What is a secret does not leave the server.
    for run in ("r", "other"):
        for method in ("ConfigService/GetConfig", "RecordService/ListRecords"):
            status, answer = server.call(method, {"run": run})
            text = json.dumps(answer)
            assert status == 200 and "secret-" not in text and "hf_" not in text, text
    status, answer = server.call("ConfigService/GetConfig", {"run": "r"})
    assert len(answer["processes"]) == 6
    # What is said once is sent once: of each rank its own, and what all have.
    assert len(answer["configurations"]) == 6 + 2


def test_configurations_that_a_server_was_told(
    headway: Headway, server: Server, record: Recorder
) -> None:
    record(("software", {"jax": "0.4.30"}))
    headway("ship", env=server.env)
    values = {"softwareConfigs": {"torch": "2.4", "wandb_api_key": "secret-1"},
              "systemConfigs": {"a.b": 'x "y"'}}  # fmt: skip
    for run in ("r", "new"):
        if run == "new":
            made = server.call("RunService/CreateRun", {"run": {"name": "new"}})
            assert made[0] == 200
        status, _ = server.call("RunService/UpdateRun", {"run": run, "values": values})
        assert status == 200
        answer = headway.json("config", run, env=server.env)
        assert [one["class"] for one in answer["registered"]] == ["software", "system"]
        software, system = answer["registered"]
        rows = {row["path"]: (row["value"], row["masked"]) for row in software["values"]}
        assert rows == {"torch": ("2.4", False), "wandb_api_key": ("***", True)}
        assert system["values"][0]["path"] == '"a.b"' and system["values"][0]["value"] == 'x "y"'
        text = headway("config", run, env=server.env).stdout
        assert '\nsoftware  set on the server, not recorded\n  torch          "2.4"\n' in text
        assert "secret-1" not in text
    assert headway.json("config", "new", env=server.env)["classes"] == []
    assert "no configuration was recorded" in headway("config", "new", env=server.env).stdout
    assert '\nsoftware\n  jax  "0.4.30"\n' in headway("config", "r", env=server.env).stdout
    found = headway("config", "r", "--search", "TORCH", env=server.env).stdout
    assert "jax" not in found and "torch" in found
    # It is of no rank, and here nobody knows it.
    ranked = headway.json("config", "r", "--rank", "0", env=server.env)
    assert ranked == headway.json("config", "r", "--rank", "0")
    assert "registered" not in headway.json("config", "r")


METRICS = """
import sys, headway
run = headway.init(run=sys.argv[1])
for step in range(int(sys.argv[2])):
    with run.step(step):
        run.log({"loss": 1 / (step + 1)}, step=step)
        with run.span("eval \\u00fc"):
            pass
run.config({"password": "secret-1"})
run.finish()
"""


def exported(headway: Headway, server: Server, run: str, *more: str) -> None:
    for words in (("--as", "jsonl"), ("--as", "csv"), ("--as", "csv", "--what", "steps"),
                  ("--as", "perfetto")):  # fmt: skip
        timed = () if "jsonl" in words else more
        assert same(headway, server, "export", run, *words, *timed)


def test_exports(headway: Headway, server: Server, tmp_path: Path) -> None:
    headway(*train(headway, tmp_path, "many", 1, 300))
    program = [sys.executable, "-c", METRICS]
    subprocess.run([*program, "metrics", "200"], check=True, env=headway.environment)
    headway("ship", env=server.env)
    for run in ("many", "metrics"):
        as_of = headway.json("goodput", run)["as_of"]
        for more in (("--as-of", as_of), ("--as-of", "+300ms"),
                     ("--as-of", as_of, "--window", "+100ms..+200ms")):  # fmt: skip
            exported(headway, server, run, *more)
    events = headway("export", "metrics", "--as", "jsonl", env=server.env).stdout
    assert events.count('"loss"') == 200 and "eval ü" in events and "secret-1" not in events
    # It can be read again, as what it was.
    path = tmp_path / "events.jsonl"
    headway("export", "many", "--as", "jsonl", "--out", path, env=server.env)
    assert path.read_text() == headway("export", "many", "--as", "jsonl").stdout


def test_an_exported_event_file_is_the_same(
    headway: Headway, server: Server, tmp_path: Path
) -> None:
    program = [sys.executable, "-c", METRICS]
    subprocess.run([*program, "r", "100"], check=True, env=headway.environment)
    headway("ship", env=server.env)
    # Imported, for the times of the report's numbers are those of the moment.
    metrics = []
    for env in ({}, server.env):
        out = tmp_path / ("there" if env else "here")
        headway("export", "r", "--as", "tensorboard", "--out", out, env=env)
        (file,) = out.iterdir()
        into = str(tmp_path / f"{out.name}-data")
        headway("import", str(file), "--as", "tensorboard", "--run", "again", "--dir", into)
        lines = headway("export", "again", "--as", "jsonl", "--dir", into).stdout.splitlines()
        rows = [json.loads(line) for line in lines]
        rows = [row for row in rows if row["type"] == "log"]
        metrics.append([(row["name"], row.get("step"), row["value"]) for row in rows])
    assert metrics[0] == metrics[1] and len(metrics[0]) > 100


def test_records_come_in_pages(headway: Headway, server: Server) -> None:
    for rank in range(3):
        subprocess.run([sys.executable, "-c", METRICS, "r", "50"], check=True,
                       env={**headway.environment, "RANK": str(rank), "WORLD_SIZE": "3",
                            "HEADWAY_ATTEMPT_KEY": "k"})  # fmt: skip
    headway("ship", env=server.env)

    def read(size: int, *, restart: bool = False) -> list[tuple[str, str, int]]:
        found: list[tuple[str, str, int]] = []
        token = ""
        headers = 0
        while True:
            request = {"run": "r", "pageSize": size, "pageToken": token}
            status, page = server.call("RecordService/ListRecords", request)
            assert status == 200, page
            count = sum(len(one["records"]) for one in page["journals"])
            assert count <= size + 6
            for one in page["journals"]:
                headers += one["header"] != ""
                found += [(one["uid"], each["seq"], each["type"]) for each in one["records"]]
            token = page["nextPageToken"]
            if not token:
                assert headers == 3
                return found
            if restart:  # it has forgotten where the page ended
                server.stop()
                server.start()

    whole = read(5000)
    assert len(whole) > 450 and len(set(whole)) == len(whole)
    for size in (1, 7, 100):
        assert read(size) == whole, size
    assert read(100, restart=True) == whole
    for token in ("x", "/", "0" * 32 + "/0", "1", whole[0][0] + "/x"):
        request = {"run": "r", "pageToken": token}
        status, answer = server.call("RecordService/ListRecords", request)
        assert status == 400 and "page_token" in answer["message"], token
    assert server.call("RecordService/ListRecords", {"run": "r", "pageSize": -1})[0] == 400


def test_a_run_that_goes_on_is_exported(headway: Headway, server: Server, tmp_path: Path) -> None:
    trainer = headway.start(*train(headway, tmp_path, "r", 1, 600), env=server.env)
    wait_until(lambda: headway("goodput", "r", env=server.env, code=None).returncode == 0, "it")
    lines = headway("export", "r", "--as", "jsonl", env=server.env).stdout.splitlines()
    assert all(json.loads(line) for line in lines) and lines
    headway("goodput", "r", "--explain-difference", env=server.env, code=None)
    trainer.communicate(timeout=120)
    headway("ship", env=server.env)
    exported(headway, server, "r", "--as-of", headway.json("goodput", "r")["as_of"])


PYTHON = """
import json, sys
import headway
assert not {"urllib.request", "http.client", "ssl"} & set(sys.modules), "imported too much"
run, options = sys.argv[1], json.loads(sys.argv[2])
report = headway.report(run, **options)
print(json.dumps([report.to_dict(),
                  headway.timeline(run, **options).to_list(),
                  [repr(step) for step in headway.steps(run, **options)]]))
"""


def python(headway: Headway, code: str, *words: str, env: dict[str, str] | None = None) -> str:
    result = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, timeout=60,
        env={**headway.environment, **(env or {})},
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_python_reads_a_server(headway: Headway, server: Server, tmp_path: Path) -> None:
    for seed in range(2):
        headway(*train(headway, tmp_path, f"r{seed}", seed, 300))
    subprocess.run([sys.executable, "-c", METRICS, "spans", "20"], check=True,
                   env=headway.environment)  # fmt: skip
    headway("ship", env=server.env)
    for run in ("r0", "r1", "spans"):
        as_of = headway.json("goodput", run)["as_of"]
        for options in ({}, {"window": "+100ms..+1s"}, {"as_of": "+700ms"}, {"as_of": as_of},
                        {"window": ["+100ms", None], "as_of": as_of}):  # fmt: skip
            words = [run, json.dumps(options)]
            # Not only equal: key by key in the same order.
            assert python(headway, PYTHON, *words, env=server.env) == python(
                headway, PYTHON, *words
            ), options
        far = {"server": server.url, "token": server.token}
        assert python(headway, PYTHON, run, json.dumps(far)) == python(headway, PYTHON, run, "{}")
        # A directory that is named is read, whatever server there may be.
        here = {"dir": str(headway.data)}
        nowhere = {"HEADWAY_SERVER": "http://127.0.0.1:9"}
        assert python(headway, PYTHON, run, json.dumps(here), env=nowhere) == python(
            headway, PYTHON, run, "{}"
        )
    listing = "import headway; print(headway.runs())"
    assert python(headway, listing, env=server.env) != "[]\n"

    def settled() -> bool:
        return python(headway, listing, env=server.env) == python(headway, listing)

    wait_until(settled, "the same list of runs")


def test_python_reads_its_own_run_here(headway: Headway) -> None:
    code = """
import headway
with headway.init(run="own") as run:
    run.step(0)
print(headway.report(run).steps.last_step)
"""
    assert python(headway, code, env={"HEADWAY_SERVER": "http://127.0.0.1:9"}) == "0\n"


FAILS = """
import sys, headway
try:
    headway.report(sys.argv[1])
except headway.Error as error:
    print(type(error).__name__, error.code, error)
"""


def certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1 that nobody has signed, and its key."""
    key, made = folder / "key.pem", folder / "certificate.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
         "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out",
         str(made)],
        check=True, capture_output=True,
    )  # fmt: skip
    return made, key


class Front(BaseHTTPRequestHandler):
    """Before a server: hands on what it is asked, or answers as something else would."""

    to = ""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.to == "":
            self.send_response(502)
            self.end_headers()
            self.wfile.write(b"<html>bad gateway</html>")
            return
        if self.to == "elsewhere":
            self.send_response(302)
            self.send_header("Location", "http://127.0.0.1:9/")
            self.end_headers()
            return
        if self.to == "text":
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"hello")
            return
        headers = {name: self.headers[name] for name in ("Content-Type", "Authorization")}
        wanted = urllib.request.Request(self.to + self.path, body, headers)
        with urllib.request.urlopen(wanted, timeout=30) as answer:
            text = answer.read()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def front(to: str, pair: tuple[Path, Path] | None = None) -> Iterator[str]:
    handler = type("Handler", (Front,), {"to": to})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as listening:
        if pair is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*map(str, pair))
            listening.socket = context.wrap_socket(listening.socket, server_side=True)
        threading.Thread(target=listening.serve_forever, daemon=True).start()
        try:
            scheme = "http" if pair is None else "https"
            yield f"{scheme}://127.0.0.1:{listening.server_address[1]}"
        finally:
            listening.shutdown()


def test_python_says_what_is_wrong(headway: Headway, server: Server) -> None:
    subprocess.run([sys.executable, "-c", METRICS, "r", "5"], check=True, env=headway.environment)
    headway("ship", env=server.env)
    writer = headway("tokens", "create", "--role", "writer", env=server.env).stdout.strip()
    bound = headway("tokens", "create", "--role", "viewer", "--project", "other",
                    env=server.env).stdout.strip()  # fmt: skip

    def fails(run: str = "r", **env: str) -> str:
        return python(headway, FAILS, run, env={**server.env, **env})

    assert fails("none").startswith('NotFoundError NOT_FOUND no run "none" in project "default"')
    assert fails(HEADWAY_TOKEN="").startswith("Error UNAUTHENTICATED ")
    assert "HEADWAY_TOKEN is not set" in fails(HEADWAY_TOKEN="")
    assert fails(HEADWAY_TOKEN="hw_nonsense").startswith("Error UNAUTHENTICATED ")
    assert fails(HEADWAY_TOKEN="a\nb").startswith("InvalidArgumentError INVALID_ARGUMENT ")
    assert fails(HEADWAY_TOKEN=writer).startswith("Error PERMISSION_DENIED ")
    assert 'for project "other" only' in fails(HEADWAY_TOKEN=bound)
    assert fails(HEADWAY_SERVER="http://127.0.0.1:9").startswith(
        "Error UNAVAILABLE http://127.0.0.1:9 can't be reached: "
    )
    for url in ("127.0.0.1:8460", "ftp://x", "http://", "nonsense"):
        assert fails(HEADWAY_SERVER=url).startswith("InvalidArgumentError INVALID_ARGUMENT "), url
    for to, code in (("", "UNAVAILABLE"), ("elsewhere", "UNKNOWN"), ("text", "UNKNOWN")):
        with front(to) as url:
            assert fails(HEADWAY_SERVER=url).startswith(f"Error {code} "), to
    assert server.token not in fails(HEADWAY_SERVER="http://127.0.0.1:9")


def test_python_trusts_certificates(headway: Headway, server: Server, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", METRICS, "r", "5"], check=True, env=headway.environment)
    headway("ship", env=server.env)
    pair = certificate(tmp_path)
    with front(server.url, pair) as url:
        env = {**server.env, "HEADWAY_SERVER": url}
        said = python(headway, FAILS, "r", env=env)
        assert said.startswith("Error FAILED_PRECONDITION the certificate of https://"), said
        assert "HEADWAY_CA" in said
        missing = {**env, "HEADWAY_CA": str(tmp_path / "none.pem")}
        assert "HEADWAY_CA" in python(headway, FAILS, "r", env=missing)
        trusted = {**env, "HEADWAY_CA": str(pair[0])}
        assert python(headway, PYTHON, "r", "{}", env=trusted) == python(headway, PYTHON, "r", "{}")


def test_doctor_looks_at_a_server(headway: Headway, server: Server) -> None:
    def verdicts(code: int, *words: str, **env: str) -> dict[str, str]:
        result = headway("doctor", "--json", *words, code=code, env=env)
        return {one["name"]: one["verdict"] for one in json.loads(result.stdout)["checks"]}

    good = {name: "good"
            for name in ("server", "token", "permissions", "server_clock", "server_disk",
                         "server_version")}  # fmt: skip
    admin = {"HEADWAY_TOKEN": server.token}
    assert verdicts(0, "--server", server.url, **admin) == good
    assert "the server can be used" in headway("doctor", "--server", server.url, env=admin).stdout
    for role, expected in (("viewer", "note"), ("writer", "note"), ("editor", "good")):
        token = headway("tokens", "create", "--role", role, "--project", "default",
                        env=server.env).stdout.strip()  # fmt: skip
        found = verdicts(0, "--server", server.url, HEADWAY_TOKEN=token)
        assert found == {**good, "permissions": expected}, role
        found = verdicts(1, "--server", server.url, "--project", "p", HEADWAY_TOKEN=token)
        assert found["token"] == "problem"
    brief = headway("tokens", "create", "--role", "editor", "--expires", "1h",
                    env=server.env).stdout.strip()  # fmt: skip
    assert verdicts(0, "--server", server.url, HEADWAY_TOKEN=brief)["token"] == "warning"
    assert verdicts(1, "--server", server.url) == {"token": "problem"}
    assert verdicts(1, "--server", server.url, HEADWAY_TOKEN="hw_x") == {"token": "problem"}
    assert verdicts(1, "--server", "http://127.0.0.1:9", **admin) == {"server": "problem"}
    with front("text") as url:
        assert verdicts(1, "--server", url, **admin) == {"server": "problem"}
    # With the machine, where the environment names one.
    found = verdicts(0, "--no-python", **server.env)
    assert found["server_clock"] == "good" and "writable" in found
    for wrong in (("r", "--server", server.url), ("--server", "nonsense"),
                  ("--server", server.url, "--dir", str(headway.data))):  # fmt: skip
        assert headway("doctor", *wrong, code=2).stderr


RECORD = """
import datetime, sys
from ml_goodput_measurement import goodput
job = goodput.GoodputRecorder(sys.argv[1], "log", True)
time = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)
def later(seconds):
    global time
    time += datetime.timedelta(seconds=seconds)
    return time
for start in (0, 20):
    job.record_job_start_time(later(100))
    job.record_tpu_init_start_time(later(1))
    job.record_tpu_init_end_time(later(5))
    for step in range(start, start + 40):
        job.record_step_start_time(step, later(3 + step % 7))
        if step % 10 == 0:
            job.record_custom_badput_event_start_time(later(0.5), "eval")
            job.record_custom_badput_event_end_time(later(2), "eval")
job.record_job_end_time(later(4))
"""

CALCULATE = """
import datetime, json, sys
from ml_goodput_measurement import goodput, goodput_elastic
start = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)
at = lambda seconds: start + datetime.timedelta(seconds=seconds)
for kind in (goodput.GoodputCalculator, goodput_elastic.ElasticGoodputCalculator):
    job = kind(sys.argv[1], "log")
    print(job.get_job_goodput(include_badput_breakdown=True))
    print(job.get_job_goodput_details())
    print(job.get_job_goodput_interval(at(150), at(400)))
    print(job.get_interval_metric_details(at(150), at(400)))
    print(job.get_step_deviation())
    print(job.get_job_goodput_with_exclusions([(at(200), at(250))], True))
"""

ASK = """
import sys
from ml_goodput_measurement import goodput
try:
    goodput.GoodputCalculator(sys.argv[1], "log").get_job_goodput()
except ValueError as error:
    print("ValueError", error)
"""

OWN = """
import sys
from ml_goodput_measurement import goodput
job = goodput.GoodputRecorder(sys.argv[1], "log", True)
job.record_job_start_time()
job.record_step_start_time(0)
job.record_step_start_time(1)
print(goodput.GoodputCalculator(sys.argv[1], "log").get_job_goodput()[2])
"""


def test_the_drop_in_reads_a_server(headway: Headway, server: Server, tmp_path: Path) -> None:
    path = f"{ROOT / 'python/compat'}:{os.environ.get('PYTHONPATH', '')}"
    here = {"PYTHONPATH": path}
    python(headway, RECORD, "job", env=here)
    headway("ship", env=server.env)
    # On another machine, where there are no journals.
    there = {**here, **server.env, "HEADWAY_DIR": str(tmp_path / "empty")}
    for accounting in ("compat", "exact"):
        how = {"HEADWAY_ACCOUNTING": accounting}
        said = python(headway, CALCULATE, "job", env={**there, **how})
        assert said == python(headway, CALCULATE, "job", env={**here, **how})
        assert said.count("\n") == 12 and "EVAL" in said
    # The command says the same.
    compat = headway.json("goodput", "job", "--accounting", "compat", env=server.env)
    assert f"({compat['goodput'] * 100:.6f}"[:8] in python(headway, CALCULATE, "job", env=there)
    assert 'ValueError no run "none"' in python(headway, ASK, "none", env=there)
    away = {**there, "HEADWAY_SERVER": "http://127.0.0.1:9"}
    assert "can't be reached" in python(headway, ASK, "job", env=away)
    # A process asks its own journal about what it records.
    assert python(headway, OWN, "own", env=away) == "0\n"
