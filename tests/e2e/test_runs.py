"""Lists of runs, and deleting them."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import EXAMPLES, Headway, wait_until


@pytest.fixture
def three(headway: Headway) -> Headway:
    for name in ("A", "B", "H"):
        headway("import", EXAMPLES / f"{name}.jsonl", "--run", name.lower())
    return headway


def test_list(three: Headway) -> None:
    runs = {run["run"]: run for run in three.json("runs", "list")}
    assert set(runs) == {"a", "b", "h"}
    assert runs["b"]["state"] == "completed" and runs["b"]["attempts"] == 2
    assert runs["b"]["goodput"] == 0.375 and runs["b"]["last_step"] == 5
    assert runs["h"]["state"] == "running" and not runs["h"]["live"]
    assert [run["run"] for run in three.json("runs", "list", "--state", "running")] == ["h"]
    assert len(three.json("runs", "list", "--limit", "2")) == 2
    text = three("runs", "list").stdout
    assert "37.50 %" in text
    assert "older ones" in three("runs", "list", "--limit", "1").stdout
    assert three("runs", "list", "--project", "other").stdout.startswith("no runs")


def test_list_filters_and_orders(three: Headway) -> None:
    def names(*arguments: str) -> list[str]:
        return [run["run"] for run in three.json("runs", "list", *arguments)]

    assert names("--filter", "goodput < 50% AND NOT state = running") == ["b"]
    assert names("--filter", "name = a OR attempts = 2", "--order-by", "name desc") == [
        "h", "b", "a",
    ]  # fmt: skip
    assert names("--filter", "state = completed", "--state", "running") == []
    by_elapsed = names("--order-by", "elapsed desc, name")
    elapsed = [three.json("goodput", run)["elapsed_ns"] for run in by_elapsed]
    assert elapsed == sorted(elapsed, reverse=True)
    assert names("--order-by", "elapsed desc, name", "--limit", "2") == by_elapsed[:2]
    text = three("runs", "list", "--order-by", "name", "--limit", "1").stdout
    assert "and 2 more" in text and " a " in text
    assert three("runs", "list", "--filter", "attempts > 9").stdout.startswith("no such runs")
    wrong = three("runs", "list", "--filter", "state = failed AND god > 1", code=2).stderr
    assert "--filter: column 20: there is no field" in wrong
    assert "--order-by: column 1" in three("runs", "list", "--order-by", "x", code=2).stderr


def test_list_says_what_it_did_not_look_at(three: Headway) -> None:
    last = three("runs", "list", "--limit", "1").stdout.splitlines()[-1]
    assert last == "  and 2 older ones: --limit N"
    filtered = three("runs", "list", "--filter", "elapsed > 0s", "--limit", "1").stdout
    assert filtered.splitlines()[-1] == "  not looked at: 2 older ones: --limit N"


def test_list_of_all_projects(three: Headway) -> None:
    three("import", EXAMPLES / "A.jsonl", "--run", "a", "--project", "p")
    assert len(three.json("runs", "list")) == 3
    everything = three.json("runs", "list", "--all-projects", "--order-by", "project, name")
    assert [(run["project"], run["run"]) for run in everything] == [
        ("default", "a"), ("default", "b"), ("default", "h"), ("p", "a"),
    ]  # fmt: skip
    assert len(three.json("runs", "list", "--all-projects", "--filter", "project = p")) == 1
    assert "project" in three("runs", "list", "--all-projects").stdout.splitlines()[0]


@pytest.mark.parametrize(
    "command",
    [("runs", "list"), ("runs", "prune", "--older-than", "1d"), ("goodput", "b"),
     ("runs", "show", "b")],
)
def test_a_directory_that_is_not_there(
    three: Headway, tmp_path: Path, command: tuple[str, ...]
) -> None:
    missing = tmp_path / "tpyo"
    assert str(missing) in three(*command, "--dir", missing, code=1).stderr
    assert str(missing) in three(*command, "--dir", three.data, "--dir", missing, code=1).stderr
    (file,) = (three.data / "journals/default/a").iterdir()
    assert "is a file" in three(*command, "--dir", file, code=2).stderr


def test_the_usual_directory_may_not_be_there_yet(headway: Headway) -> None:
    assert headway.json("runs", "list") == []
    assert "no runs" in headway("runs", "list").stdout


def test_a_foreign_file_is_told_once(three: Headway, tmp_path: Path) -> None:
    run = three.data / "journals/default/b"
    (run / "foreign.hwj").write_text("not ours")
    link = tmp_path / "link"
    link.symlink_to(three.data)
    same = ("--dir", three.data, "--dir", f"{three.data}/", "--dir", link)
    for command in (("runs", "list"), ("goodput", "b"), ("export", "b", "--as", "csv"),
                    ("runs", "show", "b"), ("timeline", "b")):  # fmt: skip
        assert three(*command).stderr.count("foreign.hwj") == 1
        assert three(*command, *same).stderr.count("foreign.hwj") == 1
    assert [run["journals"] for run in three.json("runs", "list", *same)] == [1, 1, 1]
    # A copy of the directory under a name that no run has.
    shutil.copytree(run, run.with_name("b (copy)"))
    assert three("goodput", "b").stderr.count("/b/foreign.hwj") == 1
    assert {run["run"]: run["journals"] for run in three.json("runs", "list")}["b"] == 1


def test_a_run_that_cannot_be_read(three: Headway) -> None:
    (journal,) = (three.data / "journals/default/b").glob("*.hwj")
    data = bytearray(journal.read_bytes())
    data[100] ^= 1
    journal.write_bytes(data)
    for command in (("goodput", "b"), ("runs", "show", "b"), ("export", "b", "--as", "jsonl")):
        told = three(*command, code=3).stderr
        assert str(journal) in told and "byte 24" in told and told.count("\n") == 1
    assert three("runs", "list").stderr.count(str(journal)) == 1
    three("goodput", "c", code=1)
    # What else there is of the run can be told.
    three("import", EXAMPLES / "A.jsonl", "--run", "b")
    assert str(journal) in three("goodput", "b").stderr


def damage(journal: Path) -> None:
    data = bytearray(journal.read_bytes())
    data[100] ^= 1
    journal.write_bytes(data)


def test_a_damaged_file_is_told_of_its_own_run_only(three: Headway) -> None:
    (journal,) = (three.data / "journals/default/b").glob("*.hwj")
    damage(journal)
    for command in (("goodput", "a"), ("runs", "show", "a"), ("export", "a", "--as", "csv")):
        assert three(*command).stderr == ""
    assert str(journal) in three("runs", "list").stderr
    missing = three("goodput", "nowhere", code=1).stderr
    assert "1 file there can't be read" in missing and missing.count("\n") == 1


def test_a_run_that_cannot_be_read_can_be_deleted(three: Headway) -> None:
    (journal,) = (three.data / "journals/default/b").glob("*.hwj")
    damage(journal)
    assert "give --yes" in three("runs", "delete", "b", code=2, stdin=subprocess.DEVNULL).stderr
    holder = subprocess.Popen(
        [sys.executable, "-c",
         "import fcntl, struct, sys; f = open(sys.argv[1], 'r+b');"
         "fcntl.fcntl(f, 37, struct.pack('hhqqi4x', fcntl.F_WRLCK, 0, 0, 1, 0));"
         "print('held', flush=True); sys.stdin.read()", journal],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert holder.stdout and holder.stdout.readline() == "held\n"
    assert "a process of the run lives" in three("runs", "delete", "b", "--yes", code=1).stderr
    assert journal.exists()
    holder.communicate("")
    assert three("runs", "delete", "b", "--yes").stdout.startswith("deleted run b: 1 journal, ")
    assert not journal.parent.exists()
    assert "no run" in three("runs", "delete", "b", "--yes", code=1).stderr


def test_show(three: Headway) -> None:
    shown = three.json("runs", "show", "b")
    assert len(shown["journals"]) == 1 and shown["journals"][0]["origin"] == "import"
    report = three.json("goodput", "b")
    for name in ("state", "start", "elapsed_ns", "goodput", "attempts"):
        assert shown[name] == report[name]
    assert shown["last_step"] == report["steps"]["last_step"]
    uid = shown["uid"]
    assert three.json("runs", "show", uid)["name"] == "b"
    assert uid in three("runs", "show", "b").stdout


def test_delete_asks_and_tells(three: Headway) -> None:
    refused = three("runs", "delete", "b", code=2, stdin=None, input="")
    assert "--yes" in refused.stderr
    answer = three("runs", "delete", "b", "--yes")
    assert answer.stdout.startswith("deleted run b: 1 journal, ")
    assert {run["run"] for run in three.json("runs", "list")} == {"a", "h"}
    assert not (three.data / "journals/default/b").exists()
    three("runs", "delete", "b", "--yes", code=1)
    gone = three.json("runs", "delete", "a", "--yes")["deleted"]
    assert [run["run"] for run in gone] == ["a"] and gone[0]["bytes"] > 0


def test_delete_on_a_terminal(three: Headway) -> None:
    import pty

    for answer, code in (("n\n", 1), ("\n", 1), ("y\n", 0)):
        master, slave = pty.openpty()
        child = subprocess.Popen(
            [three.program, "runs", "delete", "b"], env=three.environment, stdin=slave,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        )  # fmt: skip
        assert child.stderr is not None
        question = os.read(child.stderr.fileno(), 4096)
        assert b"delete run b" in question
        os.write(master, answer.encode())
        assert child.wait(60) == code
        child.stderr.close()
        os.close(master)
        os.close(slave)


def test_a_live_run_stays(headway: Headway) -> None:
    child = headway.start("run", "--run", "alive", "--", "sleep", "600")
    try:
        wait_until(headway.files, "a journal of the supervisor")
        assert headway.json("runs", "list")[0]["live"]
        assert "alive" in headway("runs", "delete", "alive", "--yes", code=1).stderr
        pruned = headway.json("runs", "prune", "--older-than", "0s")
        assert pruned["deleted"] == [] and pruned["kept"] == 1
        assert headway.json("goodput", "alive")["state"] == "running"
    finally:
        child.terminate()
        assert child.wait(60) == 128 + 15
        child.communicate()
    headway("runs", "delete", "alive", "--yes")
    assert not headway.files()


def age(path: Path, days: float) -> None:
    """Makes a file look as if it had been written so long ago."""
    then = time.time() - days * 86_400
    os.utime(path, (then, then))


def test_prune(three: Headway) -> None:
    assert "--older-than" in three("runs", "prune", code=2).stderr
    # However long ago what they tell of was: they have only just been imported.
    assert three.json("runs", "prune", "--older-than", "30d")["deleted"] == []
    for path in three.files():
        age(path, 31)
    dry = three("runs", "prune", "--older-than", "30d", "--dry-run").stdout
    assert "would delete b: 1 journal" in dry and "would delete 3 runs" in dry
    assert len(three.files()) == 3
    three("run", "--run", "young", "--", "true")
    done = three.json("runs", "prune", "--older-than", "30d")
    assert {run["run"] for run in done["deleted"]} == {"a", "b", "h"}
    assert done["kept"] == 1 and done["bytes"] > 0
    assert [run["run"] for run in three.json("runs", "list")] == ["young"]


def test_prune_takes_runs_whose_process_died(headway: Headway) -> None:
    script = "import headway, os; headway.init(run='r').step(0); os.kill(os.getpid(), 9)"
    subprocess.run([sys.executable, "-c", script], env=headway.environment, check=False)
    (journal,) = headway.data.rglob("*.hwj")
    assert headway.json("runs", "prune", "--older-than", "1h")["kept"] == 1
    gone = headway.json("runs", "prune", "--older-than", "0s")["deleted"]
    assert [run["run"] for run in gone] == ["r"] and not journal.exists()


def test_links_are_not_followed(three: Headway, tmp_path: Path) -> None:
    # A run directory that is a link leads out of the data directory.
    outside = tmp_path / "outside"
    inside = three.data / "journals/default/b"
    inside.rename(outside)
    inside.symlink_to(outside)
    three("runs", "delete", "b", "--yes", code=None)
    three("runs", "prune", "--older-than", "1d", code=None)
    assert list(outside.glob("*.hwj")), "what lies outside stays"
    # A journal that is a link is no journal.
    keep = tmp_path / "keep.hwj"
    (journal,) = outside.glob("*.hwj")
    journal.rename(keep)
    inside.unlink()
    inside.mkdir()
    (inside / journal.name).symlink_to(keep)
    assert "symbolic link" in three("runs", "list").stderr
    three("runs", "prune", "--older-than", "0s")
    assert keep.exists()


def test_a_run_directory_that_is_a_link_says_how_to_go_on(three: Headway, tmp_path: Path) -> None:
    # A link to the very directory, and one to a copy of it elsewhere, keep nothing from going.
    real = three.data / "journals/default/b"
    (real.parent / "alink").symlink_to(real)
    shutil.copytree(real, tmp_path / "copy")
    (real.parent / "zlink").symlink_to(tmp_path / "copy")
    deleted = three("runs", "delete", "b", "--yes")
    assert "is a symbolic link" in deleted.stderr and deleted.stdout.startswith("deleted run b")
    assert not real.exists() and list((tmp_path / "copy").glob("*.hwj"))
    # What is left is behind a link only.
    refused = three("runs", "delete", "b", "--yes", code=1).stderr
    assert f"{real.parent}/zlink is a symbolic link" in refused and "rm" in refused
    assert list((tmp_path / "copy").glob("*.hwj"))


def test_more_journals_than_open_files(headway: Headway, tmp_path: Path) -> None:
    ranks = 300
    events = tmp_path / "many.jsonl"
    events.write_text(
        "".join(
            f'{{"ts": {step * 10 + rank / 1000}, "rank": {rank}, "type": "step_start", '
            f'"step": {step}}}\n'
            for step in range(4)
            for rank in range(ranks)
        )
    )
    headway("import", events, "--run", "many")
    shown = headway.json("runs", "show", "many")
    assert len(shown["journals"]) == ranks
    few = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))}
    reported = headway("goodput", "many", "--json", **few)
    assert reported.stderr == ""
    assert reported.stdout == headway("goodput", "many", "--json").stdout


def test_a_journal_and_its_copy_count_once(three: Headway, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(three.data, copy)
    both = ("--dir", copy, "--dir", three.data)
    shown = three.json("runs", "show", "b", *both)
    assert [Path(journal["path"]).is_relative_to(three.data) for journal in shown["journals"]] == [
        True
    ]
    assert three.json("goodput", "b", *both) == three.json("goodput", "b")
    three("runs", "delete", "b", "--yes", *both)
    assert {run["run"] for run in three.json("runs", "list", *both)} == {"a", "h"}
