"""How calls of libraries become spans, without the libraries."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest
from conftest import recorded

import headway
from headway import _checkpoints, _native
from headway._checkpoints import RESTORE, SAVE, Call

# An Orbax that has nothing but events, and one method less than is looked for.
STAND_IN = {
    "jax/__init__.py": "",
    "jax/monitoring.py": """
        events, durations = [], []
        register_event_listener = events.append
        register_event_duration_secs_listener = durations.append
        unregister_event_listener = events.remove
        unregister_event_duration_listener = durations.remove
        def event(name, **kwargs):
            for listener in events: listener(name, **kwargs)
        def duration(name, seconds, **kwargs):
            for listener in durations: listener(name, seconds, **kwargs)
    """,
    "orbax/__init__.py": "",
    "orbax/checkpoint/__init__.py": "from orbax.checkpoint import checkpoint_manager",
    "orbax/checkpoint/checkpoint_manager.py": """
        from jax import monitoring
        class CheckpointManager:
            def restore(self, step):
                return step
        def save(fails=False):
            monitoring.event("/jax/orbax/write/async/start", storage_type="other")
            monitoring.event("/jax/orbax/write/async/start_time", value=object())
            if fails:
                raise OSError
            monitoring.duration("/jax/orbax/write/async/blocking_duration_secs", 0.1, kind="x")
            monitoring.duration("/jax/checkpoint/write/remove_steps_duration_secs", None)
    """,
}

PROGRAM = """
import sys
import headway
run = headway.init(run="r")
assert not {"jax", "orbax"} & set(sys.modules)
run.step(0)
from orbax.checkpoint import checkpoint_manager
from jax import monitoring
manager = checkpoint_manager.CheckpointManager()
assert manager.restore.__name__ == "restore" and manager.restore(5) == 5
checkpoint_manager.save()
try:
    checkpoint_manager.save(fails=True)
except OSError:
    pass
run.step(1)
checkpoint_manager.save()
with run.checkpoint_save(step=1):
    checkpoint_manager.save()
assert manager.restore(True) is True  # no step
assert len(monitoring.events) == len(monitoring.durations) == 1
headway.orbax.watch()
assert len(monitoring.events) == 1
headway.orbax.unwatch()
assert not monitoring.events and not monitoring.durations
assert not hasattr(checkpoint_manager.CheckpointManager.restore, "_headway_wraps")
checkpoint_manager.save()
run.step(2)
run.finish()
assert run.dropped == 0
"""


def test_events_alone(headway_bin: Path, tmp_path: Path) -> None:
    for name, text in STAND_IN.items():
        file = tmp_path / "stand_in" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text))
    path = [str(Path(headway.__file__).parents[1]), str(tmp_path / "stand_in")]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path)},
    )
    assert done.returncode == 0, done.stderr
    spans, saved = recorded(headway_bin, "r")
    kinds = [(span.kind.removeprefix("checkpoint_"), span.step) for span in spans]
    assert kinds == [
        ("restore", 5), ("save", None), ("save", None), ("save", None), ("save", 1),
        ("restore", None),
    ]
    assert [span.end_ns != 0 for span in spans] == [True, True, False, True, True, True]
    assert saved == []


def test_calls_nest(run: headway.Run, headway_bin: Path) -> None:
    with Call(SAVE, 1):
        pass  # never began
    with Call(SAVE, 2) as outer:
        with Call(RESTORE, 9) as inner:
            assert inner.nested and not outer.nested
            inner.begin()
        inner.begin()
        with run.checkpoint_restore():
            assert _native.in_checkpoint()
            seen: list[bool] = []
            thread = threading.Thread(target=lambda: seen.append(_native.in_checkpoint()))
            thread.start()
            thread.join()
            assert seen == [False]
        assert not _native.in_checkpoint()
    with run.span("eval"), Call(RESTORE) as call:
        assert not _native.in_checkpoint()
        call.begin()
    assert _checkpoints.current() is None
    run.finish()
    assert _checkpoints.newest() is None
    spans, _ = recorded(headway_bin, "r")
    assert [(span.kind, span.step) for span in spans] == [
        ("checkpoint_save", 2), ("checkpoint_restore", None), ("checkpoint_restore", None),
    ]


def test_the_newest_open_run(run: headway.Run) -> None:
    assert _checkpoints.newest() is run
    second = headway.init(run="second", heartbeat=False)
    assert _checkpoints.newest() is second
    if os.fork() == 0:
        os._exit(1 if _checkpoints.recording() else 0)
    assert os.wait()[1] == 0
    second.finish()
    assert _checkpoints.newest() is run


@pytest.mark.parametrize(
    ("step", "number"),
    [(3, 3), (0, 0), (-1, None), (True, None), (None, None), ("3", None), (2.0, None),
     (1 << 63, None), (Path("3"), None)],
)
def test_whole_steps(step: object, number: int | None) -> None:
    assert _checkpoints.whole(step) == number


def test_steps_of_numpy() -> None:
    numpy = pytest.importorskip("numpy")
    assert _checkpoints.whole(numpy.int32(7)) == 7
    assert _checkpoints.whole(numpy.array(7)) == 7
    assert _checkpoints.whole(numpy.arange(2)) is None
    assert _checkpoints.whole(numpy.float64(7)) is None
