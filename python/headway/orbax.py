"""What Orbax saves and restores, recorded by itself.

After :func:`headway.init` each save, restore and wait for a save of Orbax in this process is a
``checkpoint_save`` or ``checkpoint_restore`` span of the newest open run, and what a
``CheckpointManager`` has brought to safety is a ``checkpoint_saved``. There is nothing to call;
``HEADWAY_ORBAX=0`` turns it off. Neither JAX nor Orbax is imported for it.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from headway import _checkpoints, _native
from headway._checkpoints import RESTORE, SAVE, Call

_Function = Callable[..., Any]

_EMERGENCY = "orbax.checkpoint.experimental.emergency"

# The classes whose methods are watched, by module. A method that a version lacks is passed over:
# the events below tell of its saves and restores, too.
_CLASSES = {
    "orbax.checkpoint.checkpoint_manager": "CheckpointManager",
    "orbax.checkpoint._src.checkpointers.checkpointer": "Checkpointer",
    "orbax.checkpoint._src.checkpointers.async_checkpointer": "AsyncCheckpointer",
    f"{_EMERGENCY}.checkpoint_manager": "CheckpointManager",
    f"{_EMERGENCY}.replicator_checkpoint_manager": "ReplicatorCheckpointManager",
    f"{_EMERGENCY}.multi_tier_checkpointing.replicator_checkpoint_manager":
        "ReplicatorCheckpointManager",
    f"{_EMERGENCY}.p2p.checkpoint_manager": "CheckpointManager",
    "orbax.checkpoint.experimental.v1._src.training.checkpointer": "Checkpointer",
    "orbax.checkpoint.v1._src.training.checkpointer": "Checkpointer",
}

# Events of jax.monitoring that Orbax records, for what is done by none of those methods.
_STARTS = {
    "/jax/orbax/write/start": SAVE,
    "/jax/orbax/write/async/start": SAVE,
    "/jax/orbax/read/start": RESTORE,
    "/jax/orbax/read/async/start": RESTORE,
}
_ENDS = {
    "/jax/orbax/write/total_duration_secs": "/jax/orbax/write/start",
    "/jax/orbax/write/async/blocking_duration_secs": "/jax/orbax/write/async/start",
    "/jax/orbax/read/total_duration_secs": "/jax/orbax/read/start",
    "/jax/orbax/read/async/blocking_duration_secs": "/jax/orbax/read/async/start",
}
# A manager has written a checkpoint and removed what it replaces.
_FINALIZED = "/jax/checkpoint/write/remove_steps_duration_secs"

_lock = threading.Lock()
_patches = _checkpoints.Patches()
_listening: Any = None  # jax.monitoring, once there are listeners
_refused = False


def watch() -> None:
    """Records what Orbax saves and restores from now on; :func:`headway.init` does this by itself.

    Orbax may be imported before or after. Calling it twice changes nothing, calling it with
    ``HEADWAY_ORBAX=0`` or after :func:`unwatch` turns recording on again. Safe in any thread;
    raises nothing.

    Recorded, in the thread that calls and as long as it is kept waiting, are saves, restores and
    waits for saves of the managers (those for emergencies as well) and of the checkpointers. A
    call within another one, or within a checkpoint span of the program's own, belongs to that
    one. A call that fails counts as long as it took.
    """
    global _refused
    with _lock:
        _refused = False
        _watch()


def unwatch() -> None:
    """Leaves Orbax alone again: from now on nothing is recorded but what is under way.

    Also in runs that are started later, until :func:`watch` is called. Safe in any thread; raises
    nothing.
    """
    global _refused
    with _lock:
        _refused = True
        if _finder in sys.meta_path:
            sys.meta_path.remove(_finder)
        _patches.undo()
        _stop_listening()


@_checkpoints.quiet
def watch_by_itself() -> None:
    """:func:`watch`, unless the user said no."""
    if os.environ.get("HEADWAY_ORBAX", "").strip() == "0":
        return
    with _lock:
        if not _refused:
            _watch()


def _watch() -> None:
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
    _take_what_is_there()


@_checkpoints.quiet
def _take_what_is_there() -> None:
    for name, class_name in _CLASSES.items():
        module = sys.modules.get(name)
        owner = getattr(module, class_name, None)
        if isinstance(owner, type):  # else the module is being imported right now
            for method, make in _METHODS.items():
                _patches.wrap(owner, method, make)
    _listen()


class _Finder:
    """Finds what the others find, and takes note when a watched module has been imported."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in _CLASSES:
            return None
        for finder in list(sys.meta_path):
            find = getattr(finder, "find_spec", None)
            if finder is self or find is None:
                continue
            spec: ModuleSpec | None = find(name, path, target)
            if spec is not None:
                _take_after(spec)
                return spec
        return None


@_checkpoints.quiet
def _take_after(spec: ModuleSpec) -> None:
    loader: Any = spec.loader
    execute = loader.exec_module

    def exec_module(module: ModuleType) -> None:
        execute(module)
        with _lock:
            if _finder in sys.meta_path:
                _take_what_is_there()

    loader.exec_module = exec_module  # each module has a loader of its own


