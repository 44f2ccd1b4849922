"""What the calculator returns: tuples that older programs can use as the number in front."""

from __future__ import annotations

from typing import Any


class Goodput(tuple):  # type: ignore[type-arg]
    """The tuple of a query; formats and converts as its first item, goodput in percent.

    >>> goodput = Goodput((87.5, {}, 10))
    >>> percent, breakdown, step = goodput
    >>> f"{goodput:.1f} %, {float(goodput)}, {round(goodput)}"
    '87.5 %, 87.5, 88'
    """

    __slots__ = ()

    def __format__(self, spec: str) -> str:
        return format(self[0], spec) if spec else str(self)

    def __float__(self) -> float:
        return float(self[0])

    def __int__(self) -> int:
        return int(self[0])

    def __round__(self, digits: Any = None) -> Any:
        return round(self[0], digits)


class GoodputWithExclusions(Goodput):
    """With the seconds that were excluded as its last item."""

    __slots__ = ()
