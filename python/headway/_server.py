"""Reading runs from a server: what ``headway --server`` does, with the standard library alone.

Imported when a server is asked first: ``import headway`` does not pay for it.
"""

from __future__ import annotations

import base64
import datetime
import http.client
import json
import math
import os
import ssl
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from typing import Any, TypeAlias

from headway._errors import Error, InvalidArgumentError, of_code

Json: TypeAlias = "dict[str, Any]"
#: (header, 0 not known / 1 alive / 2 dead, records): of one journal, or of a part of it. The header
#: is there where the journal begins. Beside them the names of the page.
Part: TypeAlias = "tuple[bytes, int, bytes]"
RecordPage: TypeAlias = "tuple[list[bytes], list[Part]]"

_SECONDS = 60
_ROWS = 5_000  # of a page
_RECORDS = 100_000
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
# What an answer stands for that is none of a headway server: a proxy's.
_CODES = {
    400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED",
    404: "UNIMPLEMENTED", 408: "UNAVAILABLE", 429: "UNAVAILABLE", 502: "UNAVAILABLE",
    503: "UNAVAILABLE", 504: "UNAVAILABLE",
}  # fmt: skip
_WRITERS = {"WRITER_STATE_ALIVE": 1, "WRITER_STATE_DEAD": 2}


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    # The token is for this server and for no other.
    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