_finder: Any = _Finder()


def _in_child() -> None:
    global _lock
    _lock = threading.Lock()  # another thread of the parent may have held it
    _loose.clear()


os.register_at_fork(after_in_child=_in_child)


# --- Methods: exactly how long, also if they fail, and for which step


def _around(
    kind: int, begins: Callable[[Any, Call, dict[str, Any]], bool]
) -> Callable[[_Function], _Function]:
    """Makes wrappers; ``begins(self, call, kwargs)``: whether the call works for certain."""

    def make(function: _Function) -> _Function:
        def method(self: Any, *args: Any, **kwargs: Any) -> Any:
            if not _checkpoints.recording():
                return function(self, *args, **kwargs)
            # A manager's first argument is the step; a checkpointer's is a path, which is none.
            with Call(kind, args[0] if args else kwargs.get("step")) as call:
                if begins(self, call, kwargs):
                    call.begin()
                return function(self, *args, **kwargs)

        return method

    return make


def _saves(self: Any, call: Call, kwargs: dict[str, Any]) -> bool:
    # A manager asks itself whether to; should_save() below tells when it does.
    return not hasattr(self, "should_save") or kwargs.get("force") is True


def _restores(self: Any, call: Call, kwargs: dict[str, Any]) -> bool:
    return True


def _waits(self: Any, call: Call, kwargs: dict[str, Any]) -> bool:
    """Whether there is anything to wait for; if in doubt there is."""
    if _is_orbax_thread():
        return False  # in the background
    if call.nested:
        return True
    try:
        if hasattr(self, "is_saving_in_progress"):
            return bool(self.is_saving_in_progress())
        thread = self._async_manager._thread
        return thread is not None and bool(thread.is_alive())
    except Exception:
        return True


def _is_orbax_thread() -> bool:
    """Whether this thread was started by Orbax, to work in the background."""
    thread = threading.current_thread()
    makers = (type(thread), getattr(thread, "_target", None))
    return any(str(getattr(maker, "__module__", "")).startswith("orbax.") for maker in makers)


def _begin_if_true(function: _Function) -> _Function:
    def should_save(self: Any, *args: Any, **kwargs: Any) -> Any:
        answer = function(self, *args, **kwargs)
        call = _checkpoints.current()
        if call is not None and answer is True:
            call.begin()
        return answer

    return should_save


_METHODS: dict[str, Callable[[_Function], _Function]] = {
    "save": _around(SAVE, _saves),
    "should_save": _begin_if_true,
    "save_checkpointables": _around(SAVE, _saves),
    "restore": _around(RESTORE, _restores),
    "load": _around(RESTORE, _restores),
    "load_checkpointables": _around(RESTORE, _restores),
    "wait_until_finished": _around(SAVE, _waits),
}


# --- Events: what is done by none of those methods, and what is safe

# By thread: the event that began a span, and the span. One that gets no end, for the call has
# failed, is closed by the next step, as any span without an end.
_loose: dict[int, tuple[str, _native.Recorder, int]] = {}


def _listen() -> None:
    global _listening
    monitoring: Any = sys.modules.get("jax.monitoring")
    if _listening is None and monitoring is not None:
        monitoring.register_event_listener(_on_event)
        monitoring.register_event_duration_secs_listener(_on_duration)
        _listening = monitoring


@_checkpoints.quiet
def _stop_listening() -> None:
    global _listening
    monitoring, _listening = _listening, None
    if monitoring is not None:
        monitoring.unregister_event_listener(_on_event)
        monitoring.unregister_event_duration_listener(_on_duration)


@_checkpoints.quiet
def _on_event(event: str, **_: Any) -> None:
    kind = _STARTS.get(event)
    if kind is None or not _checkpoints.recording():
        return
    call = _checkpoints.current()
    if call is not None:
        call.begin()
        return
    recorder = _checkpoints.newest()
    if recorder is not None and not _native.in_checkpoint():
        span = recorder._span_begin_at(kind, "", None, None)
        _loose[threading.get_ident()] = (event, recorder, span)


@_checkpoints.quiet
def _on_duration(event: str, seconds: float, **_: Any) -> None:
    if event == _FINALIZED:
        _tell_saved()
        return
    start = _ENDS.get(event)
    if start is None or not _loose or _checkpoints.current() is not None:
        return
    thread = threading.get_ident()
    if thread not in _loose:
        # A save may wait for the thread that does its work, which tells the end.
        waiting = [one for one, (began, _, _) in _loose.items() if began == start]
        if len(waiting) != 1:
            return
        thread = waiting[0]
    began, recorder, span = _loose[thread]
    if began == start:
        del _loose[thread]
        recorder._span_end_at(span, None)


def _tell_saved() -> None:
    """A manager has a checkpoint on its disk: it says so in the thread that knows the step."""
    call = _checkpoints.current()
    if call is not None:
        _checkpoints.saved(call.step)
    elif _is_orbax_thread():
        thread: Any = threading.current_thread()
        _checkpoints.saved(thread.step())
