"""Programs that tests compare with or put our output before; none is installed system-wide."""

import fcntl
import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class NotInstallable(Exception):
    """The packages can't be had here; the text is the end of what the installer said."""


@contextmanager
def only_one(folder: Path) -> Iterator[None]:
    """Keeps other programs from making `folder` meanwhile: test programs run side by side."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(folder.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def environment(folder: Path, requirements: Path) -> Path:
    """The Python of an environment in `folder` that holds exactly what `requirements` lists.

    It is made when it is missing or the list has changed, by one program at a time.
    """
    python = folder / "bin/python"
    wanted = hashlib.sha256(requirements.read_bytes()).hexdigest()
    mark = folder / "installed"
    with only_one(folder):
        if mark.exists() and mark.read_text() == wanted:
            return python
        print(f"installing {requirements.name} into {folder} ...", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
               "--no-deps", "-r", str(requirements)]
        done = subprocess.run(pip, capture_output=True, text=True)
        if done.returncode != 0:
            raise NotInstallable(done.stderr.strip()[-300:])
        mark.write_text(wanted)
    return python


def debian_package(folder: Path, package: str) -> Path:
    """The files of a Debian package, unpacked into `folder`: installing it would start a service.

    They are fetched once, by one program at a time, with this system's package lists or, where it
    has none, with lists of their own.
    """
    with only_one(folder):
        if folder.exists():
            return folder
        print(f"fetching {package} into {folder} ...", file=sys.stderr)
        with tempfile.TemporaryDirectory(dir=folder.parent) as name:
            scratch = Path(name)
            (scratch / "state/lists/partial").mkdir(parents=True)
            (scratch / "cache/archives/partial").mkdir(parents=True)
            own = ["-o", f"Dir::State={scratch}/state", "-o", f"Dir::Cache={scratch}/cache",
                   "-o", "Dir::State::status=/var/lib/dpkg/status"]
            try:
                if _apt(scratch, "download", package).returncode != 0:
                    _apt(scratch, *own, "update")
                    done = _apt(scratch, *own, "download", package)
                    if done.returncode != 0:
                        raise NotInstallable(done.stderr.strip()[-300:])
                (archive,) = scratch.glob("*.deb")
                subprocess.run(["dpkg-deb", "-x", archive, scratch / "files"], check=True)
            except FileNotFoundError as error:  # not a Debian-like system
                raise NotInstallable(str(error)) from error
            os.rename(scratch / "files", folder)
    return folder


def _apt(scratch: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["apt-get", "-qq", *arguments], cwd=scratch, capture_output=True,
                          text=True)
