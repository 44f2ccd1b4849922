"""Reading foreign data in."""

from __future__ import annotations

import gzip
import json
import lzma
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import EXAMPLES, ROOT, Headway, wait_until

NAMES = [path.stem for path in EXAMPLES.glob("*.jsonl")]


def events(*lines: dict[str, object]) -> str:
    return "".join(json.dumps(line) + "\n" for line in lines)


def simple_run(start: int = 0) -> str:
    return events(
        {"ts": start, "type": "job_start"},
        {"ts": start + 1, "type": "step_start", "step": 0},
        {"ts": start + 2, "type": "step_start", "step": 1},
        {"ts": start + 3, "type": "job_end"},
    )


def test_importing_again_changes_nothing(headway: Headway) -> None:
    first = headway("import", EXAMPLES / "B.jsonl", "--run", "r")
    assert first.stdout.startswith("imported run r: 17 records in 1 journal")
    before = {path: path.read_bytes() for path in headway.files()}
    again = headway("import", EXAMPLES / "B.jsonl", "--run", "r")
    assert again.stdout.startswith("unchanged: run r is there already")
    assert {path: path.read_bytes() for path in headway.files()} == before
    assert headway.json("import", EXAMPLES / "B.jsonl", "--run", "r")["runs"][0]["unchanged"]
    # Under another name, or in another project, it is another run.
    headway("import", EXAMPLES / "B.jsonl", "--run", "q")
    headway("import", EXAMPLES / "B.jsonl", "--run", "r", "--project", "p")
    assert len(headway.files()) == 3


def spelled_otherwise(text: str) -> dict[str, bytes]:
    """The same events, spelled in other ways."""
    lines = text.splitlines()
    objects = [json.loads(line) for line in lines]
    wide = [json.dumps(dict(reversed(o.items())), separators=(" , ", " :  ")) for o in objects]
    nanoseconds = [
        json.dumps({"ts_ns": round(o["ts"] * 1e9), **{k: o[k] for k in o if k != "ts"}})
        for o in objects
    ]
    return {
        "CRLF": "\r\n".join([*lines, ""]).encode(),
        "no last line end": "\n".join(lines).encode(),
        "blank lines": "\n\n".join(["", *lines, "", ""]).encode(),
        "byte order mark": "\n".join(["\ufeff" + lines[0], *lines[1:], ""]).encode(),
        "spaces and order of fields": "\n".join([*wide, ""]).encode(),
        "nanoseconds": "\n".join([*nanoseconds, ""]).encode(),
        "each line twice": "\n".join([x for line in lines for x in (line, line)] + [""]).encode(),
    }


@pytest.mark.parametrize("example", sorted({*NAMES} - {"H"}))  # whose last line is torn
def test_the_same_events_spelled_otherwise_are_the_same(
    example: str, headway: Headway, tmp_path: Path
) -> None:
    text = (EXAMPLES / f"{example}.jsonl").read_text()
    headway("import", EXAMPLES / f"{example}.jsonl", "--run", "r")
    before = {path: path.read_bytes() for path in headway.files()}
    path = tmp_path / "events.jsonl"
    for what, spelled in spelled_otherwise(text).items():
        path.write_bytes(spelled)
        again = headway.json("import", path, "--run", "r")["runs"]
        assert [run["unchanged"] for run in again] == [True], what
        assert {path: path.read_bytes() for path in headway.files()} == before, what


@pytest.mark.parametrize("example", sorted(NAMES))
def test_an_export_of_an_import_of_an_export_is_the_same(
    example: str, headway: Headway, tmp_path: Path
) -> None:
    headway("import", EXAMPLES / f"{example}.jsonl", "--run", "r")
    out = tmp_path / "events.jsonl"
    headway("export", "r", "--as", "jsonl", "--out", out)
    headway("import", out, "--run", "q")
    again = tmp_path / "again.jsonl"
    headway("export", "q", "--as", "jsonl", "--out", again)
    (run,) = headway.json("import", again, "--run", "q")["runs"]
    assert run["unchanged"]


