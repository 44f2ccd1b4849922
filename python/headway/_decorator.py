"""Spans as decorators."""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from typing import Any

from headway import _native


def decorate(span: _native.Span, function: Callable[..., Any]) -> Callable[..., Any]:
    """``function`` with ``span`` around each of its calls; a coroutine's until it has returned.

    A generator's calls return before any of its code has run: there the span is open from each
    resume to the next ``yield``, and not while others use what it has yielded. A span may be open
    several times at once, so that recursion and threads need no more than one.
    """
    if not callable(function):
        raise TypeError(f"a span decorates functions, not {type(function).__name__}")
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def coroutine(*args: Any, **kwargs: Any) -> Any:
            with span:
                return await function(*args, **kwargs)

        return coroutine
    if inspect.isgeneratorfunction(function):

        @functools.wraps(function)
        def generator(*args: Any, **kwargs: Any) -> Any:
            return (yield from _Resumed(span, function(*args, **kwargs)))

        return generator
    if inspect.isasyncgenfunction(function):

        return functools.wraps(function)(_async_generator(span, function))

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        with span:
            return function(*args, **kwargs)

    return wrapper


class _Resumed(Generator[Any, Any, Any]):
    """``inner`` with ``span`` around each resume; ``yield from`` it."""

    def __init__(self, span: _native.Span, inner: Generator[Any, Any, Any]) -> None:
        self._span = span
        self._inner = inner

    def send(self, value: Any) -> Any:
        with self._span:
            return self._inner.send(value)

    def throw(self, *error: Any) -> Any:
        with self._span:
            return self._inner.throw(*error)

    def close(self) -> None:
        with self._span:
            self._inner.close()


def _async_generator(
    span: _native.Span, function: Callable[..., AsyncGenerator[Any, Any]]
) -> Callable[..., AsyncGenerator[Any, Any]]:
    async def async_generator(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        # Each resume by hand, for there is no `yield from` here.
        inner = function(*args, **kwargs)
        resume: Callable[[], Awaitable[Any]] = functools.partial(inner.asend, None)
        while True:
            with span:
                try:
                    item = await resume()
                except StopAsyncIteration:
                    return
                finally:
                    del resume  # it may hold an error, whose traceback holds this frame
            try:
                resume = functools.partial(inner.asend, (yield item))
            except GeneratorExit:
                with span:
                    await inner.aclose()
                raise
            except BaseException as error:
                resume = functools.partial(inner.athrow, error)

    return async_generator
