"""Saving and restoring with PyTorch, recorded.

Either by functions that take a step::

    headway.torch.save(state, "step100.pt", step=100)      # torch.save, and it is safe now
    state = headway.torch.load("step100.pt")
    headway.torch.dcp_save(state, checkpoint_id="step200", step=200)

or by :func:`watch`, for code that can't be changed. Everything goes into the newest open run; with
none the calls are PyTorch's own. PyTorch is imported when one of these functions is called.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, cast

from headway import _checkpoints
from headway._checkpoints import RESTORE, SAVE, Call

_Function = Callable[..., Any]


def save(obj: Any, f: Any, *args: Any, step: int | None = None, **kwargs: Any) -> None:
    """``torch.save``, as a ``checkpoint_save`` span.

    Args:
        obj: What is saved.
        f: A path or a file.
        *args: Further arguments of ``torch.save``.
        step: The last step that is in it. With a step the checkpoint counts as safe from here on,
            as by :meth:`headway.Run.checkpoint_saved`; leave it out for files that no run could go
            on from.
        **kwargs: Further arguments of ``torch.save``.

    Raises:
        Exception: What ``torch.save`` raises; the time counts, and nothing is safe. Any thread may
            call it.
    """
    import torch  # type: ignore[import-not-found,unused-ignore]

    _call(SAVE, step, torch.save, obj, f, *args, **kwargs)
    _checkpoints.saved(step)


def load(f: Any, *args: Any, step: int | None = None, **kwargs: Any) -> Any:
    """``torch.load``, as a ``checkpoint_restore`` span.

    Args:
        f: A path or a file.
        *args: Further arguments of ``torch.load``.
        step: The number of the checkpoint, for the timeline.
        **kwargs: Further arguments of ``torch.load``.

    Returns:
        What ``torch.load`` returns.

    Raises:
        Exception: What ``torch.load`` raises. Any thread may call it.
    """
    import torch

    return _call(RESTORE, step, torch.load, f, *args, **kwargs)


def dcp_save(*args: Any, step: int | None = None, **kwargs: Any) -> Any:
    """``torch.distributed.checkpoint.save``, as a ``checkpoint_save`` span; call it in all ranks.

    Args:
        *args: Arguments of the original.
        step: As in :func:`save`. The original returns when all ranks have written.
        **kwargs: Arguments of the original.

    Returns:
        What the original returns.

    Raises:
        Exception: What the original raises. Any thread may call it.
    """
    import torch.distributed.checkpoint  # type: ignore[import-not-found,unused-ignore]

    result = _call(SAVE, step, torch.distributed.checkpoint.save, *args, **kwargs)
    _checkpoints.saved(step)
    return result


def dcp_async_save(*args: Any, step: int | None = None, **kwargs: Any) -> Any:
    """``torch.distributed.checkpoint.async_save``: the span is what blocks, the call itself.

    Args:
        *args: Arguments of the original.
        step: As in :func:`save`; the checkpoint counts as safe once its future is done without an
            error.
        **kwargs: Arguments of the original.

    Returns:
        What the original returns: a future, or in newer versions an object with futures. Waiting
        for it is not recorded; do it in ``with run.checkpoint_save():``.

    Raises:
        Exception: What the original raises. Any thread may call it.
    """
    import torch.distributed.checkpoint

    recorder = _checkpoints.newest()
    result = _call(SAVE, step, torch.distributed.checkpoint.async_save, *args, **kwargs)
    if step is not None and recorder is not None:
        _when_done(result, lambda: _checkpoints.saved(step, recorder))
    return result


def dcp_load(*args: Any, step: int | None = None, **kwargs: Any) -> Any:
    """``torch.distributed.checkpoint.load``, as a ``checkpoint_restore`` span.

    Args:
        *args: Arguments of the original.
        step: The number of the checkpoint, for the timeline.
        **kwargs: Arguments of the original.

    Returns:
        What the original returns.

    Raises:
        Exception: What the original raises. Any thread may call it.
    """
    import torch.distributed.checkpoint

    return _call(RESTORE, step, torch.distributed.checkpoint.load, *args, **kwargs)


class Watch:
    """What :func:`watch` returns: ends watching at the end of a ``with`` block."""

    def __enter__(self) -> Watch:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        unwatch()


def watch(load: bool = True) -> Watch:
    """Records PyTorch's own functions from now on, until :func:`unwatch`.

    Replaces ``torch.save``, ``torch.load`` and ``save``, ``async_save`` and ``load`` of
    ``torch.distributed.checkpoint`` by functions that record and call them. For trainers that save
    by themselves. What was imported by name before (``from torch import save``) is not seen, steps
    are not known, and so nothing is said to be safe: :meth:`headway.Run.checkpoint_saved` says it.
    Calling it twice changes nothing. Any thread may call it.

    Args:
        load: Whether ``torch.load`` is a restore; say False where data is loaded with it, too.

    Returns:
        A context manager that ends watching.

    Raises:
        ImportError: There is no PyTorch.
    """
    import torch

    with _lock:
        _patches.wrap(torch, "save", _wrapper(SAVE))
        if load:
            _patches.wrap(torch, "load", _wrapper(RESTORE))
        try:
            import torch.distributed.checkpoint
        except Exception:  # a build without it
            return Watch()
        # It is a package, whose functions come from modules of their own; users take them here.
        checkpoint = sys.modules["torch.distributed.checkpoint"]
        _patches.wrap(checkpoint, "save", _wrapper(SAVE))
        _patches.wrap(checkpoint, "async_save", _wrapper(SAVE))
        _patches.wrap(checkpoint, "load", _wrapper(RESTORE))
    return Watch()


def unwatch() -> None:
    """Puts PyTorch's own functions back. Raises nothing; any thread may call it."""
    with _lock:
        _patches.undo()


_lock = threading.Lock()
_patches = _checkpoints.Patches()


def _call(kind: int, step: int | None, function: _Function, *args: Any, **kwargs: Any) -> Any:
    with Call(kind, step) as call:
        call.begin()
        return function(*args, **kwargs)


def _wrapper(kind: int) -> Callable[[_Function], _Function]:
    def make(function: _Function) -> _Function:
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            if not _checkpoints.recording():
                return function(*args, **kwargs)
            return _call(kind, None, function, *args, **kwargs)

        return wrapper

    return make


@_checkpoints.quiet
def _when_done(result: Any, then: Callable[[], None]) -> None:
    # A future; since PyTorch 2.7 perhaps an AsyncSaveResponse, which holds one for each stage.
    future = getattr(result, "upload_completion", result)

    def done(future: Any) -> None:
        if not future.cancelled() and future.exception() is None:
            cast("Callable[[], None]", _checkpoints.quiet(then))()

    future.add_done_callback(done)
