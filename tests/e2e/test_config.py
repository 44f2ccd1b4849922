"""`headway config`: what processes said of their configurations, read, compared and masked."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from conftest import Headway

PROGRAM = """
import json, os, sys
import headway
said = json.loads(sys.argv[1])
run = headway.init(run=sys.argv[2], job_id="job", heartbeat=False, auto_config=len(sys.argv) > 3)
for kind, values in said:
    run.config(values, kind=kind)
run.step(0, blocking=True)
run.step_end(0)
if "FAIL" in os.environ:
    os._exit(1)
run.finish()
"""


class Recorder:
    """Records processes, each a program of its own."""

    def __init__(self, headway: Headway, folder: Path) -> None:
        self.headway = headway
        self.program = folder / "train.py"
        self.program.write_text(textwrap.dedent(PROGRAM))

    def __call__(
        self,
        *said: tuple[str, Any],
        run: str = "r",
        rank: int = 0,
        size: int = 1,
        attempt: int = 0,
        host: str | None = None,
        automatic: bool = False,
        code: int = 0,
        env: dict[str, str] | None = None,
    ) -> None:
        environment = {
            **self.headway.environment,
            "RANK": str(rank),
            "WORLD_SIZE": str(size),
            "HEADWAY_ATTEMPT": str(attempt),
            "HEADWAY_ATTEMPT_KEY": f"job#{attempt}",  # or dead ranks make a new one
            **({"FAIL": "1"} if code else {}),
            **(env or {}),
        }
        command = [sys.executable, str(self.program), json.dumps(said), run]
        command += ["automatic"] if automatic else []
        if host is not None:
            script = 'hostname "$0" && exec "$@"'
            command = ["unshare", "--map-root-user", "--uts", "sh", "-c", script, host, *command]
        result = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert result.returncode == code, result.stderr


@pytest.fixture
def record(headway: Headway, tmp_path: Path) -> Recorder:
    return Recorder(headway, tmp_path)


def other_hosts() -> None:
    probe = ["unshare", "--map-root-user", "--uts", "sh", "-c", "hostname other"]
    try:
        result = subprocess.run(probe, capture_output=True, text=True)
    except FileNotFoundError as error:
        pytest.skip(f"no other host can be played here: {error}")
    if result.returncode != 0:
        pytest.skip(f"no other host can be played here: {result.stderr.strip()}")


def values_of(answer: dict[str, Any], kind: str = "user") -> dict[str, Any]:
    """Path and value of what no process has otherwise."""
    (found,) = [one for one in answer["classes"] if one["class"] == kind]
    return {row["path"]: row["value"] for row in found["values"] if not row["differs"]}


def test_a_configuration_is_shown(headway: Headway, record: Recorder) -> None:
    record(("user", {"lr": 3e-4, "opt": {"name": "adamw", "betas": [0.9, 0.95]}, "a.b": None}),
           ("user", {"opt": {"name": "lion"}, "n": 12345678901234567890123}),
           ("software", {"jax": "0.4.30"}))
    answer = headway.json("config", "r")
    assert answer["run"] == "r" and answer["attempts"] == [0] and answer["attempt"] == 0
    assert [one["class"] for one in answer["classes"]] == ["software", "user"]
    assert values_of(answer) == {
        "lr": 3e-4, "opt.name": "lion", "opt.betas": [0.9, 0.95], '"a.b"': None,
        "n": 12345678901234567890123,
    }
    (process,) = answer["processes"]
    assert process["rank"] == 0 and process["host"] and not process["supervisor"]
    text = headway("config", "r").stdout
    assert '\n  opt.name   "lion"\n' in text and "12345678901234567890123" in text
    assert "\x1b" not in text
    assert headway("config", "r", "--class", "software").stdout.endswith(
        '\nsoftware\n  jax  "0.4.30"\n'
    )
    assert headway.json("config", "r", "--rank", "0") == answer
    searched = headway.json("config", "r", "--search", "LION")
    assert values_of(searched) == {"opt.name": "lion"}
    assert "nothing such" in headway("config", "r", "--search", "nowhere").stdout


def test_attempts_and_ranks(headway: Headway, record: Recorder) -> None:
    for attempt, lr in ((0, 1e-3), (1, 1e-4)):
        for rank in range(3):
            record(("user", {"lr": lr, "rank": rank, "seed": 1 + (rank == 2)}), rank=rank, size=3,
                   attempt=attempt, code=1 if attempt == 0 else 0)
    answer = headway.json("config", "r")
    assert answer["attempts"] == [0, 1] and answer["attempt"] == 1
    assert [process["rank"] for process in answer["processes"]] == [0, 1, 2]
    assert values_of(answer) == {"lr": 1e-4}
    rows = {row["path"]: row for row in answer["classes"][0]["values"]}
    assert rows["seed"]["differs"] and rows["seed"]["value"] == 1
    assert rows["seed"]["variants"] == [
        {"value": 1, "masked": False, "missing": False, "processes": [0, 1]},
        {"value": 2, "masked": False, "missing": False, "processes": [2]},
    ]
    text = headway("config", "r").stdout
    assert "1  ranks 0-1\n" in text and "2  rank 2\n" in text
    assert values_of(headway.json("config", "r", "--attempt", "0"))["lr"] == 1e-3
    assert values_of(headway.json("config", "r", "--rank", "2"))["seed"] == 2
    assert "there are some of: 0, 1" in headway("config", "r", "--attempt", "2", code=1).stderr
    assert "rank 3" in headway("config", "r", "--rank", "3", code=1).stderr

    compared = headway.json("config", "r", "--diff-attempts", "0..1", code=1)
    assert compared["differ"] and compared["left"]["attempt"] == 0
    (change,) = compared["values"]
    assert (change["path"], change["change"]) == ("lr", "changed")
    assert [one["value"] for one in change["left"]] == [1e-3]
    assert [one["value"] for one in change["right"]] == [1e-4]
    headway("config", "r", "--diff-attempts", "1..1", code=0)
    assert "attempt 5" in headway("config", "r", "--diff-attempts", "0..5", code=1).stderr


def test_a_run_that_is_restarted_by_its_supervisor(
    headway: Headway, record: Recorder, tmp_path: Path
) -> None:
    (tmp_path / "once.py").write_text(textwrap.dedent("""
        import os, sys
        import headway
        first = not os.path.exists(sys.argv[1])
        run = headway.init(config={"lr": 1 if first else 2}, heartbeat=False, auto_config=False)
        run.step(0)
        if first:
            open(sys.argv[1], "w").close()
            os._exit(1)
        run.finish()
    """))
    headway("run", "--run", "r", "--restarts", "1", "--backoff", "1ms", "--quiet", "--",
            sys.executable, tmp_path / "once.py", tmp_path / "mark")
    assert headway.json("config", "r")["attempts"] == [0, 1]
    text = headway("config", "r", "--diff-attempts", "0..1", code=1).stdout
    assert "~ lr  1  →  2\n" in text and "1 changed, 0 added, 0 removed, 0 the same" in text


def test_hosts_that_differ_are_told(headway: Headway, record: Recorder) -> None:
    other_hosts()
    for rank in range(4):
        record(("system", {"kernel": "6.1" if rank < 2 else "6.2", "device": rank % 2}),
               rank=rank, size=4, host="alpha" if rank < 2 else "beta")
    text = headway("config", "r").stdout
    assert "4 processes on 2 hosts" in text
    assert '"6.1"  alpha\n' in text and '"6.2"  beta\n' in text
    assert "0  ranks 0, 2\n" in text
    # Devices differ between ranks as they should.
    drift = headway.json("config", "r", "--diff-hosts", code=1)
    (row,) = drift["classes"][0]["values"]
    assert row["path"] == "kernel"
    hosts = [{drift["processes"][i]["host"] for i in one["processes"]} for one in row["variants"]]
    assert hosts == [{"alpha"}, {"beta"}]
    same = headway("config", "r", "--diff-hosts", "--search", "device", code=0).stdout
    assert same.startswith("no host differs")


def test_runs_are_compared(headway: Headway, record: Recorder) -> None:
    record(("user", {"lr": 0.1, "old": [1], "same": True, "hub_token": "one"}), run="a")
    record(("user", {"lr": 0.2, "new": {}, "same": True, "hub_token": "two"}), run="b")
    result = headway("config", "a", "--diff", "b", code=1)
    lines = [line.strip() for line in result.stdout.splitlines()]
    assert "~ lr   0.1  →  0.2" in lines and "- old  [1]" in lines and "+ new  {}" in lines
    assert "same" not in result.stdout.replace("the same", "")
    everything = headway.json("config", "a", "--diff", "b", "--all", code=1)
    assert {one["path"]: one["change"] for one in everything["values"]} == {
        "lr": "changed", "old": "removed", "same": "same", "hub_token": "same", "new": "added",
    }
    assert headway.json("config", "a", "--diff", "a")["differ"] is False
    assert headway("config", "a", "--diff", "missing", code=1).stderr.startswith("headway: no run")


def test_secrets_are_never_shown(headway: Headway, record: Recorder) -> None:
    shown_to_nobody = "zq9secretzq9"
    record(("user", {
        "hub_token": shown_to_nobody,
        "db": f"postgres://user:{shown_to_nobody}@host/db",
        "env": {"WANDB_API_KEY": shown_to_nobody, "HOME": "/root"},
        "argv": ["train.py", "--hub_token", shown_to_nobody],
        "credentials": {"inner": [shown_to_nobody]},
        "max_tokens": 4096, "eos_token": "</s>",
    }))
    for arguments in ([], ["--search", "zq9"], ["--search", "token"], ["--diff", "r", "--all"]):
        for json_too in ([], ["--json"]):
            result = headway("config", "r", *arguments, *json_too)
            assert shown_to_nobody not in result.stdout + result.stderr
    rows = headway.json("config", "r")["classes"][0]["values"]
    masked = {row["path"]: row["value"] for row in rows if row["masked"]}
    assert masked == {
        "hub_token": "***", "db": "***", "env.WANDB_API_KEY": "***",
        "argv": ["train.py", "--hub_token", "***"], "credentials": "***",
    }
    assert {row["path"] for row in rows if not row["masked"]} == {
        "env.HOME", "max_tokens", "eos_token",
    }


def test_what_programs_say_of_themselves(headway: Headway, record: Recorder) -> None:
    record(automatic=True, env={"XLA_FLAGS": "--xla_x=1", "TPU_NAME": "pod"})
    answer = headway.json("config", "r")
    software, system = values_of(answer, "software"), values_of(answer, "system")
    assert software["python"] == ".".join(map(str, sys.version_info[:3]))
    assert software["env.XLA_FLAGS"] == "--xla_x=1" and system["env.TPU_NAME"] == "pod"
    assert system["cpus"] >= 1 and system["kernel"].startswith("Linux ")


def test_bad_configurations_are_told(headway: Headway, tmp_path: Path) -> None:
    program = textwrap.dedent("""
        import headway
        run = headway.init(run="r", heartbeat=False, auto_config=False, config={"lr": 1})
        for text in ('{"a":', '[1]', '{"a":' * 70 + "1" + "}" * 70, '{"a":1} x', ''):
            run._config_json("user", text)
        run.config({"n": 2})
        run.finish()
    """)
    subprocess.run([sys.executable, "-c", program], env=headway.environment, check=True)
    result = headway("config", "r", "--json")
    assert values_of(json.loads(result.stdout)) == {"lr": 1, "n": 2}
    lines = result.stderr.splitlines()
    assert len(lines) == 5 and all(".hwj: the user configuration in record" in x for x in lines)
    assert "nested deeper than 64 levels" in result.stderr and "no JSON object" in result.stderr


def test_a_run_without_any(headway: Headway, record: Recorder) -> None:
    record()
    assert headway("config", "r").stdout == "no configuration was recorded in run r\n"
    assert headway.json("config", "r") == {
        "run": "r", "project": "default", "attempts": [], "attempt": None, "processes": [],
        "classes": [],
    }
    assert "no configuration" in headway("config", "r", "--diff", "r", code=1).stderr


@pytest.mark.parametrize(
    "arguments",
    [["--diff-attempts", "1"], ["--diff-attempts", "a..b"], ["--diff-attempts", "-1..0"],
     ["--diff-attempts", "0..1", "--diff-hosts"], ["--diff", "r", "--diff-hosts"],
     ["--diff-attempts", "0..1", "--attempt", "1"], ["--all"], ["--rank", "-1"],
     ["--attempt", "x"], ["--diff-attempts", "0..99999999999999999999"]],
    ids=" ".join,
)
def test_calls_that_cannot_be_meant(
    headway: Headway, record: Recorder, arguments: list[str]
) -> None:
    record(("user", {"lr": 1}))
    result = headway("config", "r", *arguments, code=2)
    assert result.stderr.startswith("headway: ") and result.stderr.count("\n") == 1
