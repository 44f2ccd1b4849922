"""Exceptions of the functions that read runs. Recording raises none."""

from __future__ import annotations

from headway import _native


class Error(Exception):
    """Something could not be read.

    Attributes:
        code: What kind of failure it is, as google.rpc.Code spells it, e.g. ``"DATA_LOSS"``.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class NotFoundError(Error, LookupError):
    """There is no such run; the message names those that come closest."""


class InvalidArgumentError(Error, ValueError):
    """A time, a window or another argument does not mean anything."""


_KINDS: dict[str, type[Error]] = {
    "NOT_FOUND": NotFoundError,
    "INVALID_ARGUMENT": InvalidArgumentError,
    "OUT_OF_RANGE": InvalidArgumentError,
}


def from_native(error: _native.Error) -> Error:
    """The exception that callers see for one of the extension module."""
    code, message = error.args
    return of_code(code, message)


def of_code(code: str, message: str) -> Error:
    """The exception that callers see for a failure of that kind."""
    return _KINDS.get(code, Error)(code, message)
