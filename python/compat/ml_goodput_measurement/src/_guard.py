"""Tells clearly when the original is installed, too: both own the same package name."""

import importlib.metadata

_ORIGINAL = "ml-goodput-measurement"


def refuse_beside_the_original() -> None:
    """Raises ImportError when the original is installed beside this package."""
    try:
        version = importlib.metadata.version(_ORIGINAL)
    except importlib.metadata.PackageNotFoundError:
        return
    raise ImportError(
        f"{_ORIGINAL} {version} is installed beside headway-compat, and both are the package "
        f"ml_goodput_measurement. Keep one: `pip uninstall {_ORIGINAL} headway-compat`, then "
        "`pip install headway-compat`."
    )
