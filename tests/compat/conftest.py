"""The drop-in is imported from its sources; the package headway from this build."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
DROP_IN = str(ROOT / "python" / "compat")

sys.path[:0] = [str(HERE), DROP_IN, str(ROOT / "tools")]
os.environ["PYTHONPATH"] = os.pathsep.join(
    [DROP_IN, *filter(None, [os.environ.get("PYTHONPATH")])]
)

from environments import NotInstallable, environment  # noqa: E402


@pytest.fixture(scope="session")
def original_python() -> str:
    """Python of an environment that holds the original, from the package index.

    Where it can't be had the test is skipped.
    """
    requirements = ROOT / "tools" / "requirements-original.txt"
    try:
        return str(environment(ROOT / "build" / "original", requirements))
    except NotInstallable as error:
        pytest.skip(f"the original can't be installed: {error}")
