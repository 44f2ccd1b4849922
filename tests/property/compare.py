"""Compares the ledger with the slow model over random histories.

    compare.py --replay PATH [--seeds N] [--start S] [--only FIELD] [--without FEATURE]

10,000 histories are tried, ten times as many when HEADWAY_FULL is 1. PATH is a program (replay.cc)
that answers questions on its standard input. A question is

    {"as_of": null | NS, "window": null | [FROM_NS, TO_NS], "uids": null | NUMBER}
    the history's lines, each as it is
    ---END---

and its answer is one line on standard output, written (and flushed) before the next question is
read: the JSON report of the newest run, as `headway goodput --json` prints it. The file is the
lines joined with line ends, with none after the last line: that one may be torn. NS are integers;
times in the answer are RFC 3339. The program ends with status 0 at the end of its input. An answer
without the key "elapsed_ns" is a failure, so an error can be answered as {"error": "..."}.

With a number under "uids" the writers get uids that depend on it, as journals have random ones.

Every history is asked three questions: as of the default time, as of a random time, and for a
random window. Besides, the ledger must give the first answer again for the lines in another order,
those of one writer in theirs, and for other uids. A difference is printed with the shortest history
found that still has it. Values must be equal but for step durations (0.2 %, they come from
histograms); the step deviation is worked out by the ledger's own ideal step, which it follows
exactly. Histories of a few absurd kinds are left out, see EXCLUDED. In a file that holds
several runs only the newest run as of the default time is compared, without notes: what another run
knows depends on where the file is cut.

The last line is `N passed, N failed`, in histories; the exit status is 1 when any failed.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import re
import select
import subprocess
import sys
import time
from collections import Counter
from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import histories  # noqa: E402
import slow_model  # noqa: E402

END = "---END---"
ANSWER_SECONDS = 60
MINIMISE_SECONDS = 20
WORKERS = 2
CHUNK = 25

Window = tuple[int, int]
Fields = dict[str, Any]
Difference = tuple[str, Any, Any]  # field, the model's value, the ledger's


# ------------------------------------------------------------------------------
# Asking
# ------------------------------------------------------------------------------


class Unanswered(Exception):
    """The ledger crashed, hung or answered something that is no report."""


class Ledger:
    """The program under test, started again whenever it has died."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.process: subprocess.Popen[bytes] | None = None

    def report(
        self, lines: list[str], as_of: int | None, window: Window | None, uids: int | None = None
    ) -> dict[str, Any]:
        if self.process is None:
            self.process = subprocess.Popen(
                [self.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
        assert self.process.stdin is not None
        question = json.dumps({"as_of": as_of, "window": window, "uids": uids})
        text = "\n".join([question, *lines, END]) + "\n"
        try:
            self.process.stdin.write(text.encode())
            self.process.stdin.flush()
            answer = self._line()
        except BrokenPipeError:
            answer = b""
        if not answer:
            raise Unanswered(f"no answer, exit status {self.close()}")
        try:
            report = json.loads(answer)
        except ValueError as error:
            raise Unanswered(f"not JSON: {answer[:200]!r}") from error
        if not isinstance(report, dict) or "elapsed_ns" not in report:
            raise Unanswered(f"no report: {answer[:200]!r}")
        return report

    def _line(self) -> bytes:
        """The next line of output, or nothing when it doesn't come in time."""
        assert self.process is not None and self.process.stdout is not None
        # Nothing is left in the buffer between answers, so waiting on the pipe itself is right.
        if not select.select([self.process.stdout], [], [], ANSWER_SECONDS)[0]:
            self.process.kill()
            return b""
        return self.process.stdout.readline()

    def close(self) -> int | None:
        if self.process is None:
            return None
        process, self.process = self.process, None
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.close()
        except BrokenPipeError:
            pass
        try:
            process.wait(ANSWER_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()
        return process.returncode


# ------------------------------------------------------------------------------
# What is left out
# ------------------------------------------------------------------------------

# About one history in twenty, all of them files that no recorder writes.


def _two_leads(features: set[str], events: list[slow_model.Event]) -> bool:
    """Two processes of rank 0 in a file without attempts.

    Who of them leads from where on, and so where the file is cut into runs, is a guess that the
    specification leaves open.
    """
    return "second_lead" in features and "attempt_field" not in features


def _groups_with_followers(features: set[str], events: list[slow_model.Event]) -> bool:
    """Each attempt has an un-ranked writer of its own, and other ranks go with it.

    Or the last one's says a rank above 0, and so follows the un-ranked ones.
    The model hands their lines to the attempt that is open, the ledger each rank as a whole to the
    group that led when the rank was first heard.
    """
    ranks = {"several_ranks", "lead_of_high_rank"}
    return "new_lead_writers" in features and not ranks.isdisjoint(features)


def _early_followers(features: set[str], events: list[slow_model.Event]) -> bool:
    """Before the first line of the writer that leads another one starts twice.

    Without a lead there is no open attempt yet, nor a next one: the ledger takes all of it as one
    beginning, the model as two attempts.
    """
    writers = slow_model.Writers(events)
    started: Counter[Any] = Counter()
    for event in events:
        if event.kind in ("query", "exclude"):
            continue
        if event.who in writers.leads:
            return False
        if event.kind == "job_start":
            started[event.attempt, event.who] += 1
            if started[event.attempt, event.who] > 1:
                return True
    return False


def _ranks_without_zero(features: set[str], events: list[slow_model.Event]) -> bool:
    """No line is rank 0's, the lowest rank leads, and others follow it.

    Which attempt a follower's job start belongs to hangs on the lead's job starts around it, and
    the two sides look ahead for them in different ways.
    """
    return "lead_missing" in features and len({e.rank for e in events}) > 1


def _overlapping_groups(features: set[str], events: list[slow_model.Event]) -> bool:
    """Un-ranked writers that are no processes of one attempt record in turns.

    To the reader, which only looks for the end of a run, all of them are one attempt's.
    """
    writers = slow_model.Run([event.text for event in events], None).writers
    extent: dict[int, tuple[int, int]] = {}
    for event in events:
        if event.who in writers.stream_of:
            stream = writers.stream(event.who)
            begin, _ = extent.get(stream, (event.time, 0))
            extent[stream] = (begin, event.time)
    until: int | None = None
    for begin, end in sorted(extent.values()):
        if until is not None and begin < until:
            return True
        until = end if until is None else max(until, end)
    return False


def _restarts_beside(features: set[str], events: list[slow_model.Event]) -> bool:
    """An un-ranked writer that starts twice beside the lead, and tells of an exit.

    Its second start waits for the lead's next attempt, and so does the exit. The reader, which only
    looks for the end of a run, takes the exit for the open attempt's.
    """
    writers = slow_model.Writers(events)
    started: Counter[Any] = Counter()
    for event in events:
        started[event.who] += event.kind == "job_start"
        if event.kind == "exit" and event.who in writers.unranked and started[event.who] > 1:
            if event.who not in writers.leads:
                return True
    return False


EXCLUDED = (
    _two_leads, _groups_with_followers, _early_followers, _ranks_without_zero, _overlapping_groups,
    _restarts_beside,
)  # fmt: skip


def _is_left_out(seed: int, lines: list[str]) -> bool:
    features, events = histories.features(seed), slow_model.parse(lines)
    return any(kind(features, events) for kind in EXCLUDED)


# ------------------------------------------------------------------------------
# Comparing
# ------------------------------------------------------------------------------

RFC3339 = re.compile(r"([+-]?\d{4,6}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?Z")
EXACT = (
    "state", "down_since", "start", "end", "elapsed_ns", "excluded_ns",
    "data_loading_overlapped_ns", "slow_steps_ns", "unsaved_ns", "mtbf_ns", "mttr_ns",
)  # fmt: skip
OF_WINDOWS = ("elapsed_ns", "excluded_ns", "data_loading_overlapped_ns")
EXACT_STEPS = ("count", "max_productive_step", "last_step")
ROUNDED_STEPS = ("ideal_ns", "p50_ns", "p90_ns", "p99_ns", "max_ns")
LISTS = {
    "attempts": (
        "index", "start", "end", "end_kind", "exit_status", "signal", "notice", "first_step",
        "last_step",
    ),
    "disruptions": (
        "time", "step_reached", "resumed_from", "wasted_ns", "downtime_ns", "reinit_ns", "regained",
        "exit_status", "signal", "notice", "cause",
    ),
    "rollbacks": ("time", "from", "to", "wasted_ns", "planned"),
}  # fmt: skip
TIMES = ("start", "end", "down_since", "time", "regained")


def _instant(value: Any) -> int | None:
    """Exact nanoseconds since the epoch of an RFC 3339 string."""
    if value is None or isinstance(value, int):
        return value
    found = RFC3339.fullmatch(value)
    if found is None:
        raise Unanswered(f"not a time: {value!r}")
    stamp = datetime.fromisoformat(found[1]).replace(tzinfo=timezone.utc)
    span = stamp - datetime(1970, 1, 1, tzinfo=timezone.utc)
    nanoseconds = int((found[2] or "").ljust(9, "0"))
    return (span.days * 86_400 + span.seconds) * slow_model.SECOND + nanoseconds


def _of_entry(entry: dict[str, Any], key: str) -> Any:
    """A value of an attempt, a disruption or a rollback; times as integers."""
    value = _instant(entry[key]) if key in TIMES else entry[key]
    if isinstance(value, Decimal):
        value = int(value)
    return None if key == "signal" and value == 0 else value


def _fields(report: dict[str, Any], windowed: bool, with_notes: bool) -> Fields:
    """What is compared, flat."""
    fields: Fields = {key: report[key] for key in (OF_WINDOWS if windowed else EXACT)}
    for key in TIMES:
        if key in fields:
            fields[key] = _instant(fields[key])
    fields["goodput"] = report["goodput"]
    for category in report["categories"]:
        key = f"categories.{category['category']}.{category['name']}"
        if category["ns"]:
            fields[key] = fields.get(key, 0) + category["ns"]
    if with_notes:
        for note in report["notes"]:
            # Sequence numbers that stand twice are the file's matter, whatever was known when;
            # how often a clock was stepped depends on where a process is taken to begin.
            if note["code"] not in ("seq_conflict", "clock_step"):
                fields[f"notes.{note['code']}"] = note["count"]
    if windowed:
        return fields
    for key in EXACT_STEPS + ROUNDED_STEPS:
        fields[f"steps.{key}"] = report["steps"][key]
    between = report["steps"].get("ideal_ns_between")
    if between is not None:
        fields["steps.ideal_ns"] = tuple(between)  # any value between is right
    # What happened in an attempt after the next one's start may be counted or not.
    overlap = any(note["code"] == "clock_overlap" for note in report["notes"])
    if overlap:
        del fields["slow_steps_ns"]
    else:
        for key in ("saves", "mean_blocking_ns", "interval_ns", "advised_interval_ns"):
            fields[f"checkpointing.{key}"] = report["checkpointing"][key]
        fields["steps.deviation_ns"] = report["steps"]["deviation_ns"]
    for name, keys in LISTS.items():
        fields[name] = len(report[name])
        for i, entry in enumerate(report[name]):
            for key in keys:
                if overlap and key == "reinit_ns":
                    continue
                fields[f"{name}[{i}].{key}"] = _of_entry(entry, key)
    return fields


def _equal(field: str, ours: Any, theirs: Any) -> bool:
    if field == "steps.ideal_ns" and None not in (ours, theirs):
        return ours[0] * 499 <= theirs * 500 and theirs * 500 <= ours[1] * 501
    if field.startswith("steps.") and field[6:] in ROUNDED_STEPS and None not in (ours, theirs):
        return abs(ours - theirs) * 500 <= abs(ours)
    if field == "checkpointing.advised_interval_ns" and None not in (ours, theirs):
        return abs(ours - theirs) * 1_000_000_000 <= abs(ours) + 1_000_000_000
    if field == "goodput" and None not in (ours, theirs):
        return abs(ours - theirs) <= 1e-12
    return type(ours) is type(theirs) and bool(ours == theirs)


def _differences(ours: Fields, theirs: Fields) -> list[Difference]:
    absent = {"notes": 0, "categories": 0}
    out: list[Difference] = []
    for field in sorted(ours.keys() | theirs.keys()):
        default = absent.get(field.split(".")[0], "absent")
        a, b = ours.get(field, default), theirs.get(field, default)
        if not _equal(field, a, b):
            out.append((field, a, b))
    return out


def _general(field: str) -> str:
    """The field without the place in a list."""
    return re.sub(r"\[\d+\]", "[]", field)


class Question:
    """One question about one history."""

    def __init__(self, kind: str, as_of: int | None, window: Window | None) -> None:
        self.kind, self.as_of, self.window = kind, as_of, window

    def __str__(self) -> str:
        if self.window is not None:
            return f"{self.kind} {self.window[0]}..{self.window[1]}"
        return self.kind if self.as_of is None else f"{self.kind} {self.as_of}"

    def ask(self, ledger: Ledger, lines: list[str]) -> list[Difference] | None:
        """The differences; None where the answers can't be compared."""
        windowed = self.window is not None
        try:
            ours = slow_model.report(lines, self.as_of, self.window)
            several = any(note["code"] == "run_name_reused" for note in ours["notes"])
            if self.as_of is not None or any('"query"' in line for line in lines):
                # Only a part of the file is known then; the reader has split all of it.
                if several or _holds_several_runs(lines):
                    return None
            elif several and windowed:
                return None
            elif several and any(note["code"] == "out_of_order" for note in ours["notes"]):
                # The first record of a run has none before it whose time it could be taken at.
                return None
            elif several and (_reach_across(lines) or _is_grouped_anew(lines)):
                return None
        except Exception as error:  # a fault of the model
            return [("model", repr(error), None)]
        try:
            report = ledger.report(lines, self.as_of, self.window)
            theirs = _fields(report, windowed, not several)
            ideal, works = report["steps"]["ideal_ns"], ours["steps"].get("works_ns")
            if ideal is not None and works:
                ours["steps"]["deviation_ns"] = slow_model.deviation(works, ideal)
        except Unanswered as error:
            return [("answer", None, str(error))]
        except (KeyError, TypeError, AttributeError) as error:
            return [("answer", None, f"report of another shape: {error!r}")]
        return _differences(_fields(ours, windowed, not several), theirs)


class Orders:
    """Whether the ledger gives one answer for all orders of the writers' lines, and all uids."""

    kind = "orders"
    ORDERS = 3
    # Such a line counts in the run of the line before it.
    BY_PLACE = ("bad_line", "unknown_type", "torn_tail")

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def __str__(self) -> str:
        return self.kind

    def ask(self, ledger: Ledger, lines: list[str]) -> list[Difference] | None:
        rng = random.Random(self.seed)
        try:
            wanted = ledger.report(lines, None, None)
            codes = {note["code"] for note in wanted["notes"]}
            if "run_name_reused" in codes and not codes.isdisjoint(self.BY_PLACE):
                return None
            for uids in range(self.ORDERS):
                other = _interleaved(lines, rng)
                got = ledger.report(other, None, None, uids)
                if got != wanted:
                    return [
                        (f"orders.{key}", wanted.get(key), got.get(key))
                        for key in sorted(wanted.keys() | got.keys())
                        if wanted.get(key) != got.get(key)
                    ]
        except Unanswered as error:
            return [("answer", None, str(error))]
        return []

    @staticmethod
    def applies(features: set[str]) -> bool:
        """Where lines can't be read, it matters between which others they stand."""
        broken = {"torn_tail", "broken_json", "unknown_type"}
        return features.isdisjoint(broken)


def _interleaved(lines: list[str], rng: random.Random) -> list[str]:
    """The lines in another order; lines of one writer stay in theirs, which decides ties."""
    by_writer: dict[str, list[str]] = {}
    for line in lines:
        obj = json.loads(line)
        name = obj.get("writer") or f"rank{max(0, obj.get('rank') or 0)}"
        by_writer.setdefault(name, []).append(line)
    queues = [list(reversed(queue)) for _, queue in sorted(by_writer.items())]
    out: list[str] = []
    while queues:
        queue = rng.choice(queues)
        out.append(queue.pop())
        if not queue:
            queues.remove(queue)
    return out


def _holds_several_runs(lines: list[str]) -> bool:
    known = [line for line in lines if '"query"' not in line]
    return slow_model.Run(known, None).run_count > 1


def _reach_across(lines: list[str]) -> bool:
    """Whether one run's records lie in the time of another one.

    A rank that started again while the run before was still going on waits for the lead's next
    attempt, which is of another run; but the reader cuts the file by the time at which that attempt
    begins. And where an earlier run has the last record of the file, the model looks from there.
    """
    run = slow_model.Run(lines, None)
    runs = run.runs
    last = max(event.time for attempt in runs[-1] for event in attempt.events)
    if any(event.time > last for event in run.events):
        return True
    for before, after in zip(runs, runs[1:]):
        end = before[-1].end_event
        assert end is not None
        if any(event.time < end.time for attempt in after for event in attempt.events):
            return True
    return False


def _is_grouped_anew(lines: list[str]) -> bool:
    """Whether other un-ranked writers are parallel by the records of the newest run alone.

    The reader knows each run by itself; the model goes by the whole file.
    """
    run = slow_model.Run(lines, None)
    known = {id(event) for attempt in run.runs[-1] for event in attempt.events}
    before = {id(event) for own in run.runs[:-1] for attempt in own for event in attempt.events}
    start = run.runs[-1][0].start
    events = [
        event for event in run.events
        if id(event) in known or (event.time >= start and id(event) not in before)
    ]  # fmt: skip
    newest = slow_model.Writers(events)

    def groups(writers: slow_model.Writers, events: list[slow_model.Event]) -> list[Any]:
        """Who belongs together and who leads them, in the order in which these begin."""
        streams: dict[int, list[Any]] = {}
        for who in newest.stream_of:
            streams.setdefault(writers.stream(who), []).append(who)
        began: dict[Any, int] = {}
        for event in events:
            began.setdefault(event.who, event.time)
        found = []
        for own in streams.values():
            leads = sorted(writers.leads.intersection(own))
            found.append((min((began[who], who) for who in leads or own), leads, sorted(own)))
        return [(leads, own) for _, leads, own in sorted(found)]

    return groups(slow_model.Writers(run.events), run.events) != groups(newest, events)


def _questions(seed: int, lines: list[str]) -> list[Question]:
    rng = random.Random(seed)
    questions = [Question("default", None, None)]
    events = slow_model.parse(lines)
    if not events:
        return questions
    times = sorted(e.time for e in events)
    low, high = times[0], times[-1]
    # As-of times at records and right beside them are the interesting ones.
    as_of = rng.choice((rng.randint(low, high), rng.choice(times), rng.choice(times) + 1))
    questions.append(Question("as_of", as_of, None))
    a, b = sorted(rng.choice((rng.randint(low, high), rng.choice(times))) for _ in range(2))
    questions.append(Question("window", None, (a, b)))
    return questions


def _minimise(
    ledger: Ledger, question: Question | Orders, lines: list[str], field: str
) -> list[str]:
    """Takes lines out, many at once and then one by one, while the field still differs."""
    until = time.monotonic() + MINIMISE_SECONDS
    wanted = _general(field)
    size = max(1, len(lines) // 2)
    while True:
        removed = False
        at = 0
        while at < len(lines) and time.monotonic() < until:
            fewer = lines[:at] + lines[at + size :]
            differences = question.ask(ledger, fewer) or []
            if any(_general(d[0]) == wanted for d in differences):
                lines, removed = fewer, True
            else:
                at += size
        if time.monotonic() >= until or (size == 1 and not removed):
            return lines
        if not removed:
            size = max(1, size // 2)


# ------------------------------------------------------------------------------
# Running
# ------------------------------------------------------------------------------


class Outcome:
    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.asked = 0
        self.skipped = 0
        self.found: list[tuple[Question | Orders, list[Difference]]] = []


def _try_seed(ledger: Ledger, seed: int, lines: list[str], only: str | None) -> Outcome:
    outcome = Outcome(seed)
    questions: list[Question | Orders] = list(_questions(seed, lines))
    if Orders.applies(histories.features(seed)):
        questions.append(Orders(seed))
    for question in questions:
        differences = question.ask(ledger, lines)
        if differences is None:
            outcome.skipped += 1
            continue
        outcome.asked += 1
        if only is not None:
            kept = ("answer", "model")
            differences = [d for d in differences if d[0].startswith(only) or d[0] in kept]
        if differences:
            outcome.found.append((question, differences))
    return outcome


def _try_seeds(job: tuple[str, range, str | None, tuple[str, ...]]) -> list[Outcome]:
    path, seeds, only, without = job
    ledger = Ledger(path)
    outcomes = []
    for seed in seeds:
        if without and not histories.features(seed).isdisjoint(without):
            continue
        lines = histories.history(seed)
        if _is_left_out(seed, lines):
            continue
        outcomes.append(_try_seed(ledger, seed, lines, only))
    status = ledger.close()
    if status not in (0, None):
        print(f"seeds {seeds.start}..{seeds.stop - 1}: exit status {status} at the end", flush=True)
    return outcomes


def _show(path: str, outcome: Outcome) -> None:
    question, differences = outcome.found[0]
    print(f"\n{histories.describe(outcome.seed)}\n{question}:")
    for field, ours, theirs in differences[:12]:
        print(f"  {field}: model {ours!r}, ledger {theirs!r}")
    if len(differences) > 12:
        print(f"  and {len(differences) - 12} more")
    ledger = Ledger(path)
    field = differences[0][0]
    lines = _minimise(ledger, question, histories.history(outcome.seed), field)
    print(f"{len(lines)} lines are enough for {_general(field)}:")
    print("\n".join("  " + line for line in lines))
    for field, ours, theirs in (question.ask(ledger, lines) or [])[:12]:
        print(f"    {field}: model {ours!r}, ledger {theirs!r}")
    ledger.close()
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(description="Compares the ledger with the slow model.")
    parser.add_argument("--replay", required=True, help="the program that asks the ledger")
    seeds = 100_000 if os.environ.get("HEADWAY_FULL") == "1" else 10_000
    parser.add_argument("--seeds", type=int, default=seeds, help="how many histories")
    parser.add_argument("--start", type=int, default=0, help="the first seed")
    parser.add_argument("--only", metavar="FIELD", help="fields that begin so, as differences say")
    parser.add_argument(
        "--without", metavar="FEATURE", action="append", default=[],
        help="leave out histories with this feature (see histories.describe)",
    )  # fmt: skip
    parser.add_argument("--show", type=int, default=5, help="how many failures to print in full")
    options = parser.parse_args()
    stop = options.start + options.seeds
    jobs = [
        (options.replay, range(at, min(at + CHUNK, stop)), options.only, tuple(options.without))
        for at in range(options.start, stop, CHUNK)
    ]
    passed = failed = skipped = asked = 0
    by_field: Counter[str] = Counter()
    began = said = time.monotonic()
    with multiprocessing.Pool(WORKERS) as pool:
        for outcomes in pool.imap(_try_seeds, jobs):
            for outcome in outcomes:
                asked += outcome.asked
                skipped += outcome.skipped
                passed += not outcome.found
                failed += bool(outcome.found)
                fields = {_general(d[0]) for _, found in outcome.found for d in found}
                by_field.update(fields)
                if outcome.found and failed <= options.show:
                    _show(options.replay, outcome)
            if time.monotonic() - said > 5:
                said = time.monotonic()
                rate = (passed + failed) / (said - began)
                print(f"{passed + failed} of {options.seeds}, {failed} failed, {rate:.0f}/s",
                      flush=True)  # fmt: skip
    if by_field:
        print("\nhistories that differ, by field:")
        for field, count in by_field.most_common(40):
            print(f"{count:8} {field}")
    left_out = options.seeds - passed - failed
    print(f"{asked} questions compared, {skipped} left out (several runs in the file)")
    print(f"{left_out} histories left out, see EXCLUDED")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
