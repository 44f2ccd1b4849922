"""Recording by events: the form that documents of the original show.

>>> import os, tempfile
>>> os.environ["HEADWAY_DIR"] = tempfile.mkdtemp()
>>> from ml_goodput_measurement import measurement
>>> recorder = measurement.GoodputRecorder("doc", "goodput_doc", logging_enabled=True)
>>> with recorder.record_event(measurement.Event.JOB):
...     with recorder.record_event(measurement.Event.TRAINING_PREP):
...         pass
...     for step in range(3):
...         with recorder.record_event(measurement.Event.STEP, step):
...             pass
"""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Callable, Iterator
from typing import Any

from ml_goodput_measurement.src import goodput, goodput_elastic


class Event(enum.Enum):
    """What is recorded. Frameworks have names of their own for some: those work, too."""

    JOB = "job"
    ACCELERATOR_INIT = "tpu_init"
    TRAINING_PREP = "training_preparation"
    DATA_LOADING = "data_loading"
    STEP = "step"
    CUSTOM = "custom_badput_event"
    ELASTIC_WAIT = "elastic_wait"
    ELASTIC_REINIT = "elastic_reinit"

    # Other spellings of the same.
    TPU_INIT = "tpu_init"
    TRAINING_PREPARATION = "training_preparation"
    CUSTOM_BADPUT_EVENT = "custom_badput_event"

    # One edge of them, for record().
    START_JOB = "start_job"
    END_JOB = "end_job"
    START_ACCELERATOR_INIT = "start_tpu_init"
    END_ACCELERATOR_INIT = "end_tpu_init"
    START_TRAINING_PREPARATION = "start_training_preparation"
    END_TRAINING_PREPARATION = "end_training_preparation"
    START_DATA_LOADING = "start_data_loading"
    END_DATA_LOADING = "end_data_loading"
    START_STEP = "start_step"
    START_CUSTOM_BADPUT_EVENT = "start_custom_badput_event"
    END_CUSTOM_BADPUT_EVENT = "end_custom_badput_event"
    START_ELASTIC_WAIT = "start_elastic_wait"
    END_ELASTIC_WAIT = "end_elastic_wait"
    START_ELASTIC_REINIT = "start_elastic_reinit"
    END_ELASTIC_REINIT = "end_elastic_reinit"


EventType = Event


def _name(event: Any) -> str:
    """The event's value: of an Event, of a framework's own enumeration, or as text."""
    value = event.value if isinstance(event, enum.Enum) else event
    if isinstance(value, str):
        lower = value.lower()
        if lower in {member.value for member in Event}:
            return lower
        for spelling, member in Event.__members__.items():
            if spelling.lower() == lower:
                return str(member.value)
    if isinstance(event, enum.Enum) and event.name in Event.__members__:
        return str(Event[event.name].value)
    raise ValueError(f"no such event: {event!r}; events: {', '.join(Event.__members__)}")


class GoodputRecorder(goodput_elastic.ElasticGoodputRecorder):
    """A recorder that is also told events."""

    @contextlib.contextmanager
    def record_event(self, event: Any, *args: Any, **kwargs: Any) -> Iterator[None]:
        """Records that something begins and, unless an exception passes, that it ends.

        Args:
            event: An Event, its value, or a member of a framework's enumeration of that name.
            *args: What the start takes: the step's number for STEP, the type for CUSTOM.
            **kwargs: Likewise.

        Raises:
            ValueError: There is no such event.
        """
        name = _name(event)
        self._edge(name, "start", args, kwargs)
        yield
        self._edge(name, "end", args, kwargs)

    def record(self, event: Any, *args: Any, **kwargs: Any) -> None:
        """Records one edge: START_JOB, END_JOB, …

        Raises:
            ValueError: There is no such event.
        """
        edge, _, name = _name(event).partition("_")
        if edge not in ("start", "end"):
            raise ValueError(f"{event!r} has two edges; record_event() takes it")
        self._edge(name, edge, args, kwargs)

    def _edge(self, name: str, edge: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        method: Callable[..., None] | None = getattr(self, f"record_{name}_{edge}_time", None)
        if method is None:
            return  # a step has no end
        if name == "custom_badput_event" and args and isinstance(args[0], str):
            kwargs, args = {**kwargs, "custom_badput_event_type": args[0]}, args[1:]
        method(*args, **kwargs)


def record_event(
    recorder: goodput.GoodputRecorder | None, event: Any, *args: Any, **kwargs: Any
) -> contextlib.AbstractContextManager[None]:
    """``recorder.record_event(...)`` for any recorder; without one nothing is recorded.

    Raises:
        ValueError: There is no such event.
    """
    if recorder is None:
        return contextlib.nullcontext()
    if isinstance(recorder, GoodputRecorder):
        return recorder.record_event(event, *args, **kwargs)
    return GoodputRecorder.record_event(recorder, event, *args, **kwargs)  # type: ignore[arg-type]
