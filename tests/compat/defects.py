"""The original's known defects as histories (calls.py), by their numbers in docs/compat.md."""

from __future__ import annotations

import calls


def _history(
    recorded: list[calls.Call], now: float, windows: list[list[float]] | None = None,
    exclusions: list[list[list[float]]] | None = None, elastic: bool = False,
) -> calls.History:
    return {
        "elastic": elastic,
        "calls": recorded,
        "now": now,
        "windows": windows or [],
        "exclusions": exclusions or [],
    }


def _steps(first: int, count: int, start: float, every: float) -> list[calls.Call]:
    return [["step", round(start + i * every, 6), first + i] for i in range(count)]


def _span(name: str, begin: float, end: float, *arguments: str) -> list[calls.Call]:
    return [[f"{name}_start", begin, *arguments], [f"{name}_end", end, *arguments]]


def _start(time: float = 0) -> calls.Call:
    return ["job_start", time]


def _end(time: float) -> calls.Call:
    return ["job_end", time]


def _loaded_steps(count: int, load: float, every: float) -> list[calls.Call]:
    out: list[calls.Call] = []
    for i in range(count):
        out += [["step", i * every, i], *_span("data_loading", i * every, i * every + load)]
    return out


HISTORIES: dict[int, calls.History] = {
    # Restart at the step after the last one, an hour later.
    1: _history(
        [_start(), *_steps(0, 11, 10, 1), _start(3610), *_span("tpu_init", 3610, 3640),
         *_span("training_preparation", 3640, 3670), *_steps(11, 10, 3670, 1), _end(3680)],
        3680,
    ),
    # One step hangs for an hour.
    2: _history([_start(), *_steps(0, 20, 0, 10), *_steps(20, 10, 3790, 10), _end(3890)], 3890),
    # Each step waits 9 s for its data and computes for 1 s.
    3: _history([_start(), *_loaded_steps(10, 9, 10), _end(100)], 100),
    # Goes on after a clean end.
    7: _history([_start(), *_steps(0, 11, 0, 10), _end(110), _start(200), *_steps(11, 10, 200, 10)],
                300),
    # Two restarts, the second one further back than the first.
    9: _history(
        [_start(), *_steps(0, 100, 0, 1), _start(110), *_steps(60, 40, 110, 1), _start(160),
         *_steps(20, 100, 160, 1), _end(260)],
        260,
    ),
    # Restart at step 0.
    10: _history([_start(), *_steps(0, 100, 0, 1), _start(120), *_steps(0, 100, 120, 1), _end(220)],
                 220),
    # Loading is counted again after a restart.
    11: _history(
        [_start(), *_span("data_loading", 3, 5), *_steps(0, 5, 5, 3), _start(30),
         *_span("data_loading", 32, 34), *_steps(2, 3, 35, 3), _end(44)],
        44,
    ),
    # The same checkpoint is restored twice.
    12: _history(
        [_start(), ["restore", 0, 5, "gs://b", 60.0], _start(100),
         ["restore", 100, 5, "gs://b", 60.0], *_steps(6, 10, 160, 10), _end(260)],
        260,
    ),
    # An evaluation after the last step.
    13: _history([_start(), *_steps(0, 6, 0, 10), *_span("custom", 60, 160, "final_eval"),
                  _end(160)], 160),
    # A warm-up before the first step, and an event over the edge of a step.
    14: _history([_start(), *_span("custom", 0, 10, "warm_up"), ["step", 10, 0],
                  ["custom_start", 15, "eval"], ["step", 20, 1], ["custom_end", 25, "eval"],
                  *_steps(2, 3, 30, 10), _end(60)], 60),
    # Two events at once.
    15: _history([_start(), ["step", 0, 0], ["custom_start", 10, "a"], ["custom_start", 20, "b"],
                  ["custom_end", 60, "a"], ["custom_end", 70, "b"], *_steps(1, 3, 80, 20),
                  _end(140)], 140),
    # A restore inside the preparation.
    16: _history(
        [_start(), ["training_preparation_start", 0], ["restore", 10, 1, "gs://b", 50.0],
         ["training_preparation_end", 100], *_steps(2, 11, 100, 10), _end(210)],
        210,
    ),
    # A restart that fails, and another one.
    17: _history(
        [_start(), *_steps(0, 11, 0, 10), _start(200), *_span("tpu_init", 200, 260), _start(300),
         *_span("tpu_init", 300, 360), *_steps(10, 6, 360, 10), _end(420)],
        420,
    ),
    # A save before the first step.
    18: _history([_start(), ["save", 0, 0, "gs://b", 25.0], *_steps(0, 3, 25, 3), _end(35)], 35),
    # A window that hangs to its end.
    19: _history([_start(), *_steps(0, 60, 0, 10)], 1000, windows=[[-1e-6, 1000]]),
    # A window that begins in a step.
    20: _history([_start(), *_steps(0, 60, 0, 10), _end(600)], 600, windows=[[5, 27]]),
    # Excluded time with loads in it.
    21: _history([_start(), *_loaded_steps(10, 8, 10), _end(100)], 100,
                 exclusions=[[[0, 40]]]),
    # Two processes record each step.
    23: _history([_start(), *(call for i in range(10) for call in
                              (["step", i * 10, i], ["step", i * 10 + 0.001, i])), _end(100)], 100),
    # A step's record comes late.
    25: _history([_start(), ["step", 0, 0], ["step", 20, 2], ["step", 10, 1],
                  *_steps(3, 2, 30, 10), _end(50)], 50),
    # All steps take half a second.
    29: _history([_start(), *_steps(0, 100, 0, 0.5), _end(50)], 50),
    # Elastic waiting inside a step.
    32: _history(
        [_start(), ["step", 0, 0], *_span("wait", 10, 110, "slice_down"),
         ["elastic_reinit_start", 110], ["elastic_reinit_end", 140], *_steps(1, 2, 150, 5),
         _end(160)],
        160, elastic=True,
    ),
    # The first step after a restart.
    33: _history([_start(), *_steps(0, 100, 0, 1), _start(110), ["step", 110, 90]], 110.5),
    # Initialising takes the whole job so far.
    41: _history([_start(), *_span("tpu_init", 0, 100)], 100),
    # An initialisation that was cut off.
    44: _history(
        [_start(), ["tpu_init_start", 0], _start(50), *_span("tpu_init", 50, 60),
         *_steps(0, 5, 60, 10), _end(110)],
        110,
    ),
    # A reader that returns an entry once more.
    49: _history([_start(), *_steps(0, 3, 10, 10), ["step", 30, 2], *_steps(3, 2, 40, 10)], 60),
}
