"""Drop-in for ml-goodput-measurement 0.2.3 that records into headway and reads from it.

The public names, signatures, return shapes and exceptions are the original's; no cloud project is
needed, no record is lost, and several processes can read at once. docs/compat.md lists what it
answers where the original is known to be wrong, and why.

``HEADWAY_BACKEND`` chooses where records go: ``journal`` (the default), ``cloud-logging`` (the
original's log; needs google-cloud-logging) or ``both``. ``HEADWAY_ACCOUNTING`` chooses the numbers:
``compat`` (the default: the original's) or ``exact`` (headway's).
"""

from ml_goodput_measurement.src import _guard

_guard.refuse_beside_the_original()

from ml_goodput_measurement.src import (  # noqa: E402
    checkpoint_badput_calculator,
    gcp_metrics,
    goodput,
    goodput_cache,
    goodput_elastic,
    goodput_utils,
    measurement,
    monitoring,
    monitoring_elastic,
)

__all__ = [
    "checkpoint_badput_calculator",
    "gcp_metrics",
    "goodput",
    "goodput_cache",
    "goodput_elastic",
    "goodput_utils",
    "measurement",
    "monitoring",
    "monitoring_elastic",
]
