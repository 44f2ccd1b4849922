"""Starts headway's own programs beside a training process, where they can do it no harm."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import sys
import sysconfig
import time
from collections.abc import Sequence
from pathlib import Path

from headway import _native

# What a program of ours gets of the environment: nothing that loads code into it.
_VARIABLES = {
    "HOME", "LANG", "PATH", "SSL_CERT_DIR", "SSL_CERT_FILE", "TMPDIR", "TZ", "USER",
}  # fmt: skip
_PREFIXES = (
    "AWS_", "CLOUDSDK_", "CURL_", "GCE_", "GCLOUD_", "GOOGLE_", "HEADWAY_", "OTEL_", "STORAGE_",
    "LC_", "SLURM_",
)  # fmt: skip
_PROXIES = {"http_proxy", "https_proxy", "all_proxy", "no_proxy"}


def find_program() -> str:
    """The path of the ``headway`` command that belongs to this package.

    Raises:
        FileNotFoundError: There is none.
    """
    package = Path(__file__).resolve().parent
    build = Path(_native.__file__ or "").resolve().parent.parent.parent
    places = [
        os.environ.get("HEADWAY_PROGRAM") or "",
        _scripts("headway"),
        str(package.parent / "bin/headway"),  # pip install --target
        str(build / "bin/headway"),  # a build tree
        os.path.join(os.path.dirname(sys.executable), "headway"),
        _scripts("headway", f"{os.name}_user"),
        shutil.which("headway") or "",
    ]
    for place in places:
        if place and os.path.isfile(place) and os.access(place, os.X_OK):
            return place
    raise FileNotFoundError(
        "the headway command is not installed beside this package; set HEADWAY_PROGRAM to its path"
    )


def _scripts(name: str, scheme: str | None = None) -> str:
    try:
        folder = sysconfig.get_path("scripts", scheme) if scheme else sysconfig.get_path("scripts")
        return os.path.join(folder, name)
    except Exception:  # it reads files, and is left half made where that fails
        return ""


def _environment() -> list[str]:
    return [
        f"{name}={value}"
        for name, value in os.environ.items()
        if name in _VARIABLES or name.startswith(_PREFIXES) or name.lower() in _PROXIES
    ]


class Companion:
    """A running program of ours. In a process forked from this one it is nobody's: nothing happens.

    Args:
        arguments: Of the ``headway`` command; ``--control`` and ``--beside`` are added.

    Raises:
        OSError, headway._native.Error: It can't be started.
    """

    def __init__(self, arguments: Sequence[str]) -> None:
        words = [*arguments, "--control", "--beside", str(os.getpid())]
        descriptor, self.pid = _native.start_beside(find_program(), words, _environment())
        self._control = socket.socket(fileno=descriptor)
        self._control.setblocking(False)
        self._owner = os.getpid()
        self._ended = False
        self._heard = b""

    @property
    def running(self) -> bool:
        """Whether it runs still, as far as is known without waiting."""
        if self._owner != os.getpid():
            return False
        if not self._ended:
            self._hear(0.0)
        return not self._ended

    @property
    def troubles(self) -> list[str]:
        """What it said went wrong, as far as it has been heard."""
        lines = self._heard.decode(errors="replace").splitlines()
        return [line.removeprefix("trouble ") for line in lines if line.startswith("trouble ")]

    def first_troubles(self, seconds: float) -> list[str]:
        """What it says went wrong until it says that all is well, or for so long."""
        until = time.monotonic() + seconds
        while self._owner == os.getpid() and not self._ended and b"\n" not in self._heard:
            if time.monotonic() >= until:
                break
            self._hear(until - time.monotonic(), once=True)
        return self.troubles

    def stop(self, seconds: float, final: bool = True) -> bool:
        """Asks it to end, and waits.

        Args:
            seconds: The most that is waited, and that it takes.
            final: Whether it tells the final values first.

        Returns:
            Whether it has ended.
        """
        if self._owner != os.getpid():
            return True
        word = f"stop {int(max(0.0, seconds) * 1000)}\n" if final else "leave\n"
        with contextlib.suppress(OSError):
            self._control.send(word.encode())
        # It ends by itself at the same time; this is for what it then has to write down.
        self._hear(seconds + 0.2)
        ended = self._ended
        self._control.close()
        self._ended = True
        # Where this process has inherited it, as the first one of a container does. It has said its
        # last word, but may still be ending.
        with contextlib.suppress(OSError):
            for _ in range(50 if ended else 1):
                if os.waitpid(self.pid, os.WNOHANG)[0]:
                    break
                time.sleep(0.002)
        return ended

    def _hear(self, seconds: float, once: bool = False) -> None:
        until = time.monotonic() + seconds
        while not self._ended:
            try:
                self._control.settimeout(max(0.0, until - time.monotonic()))
                heard = self._control.recv(4096)
            except (BlockingIOError, TimeoutError):
                return
            except OSError:
                heard = b""
            self._heard += heard
            self._ended = not heard
            if once:
                return
