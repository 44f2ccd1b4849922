"""`headway run`: exit codes, restarts, signals, standard error, and what is on record then."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from conftest import Headway, wait_until

QUICK = ("--backoff", "1ms")


def shell(script: str) -> tuple[str, ...]:
    return ("--", "bash", "-c", script)


def python(tmp_path: Path, text: str) -> tuple[str, ...]:
    """A program that records."""
    path = tmp_path / "train.py"
    path.write_text("import os, signal, sys, time\nimport headway\n" + textwrap.dedent(text))
    return ("--", sys.executable, str(path))


def attempts_of(headway: Headway, run: str) -> list[tuple[str, int | None, int | None]]:
    report = headway.json("goodput", run)
    return [(a["end_kind"], a["exit_status"], a["signal"]) for a in report["attempts"]]


def test_output_and_exit_codes_pass_through(headway: Headway) -> None:
    result = headway("run", "--run", "r", *shell("cat; echo err >&2"), input="in\n")
    assert result.stdout == "in\n" and result.stderr.startswith("err\n")
    assert headway("run", "--quiet", *shell("exit 3"), code=3).stderr == ""
    headway("run", *shell("kill -KILL $$"), code=128 + 9)
    headway("run", *shell("kill -SEGV $$"), code=128 + 11)
    assert "no-such-command" in headway("run", "--", "no-such-command", code=127).stderr
    headway("run", "--", "/etc/passwd", code=126)
    headway("run", "--", "true", "--run", "x", code=0)


def test_a_limit_on_the_size_of_files_ends_nobody(headway: Headway, tmp_path: Path) -> None:
    # 25 is SIGXFSZ: the command must not inherit that we ignore it.
    script = "set -- $(grep SigIgn /proc/self/status); echo $((0x$2 >> 24 & 1)); exit 3"
    for limit in (1, 300):  # in KiB: no journal at all, and one that can't grow
        result = subprocess.run(
            ["bash", "-c", f'ulimit -f {limit}; "$@"', "-", headway.program, "run", *shell(script)],
            env=headway.environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert result.returncode == 3 and result.stdout == "0\n", result.stderr
    lines = "".join(f'{{"ts": {n}, "type": "step_start", "step": {n}}}\n' for n in range(20_000))
    headway("import", "-", "--run", "r", input=lines)
    out = tmp_path / "out.jsonl"
    export = ["export", "r", "--as", "jsonl", "--out", out]
    for arguments in (export, ["import", "-", "--run", "q"]):
        result = subprocess.run(
            ["bash", "-c", 'ulimit -f 1; "$@"', "-", headway.program, *arguments],
            env=headway.environment, capture_output=True, text=True, input=lines, check=False,
        )  # fmt: skip
        assert result.returncode == 4 and "File too large" in result.stderr, result.stderr
    assert not list(tmp_path.glob("out*"))


def test_ranks_without_a_job_id_are_warned(headway: Headway) -> None:
    def told(**env: str) -> str:
        return headway("run", "--quiet", "--", "true", env=env).stderr

    world = {"RANK": "0", "WORLD_SIZE": "3"}
    assert told(**world).count("HEADWAY_JOB_ID") == 1
    assert told(**{**world, "RANK": "1"}) == "", "one of them is enough"
    assert told(RANK="0", WORLD_SIZE="1") == told() == ""
    assert told(**world, HEADWAY_JOB_ID="j") == told(**world, HEADWAY_RUN_UID="1" * 32) == ""


def test_ranks_with_a_job_id_and_an_attempt_key_meet(headway: Headway) -> None:
    common = {"WORLD_SIZE": "3", "HEADWAY_JOB_ID": "j", "HEADWAY_ATTEMPT_KEY": "first"}
    ranks = [
        headway.start("run", "--run", "r", "--", "true", env={**common, "RANK": str(rank)})
        for rank in range(3)
    ]
    assert [rank.wait() for rank in ranks] == [0, 0, 0]
    assert len(headway.json("runs", "list")) == 1
    assert len(headway.json("goodput", "r")["attempts"]) == 1


def test_the_last_line_says_where_the_report_is(headway: Headway, tmp_path: Path) -> None:
    told = headway("run", "--run", "a b", "--", "true").stderr
    assert told == "headway: recorded as run a b; its report: headway goodput 'a b'\n"
    other = tmp_path / "other place"
    place = ("--dir", other, "--project", "p")
    told = headway("run", "--run", "r", *place, "--", "false", code=1).stderr
    command = shlex.split(told.partition("report: ")[2])
    assert command[0] == "headway"
    assert headway.json(*command[1:])["project"] == "p"
    assert "report" not in headway("run", "-q", "--", "true").stderr
    assert "report" not in headway("run", "--", "no-such-command", code=127).stderr
    assert headway("run", "--", "true", env={"RANK": "1", "WORLD_SIZE": "2"}).stderr == ""


def test_a_record_that_was_deleted_has_no_report(headway: Headway) -> None:
    script = ('until ls "$HEADWAY_DIR"/*/*/*/*.hwj; do sleep 0.01; done; '
              'rm -rf "$HEADWAY_DIR"; exit 4')  # fmt: skip
    told = headway("run", "--run", "r", "--sync", "0s", "--no-stderr-tail",
                   *shell(f"exec 2>/dev/null; {script}"), code=4).stderr  # fmt: skip
    assert told == "headway: what was recorded of run r has been deleted meanwhile\n"


def test_a_supervisor_inside_another_adds_nothing(headway: Headway, tmp_path: Path) -> None:
    """The records go to the run of the one further out, whatever the one inside was told."""
    command = python(tmp_path, """
        run = headway.init()
        attempt = int(os.environ["HEADWAY_ATTEMPT"])
        run.step(attempt)
        print("last words", file=sys.stderr)
        run.finish(status=0 if attempt else 1)
        sys.exit(0 if attempt else 1)
    """)  # fmt: skip
    inner = (headway.program, "run", "--run", "inner", "--project", "q", "--dir", tmp_path / "no")
    result = headway("run", "--run", "outer", "--restarts", "2", *QUICK, "--", *inner, *command)
    assert result.stderr.count("this is part of run outer, whose supervisor records") == 2
    assert "goodput inner" not in result.stderr
    assert result.stderr.count("recorded as run outer; its report: headway goodput outer") == 1
    report = headway.json("goodput", "outer")
    assert report["state"] == "completed" and "clock_overlap" not in str(report["notes"])
    assert [status for _, status, _ in attempts_of(headway, "outer")] == [1, 0]
    tails = headway.json("runs", "show", "outer")["stderr_tails"]
    assert len(tails) == 2 and "last words" in tails[0]["text"]
    assert [run["name"] for run in headway.json("runs", "list", "--all-projects")] == ["outer"]
    assert not (tmp_path / "no").exists()
    assert "has not kept all" not in result.stderr, "it does not wait for the one further out"


def test_restarts_of_a_supervisor_inside_another(headway: Headway, tmp_path: Path) -> None:
    """Each start is an attempt, and there is none besides."""
    again = tmp_path / "again"
    command = python(tmp_path, f"""
        first = not os.path.exists({str(again)!r})
        open({str(again)!r}, "w").close()
        run = headway.init()
        run.step(1 if first else 2)
        os._exit(1 if first else 0)
    """)  # fmt: skip
    inner = (headway.program, "run", "-q", "--restarts", "1", *QUICK)
    headway("run", "--run", "outer", "--", *inner, *command)
    attempts = headway.json("goodput", "outer")["attempts"]
    assert [(a["first_step"], a["last_step"]) for a in attempts] == [(1, 1), (2, 2)]


def test_a_run_that_an_orchestrator_settled_is_the_one_that_is_named(headway: Headway) -> None:
    settled = {"HEADWAY_RUN_UID": "ab" * 16, "HEADWAY_RUN": "settled"}
    told = headway("run", "--run", "other", "--", "true", env=settled).stderr
    assert told == "headway: recorded as run settled; its report: headway goodput settled\n"
    assert len(attempts_of(headway, "settled")) == 1


def test_a_child_that_records_nothing_is_an_attempt(headway: Headway) -> None:
    headway("run", "--run", "r", "--restarts", "1", *QUICK, *shell("exit 7"), code=7)
    assert attempts_of(headway, "r") == [("exit", 7, None), ("exit", 7, None)]
    report = headway.json("goodput", "r")
    assert report["state"] == "failed" and len(report["disruptions"]) == 2
    headway("run", "--run", "s", *shell("kill -KILL $$"), code=137)
    assert attempts_of(headway, "s") == [("exit", None, 9)]
    headway("run", "--run", "c", "--", "true")
    assert headway.json("goodput", "c")["state"] == "completed"


def test_what_cannot_be_run_leaves_nothing(headway: Headway) -> None:
    headway("run", "--run", "r", "--", "no-such-command", code=127)
    assert not headway.files()


def test_restarts_until_it_ends_well(headway: Headway, tmp_path: Path) -> None:
    count = tmp_path / "count"
    script = f'echo x >> {count}; test $(wc -l < {count}) -ge 3 || exit 1'
    result = headway("run", "--run", "r", "--restarts", "5", *QUICK, *shell(script))
    assert count.read_text() == "x\n" * 3
    assert "(4 restarts left)" in result.stderr
    assert [status for _, status, _ in attempts_of(headway, "r")] == [1, 1, 0]
    # Never after a clean end.
    headway("run", "--run", "q", "--restarts", "5", *shell(f"echo y >> {count}"))
    assert count.read_text().count("y") == 1


def test_records_and_supervisor_meet(headway: Headway, tmp_path: Path) -> None:
    command = python(tmp_path, """
        run = headway.init(project="ignored", run="ignored")
        attempt = int(os.environ["HEADWAY_ATTEMPT"])
        assert run.continued == (attempt > 0)
        for step in range(3 * attempt, 3 * attempt + 5):
            run.step(step)
        if attempt < 2:
            os.kill(os.getpid(), signal.SIGKILL)
        run.finish()
    """)  # fmt: skip
    headway("run", "--run", "r", "--project", "p", "--restarts", "5", *QUICK, *command)
    report = headway.json("goodput", "r", "--project", "p")
    assert report["state"] == "completed"
    assert [(a["first_step"], a["last_step"], a["signal"]) for a in report["attempts"]] == [
        (0, 4, 9), (3, 7, 9), (6, 10, None),
    ]  # fmt: skip
    assert [(d["step_reached"], d["resumed_from"]) for d in report["disruptions"]] == [
        (4, 3), (7, 6),
    ]  # fmt: skip
    assert report["notes"] == []


def test_the_environment_of_the_child(headway: Headway, tmp_path: Path) -> None:
    script = "env | grep ^HEADWAY_ | sort; pwd"
    text = headway("run", "--run", "r", *shell(script), cwd=tmp_path,
                   env={"HEADWAY_DIR": "relative"}).stdout  # fmt: skip
    found = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
    assert found["HEADWAY_DIR"] == str(tmp_path / "relative")
    assert found["HEADWAY_RUN"] == "r" and found["HEADWAY_ATTEMPT"] == "0"
    assert len(found["HEADWAY_RUN_UID"]) == 32 and found["HEADWAY_ATTEMPT_KEY"].endswith("#0")
    # Supervisors of one job use one key.
    slurm = {"SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0", "SLURM_RESTART_COUNT": "2"}
    keys = {
        headway("run", "--run", "j", *shell("echo $HEADWAY_ATTEMPT_KEY $HEADWAY_ATTEMPT "
                "$HEADWAY_RUN_UID"), env={**slurm, "SLURM_PROCID": str(rank)}).stdout
        for rank in range(2)
    }  # fmt: skip
    assert len(keys) == 1 and " 2 " in keys.pop()


def test_a_crash_loop_is_named(headway: Headway, tmp_path: Path) -> None:
    command = python(tmp_path, """
        run = headway.init()
        run.step(0); run.step(1)
        sys.exit(1)
    """)  # fmt: skip
    result = headway("run", "--run", "r", "--restarts", "3", *QUICK, *command, code=1)
    assert result.stderr.count("crash loop: 3 restarts in a row without a new step") == 1
    assert "the last one is 1" in result.stderr
    assert "crash loop" in headway("goodput", "r").stdout


def test_standard_error_is_kept_and_masked(headway: Headway) -> None:
    secret = "hf_" + "a" * 34
    result = headway("run", "--run", "r", "--mask", "id [0-9]+",
                     *shell(f"echo 'token={secret} id 42' >&2; exit 1"), code=1)  # fmt: skip
    assert secret in result.stderr, "what people see is untouched"
    (tail,) = headway.json("runs", "show", "r")["stderr_tails"]
    assert tail["text"] == "token=[masked] [masked]\n"
    assert "token=[masked]" in headway("runs", "show", "r").stdout
    for path in headway.files():
        assert secret.encode() not in path.read_bytes()
    headway("run", "--run", "q", "--no-stderr-tail", *shell("echo x >&2; exit 1"), code=1)
    assert headway.json("runs", "show", "q")["stderr_tails"] == []
    assert "--mask" in headway("run", "--mask", "(", "--", "true", code=2).stderr


def test_a_mask_without_end_holds_up_nothing(headway: Headway) -> None:
    """Then nothing is kept, rather than what was not masked."""
    script = "for i in 1 2 3; do head -c 40000 /dev/zero | tr '\\0' x; echo; done >&2; exit 3"
    result = headway("run", "-q", "--run", "r", "--settle", "200ms",
                     "--mask", "(a*)*(b*)*$|(x+x+)+y", *shell(script), code=3)  # fmt: skip
    told = "masking standard error with --mask: not done within 0.100 s; nothing of it is kept"
    assert told in result.stderr
    assert headway.json("runs", "show", "r")["stderr_tails"] == []
    assert attempts_of(headway, "r") == [("exit", 3, None)]


def test_the_last_64_kib_are_kept(headway: Headway) -> None:
    script = "for i in $(seq 40000); do echo line $i; done >&2; printf 'no line end' >&2"
    result = headway("run", "--quiet", "--run", "r", *shell(script))
    assert result.stderr.count("\n") == 40000, "nothing is lost on the way"
    (tail,) = headway.json("runs", "show", "r")["stderr_tails"]
    assert len(tail["text"].encode()) == 65536
    assert tail["text"].endswith("line 40000\nno line end")
    # A secret that the beginning of the tail would cut in two is not kept in part.
    for filler in range(65536 - 40, 65536, 7):
        script = f"echo token={'s' * 40} >&2; head -c {filler} /dev/zero | tr '\\0' x >&2"
        headway("run", "--run", "cut", *shell(script))
        assert "sss" not in headway.json("runs", "show", "cut")["stderr_tails"][-1]["text"]


def test_binary_output_is_untouched(headway: Headway) -> None:
    data = os.urandom(300_000)
    result = subprocess.run(
        [headway.program, "run", "--run", "r", *shell("tee /dev/stderr")], input=data,
        env=headway.environment, capture_output=True, timeout=60, check=True,
    )  # fmt: skip
    assert result.stdout == data and result.stderr.startswith(data)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signals_to_stop_are_passed_on(headway: Headway, number: signal.Signals) -> None:
    script = "echo ready; exec sleep 600"
    child = headway.start("run", "-q", "--run", "r", "--restarts", "3", *QUICK, *shell(script))
    assert child.stdout is not None and child.stdout.readline() == "ready\n"
    child.send_signal(number)
    assert child.wait(60) == 128 + number
    assert child.communicate()[1] == "", "it was told to stop: nothing is restarted"
    assert attempts_of(headway, "r") == [("exit", None, int(number))]


def test_a_child_may_end_well_when_told_to_stop(headway: Headway) -> None:
    script = "trap 'echo saved; exit 0' TERM; echo ready; while :; do sleep 0.01; done"
    child = headway.start("run", "--run", "r", *shell(script))
    assert child.stdout is not None and child.stdout.readline() == "ready\n"
    child.terminate()
    assert child.wait(60) == 0
    assert child.communicate()[0] == "saved\n"
    report = headway.json("goodput", "r")
    assert len(report["disruptions"]) == 1, "it was interrupted all the same"


def test_what_does_not_stop_is_killed(headway: Headway) -> None:
    script = "trap '' TERM; echo ready; while :; do sleep 0.01; done"
    child = headway.start("run", "--run", "r", "--grace", "50ms", *shell(script))
    assert child.stdout is not None and child.stdout.readline() == "ready\n"
    child.terminate()
    assert child.wait(60) == 128 + 9
    assert "killing it" in child.communicate()[1]


def test_other_signals_reach_the_child(headway: Headway) -> None:
    script = "trap 'echo usr1; exit 5' USR1; echo ready; while :; do sleep 0.01; done"
    child = headway.start("run", "--run", "r", *shell(script))
    assert child.stdout is not None and child.stdout.readline() == "ready\n"
    child.send_signal(signal.SIGUSR1)
    assert child.wait(60) == 5
    assert child.communicate()[0] == "usr1\n"


@pytest.mark.parametrize("end", ["ok", "kill"])
def test_a_launcher_below_that_starts_over_makes_attempts(
    headway: Headway, tmp_path: Path, end: str
) -> None:
    program = python(tmp_path, """
        number = int(sys.argv[1])
        run = headway.init(heartbeat=False)
        for step in range(5):
            run.step(step + (5 * number if sys.argv[2] == "ok" else 0))
            time.sleep(0.01)
        if sys.argv[2] == "kill" and number < 2:
            os.kill(os.getpid(), signal.SIGKILL)
        run.finish()
        """)  # fmt: skip
    words = " ".join(map(shlex.quote, program[1:]))
    loop = f"for i in 0 1 2; do {words} $i {end}; sleep 1.5; done"
    headway("run", "--run", "r", *shell(loop))
    report = headway.json("goodput", "r")
    assert report["state"] == "completed"
    assert report["steps"]["last_step"] == (14 if end == "ok" else 4)
    ended = ["clean"] * 3 if end == "ok" else ["lost", "lost", "clean"]
    assert [a["end_kind"] for a in report["attempts"]] == ended
    assert report["attempts"][2]["exit_status"] == 0
    spans = {c["category"]: c["ns"] for c in report["categories"]}
    # The supervisor lives, and no attempt does: the launcher's pauses are nobody's life.
    assert spans["infrastructure_recovery"] > 2 * 1.5e9
    assert "several_leads" not in [note["name"] for note in report["notes"]]


def ranks(tmp_path: Path) -> str:
    """A shell's `train RANK WORLD_SIZE FIRST STEPS END`; a step lasts 20 ms."""
    program = python(tmp_path, """
        first, steps, end = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
        run = headway.init(heartbeat=False)
        for step in range(first, first + steps):
            run.step(step)
            time.sleep(0.02)
        if end == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        run.finish()
        """)  # fmt: skip
    words = " ".join(map(shlex.quote, program[1:]))
    return f'train() {{ RANK=$1 WORLD_SIZE=$2 {words} "${{@:3}}"; }}; '


