"""Seeded random histories of training runs, in the neutral event-file format.

`history(seed)` gives the lines of a file and `describe(seed)` says what is in it. Most histories
tell a plausible story (attempts that start, train, crash and resume) with absurd things mixed in;
some are plain noise. The same seed gives the same lines on every machine.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from typing import Any

SECOND = 1_000_000_000
Record = dict[
    str, Any
]  # "t" is wall time in ns; "order" keeps the writer's order; the rest are fields

BLOCKING_KINDS = (
    "accelerator_init",
    "training_prep",
    "checkpoint_save",
    "checkpoint_restore",
    "custom",
)
ALL_KINDS = BLOCKING_KINDS + (
    "data_loading", "async_data_loading", "phase", "elastic_wait", "elastic_reinit",
)  # fmt: skip
NAMED = {
    "custom": ("eval", "eval_step", "Compile", ""),
    "phase": ("rollout", "train", ""),
    "elastic_wait": ("slice_down", "scale_up"),
}


class LateSpans:
    """Spans that end some steps later than they began, as background work of a careless program."""

    def __init__(self, story: Story) -> None:
        self.story = story
        self.lag = story.rng.choice((1, 1, 2, 3, 5, 10, 1000))
        self.order = story.rng.choice((0, -1, None))  # first in first out, last in first out, any
        self.blocking = story.rng.choice((None, None, False))
        self.open: list[str] = []
        self.begun = 0

    def step(self) -> None:
        """The next step is about to begin."""
        story = self.story
        if story.rng.random() < 0.8:
            name = f"late{self.begun}"
            self.begun += 1
            self.open.append(name)
            story.emit("custom_start", name=name, blocking=self.blocking)
        while len(self.open) > self.lag:
            self.end_one()

    def end_one(self) -> None:
        order = self.order
        at = self.story.rng.randrange(len(self.open)) if order is None else order
        self.story.emit("custom_end", name=self.open.pop(at))

    def end(self) -> None:
        """No more steps."""
        for _ in range(len(self.open)):
            if self.story.rng.random() < 0.9:
                self.end_one()
            else:
                self.open.pop()


class Story:
    """One history under construction."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.features: set[str] = set()
        self.records: list[Record] = []
        self.crashes: list[int] = []
        rng = self.rng
        self.unit = rng.choice((SECOND, SECOND, SECOND, SECOND // 10, 1_000_000, 1))
        self.normal = rng.choice((1, 2, 10, 10, 10, 70)) * (SECOND if self.unit > 1 else 977)
        self.t = rng.choice((0, 0, 0, 1_767_225_600 * SECOND))
        if self.chance(0.03, "huge_times"):
            self.t = rng.choice((4_600_000_000 * SECOND, -4_000_000_000 * SECOND))
        self.origin = self.t
        self.long = rng.random() < 0.07
        self.keyed = self.chance(0.10, "attempt_field")
        self.attempt = 0
        self.highest = 0
        self.ranks = rng.choice((1, 2, 3)) if self.chance(0.12, "several_ranks") else 0
        self.heartbeats = rng.random() < 0.3
        self.plain = rng.random() < 0.25  # little inside the steps
        self.input_bound = self.chance(0.03, "input_bound")
        self.lead_writer: str | None = None

    def chance(self, probability: float, feature: str | None = None) -> bool:
        hit = self.rng.random() < probability
        if hit and feature is not None:
            self.features.add(feature)
        return hit

    def length(self, low: float, high: float) -> int:
        """A random duration between multiples of the normal step, in the history's unit."""
        ns = int(self.normal * self.rng.uniform(low, high))
        return ns // self.unit * self.unit

    def emit(self, kind: str, t: int | None = None, **fields: Any) -> Record:
        record: Record = {"t": self.t if t is None else t, "order": len(self.records), "type": kind}
        record.update({k: v for k, v in fields.items() if v is not None})
        if (
            self.keyed
            and "attempt" not in record
            and not self.chance(0.005, "attempt_field_missing")
        ):
            record["attempt"] = self.attempt
        if self.lead_writer is not None and "rank" not in record and "writer" not in record:
            record["writer"] = self.lead_writer
        self.records.append(record)
        return record

    # Spans ---------------------------------------------------------------------------------------

    def name_for(self, kind: str) -> str | None:
        if kind in NAMED:
            if kind != "elastic_wait" and self.chance(0.7, "named_span"):
                return self.rng.choice(NAMED[kind][:2])
            return self.rng.choice(NAMED[kind]) or None
        return None

    def span(self, kind: str, begin: int, end: int, name: str | None = None, **fields: Any) -> None:
        """A span, now and then without one of its ends."""
        self.features.add("span_" + kind)
        if name is None:
            name = self.name_for(kind)
        if not self.chance(0.02, "span_unopened"):
            self.emit(kind + "_start", begin, name=name, **fields)
        if not self.chance(0.03, "span_unclosed"):
            self.emit(kind + "_end", end, name=name)

    def some_span(self, begin: int, end: int, kinds: tuple[str, ...] = ALL_KINDS) -> None:
        kind = self.rng.choice(kinds)
        a, b = sorted(self.within(begin, end) for _ in range(2))
        blocking = None
        if kind == "data_loading":
            blocking = self.loading_mode()
        elif self.chance(0.06, "span_overlapped"):
            blocking = False
        if self.chance(0.12, "span_crosses_step"):
            b += self.length(0.5, 2.5)
        self.span(kind, a, b, blocking=blocking)
        if self.chance(0.25, "span_nested_or_partial"):
            c, d = self.within(a, b), self.within(a, end)
            self.span(self.rng.choice(kinds), min(c, d), max(c, d))

    def loading_mode(self) -> bool | None:
        mode = self.rng.choice((None, None, None, None, True, False))
        if mode is not None:
            self.features.add("loading_blocking_true" if mode else "loading_blocking_false")
        return mode

    def within(self, begin: int, end: int) -> int:
        if end <= begin:
            return begin
        return begin + self.rng.randrange(0, end - begin + 1) // self.unit * self.unit

    # Attempts ------------------------------------------------------------------------------------

    def start_up(self) -> None:
        if not self.chance(0.04, "no_job_start"):
            self.emit("job_start")
        for rank in range(1, self.ranks + 1):
            if self.rng.random() < 0.8:
                self.emit(
                    "job_start", self.t + self.rng.choice((-1, 0, 0, 1, 2)) * self.unit, rank=rank
                )
        for kind in ("accelerator_init", "training_prep", "checkpoint_restore", "data_loading"):
            if self.rng.random() < 0.3:
                end = self.t + self.length(0, 2)
                blocking = self.loading_mode() if kind == "data_loading" else None
                self.span(kind, self.t, end, blocking=blocking)
                self.t = end
                self.t += self.length(0, 0.5) if self.rng.random() < 0.3 else 0
        if self.chance(0.05, "phase_outside_step"):
            self.span("phase", self.t, self.t + self.length(0.2, 1))
            self.t += self.length(0, 1)

    def step(self, number: int, first: bool) -> None:
        rng, begin = self.rng, self.t
        self.emit("step_start", step=number)
        self.highest = max(self.highest, number)
        duration = self.length(0.97, 1.05)
        if first and rng.random() < 0.7:
            duration = self.length(1, 5)
        if self.chance(0.02, "zero_length_step"):
            duration = 0
        elif self.chance(0.04, "excess"):
            duration = self.length(1.08, 4)
        elif self.chance(0.02, "hang"):
            duration = self.length(15, 200)
        if self.input_bound:
            self.emit("data_loading_start", begin)
            self.emit("data_loading_end", begin + duration)
        elif not self.plain:
            if rng.random() < 0.2:
                self.span(
                    "data_loading",
                    begin,
                    self.within(begin, begin + duration),
                    blocking=self.loading_mode(),
                )
            if self.chance(0.03, "late_loading"):
                late = self.length(0.2, 3)
                duration += late
                self.span("data_loading", begin, begin + duration)
            if self.chance(0.03, "async_loading"):
                self.span(
                    "async_data_loading",
                    begin,
                    self.within(begin, begin + duration + self.length(0, 1)),
                )
            if rng.random() < 0.10:
                self.some_span(begin, begin + duration)
            if self.chance(0.03, "phase_in_step"):
                self.span("phase", self.within(begin, begin + duration), begin + duration)
            if self.chance(0.02, "save_in_step"):
                save = self.length(0.1, 1)
                self.span("checkpoint_save", begin + duration, begin + duration + save)
                duration += save
        if self.heartbeats and rng.random() < 0.3:
            self.emit("heartbeat", self.within(begin, begin + duration))
        for rank in range(1, self.ranks + 1):
            if rng.random() < 0.3:
                kind = rng.choice(("heartbeat", "heartbeat", "step_start", "data_loading_start"))
                self.emit(kind, self.within(begin, begin + duration), rank=rank,
                          step=number if kind == "step_start" else None)  # fmt: skip
        self.t = begin + duration
        if rng.random() < 0.12:
            self.features.add("hard_end")
            self.emit(
                "step_end", step=number if not self.chance(0.05, "stray_step_end") else number + 1
            )
            self.t += self.length(0, 1.5) if rng.random() < 0.6 else 0
            if self.chance(0.15, "phase_outside_step"):
                self.span("phase", self.t, self.t + self.length(0, 1))
                self.t += self.length(0.3, 1)
        if self.chance(0.03, "checkpoint_saved"):
            self.emit("checkpoint_saved", step=max(0, number - rng.choice((0, 0, 1, 2))))
        if self.chance(0.01, "capacity"):
            self.emit("capacity", available=rng.randrange(9), active=rng.randrange(9), total=8)

    def between_steps(self, number: int) -> int:
        """What happens before the next step; returns its number."""
        rng = self.rng
        if self.chance(0.03, "rollback_in_attempt"):
            back = max(0, number - rng.randrange(0, 5))
            how = rng.choice(("restore", "restore", "prep", "record", "none"))
            self.features.add("rollback_" + how)
            end = self.t + self.length(0, 1)
            if how == "restore":
                self.span("checkpoint_restore", self.t, end)
            elif how == "prep":
                self.span("training_prep", self.t, end)
            elif how == "record":
                self.emit("rollback", step=back)
            if how in ("restore", "prep"):
                self.t = end
            return back
        if self.chance(0.02, "elastic"):
            waited, ready = self.t + self.length(0, 6), self.length(0, 3)
            if rng.random() < 0.7:
                self.span("elastic_wait", self.t, waited)
                self.t = waited
            self.span("elastic_reinit", self.t, self.t + ready)
            if self.chance(0.3, "accelerator_init_in_reinit"):
                self.span("accelerator_init", self.t, self.t + ready)
            self.t += ready
            return max(0, number - rng.randrange(0, 4))
        if self.chance(0.02, "retry"):
            times = rng.choice((1, 2, 3))
            self.features.add(f"retry_{times + 1}x")
            for _ in range(times):
                if self.chance(0.15, "retry_after_restore"):
                    self.span("checkpoint_restore", self.t, self.t + self.length(0, 0.3))
                    self.t += self.length(0.3, 0.5)
                self.emit("step_start", step=number)
                self.t += self.length(0.5, 1.5)
            return number + 1
        if self.chance(0.015, "step_back_after_silence"):
            self.t += self.length(15, 80)
            if rng.random() < 0.5:
                self.emit("heartbeat" if rng.random() < 0.5 else "checkpoint_restore_start")
                self.t += self.length(0, 2)
            return max(0, number - rng.randrange(0, 3))
        if self.chance(0.02, "skip"):
            return number + rng.randrange(2, 6)
        if self.chance(0.008, "implicit_by_accelerator_init"):
            self.span("accelerator_init", self.t, self.t + self.length(0, 1))
            self.t += self.length(1, 2)
            return max(0, number - rng.randrange(0, 3))
        return number + 1

    def train(self, number: int, count: int) -> int:
        """Steps from `number` on; returns the last one started."""
        rng = self.rng
        epoch = rng.choice((3, 4, 5)) if self.chance(0.04, "epoch_counter") else 0
        special = ""
        if not epoch and rng.random() < 0.06:
            special = "three_stalls"
            self.features.add(special)
        elif not epoch and rng.random() < 0.035:
            special = "many_excesses"
            self.features.add(special)
            count += 38
        last = number
        slower = self.normal
        late = LateSpans(self) if self.chance(0.03, "late_ends") else None
        covered = self.chance(0.02, "covered_steps")
        for i in range(count):
            if covered and self.chance(0.8):
                # Work time that nothing is left of.
                self.emit("step_start", step=number)
                end = self.t + self.length(0.9, 1.1)
                self.span("custom", self.t, end, name=f"all{i % 2}")
                self.t = end
                self.highest = max(self.highest, number)
                last, number = number, number + 1
                continue
            if late is not None:
                late.step()
            if special == "many_excesses" and i >= 4:
                slower = slower * 11 // 10 // self.unit * self.unit + self.unit
                self.emit("step_start", step=number)
                self.highest = max(self.highest, number)
                self.t += slower
                last, number = number, number + 1
                continue
            if special == "three_stalls" and i in (4, 5, 6, 7):
                self.emit("step_start", step=number)
                self.t += self.length(15, 90)
                last, number = number, number + 1
                continue
            self.step(number, first=i == 0)
            last = number
            if epoch:
                number = (number + 1) % epoch
                if number == 0 and self.rng.random() < 0.3:
                    self.span("custom", self.t, self.t + self.length(0, 3))
                    self.t += self.length(0, 3)
            else:
                number = self.between_steps(number)
        if late is not None:
            late.end()
        self.highest = max(self.highest, last)
        return last

    def finish(self, is_last: bool) -> str:
        rng = self.rng
        how = rng.choice(("clean", "crash", "crash", "failed", "exit", "signal", "lost", "open"))
        self.features.add("end_" + how)
        if self.heartbeats and how in ("crash", "exit", "signal"):
            self.emit("heartbeat", self.t - self.length(0, 0.6))
        if how == "clean":
            self.emit("job_end", status=rng.choice((None, None, "ok", "success", "completed", 0)))
            if self.chance(0.1, "exit_after_end"):
                self.emit(
                    "exit",
                    self.t + self.unit,
                    signal=rng.choice((15, None)),
                    status=rng.choice((0, 143)),
                )
        elif how == "failed":
            self.emit("job_end", status=rng.choice(("error", 1, "killed")))
        elif how == "exit":
            self.emit("exit", status=rng.choice((0, 1, 1, 137)))
        elif how == "signal":
            self.emit("exit", signal=rng.choice((9, 11, 15)))
        elif how == "lost":
            for _ in range(rng.randrange(2, 5)):
                self.t += self.length(0.1, 1)
                self.emit("heartbeat")
            self.t += self.rng.choice((0, self.length(2, 20), 200 * SECOND)) if is_last else 0
        if how == "lost" and is_last and rng.random() < 0.6:
            self.features.add("silent_at_the_end")
        self.crashes.append(self.t)
        for rank in range(1, self.ranks + 1):
            if rng.random() < 0.3:
                self.emit(
                    rng.choice(("job_end", "heartbeat", "exit")),
                    self.t + self.unit * rng.randrange(-2, 3),
                    rank=rank,
                )
        if how in ("clean", "failed", "exit", "signal") and self.chance(0.08, "records_after_end"):
            for _ in range(rng.randrange(1, 4)):
                self.t += self.length(0, 0.3)
                kind = rng.choice(
                    (
                        "heartbeat",
                        "step_end",
                        "job_end",
                        "step_start",
                        "custom_start",
                        "checkpoint_save_end",
                    )
                )
                self.emit(kind, step=self.highest + 1 if kind == "step_start" else None)
        return how

    def tell(self) -> None:
        rng = self.rng
        attempts = rng.choice((1, 1, 1, 2, 2, 2, 3, 3, 4, 6))
        budget = rng.randrange(60, 150) if self.long else rng.choice((3, 6, 10, 10, 16, 24))
        number = rng.choice((0, 0, 0, 1, 100))
        resumes = self.chance(0.03, "new_lead_writers")
        for k in range(attempts):
            self.attempt = k
            if resumes:
                self.lead_writer = f"p{k}"
            self.start_up()
            count = 0 if self.chance(0.05, "attempt_without_steps") else max(1, budget // attempts)
            count = rng.randrange(0, 2 * count) if count else 0
            last = self.train(number, count) if count else None
            how = self.finish(k == attempts - 1)
            if last is not None:
                choice = rng.choice(("earlier", "earlier", "at_f", "f_plus_1", "later", "from_0"))
                self.features.add("resume_" + choice)
                number = {
                    "earlier": max(0, last - rng.randrange(1, 6)),
                    "at_f": last, "f_plus_1": last + 1,
                    "later": last + rng.randrange(2, 5), "from_0": rng.choice((0, 1)),
                }[choice]  # fmt: skip
            if how == "clean" and number <= 1:
                self.features.add("run_name_reused")
                if rng.random() < 0.7:
                    number = self.highest + 1
            self.t += self.length(0, 8)
            if self.keyed and self.chance(0.2, "overlapping_attempts"):
                self.t = max(self.origin, self.t - self.length(2, 14))
        if self.chance(0.03, "second_lead"):
            self._second_lead()
        if self.chance(0.015, "twin"):
            self._twin()

    def _second_lead(self) -> None:
        """Another writer that claims rank 0 joins in."""
        rng = self.rng
        t = self.within(self.origin, max(self.t, self.origin + 1))
        fields: Record = {"writer": rng.choice(("twin", "a"))}
        if rng.random() < 0.5:
            fields["rank"] = 0
        if rng.random() < 0.5:
            self.emit("job_start", t, **fields)
        for i in range(rng.randrange(1, 4)):
            t += self.length(0.2, 2)
            kind = rng.choice(("step_start", "heartbeat", "custom_start", "job_end"))
            self.emit(kind, t, step=i if kind == "step_start" else None, **fields)

    def _twin(self) -> None:
        """Another process tells about the same as the lead, from some time on."""
        rng = self.rng
        begin = self.origin if rng.random() < 0.6 else self.within(self.origin, self.t)
        end = self.t if rng.random() < 0.6 else self.within(begin, self.t)
        late = self.unit * rng.randrange(-2, 4)
        for told in [r for r in self.records if "rank" not in r and begin <= r["t"] <= end]:
            if rng.random() < 0.85:
                fields = {k: v for k, v in told.items() if k not in ("t", "order", "type")}
                late += self.unit * rng.randrange(0, 2)
                self.emit(told["type"], told["t"] + late, **(fields | {"writer": "b"}))

    def noise(self) -> None:
        """No story at all."""
        rng = self.rng
        self.features.add("noise")
        kinds = ["job_start", "job_end", "step_start", "step_end", "heartbeat", "exit", "rollback"]
        kinds += ["checkpoint_saved", "step_start", "step_start", "step_start", "step_start"]
        kinds += [kind + side for kind in ALL_KINDS for side in ("_start", "_end")]
        step = 0
        for _ in range(rng.randrange(2, 200 if self.long else 45)):
            self.t += rng.choice((0, 0, 1, 1, 2, 5, 10, 30)) * max(self.unit, self.normal // 10)
            kind = rng.choice(kinds)
            step = max(0, step + rng.choice((1, 1, 1, 1, 0, -1, -3)))
            fields: Record = {}
            if kind in ("step_start", "step_end", "checkpoint_saved", "rollback"):
                fields["step"] = step
            if kind.startswith(("custom", "phase", "elastic_wait")):
                fields["name"] = rng.choice(NAMED[kind.rsplit("_", 1)[0]]) or None
            if kind.startswith("data_loading_start") and rng.random() < 0.4:
                fields["blocking"] = rng.random() < 0.5
            if kind == "exit":
                fields[rng.choice(("status", "signal"))] = rng.choice((0, 1, 15))
            if kind == "job_end" and rng.random() < 0.5:
                fields["status"] = "error"
            if rng.random() < 0.1 * self.ranks:
                fields["rank"] = rng.randrange(1, self.ranks + 1)
            if self.keyed:
                fields["attempt"] = rng.randrange(0, 3)
            self.emit(kind, **fields)


# What is done to the finished story -------------------------------------------


def _add_excludes(story: Story) -> list[Record]:
    rng, made = story.rng, []
    low, high = story.origin, max((r["t"] for r in story.records), default=story.origin)

    def exclude(begin: int, end: int | None) -> None:
        said = rng.choice((begin, high if end is None else end, high + story.unit))
        record = {"t": said, "order": 10**9, "type": "exclude", "from": begin, "name": "stopped"}
        if end is not None:
            record["to"] = end
        made.append(record)

    for _ in range(rng.choice((1, 1, 2, 3))):
        a, b = sorted(story.within(low, high) for _ in range(2))
        shape = rng.random()
        if shape < 0.15:
            story.features.add("exclude_open")
            exclude(b, None)
        elif shape < 0.5 and story.crashes:
            story.features.add("exclude_over_crash")
            crash = rng.choice(story.crashes)
            exclude(crash - rng.choice((0, 0, story.length(0, 2))), crash + story.length(0, 8))
        else:
            story.features.add("exclude_closed")
            exclude(a, b)
            if rng.random() < 0.3:
                story.features.add("exclude_overlapping")
                exclude(story.within(a, b), b + story.length(0, 3))
    return made


def _add_seq(story: Story, rank: int) -> None:
    """Numbers a rank's records in the order they were written, then disturbs some stamps."""
    records = [r for r in story.records if r.get("rank", 0) == rank]
    records.sort(key=lambda r: (r["t"], r["order"]))
    number: Counter[Any] = Counter()
    for record in records:
        key = record.get("attempt"), record.get("writer")
        record["seq"] = number[key]
        number[key] += 1
    if records and story.chance(0.5, "out_of_order_stamps"):
        for record in story.rng.sample(records, max(1, len(records) // 15)):
            record["t"] -= story.length(0, 3)
    if len(records) > 1 and story.chance(0.15, "seq_conflict"):
        a, b = story.rng.sample(records, 2)
        a["seq"] = b["seq"]


def _add_mono(story: Story) -> None:
    """The lead's lines carry the monotonic clock, and the system clock may be stepped."""
    records = sorted(
        (r for r in story.records if "rank" not in r), key=lambda r: (r["t"], r["order"])
    )
    boot = story.origin - story.rng.randrange(0, 10**6) * SECOND
    use_ns = story.rng.random() < 0.5
    jump_from = story.rng.randrange(0, len(records)) if records else 0
    jump = story.rng.choice((0, 2, 3600, -3600 if "seq" in story.features else 7)) * SECOND
    if jump:
        story.features.add("clock_step")
    for i, record in enumerate(records):
        record["mono_ns" if use_ns else "mono"] = record["t"] - boot
        if i >= jump_from:
            record["t"] += jump


def _remove_lead(story: Story) -> None:
    """Rank 0 is missing from the file, or from one of its attempts."""
    if story.keyed and story.rng.random() < 0.6:
        story.features.add("attempt_without_lead")
        gone = story.rng.randrange(0, story.attempt + 1)
        story.records = [r for r in story.records if "rank" in r or r.get("attempt") != gone]
    else:
        story.features.add("lead_missing")
        story.records = [r for r in story.records if "rank" in r]


def _rank_lead(story: Story) -> None:
    """The lead says its rank, which need not be 0 if it is alone."""
    rank = 0
    if not story.ranks and story.rng.random() < 0.3:
        rank = story.rng.choice((1, 3))
        story.features.add("lead_of_high_rank")
    for record in story.records:
        if "rank" not in record and record.get("writer") == story.lead_writer:
            record["rank"] = rank


# Lines that can't be read: no JSON, or no line of its type.
BROKEN = (
    "{", "not json", "[1, 2]", '{"ts": }', '{"type": "heartbeat"}', "{}",
    '{"ts": 5, "type": "exit"}', '{"ts": 5, "type": "exit", "signal": 0}',
    '{"ts": 5, "type": "rollback"}', '{"ts": 5, "type": "step_start"}',
    '{"ts": 5, "type": "checkpoint_saved"}', '{"ts": 5, "type": "exclude", "to": 9}',
    '{"ts": 5, "type": "exclude", "from": 9, "to": 5}',
    '{"ts": "5", "ts_ns": 5, "type": "heartbeat"}',
)  # fmt: skip


def _seconds(ns: int) -> str:
    whole, part = divmod(abs(ns), SECOND)
    text = str(whole) if part == 0 else f"{whole}.{part:09d}".rstrip("0")
    return "-" + text if ns < 0 else text


def _line(record: Record, style: str, rng: random.Random) -> str:
    """One JSON line; times are written by hand, because a float would not be exact."""
    parts: list[str] = []
    for key, value in record.items():
        if key == "order":
            continue
        if key == "t":
            if style == "ns" or (style == "mixed" and rng.random() < 0.5):
                parts.append(f'"ts_ns": {value}')
            else:
                extra = "0004" if style == "fine" and value % SECOND else ""
                parts.append(f'"ts": {_seconds(value)}{extra}')
        elif key in ("from", "to"):
            if style == "ns":
                parts.append(f'"{key}_ns": {value}')
            else:
                parts.append(f'"{key}": {_seconds(value)}')
        elif key == "mono":
            parts.append(f'"mono": {_seconds(value)}')
        else:
            parts.append(f"{json.dumps(key)}: {json.dumps(value)}")
    return "{" + ", ".join(parts) + "}"


KEPT_OF_A_LINE = ("ts", "ts_ns", "mono", "mono_ns", "rank", "writer", "attempt")


def _add_ends(lines: list[str], seed: int, features: set[str]) -> None:
    """Notices beside some lines, and numbers as the status of failed ends."""
    rng = random.Random(f"ends {seed}")
    if rng.random() < 0.3:
        status = rng.choice((1, 3, -1, 137))
        lines[:] = [line.replace('"status": "error"', f'"status": {status}') for line in lines]
    # One line without a number would take the order by numbers from its writer.
    if not lines or rng.random() >= 0.15 or any('"seq"' in line for line in lines):
        return
    features.add("notice")
    for at in sorted(rng.sample(range(len(lines)), min(len(lines), rng.randrange(1, 4))))[::-1]:
        found = re.findall(r'"(\w+)": (-?[\d.]+|"[^"]*")(?=[,}])', lines[at])
        parts = [f'"{key}": {value}' for key, value in found if key in KEPT_OF_A_LINE]
        if not any(part.startswith('"ts') for part in parts):
            continue
        signal = rng.choice((', "signal": 15', ', "signal": 15', ', "signal": 10', ""))
        lines.insert(at, "{" + ", ".join(parts) + ', "type": "notice"' + signal + "}")


def _ties(seed: int) -> tuple[list[str], set[str]]:
    """A few writers whose records often carry one time, in any order of the writers."""
    rng = random.Random(seed)
    features = {"ties", "equal_times", "small"}
    names: list[str] = rng.sample(("a", "b", "p1", "p10", "p2", "zz"), rng.choice((2, 2, 2, 3, 4)))
    keyed = rng.random() < 0.15
    if keyed:
        features.add("attempt_field")
    unit = rng.choice((1, SECOND, 10 * SECOND, 30 * SECOND, 100 * SECOND))
    queues: list[list[str]] = []
    for place, name in enumerate(names):
        t = rng.choice((0, 0, 0, 1, 2, 3)) * unit
        step = rng.choice((0, 0, 0, 1, 2, 5))
        queue: list[str] = []
        for i in range(rng.choice((1, 1, 2, 3, 3, 4, 5, 8))):
            fields: Record = {"t": t}
            kinds = ["step_start"] * 4 + ["heartbeat", "job_end", "exit", "training_prep_start"]
            kinds += ["step_end", "training_prep_end", "checkpoint_restore_start"]
            fields["type"] = rng.choice(kinds + ["job_start"] * (6 if i == 0 else 1))
            if fields["type"] == "step_start":
                fields["step"] = step
                step = rng.choice((step + 1, step + 1, step + 1, step, 0))
            elif fields["type"] in ("job_end", "exit"):
                fields["status"] = rng.choice((0, 0, 1))
            if keyed:
                fields["attempt"] = place % 2
            fields["writer"] = name
            queue.append(_line(fields, "ns", rng))
            t += rng.choice((0, 0, 1, 1, 1, 2)) * unit
        queues.append(queue)
    lines: list[str] = []
    while queues:
        queue = rng.choice(queues)
        lines.append(queue.pop(0))
        if not queue:
            queues.remove(queue)
    return lines, features


def _build(seed: int) -> tuple[list[str], set[str]]:
    if seed % 8 == 7:
        return _ties(seed)
    story = Story(seed)
    rng = story.rng
    if rng.random() < 0.12:
        story.noise()
    else:
        story.tell()
    if story.chance(0.04, "seq_all"):
        for rank in range(story.ranks + 1):
            _add_seq(story, rank)
        story.features.add("seq")
    elif story.chance(0.06, "seq"):
        _add_seq(story, 0)
    if story.chance(0.05, "mono"):
        _add_mono(story)
    excludes = _add_excludes(story) if story.chance(0.14, "exclude") else []
    if story.ranks and story.chance(0.2):
        _remove_lead(story)
    if story.chance(0.1, "ranked_lead"):
        _rank_lead(story)
    records = sorted(story.records, key=lambda r: (r["t"], r["order"])) + excludes
    low, high = story.origin, max((r["t"] for r in records), default=story.origin)
    silent = "silent_at_the_end" in story.features
    if silent or story.chance(0.22, "query"):
        shape = 0.9 if silent else rng.random()
        asked = (
            story.within(low, high)
            if shape < 0.7
            else high + rng.choice((0, 50, 61, 400, 4000)) * SECOND
        )
        story.features.add("query_in_the_middle" if asked < high else "query_late")
        records.append({"t": asked, "order": 0, "type": "query"})
    if story.chance(0.06, "insert_id"):
        for i, record in enumerate(records):
            if rng.random() < 0.7:
                record["insert_id"] = f"id{i}"
    if story.chance(0.02, "insert_id_reused"):
        for record in rng.sample(records, min(2, len(records))):
            record["insert_id"] = "same"
    style = rng.choice(("s", "s", "s", "ns", "mixed", "fine"))
    lines = [_line(record, style, rng) for record in records]
    if lines and story.chance(0.08, "duplicates"):
        for line in rng.sample(lines, max(1, len(lines) // 8)):
            lines.insert(rng.randrange(len(lines) + 1), line)
    if story.chance(0.06, "unknown_type"):
        lines.insert(rng.randrange(len(lines) + 1), '{"ts": 5, "type": "coffee_break"}')
    if story.chance(0.06, "broken_json"):
        broken = rng.choice(BROKEN)
        lines.insert(rng.randrange(len(lines)) if lines else 0, broken)
    if story.chance(0.08, "lines_out_of_order"):
        if rng.random() < 0.5:
            rng.shuffle(lines)
        else:
            for _ in range(rng.randrange(1, 6)):
                if len(lines) > 1:
                    i = rng.randrange(len(lines) - 1)
                    lines[i], lines[i + 1] = lines[i + 1], lines[i]
    if lines and story.chance(0.06, "torn_tail"):
        lines[-1] = lines[-1][: rng.randrange(1, len(lines[-1]))]
    _add_ends(lines, seed, story.features)
    times = [r["t"] for r in story.records]
    if len(times) != len(set(times)):
        story.features.add("equal_times")
    story.features.add("200_lines_or_more" if len(lines) >= 200 else "small")
    return lines, story.features


def history(seed: int) -> list[str]:
    """The lines of an event file, always the same for one seed."""
    return _build(seed)[0]


def features(seed: int) -> set[str]:
    """What the history of a seed holds, as words."""
    return _build(seed)[1]


def describe(seed: int) -> str:
    """What the history of a seed holds, on one line."""
    lines, features = _build(seed)
    return f"seed {seed}: {len(lines)} lines: {', '.join(sorted(features))}"


def feature_shares(seeds: range) -> dict[str, float]:
    """Share of the seeds that have each feature."""
    counts: Counter[str] = Counter()
    for seed in seeds:
        counts.update(_build(seed)[1])
    return {feature: count / len(seeds) for feature, count in sorted(counts.items())}
