"""Loops that record themselves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

from headway._run import Run, current_run

T = TypeVar("T")


class Instrumented(Generic[T]):
    """What :func:`instrument` returns: iterates like the original, and has its length."""

    def __init__(
        self, iterable: Iterable[T], run: Run | None, start: int | None, blocking: bool
    ) -> None:
        self._iterable = iterable
        self._run = run
        self._start = start
        self._blocking = blocking

    def __len__(self) -> int:
        return len(self._iterable)  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[T]:
        run = self._run or current_run()
        iterator = iter(self._iterable)
        if run is None:
            yield from iterator
            return
        step = self._start
        self._start = None  # a further pass goes on counting
        if step is None:
            step = 0 if run.last_step is None else run.last_step + 1
        while True:
            with run.data_loading():
                try:
                    item = next(iterator)
                except StopIteration:
                    return
            with run.step(step, blocking=self._blocking):
                yield item
            step += 1


def instrument(
    iterable: Iterable[T],
    *,
    run: Run | None = None,
    start: int | None = None,
    blocking: bool = False,
) -> Instrumented[T]:
    """A loop over ``iterable`` that records itself.

    Data loading is recorded around each ``next()``, and a step around each body.

    >>> import headway, tempfile
    >>> run = headway.init(run="doc", dir=tempfile.mkdtemp())
    >>> for batch in headway.instrument(["a", "b"]):
    ...     print(run.last_step, batch)
    0 a
    1 b
    >>> run.finish()

    Args:
        iterable: Batches, for example a data loader.
        run: The run to record into; default the one that init started last. Without any, the loop
            runs unrecorded.
        start: Number of the first step; default one after the last step of the run in this process.
        blocking: Whether the body returns only when the device has finished.

    Returns:
        An iterable with the same items. Iterating it again, as for a second epoch, goes on
        counting.
    """
    return Instrumented(iterable, run, start, blocking)