def test_a_rank_that_comes_again_leaves_rank_0_its_timeline(
    headway: Headway, tmp_path: Path
) -> None:
    again = "train 1 2 0 5 kill; train 1 2 5 5 kill; train 1 2 10 5 ok"
    train = ranks(tmp_path)
    journal = '"$HEADWAY_DIR"/journals/default/beside/*-r0-*'
    there = f"until ls {journal} &> /dev/null; do sleep 0.02; done"
    headway("run", "--run", "beside",
            *shell(f"{train} train 0 2 0 60 ok & {there}; {again}; wait"))  # fmt: skip
    headway("run", "--run", "after", *shell(f"{train} train 0 2 0 20 ok; {again}"))
    for name, last in (("beside", 59), ("after", 19)):
        report = headway.json("goodput", name)
        assert [a["last_step"] for a in report["attempts"]] == [last], name
        assert report["steps"]["count"] == last + 1 and report["state"] == "completed"
        spans = {c["category"]: c["ns"] for c in report["categories"]}
        assert "wasted_progress" not in spans and "infrastructure_recovery" not in spans


@pytest.mark.parametrize("order", ["0 1 2", "2 1 0", "1 2 0"])
def test_ranks_that_are_started_again_meet_in_any_order(
    headway: Headway, tmp_path: Path, order: str
) -> None:
    # The world grows: rank 2 is new.
    script = (f"{ranks(tmp_path)} for k in 0 1; do train $k 2 0 10 kill & done; wait; "
              f"for k in {order}; do train $k 3 8 120 ok & sleep 0.2; done; wait")  # fmt: skip
    headway("run", "--run", "r", *shell(script))
    report = headway.json("goodput", "r")
    steps = [(a["end_kind"], a["first_step"], a["last_step"]) for a in report["attempts"]]
    assert steps == [("lost", 0, 9), ("clean", 8, 127)]
    assert [note["code"] for note in report["notes"]] == []