class Server:
    """A server, and as whom it is asked.

    Args:
        url: Such as ``http://127.0.0.1:8460``, or the address of a share link, which also stands
            for the token.
        token: None: ``HEADWAY_TOKEN``.

    Raises:
        InvalidArgumentError: The URL is none.
    """

    def __init__(self, url: str, token: str | None = None) -> None:
        try:
            parts = urllib.parse.urlsplit(url)
            good = parts.scheme in ("http", "https") and parts.netloc and url.isprintable()
        except (ValueError, AttributeError):
            good = False
        if not good:
            raise InvalidArgumentError(
                "INVALID_ARGUMENT",
                f"a server is a URL such as http://127.0.0.1:8460, not {url!r}",
            )
        self._token = os.environ.get("HEADWAY_TOKEN", "") if token is None else token
        url, share, link = url.partition("/share/")
        if share:
            self._token = link.partition("#")[0]
        self.url = url.rstrip("/")
        if not (self._token.isascii() and self._token.isprintable()):
            raise InvalidArgumentError("INVALID_ARGUMENT", "the token is none")
        handlers: list[urllib.request.BaseHandler] = [_NoRedirect()]
        if parts.scheme == "https":
            handlers.append(urllib.request.HTTPSHandler(context=_context()))
        self._opener = urllib.request.build_opener(*handlers)

    def call(self, method: str, request: Json) -> Json:
        """Calls a method of proto/, such as ``RunService/GetRun``.

        Raises:
            Error: With the server's own code and message; UNAVAILABLE: it can't be reached;
                FAILED_PRECONDITION: its certificate is not to be trusted.
        """
        headers = {"Content-Type": "application/json"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        wanted = urllib.request.Request(
            f"{self.url}/headway.v1.{method}", json.dumps(request).encode(), headers
        )
        try:
            with self._opener.open(wanted, timeout=_SECONDS) as answer:
                found = json.loads(answer.read())
        except urllib.error.HTTPError as error:
            raise self._refused(error) from None
        except (OSError, http.client.HTTPException) as error:
            raise self._unreachable(error) from None
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise Error("UNKNOWN", f"{self.url} does not answer as a headway server does")
        return found

    def _refused(self, error: urllib.error.HTTPError) -> Error:
        try:
            with error:
                said = json.loads(error.read())
            code, message = str(said["code"]).upper(), str(said.get("message") or said["code"])
        except (OSError, ValueError, KeyError, TypeError, http.client.HTTPException):
            code = _CODES.get(error.code, "UNKNOWN")
            message = f"{self.url} answered with HTTP status {error.code}"
            message += ", and not as a headway server does"
        code = {"CANCELED": "CANCELLED"}.get(code, code)
        if code == "UNAUTHENTICATED" and not self._token:
            message += "; HEADWAY_TOKEN is not set"
        return of_code(code, message)

    def _unreachable(self, error: Exception) -> Error:
        reason: Any = getattr(error, "reason", None) or error
        if isinstance(reason, ssl.SSLCertVerificationError):
            return Error(
                "FAILED_PRECONDITION",
                f"the certificate of {self.url} is not to be trusted: {reason.verify_message}; "
                "HEADWAY_CA names the file of who has signed it",
            )
        return Error("UNAVAILABLE", f"{self.url} can't be reached: {reason}")

    def pages(self, method: str, request: Json) -> Iterator[Json]:
        """The answers of a method that gives a page at a time."""
        token = ""
        while True:
            page = self.call(method, {**request, "pageToken": token})
            yield page
            token = page.get("nextPageToken", "")
            if not token:
                return

    def report(self, project: str, run: str, time: Json) -> Json:
        """What ``headway goodput --json`` prints."""
        return _report(
            self.call("RunService/GetReport", {"project": project, "run": run, "time": time})
        )

    def timeline(self, project: str, run: str, time: Json) -> list[Json]:
        """What ``headway timeline --json`` prints."""
        request = {"project": project, "run": run, "time": time, "pageSize": _ROWS}
        return [
            _interval(one)
            for page in self.pages("RunService/ListIntervals", request)
            for one in page.get("intervals", [])
        ]

    def steps(self, project: str, run: str, time: Json) -> list[Json]:
        """What ``headway steps --json`` prints."""
        request = {"project": project, "run": run, "time": time, "pageSize": _ROWS}
        return [
            _step(one)
            for page in self.pages("RunService/ListSteps", request)
            for one in page.get("steps", [])
        ]

    def runs(self, project: str) -> list[Json]:
        """The runs of a project, newest first, as the server knew them some seconds ago at most."""
        request = {"project": project, "pageSize": 1000}
        return [
            {
                "run": one["label"],
                "project": one["project"],
                "uid": one["uid"],
                "start": _time(one["start"]),
                "journals": one["journals"],
                # Of a run that was made this moment nothing is known yet.
                "state": _word(one["state"], "RUN_STATE_") or "not_started",
                "elapsed_ns": _int(one["elapsedNs"]),
                "goodput": _number(one.get("goodput")),
                "last_step": _int(one.get("lastStep")),
            }
            for page in self.pages("RunService/ListRuns", request)
            for one in page.get("runs", [])
        ]

    def records(self, project: str, run: str) -> Iterator[RecordPage]:
        """All records of a run."""
        request = {"project": project, "run": run, "pageSize": _RECORDS, "packed": True}
        for page in self.pages("RecordService/ListRecords", request):
            yield (
                [base64.b64decode(name) for name in page.get("names", [])],
                [
                    (
                        base64.b64decode(part.get("header", "")),
                        _WRITERS.get(part.get("writer", ""), 0),
                        base64.b64decode(part.get("packed", "")),
                    )
                    for part in page.get("journals", [])
                ],
            )


def time_selection(as_of: str | None, first: str | None, last: str | None) -> Json:
    """A question about time, in the words of the command line."""
    named = {"asOf": as_of, "from": first, "to": last}
    return {name: text for name, text in named.items() if text is not None}


def _context() -> ssl.SSLContext:
    file = os.environ.get("HEADWAY_CA") or None
    try:
        return ssl.create_default_context(cafile=file)
    except OSError as error:  # ssl.SSLError is one
        raise InvalidArgumentError(
            "INVALID_ARGUMENT", f"HEADWAY_CA: {file!r} can't be read: {error}"
        ) from None


def _int(value: Any) -> int | None:
    return None if value is None else int(value)


def _number(value: Any) -> float | None:
    """As the command's JSON has it: 1 for 1.0, and nothing for what is no number."""
    number = None if value is None else float(value)  # also of "NaN"
    if number is None or not math.isfinite(number):
        return None
    return int(number) if number.is_integer() else number


def _time(value: Any) -> str | None:
    if value is None:
        return None
    seconds, ns = divmod(int(value), 10**9)
    moment = _EPOCH + datetime.timedelta(seconds=seconds)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{ns:09d}Z"


def _word(value: Any, prefix: str) -> str:
    if not isinstance(value, str) or not value.startswith(prefix):
        raise Error(
            "UNIMPLEMENTED", f"the server is a newer headway: {prefix}{value} is not known here"
        )
    word = value[len(prefix) :].lower()
    return "" if word == "unspecified" else word


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)


