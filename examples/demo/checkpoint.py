"""Checkpoints that survive a crash at any instant: written aside, flushed, then renamed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

State = dict[str, NDArray[Any]]

KEPT = 2


def save(folder: Path, step: int, state: State) -> None:
    """Writes the state after `step` and removes all but the newest KEPT checkpoints."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"step-{step:08}.npz"
    aside = path.with_suffix(".partial")
    arrays: dict[str, Any] = dict(state)
    with open(aside, "wb") as file:
        np.savez(file, **arrays)
        file.flush()
        os.fsync(file.fileno())
    os.replace(aside, path)
    directory = os.open(folder, os.O_RDONLY)
    os.fsync(directory)
    os.close(directory)
    for old in sorted(folder.glob("step-*.npz"))[:-KEPT]:
        old.unlink()


def newest(folder: Path) -> tuple[int, Path] | None:
    """Step and file of the newest checkpoint."""
    found = sorted(folder.glob("step-*.npz"))
    return (int(found[-1].stem.removeprefix("step-")), found[-1]) if found else None


def load(path: Path) -> State:
    with np.load(path) as file:
        return {name: file[name] for name in file.files}
