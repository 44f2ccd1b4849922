"""Spans as decorators."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from headway import _native


def decorate(span: _native.Span, function: Callable[..., Any]) -> Callable[..., Any]:
    """``function`` with ``span`` around each of its calls; a coroutine's until it has returned.

    A span may be open several times at once, so that recursion and threads need no more than one.
    """
    if not callable(function):
        raise TypeError(f"a span decorates functions, not {type(function).__name__}")
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def coroutine(*args: Any, **kwargs: Any) -> Any:
            with span:
                return await function(*args, **kwargs)

        return coroutine

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        with span:
            return function(*args, **kwargs)

    return wrapper