def test_a_log_in_which_the_name_was_used_again_may_grow(
    headway: Headway, tmp_path: Path
) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text(simple_run(0))
    headway("import", path, "--run", "r")
    path.write_text(simple_run(0) + simple_run(100))
    runs = headway.json("import", path, "--run", "r")["runs"]
    assert sorted(run["unchanged"] for run in runs) == [False, True]
    assert len(headway.json("runs", "list")) == 2
    path.write_text(simple_run(100))
    runs = headway.json("import", path, "--run", "r")["runs"]
    assert [run["unchanged"] for run in runs] == [True]


RECORD = """
import sys, time
import headway
run = headway.init()
for step in range(5):
    run.step(step)
    time.sleep(0.02)
if "drop" in sys.argv:
    run.step(5)
    time.sleep(0.1)
    for _ in range(20_000):  # until no space is left
        run.log({"x": 1}, step=5)
    assert run.dropped
    time.sleep(0.05)
if "die" in sys.argv:
    os = __import__("os")
    os._exit(1)
run.finish()
"""


@pytest.mark.parametrize("words", [["drop"], ["drop", "die"], ["die"], []])
def test_the_export_of_a_recorded_run_says_the_same(
    words: list[str], headway: Headway, tmp_path: Path
) -> None:
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (300 << 10, 300 << 10))\n"
    program = (limit if "drop" in words else "") + RECORD
    subprocess.run(
        [sys.executable, "-c", program, *words], env={**headway.environment, "HEADWAY_RUN": "r"}
    )
    out = tmp_path / "events.jsonl"
    headway("export", "r", "--as", "jsonl", "--out", out)
    # Under its own name it would hide what was recorded.
    for more in ([], ["--replace"]):
        refused = headway("import", out, "--run", "r", *more, code=1)
        assert "was recorded here" in refused.stderr
    headway("import", out, "--run", "copy", "--strict")
    a, b = headway.json("goodput", "r"), headway.json("goodput", "copy")
    for report in (a, b):
        for key in ("run", "uid", "as_of"):
            report.pop(key, None)
    assert a == b
    if "drop" in words:
        assert any(note["code"] == "dropped_records" for note in a["notes"])


def test_what_is_reserved_of_a_journal_takes_no_space(headway: Headway, tmp_path: Path) -> None:
    headway("import", EXAMPLES / "B.jsonl", "--run", "r")
    (journal,) = headway.files()
    sparse = tmp_path / "sparse.hwj"
    sparse.write_bytes(journal.read_bytes())
    os.truncate(sparse, 1 << 30)
    (run,) = headway.json("import", sparse, "--run", "q")["runs"]
    assert run["records"] == 17
    (copy,) = (path for path in headway.files() if path != journal)
    assert copy.stat().st_size == 1 << 30
    assert copy.stat().st_blocks * 512 < 1 << 22


def test_a_journal_that_is_named_twice_counts_once(headway: Headway, tmp_path: Path) -> None:
    headway("import", EXAMPLES / "B.jsonl", "--run", "r")
    (journal,) = headway.files()
    copy = tmp_path / "copy.hwj"
    copy.write_bytes(journal.read_bytes())
    (run,) = headway.json("import", journal, copy, journal, "--run", "q")["runs"]
    assert (run["journals"], run["records"]) == (1, 17)