def test_a_launchers_pause_is_no_progress(headway: Headway, tmp_path: Path) -> None:
    train = "train 0 1 0 10 kill; sleep 2; "
    headway("run", "--run", "well", *shell(ranks(tmp_path) + train + "exit 0"))
    report = headway.json("goodput", "well")
    spans = {c["category"]: c["ns"] for c in report["categories"]}
    assert report["state"] == "completed" and spans["productive"] < 1.5e9
    assert "step_stall" not in spans and "infrastructure_recovery" not in spans
    again = 'if [ "$HEADWAY_ATTEMPT" = 0 ]; then ' + train + "exit 9; fi; train 0 1 10 10 ok"
    headway("run", "--run", "again", "--restarts", "1", *QUICK, *shell(ranks(tmp_path) + again))
    report = headway.json("goodput", "again")
    spans = {c["category"]: c["ns"] for c in report["categories"]}
    assert spans["infrastructure_recovery"] > 1.9e9 and "step_stall" not in spans
    assert [a["exit_status"] for a in report["attempts"]] == [9, 0]


def test_a_process_without_a_rank_is_no_successor(headway: Headway, tmp_path: Path) -> None:
    program = python(tmp_path, """
        import subprocess
        run = headway.init(heartbeat=False)
        run.step(0)
        helper = "import headway; headway.init(heartbeat=False).step(0)"
        for _ in range(2):
            subprocess.run([sys.executable, "-c", helper], check=True,
                           env={**os.environ, "RANK": "", "WORLD_SIZE": ""})
        run.step(1)
        run.finish()
        """)  # fmt: skip
    headway("run", "--run", "r", *program, env={"RANK": "0", "WORLD_SIZE": "1"})
    report = headway.json("goodput", "r")
    assert [a["last_step"] for a in report["attempts"]] == [1]


