"""What the original's own tests assert, as histories (calls.py), each with what must come out.

Names are those of the cases in its test files. Expected values are percent (goodput, badput), a
step or seconds; an item of `windows` or `without` is expected at the same place of the answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import calls

Expected = dict[str, Any]

_FIRST = (5, 13, 16, 19, 22)  # starts of five steps of 3 s, the first one 5 s longer


def _steps(times: Sequence[float], first: int = 0) -> list[calls.Call]:
    return [["step", time, first + i] for i, time in enumerate(times)]


def _span(name: str, begin: float, end: float, *arguments: Any) -> list[calls.Call]:
    return [[f"{name}_start", begin, *arguments], [f"{name}_end", end, *arguments]]


def _case(
    recorded: list[calls.Call],
    now: float,
    windows: Sequence[Sequence[float]] = (),
    exclusions: Sequence[Sequence[Sequence[float]]] = (),
    elastic: bool = False,
    **expected: Any,
) -> tuple[calls.History, Expected]:
    history = {
        "elastic": elastic,
        "calls": recorded,
        "now": now,
        "windows": [list(window) for window in windows],
        "exclusions": [[list(cut) for cut in cuts] for cuts in exclusions],
    }
    return history, expected


def _started(*more: list[calls.Call]) -> list[calls.Call]:
    return [["job_start", 0], *(call for part in more for call in part)]


_PREPARED = (_span("tpu_init", 0, 1), _span("training_preparation", 1, 3))
_LOADED = (*_PREPARED, _span("data_loading", 3, 5))
_DISRUPTED = (
    *_LOADED,
    _steps(_FIRST),
    [["job_start", 30]],
    _steps((35, 43, 46), 2),
    [["job_end", 49]],
)


def _recorder_with_badput() -> list[calls.Call]:
    recorded = _started(
        _span("tpu_init", 1, 2), _span("training_preparation", 3, 5), _span("data_loading", 6, 8)
    )
    time = 9.0
    for step in range(5):
        recorded.append(["step", time, step])
        recorded += _span("data_loading", time, time + 2)
        time += 2
        if step in (0, 3):
            recorded += _span("custom", time, time + 10, "test_sync")
            time += 10
        time += 3
    return [*recorded, ["job_end", time]]


def _asynchronous() -> list[calls.Call]:
    recorded = _started(*_LOADED)
    for step, time in enumerate((5, 10, 15, 20, 25)):
        recorded += [["step", time, step], *_span("data_loading", time + 3, time + 5)]
    return [*recorded, ["job_end", 30]]


CASES: dict[str, tuple[calls.History, Expected]] = {
    "calculator": _case(
        _started(_steps((5, 8, 11, 14, 17)), [["job_end", 20]]), 20, goodput=75.0, step=4,
        OTHER=25.0,
    ),
    "startup": _case(
        _started(_steps(_FIRST), [["job_end", 25]]), 25, goodput=60.0, PROGRAM_STARTUP=20.0,
    ),
    "complete restart": _case(
        _started(_steps((5, 8, 11, 14, 17)), [["job_start", 25]], _steps((30, 33, 36))), 38,
        goodput=600 / 38, step=1, WASTED_PROGRESS_FROM_DISRUPTION=0.0,
        INFRASTRUCTURE_RECOVERY_FROM_DISRUPTION=800 / 38,
    ),
    "partial restart": _case(
        _started(_steps((5, 8, 11, 14, 17)), [["job_start", 25]], _steps((30, 33, 36), 2)), 41,
        goodput=1200 / 41, step=3, WASTED_PROGRESS_FROM_DISRUPTION=600 / 41,
    ),
    "partial restart with startup": _case(
        _started(_steps(_FIRST), [["job_start", 30]], _steps((35, 43, 46), 2)), 51,
        goodput=1200 / 51, PROGRAM_STARTUP=1000 / 51,
    ),
    "one anomaly": _case(
        _started(_steps((5, 8, 11, 44, 47)), [["job_end", 50]]), 50, goodput=90.0,
    ),
    "recorder with badput": _case(
        _recorder_with_badput(), 54, exclusions=[[[11, 21]]], goodput=2500 / 54,
        DATA_LOADING_SYNC=200 / 54, DATA_LOADING_ASYNC=1000 / 54, CUSTOM={"TEST_SYNC": 2000 / 54},
        without=[(2000 / 44, 10.0)],
    ),
    "initialisation": _case(
        _started(_span("tpu_init", 0, 1), _steps((6, 9, 12, 15, 18)), [["job_end", 21]]), 21,
        TPU_INITIALIZATION=100 / 21,
    ),
    "preparation": _case(
        _started(*_PREPARED, _steps((3, 6, 9, 12, 15)), [["job_end", 18]]), 18,
        TRAINING_PREP=200 / 18,
    ),
    "loading before the steps": _case(
        _started(*_LOADED, _steps((5, 8, 11, 14, 17)), [["job_end", 20]]), 20,
        DATA_LOADING_SYNC=10.0,
    ),
    "loading beside the steps": _case(
        _asynchronous(), 30, DATA_LOADING_ASYNC=100 / 3, DATA_LOADING_SYNC=200 / 30,
    ),
    "disruption": _case(
        _started(*_DISRUPTED), 49, windows=[(-1e-6, 49), (-1e-6, 25)],
        goodput=1500 / 49, step=4, disruptions=1, PROGRAM_STARTUP=1000 / 49,
        WASTED_PROGRESS_FROM_DISRUPTION=600 / 49, DATA_LOADING_SYNC=400 / 49,
        INFRASTRUCTURE_RECOVERY_FROM_DISRUPTION=800 / 49,
        window_answers=[(1500 / 49, 4, 49.0, 1), (1200 / 22, 3, 22.0, 0)],
    ),
    "unknown": _case(
        _started(_span("tpu_init", 0, 1), _steps((6, 9, 12, 15, 18)), [["job_end", 26]]), 26,
        OTHER=500 / 26,
    ),
    "checkpoints": _case(
        _started(
            *_LOADED,
            _steps(_FIRST),
            [["save", 22, 1, "gs://bucket", 6.0], ["job_start", 30]],
            _steps((35, 43, 46), 2),
            [["job_end", 49], ["restore", 49, 1, "gs://bucket", 2.0]],
        ),
        49, goodput=900 / 49, UNPRODUCTIVE_CHECKPOINT_SAVE_TIME=600 / 49,
        UNPRODUCTIVE_CHECKPOINT_RESTORE_TIME=200 / 49,
    ),
    "custom events": _case(
        _started(
            _span("tpu_init", 0, 1),
            _steps((6, 9, 12, 15, 18)),
            _span("custom", 21, 26, "eval_step"),
            _steps((26, 29, 32, 35, 38), 5),
            [["job_end", 41]],
        ),
        41, goodput=3000 / 41, CUSTOM={"EVAL_STEP": 500 / 41},
    ),
    "exclusion inside a step": _case(
        _started(_steps((10, 20)), [["job_end", 30]]), 30, exclusions=[[[10, 15]]],
        without=[(60.0, 5.0)],
    ),
    "exclusion of the initialisation": _case(
        _started(_span("tpu_init", 0, 10), [["step", 20, 0], ["job_end", 25]]), 25,
        exclusions=[[[0, 10]]], without=[(500 / 15, 10.0)],
    ),
    "exclusion of an outage": _case(
        _started([["step", 0, 0], ["job_start", 20], ["step", 20, 0], ["job_end", 30]]), 30,
        exclusions=[[], [[0, 20]]], without=[(1000 / 30, 0.0), (100.0, 20.0)],
    ),
    "exclusion over an edge": _case(
        _started(_span("training_preparation", 0, 10), [["step", 20, 0], ["job_end", 25]]), 25,
        exclusions=[[[5, 15]]], without=[(25.0, 5.0)],
    ),
    "elastic efficiency": _case(
        [
            ["job_start", 0],
            ["slices", 0, 2, 4, 2],
            ["slices", 28800, 2, 4, 4],
            *_steps((32400, 32410)),
            ["job_end", 32420],
        ],
        32420, elastic=True, stepping=0.5, available=(28800 * 0.5 + 3620) / 32420,
    ),
    "elastic badput": _case(
        _started(
            _span("wait", 10, 20, "slice_down"),
            _span("wait", 30, 45, "scale_up"),
            [["elastic_reinit_start", 55]],
            _span("tpu_init", 57, 62),
            _span("training_preparation", 65, 70),
            [["elastic_reinit_end", 75]],
            _steps((75, 85)),
        ),
        100, elastic=True, ELASTIC_SLICE_DOWN=10.0, ELASTIC_SCALE_UP=15.0,
        ELASTIC_REINITIALIZATION=20.0, TPU_INITIALIZATION=0.0, TRAINING_PREP=0.0,
    ),
}