def test_other_data_from_the_same_time_is_not_mixed_in(headway: Headway, tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text(simple_run())
    headway("import", path, "--run", "r")
    path.write_text(simple_run() + events({"ts": 4, "type": "exit", "status": 0}))
    refused = headway("import", path, "--run", "r", code=1)
    assert "--replace" in refused.stderr
    path.write_text(simple_run().replace('"step": 1', '"step": 2'))
    assert "--replace" in headway("import", path, "--run", "r", code=1).stderr
    path.write_text(simple_run() + events({"ts": 4, "type": "exit", "status": 0}))
    headway("import", path, "--run", "r", "--replace")
    assert len(headway.json("runs", "list")) == 1
    assert headway.json("goodput", "r")["attempts"][0]["exit_status"] == 0


def test_several_runs_in_one_file(headway: Headway, tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text(simple_run(0) + simple_run(100))
    text = headway("import", path, "--run", "r").stdout
    assert "several runs of one name" in text
    runs = headway.json("runs", "list")
    assert [run["run"] for run in runs] == ["r", "r@19700101T000000Z"]
    assert [headway.json("goodput", run["run"])["start"] for run in runs] == [
        "1970-01-01T00:01:40.000000000Z", "1970-01-01T00:00:00.000000000Z",
    ]  # fmt: skip
    for run in runs:
        notes = headway.json("goodput", run["run"])["notes"]
        assert "run_name_reused" in [note["code"] for note in notes]
    assert headway("import", path, "--run", "r").stdout.count("unchanged") == 2


def test_several_files_tell_of_one_job(headway: Headway, tmp_path: Path) -> None:
    lines = (EXAMPLES / "B.jsonl").read_text().splitlines(keepends=True)
    first, second = tmp_path / "1.jsonl", tmp_path / "2.jsonl"
    first.write_text("".join(lines[:9]).rstrip("\n"))
    second.write_text("".join(lines[9:]))
    headway("import", first, second, "--run", "r")
    headway("import", EXAMPLES / "B.jsonl", "--run", "whole")
    parts = headway.json("goodput", "r")
    assert {**parts, "run": "whole"} == headway.json("goodput", "whole")


def test_standard_input_and_pipes(headway: Headway) -> None:
    headway("import", "-", "--run", "r", input=simple_run())
    read_end, write_end = os.pipe()
    with os.fdopen(write_end, "w") as stream:
        stream.write(simple_run())
    headway("import", f"/dev/fd/{read_end}", "--run", "q", pass_fds=[read_end])
    os.close(read_end)
    assert headway.json("goodput", "r")["elapsed_ns"] == 3_000_000_000


@pytest.mark.parametrize("closed", ["<&-", "0>/dev/null"])
def test_a_closed_input_is_an_error_of_the_input(headway: Headway, closed: str) -> None:
    result = subprocess.run(
        ["bash", "-c", f'"$0" import - --run r {closed}', headway.program],
        env=headway.environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert result.returncode == 3
    assert result.stderr.startswith("headway: cannot read standard input: it is closed")


def test_problems_name_file_and_line(headway: Headway, tmp_path: Path) -> None:
    good, bad = tmp_path / "good.jsonl", tmp_path / "bad.jsonl"
    good.write_text(simple_run())
    bad.write_text('{"ts": 5, "type": "heartbeat"}\nnonsense\n{"ts": 6, "type": "invented"}\n')
    result = headway("import", good, bad, "--run", "r")
    assert f"{bad}:2 (byte 31)" in result.stderr and f"{bad}:3" in result.stderr
    answer = headway.json("import", good, bad, "--run", "r")
    assert answer["problems_total"] == 2
    assert [(p["line"], p["code"]) for p in answer["problems"]] == [
        (2, "bad_line"), (3, "unknown_type"),
    ]  # fmt: skip
    strict = headway("import", good, bad, "--run", "s", "--strict", code=3)
    assert f"{bad}:2 (byte 31)" in strict.stderr
    assert [run["run"] for run in headway.json("runs", "list")] == ["r"]


def test_nanoseconds_in_ts_are_told(headway: Headway) -> None:
    line = {"ts": 1_767_225_600_000_000_000, "type": "job_start"}
    assert '"ts_ns" nanoseconds' in headway("import", "-", "--run", "r", code=3,
                                            input=events(line)).stderr  # fmt: skip
    # What can be read and lies beyond the range of the account is moved to its bound.
    text = simple_run() + events({"ts_ns": 2**62 + 1, "type": "heartbeat"})
    headway("import", "-", "--run", "r", input=text)
    assert "time_range" in [note["code"] for note in headway.json("goodput", "r")["notes"]]


def test_long_names_are_cut_and_told_once(headway: Headway, tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    name = "x" * 300
    first = simple_run().replace('{"ts": 3,', '{"ts": 9,')
    spans = [
        {"ts": at, "type": f"custom_{what}", "name": name}
        for at, what in ((3, "start"), (5, "end"), (6, "start"), (7, "end"))
    ]
    path.write_text(first + events(*spans))
    told = headway("import", path, "--run", "r").stderr
    assert told == (
        f"headway: warning: {path}:5 (byte {len(first)}): a name longer than 256 bytes is cut, "
        "and so are those of 3 more lines\n"
    ), told
    assert "custom" in headway("goodput", "r").stdout
    assert headway.json("import", path, "--run", "r")["names_cut"] == 4


def test_times_that_differ_are_told(headway: Headway, tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    lines = [{"ts": at, "ts_ns": (at + off) * 10**9, "type": "heartbeat"}
             for at, off in ((0, 0), (1, 60), (2, 60))]  # fmt: skip
    path.write_text(events(*lines))
    told = headway("import", path, "--run", "r").stderr
    assert told == (
        f'headway: warning: {path}:2 (byte {len(events(lines[0]))}): a time in seconds ("ts") and '
        'the same in nanoseconds ("ts_ns") differ by more than 1 ms; the nanoseconds count, '
        "and so in 1 more lines\n"
    ), told
    assert headway.json("import", path, "--run", "r")["times_differ"] == 2
    assert headway.json("goodput", "r")["elapsed_ns"] == 62 * 10**9
    strict = headway("import", path, "--run", "s", "--strict", code=3).stderr
    assert f"{path}:2 (byte" in strict and "differ by more than 1 ms; mend or remove" in strict


def test_absurd_times_are_told_as_they_are_taken(headway: Headway) -> None:
    line = {"ts_ns": -9_200_000_000_000_000_000, "type": "job_start"}
    assert "from 1823-" in headway("import", "-", "--run", "r", input=events(line)).stdout


def test_many_problems_are_counted(headway: Headway) -> None:
    text = simple_run() + "x\n" * 5000
    result = headway("import", "-", "--run", "r", input=text)
    assert result.stderr.count("\n") == 11 and "4,990 more" in result.stderr


@pytest.mark.parametrize(
    ("content", "code"),
    [(b"", 3), (b"\n\n", 3), (b"not json\n", 3), (os.urandom(4096), 3), (b"\x89HWJ\r\n\x1a\n", 3)],
)
def test_files_without_events(headway: Headway, tmp_path: Path, content: bytes, code: int) -> None:
    path = tmp_path / "input"
    path.write_bytes(content)
    assert str(path) in headway("import", path, "--run", "r", code=code).stderr
    assert not headway.files()


def test_calls_that_cannot_work(headway: Headway, tmp_path: Path) -> None:
    assert "--run" in headway("import", EXAMPLES / "B.jsonl", code=2).stderr
    assert "No such file" in headway("import", tmp_path / "none", "--run", "r", code=1).stderr
    assert "directory" in headway("import", tmp_path, "--run", "r", code=2).stderr
    headway("import", EXAMPLES / "B.jsonl", "--run", "r", "--as", "parquet", code=2)
    headway("import", EXAMPLES / "B.jsonl", "--run", "r", "--as", "hwj", code=3)


def test_journals_are_copied_once_and_grow(headway: Headway, tmp_path: Path) -> None:
    other = tmp_path / "node"
    headway("import", EXAMPLES / "B.jsonl", "--run", "r", "--dir", other)
    (journal,) = (path for path in other.rglob("*.hwj"))
    shorter = tmp_path / "shorter.hwj"
    shorter.write_bytes(journal.read_bytes()[: 4096 + 32 * 5])
    first = headway.json("import", shorter)["runs"][0]
    assert first["run"] == "r" and first["records"] == 5
    assert not headway.json("import", journal)["runs"][0]["unchanged"]
    assert headway.json("import", journal)["runs"][0]["unchanged"]
    assert headway.json("import", shorter)["runs"][0]["unchanged"]
    assert len(headway.files()) == 1
    assert headway.json("goodput", "r") == headway.json("goodput", "r", "--dir", str(other))
    headway("import", journal, "--run", "renamed", "--project", "p")
    renamed = headway.json("goodput", "renamed", "--project", "p")
    assert renamed["elapsed_ns"] == 160_000_000_000
    with journal.open("rb") as stream:
        headway("import", "-", "--project", "q", stdin=stream)
    assert headway.json("runs", "list", "--project", "q")[0]["run"] == "r"


def test_another_name_makes_another_run(headway: Headway, tmp_path: Path) -> None:
    for example in ("B", "A"):
        headway("import", EXAMPLES / f"{example}.jsonl", "--run", example.lower())
    (journal,) = (headway.data / "journals/default/b").glob("*.hwj")
    before = headway.json("goodput", "b")
    (made,) = headway.json("import", journal, "--run", "copy")["runs"]
    assert made["run"] == "copy" and not made["unchanged"]
    runs = {run["run"]: run for run in headway.json("runs", "list")}
    assert set(runs) == {"a", "b", "copy"}
    assert runs["copy"]["uid"] == made["uid"] != runs["b"]["uid"]
    assert headway.json("goodput", "b") == before
    assert {**headway.json("goodput", "copy"), "run": "b"} == before
    # Again, or back again, is nothing new.
    assert headway.json("import", journal, "--run", "copy")["runs"][0]["unchanged"]
    assert headway.json("import", journal)["runs"][0]["unchanged"]
    headway("runs", "delete", "copy", "--yes")
    assert headway.json("goodput", "b") == before
    headway("import", journal, "--project", "p")
    assert headway.json("runs", "list", "--project", "p")[0]["uid"] != runs["b"]["uid"]


def test_a_run_of_several_journals_stays_one_under_another_name(
    headway: Headway, tmp_path: Path
) -> None:
    headway("run", "--run", "r", "--restarts", "1", "--backoff", "1ms", "--", "false", code=1)
    journals = headway.files()
    assert len(journals) == 2
    headway("import", *journals, "--run", "q")
    assert [run["journals"] for run in headway.json("runs", "list")] == [2, 2]


def test_what_a_killed_import_leaves_is_swept_and_a_live_one_is_left_alone(
    headway: Headway, tmp_path: Path
) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text(simple_run())
    incoming = headway.data / "incoming"
    importers = [headway.start("import", "-", stdin=subprocess.PIPE) for _ in range(2)]
    beginning = (ROOT / "tests/golden/journal_v1.hwj").read_bytes() + bytes(2 << 20)
    for importer in importers:  # all of it is read once the journal is being copied
        assert importer.stdin
        importer.stdin.buffer.write(beginning)
        importer.stdin.flush()
    killed, live = importers

    def staged() -> int:
        return len([name for name in incoming.iterdir() if name.is_dir()])

    wait_until(lambda: incoming.is_dir() and staged() == 2, "two imports at work")
    headway("import", path, "--run", "r")
    assert staged() == 2
    killed.kill()
    killed.communicate()
    assert staged() == 2
    headway("runs", "prune", "--older-than", "30d", "--dry-run")
    assert staged() == 2
    headway("import", path, "--run", "r")
    assert staged() == 1
    live.kill()
    live.communicate()
    pruned = headway("runs", "prune", "--older-than", "30d").stdout
    assert "removed what 1 interrupted import left" in pruned
    assert not incoming.exists()


def test_what_another_machine_has_in_incoming_stays_for_a_day(
    headway: Headway, tmp_path: Path
) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text(simple_run())
    name = "0123456789abcdef" * 2
    staged = headway.data / "incoming" / name
    lock = staged.parent / f"{name}.lock"
    staged.mkdir(parents=True)
    (staged / "x.hwj").write_text("begun")
    lock.write_text("00000000-0000-4000-8000-000000000000")
    (staged.parent / "notes").mkdir()
    headway("import", path, "--run", "r")
    assert (staged / "x.hwj").exists()
    for old in (staged / "x.hwj", staged, lock):
        os.utime(old, (1, 1))
    headway("import", path, "--run", "r")
    assert os.listdir(staged.parent) == ["notes"]


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting takes root")
def test_importing_again_where_nothing_can_be_written(headway: Headway, small_disk: Path) -> None:
    data = small_disk / "data"
    events_of_b = EXAMPLES / "B.jsonl"
    journal = ROOT / "tests/golden/journal_v1.hwj"
    headway("import", events_of_b, "--run", "r", "--dir", data)
    headway("import", journal, "--dir", data)
    headway("import", journal, "--run", "renamed", "--dir", data)
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    for arguments in ((events_of_b, "--run", "r"), (journal,), (journal, "--run", "renamed")):
        again = headway.json("import", *arguments, "--dir", data)
        assert again["runs"][0]["unchanged"] is True
    headway("import", events_of_b, "--run", "other", "--dir", data, code=5)


def test_a_short_journal_takes_little_space(headway: Headway, tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text("".join(simple_run().replace("}", f', "rank": {r}}}') for r in range(50)))
    command = ["strace", "-f", "-o", tmp_path / "calls", headway.program, "import", path]
    if not shutil.which("strace"):
        pytest.skip("there is no strace")
    subprocess.run([*command, "--run", "r"], env=headway.environment, check=True)
    calls = (tmp_path / "calls").read_text().splitlines()
    assert not [call for call in calls if "fallocate(" in call]
    assert len(calls) < 50 * 52


def test_a_damaged_journal(headway: Headway, tmp_path: Path) -> None:
    headway("import", EXAMPLES / "B.jsonl", "--run", "r", "--dir", tmp_path / "node")
    (journal,) = (tmp_path / "node").rglob("*.hwj")
    data = bytearray(journal.read_bytes())
    data[4096 + 32 * 3 + 9] ^= 1
    journal.write_bytes(data)
    assert "byte 4192" in headway("import", journal, "--strict", code=3).stderr
    assert not headway.files()
    assert "byte 4192" in headway("import", journal).stderr
    notes = headway.json("goodput", "r")["notes"]
    assert "journal_damage" in [note["code"] for note in notes]


def journal_of(headway: Headway, folder: Path) -> Path:
    headway("import", EXAMPLES / "B.jsonl", "--run", "r", "--dir", folder)
    (journal,) = folder.rglob("*.hwj")
    return journal


# What is done to the journal's slots from one on, the code, the byte, how many bytes.
AMISS = [
    (12, lambda slot: bytes(8) + slot[8:16], "torn_tail", 4096 + 32 * 12, 32),
    (3, lambda slots: bytes(32) + slots[32:], "journal_hole", 4096 + 32 * 3, 32),
    (3, lambda slots: b"x" + slots[1:], "journal_damage", 4096 + 32 * 3, 32),
    (9, lambda slots: b"x" * len(slots), "journal_damage", 4096 + 32 * 9, 32 * 7),
    (9, lambda slots: b"x" + slots, "journal_damage", 4096 + 32 * 9, 32 * 7),
]


@pytest.mark.parametrize(("first", "change", "code", "offset", "size"), AMISS)
def test_what_is_amiss_in_a_journal_has_a_place(
    headway: Headway,
    tmp_path: Path,
    first: int,
    change: Callable[[bytes], bytes],
    code: str,
    offset: int,
    size: int,
) -> None:
    journal = journal_of(headway, tmp_path / "node")
    data = journal.read_bytes()[: 4096 + 32 * 16]
    at = 4096 + 32 * first
    journal.write_bytes(data[:at] + change(data[at:]))
    refused = headway("import", journal, "--strict", code=3).stderr
    assert str(journal) in refused and f"at byte {offset}" in refused
    assert not headway.files()
    told = headway("import", journal).stderr
    assert str(journal) in told and f"at byte {offset}" in told
    again = headway.json("import", journal)
    problem = {k: again["problems"][0][k] for k in ("file", "offset", "bytes", "code")}
    assert problem == {"file": str(journal), "offset": offset, "bytes": size, "code": code}
    assert again["problems_total"] == 1
    notes = [note["code"] for note in headway.json("goodput", "r")["notes"]]
    assert [note for note in notes if note.startswith(("journal", "torn"))] == [code]
    (shown,) = headway.json("runs", "show", "r")["journals"]
    assert shown["findings"] == [{"code": code, "offset": offset, "bytes": size}]
    assert f"at byte {offset}" in headway("runs", "show", "r").stdout


def test_a_file_called_a_journal_is_taken_for_one(headway: Headway, tmp_path: Path) -> None:
    good = journal_of(headway, tmp_path / "node").read_bytes()
    path = tmp_path / "x.hwj"
    for content, said in (
        (b"", "empty file"),
        (b"x" + good[1:], "signature"),
        (b'{"ts": 0, "type": "job_start"}\n', "signature"),
        (good[:12] + b"\x09" + good[13:], "newer headway"),
        (good[:100], "truncated header"),
    ):
        path.write_bytes(content)
        error = headway("import", path, code=3).stderr
        assert f"{path}: " in error and said in error
    path.write_bytes(b'{"ts": 0, "type": "job_start"}\n')
    headway("import", path, "--as", "jsonl", "--run", "r")


def test_a_journal_of_a_newer_version_is_input_that_cannot_be_read(
    headway: Headway, tmp_path: Path
) -> None:
    journal = journal_of(headway, headway.data)
    data = journal.read_bytes()
    journal.write_bytes(data[:12] + b"\x09" + data[13:])
    error = headway("goodput", "r", code=3).stderr
    assert str(journal) in error and "byte 12" in error and "newer headway" in error


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (gzip.compress(b"{}"), "gzip -dc"),
        (lzma.compress(b"{}"), "xz -dc"),
        (b"\x28\xb5\x2f\xfd\x04\x00", "zstd -dc"),
        ('{"ts": 0, "type": "job_start"}\n'.encode("utf-16"), "UTF-16"),
        ('{"ts": 0, "type": "job_start"}\n'.encode("utf-16-le"), "UTF-16LE"),
        ('{"ts": 0, "type": "job_start"}\n'.encode("utf-16-be"), "UTF-16BE"),
    ],
)
def test_packed_input_is_told_with_the_remedy(
    headway: Headway, tmp_path: Path, content: bytes, said: str
) -> None:
    path = tmp_path / "events"
    path.write_bytes(content)
    error = headway("import", path, "--run", "r", code=3).stderr
    assert str(path) in error and said in error


def test_what_an_import_says(headway: Headway, tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    start, end = '{"ts": 0, "type": "job_start"}', '{"ts": 9, "type": "job_end"}'
    path.write_text(f'{start}\n{{\n{{"ts": 1}}\n{end}\n')
    said = headway("import", path, "--run", "bad").stdout
    assert "run bad: 2 records in 1 journal," in said and "2 lines skipped\n" in said
    path.write_text(start)
    assert "run one: 1 record in 1 journal," in headway("import", path, "--run", "one").stdout
    # One run of each of two files.
    path.write_text('{"ts": 500, "type": "job_start"}\n')
    journal = journal_of(headway, tmp_path / "node")
    mixed = headway("import", path, journal, "--run", "mix").stdout
    assert mixed.count("imported run mix: ") == 2 and "several" not in mixed


def test_an_import_into_two_places_is_refused(headway: Headway, tmp_path: Path) -> None:
    call = ("import", EXAMPLES / "B.jsonl", "--run", "r")
    error = headway(*call, "--dir", tmp_path / "a", "--dir", tmp_path / "b", code=2).stderr
    assert "--dir" in error and not (tmp_path / "a").exists()


@pytest.mark.parametrize("name", ["new\nline", "bell\a", "esc\x1b[2J", "\x7f"])
def test_new_names_hold_no_control_characters(headway: Headway, name: str) -> None:
    call = ("import", EXAMPLES / "B.jsonl")
    assert "control" in headway(*call, "--run", name, code=2).stderr
    assert "control" in headway(*call, "--run", "r", "--project", name, code=2).stderr


def test_before_its_start_a_run_has_not_started(headway: Headway) -> None:
    headway("import", EXAMPLES / "B.jsonl", "--run", "r")
    assert headway.json("goodput", "r", "--as-of", "@-1")["state"] == "not_started"
    assert "not started" in headway("goodput", "r", "--as-of", "@-1").stdout
    assert headway.json("goodput", "r", "--as-of", "@1")["state"] == "running"


def test_the_oldest_journal_is_still_readable(headway: Headway) -> None:
    run = headway.json("import", ROOT / "tests/golden/journal_v1.hwj", "--run", "g")["runs"][0]
    assert run["records"] > 0
    headway("goodput", "g", "--project", run["project"])


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system with hardly any space."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True).returncode != 0:
        pytest.skip("making a small file system takes root")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk(headway: Headway, small_disk: Path) -> None:
    steps = [{"ts": n, "type": "step_start", "step": n} for n in range(50_000)]
    result = headway("import", "-", "--run", "r", "--dir", small_disk, code=4, input=events(*steps))
    assert "no space" in result.stderr.lower() and str(small_disk) in result.stderr
    assert not [path for path in small_disk.rglob("*") if path.is_file()]
    # Less fits.
    headway("import", "-", "--run", "r", "--dir", small_disk, input=simple_run())
    assert headway.json("goodput", "r", "--dir", str(small_disk))["elapsed_ns"] == 3_000_000_000


def test_a_result_log_of_mlperf(headway: Headway, tmp_path: Path) -> None:
    def line(seconds: int, key: str, **metadata: object) -> str:
        entry = {"time_ms": seconds * 1000, "key": key, "value": None, "metadata": metadata}
        return f"0: :::MLLOG {json.dumps(entry)}\n"

    path = tmp_path / "result_0.txt"
    path.write_text(
        "a line of the program\n"
        + line(0, "init_start")
        + line(0, "init_start")  # another process says the same
        + line(10, "run_start")
        + "".join(line(10 + 20 * i, "block_start") + line(30 + 20 * i, "block_stop")
                  for i in range(3))
        + line(70, "run_stop", status="success")
        + ":::MLLOG {cut"
    )
    imported = headway("import", path, "--as", "mllog", "--run", "mlperf")
    assert f"{path}:12 (byte" in imported.stderr
    report = headway.json("goodput", "mlperf")
    assert report["state"] == "completed"
    assert report["steps"]["count"] == 3
    assert report["goodput"] == 60 / 70
    assert headway("import", path, "--as", "mllog", "--run", "r", "--strict", code=3)
    path.write_text("nothing\n")
    assert "no :::MLLOG line" in headway(
        "import", path, "--as", "mllog", "--run", "r", code=3
    ).stderr


def test_a_trace_holds_the_whole_partition(headway: Headway) -> None:
    headway("import", EXAMPLES / "B.jsonl", "--run", "r")
    trace = json.loads(headway("export", "r", "--as", "perfetto").stdout)
    report = headway.json("goodput", "r")
    spent: dict[str, float] = {}
    for event in trace["traceEvents"]:
        if event["ph"] == "X" and event["cat"] != "step":
            spent[event["cat"]] = spent.get(event["cat"], 0) + event["dur"] * 1000
    assert spent == {entry["category"]: entry["ns"] for entry in report["categories"]}
    marks = [event["name"] for event in trace["traceEvents"] if event["ph"] == "i"]
    assert marks == ["disruption"]