def _ints(data: Json, *names: str) -> Json:
    return {name: _int(data.get(_camel(name))) for name in names}


def _category(data: Json) -> str:
    return _word(data["category"], "CATEGORY_")


def _report(data: Json) -> Json:
    elapsed = int(data["elapsedNs"])
    window = data.get("window")

    def share(ns: int) -> float | None:
        return _number(float(ns) / float(elapsed) if elapsed > 0 else 0)

    return {
        "run": data["run"],
        "project": data["project"],
        "accounting": data["accounting"],
        "state": _word(data["state"], "RUN_STATE_"),
        **{name: _time(data.get(_camel(name))) for name in ("down_since", "start", "end", "as_of")},
        "window": window and {"begin": _time(window["begin"]), "end": _time(window["end"])},
        "elapsed_ns": elapsed,
        **_ints(data, "excluded_ns"),
        "goodput": _number(data.get("goodput")),
        "categories": [
            {
                "category": _category(time),
                "name": time["name"],
                "ns": int(time["ns"]),
                "share": share(int(time["ns"])),
            }
            for time in data["categories"]
        ],
        **_ints(data, "data_loading_overlapped_ns"),
        "goodput_if_loading_blocked": _number(data.get("goodputIfLoadingBlocked")),
        **_ints(data, "slow_steps_ns", "unsaved_ns", "scheduling_ns"),
        "steps": _ints(
            data["steps"], "count", "max_productive_step", "last_step", "ideal_ns", "p50_ns",
            "p90_ns", "p99_ns", "max_ns", "deviation_ns",
        ),
        "attempts": [
            {
                "index": int(attempt["index"]),
                "start": _time(attempt["start"]),
                "end": _time(attempt.get("end")),
                "end_kind": _word(attempt["endKind"], "ATTEMPT_END_"),
                **_ints(attempt, "exit_status", "signal", "notice", "first_step", "last_step"),
            }
            for attempt in data["attempts"]
        ],
        "disruptions": [
            {
                "time": _time(disruption["time"]),
                **_ints(disruption, "step_reached", "resumed_from", "wasted_ns", "downtime_ns",
                        "reinit_ns"),
                "regained": _time(disruption.get("regained")),
                **_ints(disruption, "exit_status", "signal", "notice"),
                "cause": _word(disruption["cause"], "CAUSE_"),
            }
            for disruption in data["disruptions"]
        ],
        "rollbacks": [
            {
                "time": _time(rollback["time"]),
                **_ints(rollback, "from", "to", "wasted_ns"),
                "planned": rollback["planned"],
            }
            for rollback in data["rollbacks"]
        ],
        **_ints(data, "mtbf_ns", "mttr_ns"),
        "checkpointing": _ints(
            data["checkpointing"], "saves", "mean_blocking_ns", "interval_ns",
            "advised_interval_ns",
        ),
        "notes": [
            {"code": note["code"], "count": int(note["count"]), "message": note["message"]}
            for note in data["notes"]
        ],
    }  # fmt: skip


def _interval(data: Json) -> Json:
    begin, end = int(data["begin"]), int(data["end"])
    return {
        "begin": _time(begin),
        "end": _time(end),
        "duration_ns": end - begin,
        "category": _category(data),
        "name": data["name"],
        **_ints(data, "attempt", "step"),
    }


def _step(data: Json) -> Json:
    return {
        **_ints(data, "attempt", "step"),
        "start": _time(data["start"]),
        "end": _time(data["end"]),
        **_ints(data, "work_ns", "productive_ns", "wasted_ns", "data_loading_ns",
                "program_startup_ns", "step_stall_ns", "infrastructure_recovery_ns", "blocked_ns"),
        "first": data["first"],
        "complete": data["complete"],
        "retained": data["retained"],
    }  # fmt: skip