def test_what_ended_well_is_complete_though_its_process_lingers(
    headway: Headway, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    child = headway.start("run", "--run", "r", *python(tmp_path, f"""
        run = headway.init()
        run.step(0)
        run.finish()
        print("finished", flush=True)
        while not os.path.exists({str(gate)!r}):
            time.sleep(0.01)
        sys.exit(5)
        """))  # fmt: skip
    assert child.stdout is not None and child.stdout.readline() == "finished\n"
    assert headway.json("goodput", "r")["state"] == "completed"
    gate.touch()
    assert child.wait(60) == 5
    child.communicate()
    assert headway.json("goodput", "r")["attempts"][0]["exit_status"] == 5


@pytest.mark.parametrize("name", ["HEADWAY_RUN_UID", "HEADWAY_RESUME", "HEADWAY_RUN"])
def test_an_environment_that_means_nothing_keeps_nobody_from_training(
    headway: Headway, name: str
) -> None:
    script = f'echo "${name}" $HEADWAY_ATTEMPT; exit 3'
    result = headway("run", "--restarts", "1", *QUICK, *shell(script), env={name: "a\nb"}, code=3)
    assert result.stdout == "a\nb 0\na\nb 1\n"
    assert "warning: nothing is recorded: " in result.stderr
    assert "no runs" in headway("runs", "list").stdout
    headway("run", "--run", "a\nb", "--", "true", code=2)


def test_what_cannot_be_started_leaves_nothing(headway: Headway) -> None:
    headway("run", "--run", "r", "--", "/no/such/command", code=127)
    assert "no runs" in headway("runs", "list").stdout
    assert not list(headway.files())


def test_a_supervised_run_is_not_hidden_by_its_export(headway: Headway, tmp_path: Path) -> None:
    headway("run", "--run", "r", *python(tmp_path, "headway.init().step(0)"))
    events = tmp_path / "r.jsonl"
    headway("export", "r", "--as", "jsonl", "--out", events)
    refused = headway("import", events, "--run", "r", code=1)
    assert "was recorded here" in refused.stderr
    headway("import", events, "--run", "s")


def test_told_to_stop_while_it_waits(headway: Headway) -> None:
    child = headway.start("run", "--run", "r", "--restarts", "3", "--backoff", "600s",
                          *shell("exit 4"))  # fmt: skip
    assert child.stderr is not None and "starting it again" in child.stderr.readline()
    assert headway.json("goodput", "r")["state"] == "restarting"
    child.terminate()
    assert child.wait(60) == 4
    child.communicate()
    assert headway.json("goodput", "r")["state"] == "failed"


def test_that_it_waited_is_known_later(headway: Headway) -> None:
    child = headway.start("run", "--run", "r", "--restarts", "3", "--backoff", "600s",
                          *shell("exit 4"))  # fmt: skip
    assert child.stderr is not None and "starting it again" in child.stderr.readline()

    def beats() -> list[int]:
        lines = headway("export", "r", "--as", "jsonl").stdout.splitlines()
        return [e["ts_ns"] for e in map(json.loads, lines) if e["type"] == "heartbeat"]

    wait_until(beats, "a sign of life while it waits")
    as_of = f"@{time.time_ns()}"
    then = headway.json("goodput", "r", "--as-of", as_of)
    assert then["state"] == "restarting"
    wait_until(lambda: beats()[-1] > int(as_of[1:]), "another one")
    child.terminate()
    assert child.wait(60) == 4
    child.communicate()
    assert headway.json("goodput", "r")["state"] == "failed"
    assert headway.json("goodput", "r", "--as-of", as_of) == then


SILENT = """
import headway, os, signal, sys, time
run = headway.init(heartbeat=%s)
run.step(0)
open(sys.argv[1], "w").write(str(os.getpid()))
%s
"""
STOP = "os.kill(os.getpid(), signal.SIGSTOP)"


@pytest.mark.parametrize(
    ("heartbeat", "then", "launcher"),
    [
        (False, "time.sleep(60)", ""),
        (True, STOP, ""),
        (True, "time.sleep(60)", "sh -c '\"$0\" \"$@\"; sleep 3; exit 1'"),
        (False, "time.sleep(60)", "sh -c '\"$0\" \"$@\"; sleep 3; exit 1'"),
        (False, "time.sleep(60)", "headway run --quiet --restarts 0 --"),
    ],
    ids=["silent", "stopped", "below a shell", "silent below a shell", "nested"],
)
def test_what_was_told_live_is_told_later(
    headway: Headway, tmp_path: Path, heartbeat: bool, then: str, launcher: str
) -> None:
    """While it lives, after it has died, and while a launcher goes on."""
    train = tmp_path / "train.py"
    train.write_text(SILENT % (heartbeat, then))
    ready = tmp_path / "ready"
    command = [*shlex.split(launcher), sys.executable, str(train), str(ready)]
    if command[0] == "headway":
        command[0] = headway.program
    run = headway.start("run", "--run", "r", "--backoff", "2s", "--restarts", "1", "--", *command)
    wait_until(lambda: ready.exists() and ready.read_text() != "", "the first step")
    told: list[str] = []

    def ask() -> str:
        told.append(headway("goodput", "r", "--json").stdout)
        return json.loads(told[-1])["state"]

    def recorded(kind: str) -> list[dict[str, object]]:
        events = headway("export", "r", "--as", "jsonl").stdout.splitlines()
        return [e for e in map(json.loads, events) if e["type"] == kind]

    def beats() -> int:
        return sum("rank" not in e or e["rank"] < 0 for e in recorded("heartbeat"))

    seen = beats()
    for later in (1, 3):  # of its supervisor
        wait_until(lambda later=later: beats() >= seen + later, "signs of life")
        assert ask() == "running"
    os.kill(int(ready.read_text()), signal.SIGKILL)
    for kind in ("process_end", "exit"):
        wait_until(lambda kind=kind: recorded(kind) != [], kind)
        assert ask() == "restarting"
    ready.unlink()
    wait_until(lambda: ready.exists() and ready.read_text() != "", "the restart")
    run.send_signal(signal.SIGTERM)
    with contextlib.suppress(ProcessLookupError):  # a stopped one does not end by itself
        os.kill(int(ready.read_text()), signal.SIGKILL)
    run.communicate(timeout=60)
    for text in told:
        as_of = json.loads(text)["as_of"]
        later = headway("goodput", "r", "--json", "--as-of", as_of).stdout
        assert later.splitlines() == text.splitlines()


def test_only_the_supervisor_of_rank_0_tells_that_it_waits(headway: Headway) -> None:
    """The word of any other does not end the attempt: its beats would keep the attempt alive."""
    job = {"HEADWAY_JOB_ID": "j", "HEADWAY_ATTEMPT_KEY": "j/0", "HEADWAY_WORLD_SIZE": "2"}
    children = [
        headway.start("run", "--run", "r", "--restarts", "3", "--backoff", "600s",
                      *shell("exit 4"), env={**job, "HEADWAY_RANK": str(rank)})
        for rank in (1, 0)
    ]  # fmt: skip
    for child in children:
        assert child.stderr is not None and "starting it again" in child.stderr.readline()

    def beats(rank: int) -> list[dict[str, object]]:
        lines = headway("export", "r", "--as", "jsonl").stdout.splitlines()
        said = [e for e in map(json.loads, lines) if e.get("rank", 0) == rank]
        assert any(e["type"] == "exit" for e in said), lines
        return [e for e in said if e["type"] == "heartbeat"]

    wait_until(lambda: len(beats(0)) >= 2, "two signs of life while it waits")
    assert not beats(1)
    for child in children:
        child.terminate()
        assert child.wait(60) == 4
        child.communicate()


def test_what_a_crash_leaves_running_is_ended(headway: Headway, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    script = f"sleep 600 & echo $! >> {pids}; exit 1"
    headway("run", "--run", "r", "--restarts", "1", *QUICK, *shell(script), code=1)
    for pid in map(int, pids.read_text().split()):
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    # After a clean end it is wanted.
    script = "exec >/dev/null 2>&1; sleep 600 & echo $! > " + str(pids)
    headway("run", "--run", "c", *shell(script))
    os.kill(int(pids.read_text()), signal.SIGKILL)


def test_the_child_outlives_a_killed_supervisor(headway: Headway, tmp_path: Path) -> None:
    go, done = tmp_path / "go", tmp_path / "done"
    script = (f"echo $$; until test -e {go}; do sleep 0.01; done; "
              f"for i in $(seq 20000); do echo line $i >&2; done; echo end > {done}")  # fmt: skip
    log = (tmp_path / "stderr").open("w")
    child = headway.start("run", "--run", "r", *shell(script), stderr=log)
    assert child.stdout is not None
    pid = int(child.stdout.readline())
    child.kill()
    child.wait(60)
    os.kill(pid, 0)
    go.touch()
    wait_until(done.exists, "the child comes to its end, with much to say on standard error")
    wait_until(lambda: (tmp_path / "stderr").read_text().endswith("line 20000\n"), "its last line")
    child.communicate()


def test_heartbeats_show_that_it_lives(headway: Headway) -> None:
    child = headway.start("run", "--run", "r", "--", "sleep", "600")
    wait_until(
        lambda: headway.files()
        and '"type":"heartbeat"' in headway("export", "r", "--as", "jsonl").stdout,
        "a heartbeat",
    )
    assert headway.json("runs", "list")[0]["live"]
    child.terminate()
    assert child.wait(60) == 128 + 15
    child.communicate()


def test_a_terminal_is_the_childs(headway: Headway) -> None:
    """Ctrl-C on a terminal reaches the child, and means that nothing is to be restarted."""
    import pty

    pid, master = pty.fork()
    if pid == 0:
        os.execve(
            headway.program,
            ["headway", "run", "--run", "r", "--restarts", "3", *QUICK,
             *shell("test -t 0 && read line && echo got $line && exec sleep 600")],
            headway.environment,
        )  # fmt: skip
    os.write(master, b"hello\n")
    seen = b""
    while b"got hello" not in seen:
        seen += os.read(master, 4096)
    os.write(master, b"\x03")
    _, status = os.waitpid(pid, 0)
    os.close(master)
    assert os.waitstatus_to_exitcode(status) == 128 + signal.SIGINT
    assert attempts_of(headway, "r") == [("exit", None, int(signal.SIGINT))]


def on_a_terminal(headway: Headway, *args: object) -> tuple[int, int]:
    """The process and the other end of its terminal."""
    import pty

    pid, master = pty.fork()
    if pid == 0:
        os.execve(headway.program, ["headway", *map(str, args)], headway.environment)
    return pid, master


def read_until(master: int, text: bytes) -> bytes:
    """What a terminal says up to `text`, or all of it when `text` is empty."""
    seen = b""
    while not text or text not in seen:
        try:
            data = os.read(master, 4096)
        except OSError:  # the last process has gone
            data = b""
        if not data:
            assert not text, seen
            break
        seen += data
    return seen


@pytest.mark.parametrize("status", [1, 0, 42])
def test_ctrl_c_stops_also_a_program_that_handles_it(headway: Headway, status: int) -> None:
    script = f"trap 'exit {status}' INT; echo ready; while :; do sleep 0.01; done"
    pid, master = on_a_terminal(
        headway, "run", "--run", "r", "--restarts", "3", *QUICK, *shell(script)
    )
    read_until(master, b"ready")
    os.write(master, b"\x03")
    seen = read_until(master, b"")
    _, ended = os.waitpid(pid, 0)
    os.close(master)
    assert os.waitstatus_to_exitcode(ended) == status, seen
    assert b"starting it again" not in seen
    assert attempts_of(headway, "r") == [("exit" if status else "clean", status, None)]


def test_an_interrupt_that_is_no_key_is_a_crash(headway: Headway, tmp_path: Path) -> None:
    """What a program sends its own group is its own affair; its end counts as any other."""
    script = (f"test -e {tmp_path}/again && exit 0; touch {tmp_path}/again; "
              "trap 'exit 7' INT; kill -INT 0; sleep 600")  # fmt: skip
    pid, master = on_a_terminal(
        headway, "run", "--run", "r", "--restarts", "3", *QUICK, *shell(script)
    )
    seen = read_until(master, b"")
    _, ended = os.waitpid(pid, 0)
    os.close(master)
    assert os.waitstatus_to_exitcode(ended) == 0 and b"starting it again" in seen
    assert attempts_of(headway, "r") == [("exit", 7, None), ("clean", 0, None)]


def test_training_goes_on_without_a_data_directory(headway: Headway, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = headway("run", "--dir", tmp_path / "file", *shell("echo trained; exit 6"), code=6)
    assert result.stdout == "trained\n"
    assert "records nothing" in result.stderr


def test_the_event_file_of_a_run_gives_the_same_report(headway: Headway, tmp_path: Path) -> None:
    command = python(tmp_path, """
        run = headway.init()
        for step in range(4):
            run.step(step)
            with run.span("eval"):
                time.sleep(0.002)
        os.kill(os.getpid(), signal.SIGKILL)
    """)  # fmt: skip
    headway("run", "--run", "r", "--restarts", "1", *QUICK, *command, code=137)
    lost = tmp_path / "lost.py"
    lost.write_text("import headway, os\nheadway.init(run='r', resume='must').step(9)\nos._exit(1)")
    subprocess.run([sys.executable, lost], env=headway.environment, check=False)
    text = headway("export", "r", "--as", "jsonl").stdout
    other = str(tmp_path / "other")
    headway("import", "-", "--run", "r", "--dir", other, input=text)
    report = headway.json("goodput", "r")
    assert report["state"] == "interrupted" and len(report["attempts"]) == 3
    assert headway.json("goodput", "r", "--dir", other) == report
