"""What the checks share: the list of the project's files, and one way to report."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def files(*patterns: str) -> list[str]:
    """Paths, relative to the root, of the files that git tracks or would add (not the ignored)."""
    command = ["git", "-c", "safe.directory=*", "ls-files", "-z", "-co", "--exclude-standard", "--"]
    listing = subprocess.run([*command, *patterns], cwd=ROOT, check=True, capture_output=True)
    names = sorted(set(listing.stdout.decode().split("\0")) - {""})
    return [name for name in names if (ROOT / name).is_file()]


def finish(check: str, checked: str, failures: list[str], mend: str) -> None:
    """Prints the outcome of a check and ends the program with it."""
    for failure in failures:
        print(failure)
    if failures:
        print(f"{check}: {len(failures)} failed, {checked}. To mend: {mend}")
        sys.exit(1)
    print(f"{check}: ok, {checked}")
