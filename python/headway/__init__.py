"""headway records what a training job does and accounts for every nanosecond of it.

In the training program::

    import headway

    run = headway.init(project="lm", run="llama-7b")
    for i in range(steps):
        with run.data_loading():
            batch = next(batches)
        with run.step(i):
            loss = train_step(batch)
        run.log({"loss": loss}, step=i)
    run.finish()

and afterwards, or while it runs, anywhere that sees its files::

    report = headway.report("llama-7b", project="lm")
    print(report.goodput)

Recording never raises into the loop, never waits for disk, network or a device, and costs about
as much as reading the clock.
"""

# Not in __all__: `from headway import *` must not hide the modules that they are named for.
from headway import orbax as orbax
from headway import torch as torch
from headway._errors import Error, InvalidArgumentError, NotFoundError
from headway._instrument import Instrumented, instrument
from headway._native import VERSION as __version__
from headway._native import Span, Step
from headway._monitor import Monitor
from headway._query import report, runs, steps, timeline
from headway._report import (
    Attempt,
    CategoryTime,
    Checkpointing,
    Disruption,
    Note,
    Report,
    Rollback,
    RunInfo,
    StepInterval,
    Steps,
    Timeline,
    TimelineInterval,
)
from headway._run import Run, current_run, init

__all__ = [
    "Attempt",
    "CategoryTime",
    "Checkpointing",
    "Disruption",
    "Error",
    "Instrumented",
    "InvalidArgumentError",
    "NotFoundError",
    "Note",
    "Report",
    "Rollback",
    "Monitor",
    "Run",
    "RunInfo",
    "Span",
    "Step",
    "StepInterval",
    "Steps",
    "Timeline",
    "TimelineInterval",
    "__version__",
    "current_run",
    "init",
    "instrument",
    "report",
    "runs",
    "steps",
    "timeline",
]
