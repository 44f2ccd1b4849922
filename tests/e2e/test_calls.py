"""How the program is called: exit codes, hostile names, closed pipes, help and completions."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from conftest import EXAMPLES, SECONDS, Headway


@pytest.fixture
def with_run(headway: Headway) -> Headway:
    headway("import", EXAMPLES / "B.jsonl", "--run", "r")
    return headway


def test_exit_codes(with_run: Headway, tmp_path: Path) -> None:
    with_run("goodput", "r", code=0)
    unknown = with_run("goodput", "s", code=1)
    assert unknown.stdout == "" and unknown.stderr.startswith("headway: no run")
    with_run("goodput", "r", "--dir", tmp_path / "none", code=1)
    for wrong in (
        [],
        ["frobnicate"],
        ["runs"],
        ["runs", "frobnicate"],
        ["goodput"],
        ["goodput", "r", "s"],
        ["goodput", "r", "--frobnicate"],
        ["goodput", "r", "--window", "yesterday"],
        ["goodput", "r", "--last", "5"],
        ["goodput", "r", "--explain", "nonsense"],
        ["goodput", "r", "--accounting", "other"],
        ["goodput", "r", "--limit", "3"],
        ["goodput", "r", "--explain", ""],
        ["goodput", "r", "--project", ""],
        ["goodput", "r", "--project="],
        ["--project", "", "goodput", "r"],
        ["--dir"],
        ["export", "r", "--as", "csv", "--out", ""],
        ["runs", "list", "--order-by", ""],
        ["runs", "list", "--filter", ""],
        ["runs", "list", "--dir"],
        ["import", "x", "--run="],
        ["export", "r"],
        ["export", "r", "--as", "jsonl", "--last", "1h"],
        ["--frobnicate"],
        ["run", "true"],
        ["run", "--"],
    ):
        result = with_run(*wrong, code=2)
        assert result.stderr.startswith("headway: ") and result.stderr.count("\n") == 1, wrong
    (journal,) = with_run.files()
    journal.write_bytes(journal.read_bytes()[:100])
    with_run("import", journal, code=3)


def test_permission_denied(headway: Headway, tmp_path: Path) -> None:
    # A journal is never read through a link, whoever asks.
    headway("import", EXAMPLES / "B.jsonl", "--run", "r")
    (journal,) = headway.files()
    kept = tmp_path / "kept.hwj"
    journal.rename(kept)
    journal.symlink_to(kept)
    assert "symbolic link" in headway("runs", "list").stderr
    closed = tmp_path / "closed"
    closed.mkdir(mode=0)
    nobody = {"user": 65534} if os.geteuid() == 0 else {}  # root is denied nothing
    try:
        headway("--version", **nobody)
    except PermissionError:
        pytest.skip("the program lies where only root can run it")
    headway("runs", "list", "--dir", closed, code=5, **nobody)
    line = '{"ts": 1, "type": "heartbeat"}'
    headway("import", "-", "--run", "r", "--dir", closed, code=5, input=line, **nobody)


def test_links_below_the_data_directory_are_not_followed(headway: Headway, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    headway.data.mkdir()
    (headway.data / "journals").symlink_to(elsewhere)
    assert headway("import", EXAMPLES / "B.jsonl", "--run", "r", code=None).returncode != 0
    assert not list(elsewhere.iterdir())


def test_the_closest_command_is_named(headway: Headway) -> None:
    assert "did you mean goodput?" in headway("godput", "r", code=2).stderr
    assert "did you mean wasted_progress?" in headway(
        "goodput", "r", "--explain", "wasted_progres", code=2
    ).stderr
    # What is not there yet is simply not there.
    assert "Commands: goodput, watch, timeline" in headway("analyze", code=2).stderr


def test_messages_about_calls(with_run: Headway) -> None:
    for arguments, said in (
        (["--dir"], "--dir needs a value"),
        (["runs", "list", "--dir"], "--dir needs a value"),
        (["import", "x", "--run="], "--run "),
        (["foo"], 'no command "foo". Commands: '),
        (["runs"], 'say which "runs" command: runs list, '),
        (["runs", "lst"], 'no command "runs lst"; there are: runs list, '),
        (["goodput", "r", "--last", "1m", "--last", "2m"], "takes --last once, not 2 times"),
    ):
        told = with_run(*arguments, code=2).stderr
        assert said in told and "required" not in told, told
    path = "/proc/nonexistent/x"
    told = with_run("export", "r", "--as", "csv", "--out", path, code=None).stderr
    assert f"cannot create {path}: " in told


@pytest.mark.parametrize(
    "name",
    ["../x", "a/b", "/etc/passwd", "..", ".", ".lock", "naïve 漢字", "%2E", "-", "'; rm -rf ~; '",
     "x" * 256, "journals", "r@20260101T000000Z", "@1", "+1h"],
    ids=ascii,
)  # fmt: skip
def test_hostile_names(headway: Headway, name: str) -> None:
    headway("import", EXAMPLES / "B.jsonl", "--run", name)
    headway("import", EXAMPLES / "B.jsonl", "--run", "r", "--project", name)
    assert headway.json("runs", "list")[0]["name"] == name
    label = headway.json("runs", "list")[0]["run"]
    assert headway.json("goodput", label)["elapsed_ns"] == 160_000_000_000
    assert headway.json("goodput", "r", "--project", name)["project"] == name
    # Everything lies three levels below the data directory, and nothing beside it.
    for path in headway.files():
        assert len(path.relative_to(headway.data / "journals").parts) == 3
    assert {path.name for path in headway.folder.iterdir()} == {"data"}
    for command in (("goodput", label), ("runs", "list"), ("runs", "show", label)):
        assert "\x1b" not in headway(*command).stdout
    headway("runs", "delete", label, "--yes")
    assert headway.json("runs", "list") == []


@pytest.mark.parametrize("name", ["a b\n\tc", "a\x1b[31mb"], ids=ascii)
def test_hostile_names_that_others_gave(headway: Headway, name: str) -> None:
    entry = {"job_name": name, "job_start_time": 0, "job_end_time": 9}
    log = json.dumps({"insertId": "i", "jsonPayload": entry})
    headway("import", "-", "--as", "cloud-logging", input=log)
    label = headway.json("runs", "list")[0]["run"]
    assert headway.json("goodput", label)["run"] == name
    for command in (("goodput", label), ("runs", "list"), ("runs", "show", label)):
        assert "\x1b" not in headway(*command).stdout
    headway("runs", "delete", label, "--yes")
    assert headway.json("runs", "list") == []


@pytest.mark.parametrize("name", ["", "x" * 257, b"\xff\xfe"], ids=ascii)
def test_names_that_can_be_none(headway: Headway, name: str | bytes) -> None:
    headway("import", EXAMPLES / "B.jsonl", "--run", name, code=2)
    headway("run", "--run", name, "--", "true", code=None if name == "" else 2)
    assert not [path for path in headway.files() if "default/default" not in str(path)]


def test_names_that_are_given_to_nothing_new(headway: Headway) -> None:
    result = headway("run", "--run", "a\nb", "--", "true", code=2)
    assert result.stderr == "headway: the run's name must not hold control characters\n"


def test_a_message_is_one_line(headway: Headway) -> None:
    for arguments in (["goodput", "a\nb\tc\x1b[m"], ["a\nb"], ["import", "a\nb", "--run", "r"]):
        told = headway(*arguments, code=None).stderr
        assert "a\\x0ab" in told and told.count("\n") == 1, told


def test_where_journals_lie_that_were_never_copied(headway: Headway, tmp_path: Path) -> None:
    node = tmp_path / "node"
    headway("import", EXAMPLES / "B.jsonl", "--run", "r", "--dir", node)
    told = headway("goodput", "r", code=1).stderr
    assert f"read them with --dir {node}" in told
    assert "--dir" not in headway("goodput", "q", code=1).stderr
    headway("goodput", "r", "--dir", node)


def test_a_closed_pipe_is_no_error(with_run: Headway) -> None:
    lines = "".join(
        f'{{"ts": {n}, "type": "step_start", "step": {n}}}\n' for n in range(20_000)
    )
    with_run("import", "-", "--run", "long", input=lines)
    for name in ("export long --as jsonl", "steps long --json", "timeline long --json"):
        command = f"'{with_run.program}' {name} | head -n 1; echo ${{PIPESTATUS[0]}}"
        result = subprocess.run(
            ["bash", "-c", command], env=with_run.environment, capture_output=True, text=True,
            timeout=SECONDS, check=True,
        )  # fmt: skip
        assert result.stderr == ""
        assert result.stdout.splitlines()[-1] == "141", "ended by SIGPIPE, quietly"
        # Where SIGPIPE is ignored, too.
        result = subprocess.run(
            ["bash", "-c", f"trap '' PIPE; {command}"], env=with_run.environment,
            capture_output=True, text=True, timeout=SECONDS, check=True,
        )  # fmt: skip
        assert result.stderr == ""


def test_a_full_output_is_an_error(with_run: Headway) -> None:
    with open("/dev/full", "w") as full:
        result = subprocess.run(
            [with_run.program, "goodput", "r"], env=with_run.environment, stdout=full,
            stderr=subprocess.PIPE, text=True, timeout=SECONDS, check=False,
        )  # fmt: skip
    assert result.returncode == 4 and "standard output" in result.stderr
    with_run("export", "r", "--as", "csv", "--out", "/dev/full", code=4)


@pytest.mark.parametrize("closed", [">&-", "<&- >&-", "<&- >&- 2>&-"])
def test_a_closed_output_is_told(with_run: Headway, closed: str) -> None:
    def call(arguments: str) -> subprocess.CompletedProcess[str]:
        command = f"{with_run.program} {arguments} {closed}"
        return subprocess.run(
            ["bash", "-c", command], env=with_run.environment, capture_output=True, text=True,
            check=False,
        )  # fmt: skip

    told = call("goodput r")
    assert told.returncode == 4
    if "2>" not in closed:
        assert told.stderr == "headway: cannot write to standard output: it is closed\n"
    # What is written goes to no file that happens to have its number.
    assert call(f"import {EXAMPLES / 'B.jsonl'} --run q").returncode == 4
    assert with_run("goodput", "q", "--json").stderr == ""
    assert call("goodput r --json --seconds").returncode == 4


def test_options_may_stand_before_the_command(with_run: Headway, tmp_path: Path) -> None:
    assert with_run("--json", "goodput", "r").stdout.startswith("{")
    with_run("--dir", tmp_path / "none", "goodput", "r", code=1)
    with_run("--project=p", "goodput", "r", code=1)


def test_several_directories_are_read_together(with_run: Headway, tmp_path: Path) -> None:
    other = tmp_path / "other"
    with_run("import", EXAMPLES / "A.jsonl", "--run", "a", "--dir", other)
    both = ("--dir", with_run.data, "--dir", other)
    assert {run["run"] for run in with_run.json("runs", "list", *both)} == {"a", "r"}
    with_run("goodput", "a", *both)


def test_without_a_home_the_call_says_what_to_do(headway: Headway) -> None:
    environment = {k: v for k, v in headway.environment.items() if k not in ("HEADWAY_DIR", "HOME")}
    result = subprocess.run(
        [headway.program, "runs", "list"], env=environment, capture_output=True, text=True,
        timeout=SECONDS, check=False,
    )  # fmt: skip
    assert result.returncode == 1 and "HEADWAY_DIR" in result.stderr


def commands_of(headway: Headway) -> list[str]:
    """All commands, by the completion of the words before."""
    found = []
    for word in headway("__complete", "--", "").stdout.split():
        if word.startswith("-"):
            continue
        below = headway("__complete", "--", word, "").stdout.split()
        nested = word in (
            "runs", "tokens", "projects", "operations", "roles", "links", "events", "profiles",
            "nodes", "clusters", "locations",
        )  # fmt: skip
        found += [f"{word} {second}" for second in below] if nested else [word]
    return found


def test_every_command_has_help(headway: Headway) -> None:
    overview = headway("--help").stdout
    assert headway("help").stdout == overview
    commands = commands_of(headway)
    assert "runs prune" in commands and "goodput" in commands
    for command in commands:
        assert f"  {command} " in overview
        text = headway(*command.split(), "--help").stdout
        assert text.startswith(f"Usage: headway {command}")
        assert headway("help", *command.split()).stdout == text
        assert max(map(len, text.splitlines())) <= 100
    manual = headway("man").stdout
    for command in commands:
        assert f'.SS "headway {command}'.replace("-", "\\-") in manual
    assert headway("--version").stdout.startswith("headway ")


def test_completions(with_run: Headway) -> None:
    def complete(*words: str) -> list[str]:
        return with_run("__complete", "--", *words).stdout.splitlines()

    assert complete("goodput", "") == ["r"]
    assert "--explain" in complete("goodput", "--")
    assert "wasted_progress" in complete("goodput", "r", "--explain", "")
    assert complete("import", "") == [":file"]
    assert complete("goodput", "r", "--dir", "") == [":directory"]
    assert complete("export", "r", "--as", "") == ["jsonl", "csv", "perfetto", "tensorboard"]
    assert complete("run", "--", "python", "") == [":file"]
    for shell in ("bash", "zsh", "fish"):
        assert "headway __complete" in with_run("completion", shell).stdout
    with_run("completion", "tcsh", code=2)


def test_bash_completion_works(with_run: Headway) -> None:
    script = r"""
        eval "$(headway completion bash)"
        COMP_WORDS=(headway goodput --explain-); COMP_CWORD=2; _headway; echo "${COMPREPLY[@]}"
        COMP_WORDS=(headway ti); COMP_CWORD=1; _headway; echo "${COMPREPLY[@]}"
        COMP_WORDS=(headway runs show ''); COMP_CWORD=3; _headway; echo "${COMPREPLY[@]}"
    """
    folder = os.path.dirname(with_run.program)
    result = subprocess.run(
        ["bash", "-c", script],
        env={**with_run.environment, "PATH": f"{folder}:{os.environ['PATH']}"},
        capture_output=True, text=True, timeout=SECONDS, check=True,
    )  # fmt: skip
    assert result.stdout.splitlines() == ["--explain-difference", "timeline", "r"], result.stderr


def test_doctor_follows_the_environment(headway: Headway, tmp_path: Path) -> None:
    text = headway("doctor", "--no-python", env={"HEADWAY_FILE_SYSTEM": "network"}).stdout
    assert f"journals are written to {tmp_path / 'node'}" in " ".join(text.split())
    assert "be mapped in " + str(headway.data) not in " ".join(text.split())


def test_doctor(headway: Headway, tmp_path: Path) -> None:
    answer = headway.json("doctor", "--no-python")
    assert answer["ok"]
    names = {check["name"] for check in answer["checks"]}
    assert names >= {"directory", "owner", "writable", "fallocate", "free_space", "clock_drift",
                     "file_system", "rank", "job"}  # fmt: skip
    assert not headway.files()
    rank = headway.json("doctor", "--no-python", env={"RANK": "3", "WORLD_SIZE": "8"})
    assert any("rank 3 of 8" in check["message"] for check in rank["checks"])

    bad = headway("doctor", "--no-python", "--json", code=1, env={"HEADWAY_RESUME": "often"})
    assert '"ok": false' in bad.stdout
    text = headway("doctor", "--no-python", "--dir", "/dev/null/x", code=1).stdout
    assert "problem" in text and "HEADWAY_DIR" in text
    missing = headway("doctor", code=1, env={"HEADWAY_PYTHON": str(tmp_path / "python")})
    assert "HEADWAY_PYTHON" in missing.stdout
