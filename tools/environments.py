"""Virtual environments for what is compared with, each from its list of pinned packages."""

import fcntl
import hashlib
import subprocess
import sys
from pathlib import Path


class NotInstallable(Exception):
    """The packages can't be had here; the text is the end of what pip said."""


def environment(folder: Path, requirements: Path) -> Path:
    """The Python of an environment in `folder` that holds exactly what `requirements` lists.

    It is made when it is missing or the list has changed, by one program at a time.
    """
    python = folder / "bin/python"
    wanted = hashlib.sha256(requirements.read_bytes()).hexdigest()
    mark = folder / "installed"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(folder.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # test programs run side by side
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
