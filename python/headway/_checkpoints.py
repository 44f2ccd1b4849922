"""Calls of libraries that save and restore, as spans of the newest open run.

A call is entered, begins once it works (a manager may find that there is nothing to save), and is
left. What happens within it in the same thread belongs to it, so that nothing counts twice, and
what happens within a ``run.checkpoint_save()`` of the program's own belongs to that. Nothing here
raises.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, ParamSpec, TypeVar

from headway import _native

SAVE = 5  # HEADWAY_CHECKPOINT_SAVE
RESTORE = 6

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")

# The newest last. Lists are replaced, never changed, so that readers need no lock.
_recorders: list[_native.Recorder] = []
_lock = threading.Lock()


def attach(recorder: _native.Recorder) -> None:
    """From now on calls are recorded here, the newest recorder first."""
    global _recorders
    with _lock:
        _recorders = [*(one for one in _recorders if one is not recorder), recorder]


def detach(recorder: _native.Recorder) -> None:
    """No call that begins later is recorded here."""
    global _recorders
    with _lock:
        _recorders = [one for one in _recorders if one is not recorder]


def _in_child() -> None:
    # What the parent records is none of its child's business; the lock may have been held.
    global _lock, _recorders
    _lock = threading.Lock()
    _recorders = []


os.register_at_fork(after_in_child=_in_child)


def newest() -> _native.Recorder | None:
    """The recorder of the newest open run, if any."""
    for recorder in reversed(_recorders):
        if recorder.enabled:
            return recorder
    return None


def recording() -> bool:
    """Whether there may be a run to record into; costs next to nothing."""
    return bool(_recorders)


def whole(step: object) -> int | None:
    """A step number, if it is one in Python or NumPy; anything else could wait for a device."""
    if isinstance(step, int):
        return None if isinstance(step, bool) or not 0 <= step < 1 << 63 else step
    if type(step).__module__ == "numpy" and hasattr(type(step), "__index__"):
        try:
            return whole(int(step.__index__()))  # type: ignore[attr-defined]
        except TypeError:  # an array of more than one
            return None
    return None


class _Thread(threading.local):
    call: Call | None = None


_thread = _Thread()


class Call:
    """A call that saves or restores. Not begun, it records nothing.

    Args:
        kind: SAVE or RESTORE.
        step: The number of the checkpoint, if it is known.
        recorder: Where it is recorded; None: into the newest open run.
    """

    __slots__ = ("_begun", "_kind", "_outer", "_recorder", "_span", "step")

    def __init__(
        self, kind: int, step: object = None, recorder: _native.Recorder | None = None
    ) -> None:
        self.step = whole(step)
        self._kind = kind
        self._recorder = recorder
        self._outer: Call | None = None
        self._begun = False
        self._span = 0

    def __enter__(self) -> Call:
        self._outer = _thread.call
        _thread.call = self
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        _thread.call = self._outer
        if self._span and self._recorder is not None:
            self._recorder._span_end_at(self._span, None)

    @property
    def nested(self) -> bool:
        """Whether it lies within another call."""
        return self._outer is not None

    def begin(self) -> None:
        """It works: the outermost call of this thread has begun, if it had not."""
        if self._outer is not None:
            self._outer.begin()
        elif not self._begun:
            self._begun = True
            if self._recorder is None:
                self._recorder = newest()
            if self._recorder is not None and not _native.in_checkpoint():
                self._span = self._recorder._span_begin_at(self._kind, "", self.step, None)


def current() -> Call | None:
    """The innermost call of this thread."""
    return _thread.call


def saved(step: object, recorder: _native.Recorder | None = None) -> None:
    """The state after ``step`` is safe; a step that is no number is left out."""
    number = whole(step)
    recorder = recorder or newest()
    if number is not None and recorder is not None and recorder.enabled:
        recorder.checkpoint_saved(number)


def quiet(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result | None]:
    """``function``, raising nothing."""

    @functools.wraps(function)
    def call(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result | None:
        try:
            return function(*args, **kwargs)
        except Exception:
            return None

    return call


class Patches:
    """Attributes that stand replaced for a while."""

    def __init__(self) -> None:
        self._made: list[tuple[Any, str, Any, Any]] = []

    def wrap(
        self, owner: Any, name: str, make: Callable[[Callable[..., Any]], Callable[..., Any]]
    ) -> None:
        """Replaces a function that ``owner`` itself has, once; what is not there stays so."""
        function = vars(owner).get(name)
        if not callable(function) or hasattr(function, "_headway_wraps"):
            return
        wrapper: Any = functools.wraps(function)(make(function))
        wrapper._headway_wraps = function
        setattr(owner, name, wrapper)
        self._made.append((owner, name, function, wrapper))

    def undo(self) -> None:
        """Puts everything back that nobody else has replaced since."""
        for owner, name, function, wrapper in reversed(self._made):
            if vars(owner).get(name) is wrapper:
                setattr(owner, name, function)
        self._made.clear()
