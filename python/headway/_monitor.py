"""Tells destinations how a run does, while it is recorded."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterable
from types import TracebackType

from headway._beside import Companion
from headway._run import Run

_log = logging.getLogger("headway")


class Monitor:
    """Uploads a run's goodput now and then, by a small process beside this one.

    That process reads the journal, which costs the training nothing, and ends with this process,
    after it has uploaded the final values. ``headway monitor --help`` and docs/monitor.md say what
    goes where. Only process 0 of a run uploads: on other ranks, and where recording is disabled,
    nothing happens. Nothing is raised into the training: what goes wrong is logged.

    Use it as a context manager, or call ``start`` and ``stop``.

    Args:
        run: What ``headway.init`` returned.
        every: Seconds between uploads.
        windows: Lengths of the latest stretches of time to upload, too; whole seconds.
        step_deviation: Whether TensorBoard also gets how far each step is off the ideal one.
        tensorboard: A directory for event files: local, ``gs://…`` or ``s3://…``. For this and
            those below None is nowhere; what is empty is left out with a warning.
        prometheus_file: A file (``*.prom``) for node_exporter's textfile collector.
        prometheus_listen: ``PORT`` or ``ADDRESS:PORT`` that serves ``/metrics``.
        otlp: URL of an OpenTelemetry collector (OTLP/HTTP); ``"env"``: the one of
            ``OTEL_EXPORTER_OTLP_ENDPOINT``.
        cloud_monitoring: Whether Google Cloud Monitoring gets the numbers.
    """

    def __init__(
        self,
        run: Run,
        *,
        every: float = 30.0,
        windows: Iterable[int] = (),
        step_deviation: bool = False,
        tensorboard: str | os.PathLike[str] | None = None,
        prometheus_file: str | os.PathLike[str] | None = None,
        prometheus_listen: str | int | None = None,
        otlp: str | None = None,
        cloud_monitoring: bool = False,
    ) -> None:
        self._companion: Companion | None = None
        self._off = not run.enabled or bool(run.rank)
        arguments = ["monitor", run.name, "--project", run.project]
        if run.enabled:
            # <dir>/journals/<project>/<run>/<file>
            arguments += ["--dir", os.path.normpath(os.path.join(run.journal_path, *[".."] * 4))]
        if not 0 < every < 1e9:
            _log.warning("a monitor's every is %r; 30 s are used", every)
            every = 30.0
        arguments += ["--every", f"{max(10, round(every * 1000))}ms"]
        for window in windows:
            arguments += ["--window", f"{int(window)}s"]
        if step_deviation:
            arguments.append("--step-deviation")
        for name, value in (
            ("tensorboard", tensorboard),
            ("prometheus_file", prometheus_file),
            ("prometheus_listen", prometheus_listen),
            ("otlp", otlp),
        ):
            if value is None:
                continue
            text = os.fspath(value) if not isinstance(value, int) else str(value)
            if text:
                arguments += ["--" + name.replace("_", "-"), text]
            else:  # mostly a variable that is not set
                _log.warning("a monitor's %s is empty: nothing is told there", name)
        if cloud_monitoring:
            arguments.append("--cloud-monitoring")
        self._arguments = arguments

    def start(self) -> None:
        """Starts uploading. Once it runs this does nothing."""
        if self._off or (self._companion is not None and self._companion.running):
            return
        try:
            self._companion = Companion(self._arguments)
        except Exception as error:
            _log.warning("the run is not monitored: %s", error.args[-1] if error.args else error)

    def stop(self, seconds: float = 1.0) -> None:
        """Uploads the final values, and stops.

        Args:
            seconds: The most that it takes.
        """
        companion, self._companion = self._companion, None
        if companion is None:
            return
        if not companion.stop(seconds):
            _log.warning("the final values of the run took more than %g s to upload", seconds)
        for trouble in companion.troubles:
            _log.warning("monitoring: %s", trouble)

    def __enter__(self) -> Monitor:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with contextlib.suppress(Exception):
            self.stop()
