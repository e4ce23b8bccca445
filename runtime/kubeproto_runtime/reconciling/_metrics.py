"""The metrics of controllers in Prometheus' text format, with the names and labels of controller-runtime.

So dashboards and alerts for controller-runtime work unchanged. This module writes the text format itself:
prometheus_client would add a registry for the whole process and a lock around each metric, while a counter
here is an integer.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from kubeproto.control import Histogram, OwnWrites, QueueMetrics

    from ..webhooks._webhook_server import WebhookStats

Labels: TypeAlias = tuple[tuple[str, str], ...]

# The bounds of controller-runtime's controller_runtime_reconcile_time_seconds.
_BOUNDS: Final = (
    0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9,
    1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0,
    10.0, 15.0, 20.0, 25.0, 30.0, 40.0, 50.0, 60.0,
)  # fmt: skip
_FIRST_BOUND: Final = _BOUNDS[0]  # most runs are faster, and a search takes longer than a comparison
_MAX_SLOWEST: Final = 10  # a person reads no more


class ReconcileStats:
    """The outcomes of the runs of a controller."""

    __slots__ = (
        "conflicts", "counts", "failed", "requeued", "seconds",
        "slowest", "succeeded", "terminal", "timeouts",
    )  # fmt: skip

    def __init__(self) -> None:
        self.succeeded = self.requeued = self.failed = 0
        self.terminal = self.timeouts = 0  # both are also counted as failed
        self.conflicts = 0  # another client had changed the object, which is normal and not a failure
        self.counts = [0] * (len(_BOUNDS) + 1)
        self.seconds = 0.0
        self.slowest = SlowestRuns()

    @property
    def finished(self) -> int:
        """The number of finished runs, with any outcome."""
        return self.succeeded + self.requeued + self.failed + self.conflicts

    def observe(self, key: str, seconds: float, now: float) -> None:
        """Count the duration of a run."""
        self.counts[0 if seconds <= _FIRST_BOUND else bisect_left(_BOUNDS, seconds)] += 1
        self.seconds += seconds
        if seconds > self.slowest.threshold:
            self.slowest.add(key, seconds, now)


class SlowestRuns:
    """The slowest runs so far, at most one run of each key: its key, its seconds, and the time of its end."""

    __slots__ = ("runs", "threshold")

    def __init__(self) -> None:
        self.runs: list[tuple[str, float, float]] = []
        self.threshold = 0.0  # longer runs belong to the slowest

    def add(self, key: str, seconds: float, now: float) -> None:
        """Add a run, and drop the fastest if there are too many."""
        for index, (run_key, run_seconds, _) in enumerate(self.runs):
            if run_key == key:
                if seconds <= run_seconds:
                    return
                del self.runs[index]
                break
        self.runs.append((key, seconds, now))
        self.runs.sort(key=lambda run: -run[1])
        if len(self.runs) > _MAX_SLOWEST:
            self.runs.pop()
        if len(self.runs) == _MAX_SLOWEST:
            self.threshold = self.runs[-1][1]


class ControllerStats:
    """The metrics of a controller at a moment."""

    __slots__ = ("concurrency", "name", "own_writes", "queue", "running", "stats")

    def __init__(
        self,
        name: str,
        concurrency: int,
        running: int,
        stats: ReconcileStats,
        queue: QueueMetrics,
        own_writes: OwnWrites[str],
    ) -> None:
        self.name = name
        self.concurrency = concurrency
        self.running = running
        self.stats = stats
        self.queue = queue
        self.own_writes = own_writes

    @property
    def labels(self) -> Labels:
        """The label of its metrics."""
        return (("controller", self.name),)

    @property
    def queue_labels(self) -> Labels:
        """The labels of the metrics of its queue."""
        return (("controller", self.name), ("name", self.name))


class _Page:
    """Metrics in the text format, one family after the other."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def family(self, name: str, kind: str, description: str) -> None:
        self.lines += (f"# HELP {name} {description}", f"# TYPE {name} {kind}")

    def sample(self, name: str, labels: Labels, value: float) -> None:
        text = ",".join(f'{label}="{_escaped(label_value)}"' for label, label_value in labels)
        self.lines.append(f"{name}{{{text}}} {value!r}" if text else f"{name} {value!r}")

    def histogram(
        self, name: str, labels: Labels, bounds: Iterable[float], counts: Iterable[int], total: float
    ) -> None:
        cumulative = 0
        for bound, count in zip([*map(repr, bounds), "+Inf"], counts, strict=True):
            cumulative += count
            self.sample(f"{name}_bucket", (*labels, ("le", bound)), cumulative)
        self.sample(f"{name}_sum", labels, total)
        self.sample(f"{name}_count", labels, cumulative)


_RESULTS: Final = "controller_runtime_reconcile_total"
_TIME: Final = "controller_runtime_reconcile_time_seconds"
_REQUESTS: Final = "rest_client_requests_total"
_WEBHOOK: Final = "controller_runtime_webhook"

# Families with one sample for each controller: name, type, description, value.
_FAMILIES: Final[tuple[tuple[str, str, str, Callable[[ControllerStats], float]], ...]] = (
    (
        "controller_runtime_reconcile_errors_total", "counter", "Reconciles that failed.",
        lambda controller: controller.stats.failed,
    ),
    (
        "controller_runtime_terminal_reconcile_errors_total", "counter",
        "Reconciles that failed and are not retried.",
        lambda controller: controller.stats.terminal,
    ),
    (
        "controller_runtime_reconcile_timeouts_total", "counter",
        "Reconciles that were cancelled for their timeout.",
        lambda controller: controller.stats.timeouts,
    ),
    (
        "controller_runtime_max_concurrent_reconciles", "gauge", "The most runs at once.",
        lambda controller: controller.concurrency,
    ),
    (
        "controller_runtime_active_workers", "gauge", "Runs at this moment.",
        lambda controller: controller.running,
    ),
    (
        "kubeproto_own_writes_waits_total", "counter",
        "Keys that waited until the caches showed the writes of their last run.",
        lambda controller: controller.own_writes.waits,
    ),
    (
        "kubeproto_own_writes_timeouts_total", "counter", "Those of them that gave up after a second.",
        lambda controller: controller.own_writes.timeouts,
    ),
    (
        "kubeproto_own_writes_wait_seconds_total", "counter", "Seconds that they waited, together.",
        lambda controller: controller.own_writes.seconds,
    ),
)  # fmt: skip


def exposition(
    controllers: Sequence[ControllerStats],
    requests: Mapping[tuple[str, str, str], int],
    leading: Mapping[str, bool],
    webhooks: Mapping[str, WebhookStats] = MappingProxyType({}),
    certificate_reads: tuple[int, int] | None = None,
) -> str:
    """Return all metrics in Prometheus' text format."""
    page = _Page()
    _write_runs(page, controllers)
    _write_queues(page, controllers)
    page.family(_REQUESTS, "counter", "HTTP requests by status code, method and host.")
    for (code, method, host), count in sorted(requests.items()):
        page.sample(_REQUESTS, (("code", code), ("host", host), ("method", method)), count)
    if leading:
        page.family(
            "leader_election_master_status", "gauge", "Whether this process leads (1) or is a candidate (0)."
        )
    for name, leads in leading.items():
        page.sample("leader_election_master_status", (("name", name),), int(leads))
    if webhooks:
        _write_webhooks(page, webhooks)
    if certificate_reads is not None:
        _write_certificate_reads(page, *certificate_reads)
    return "\n".join(page.lines) + "\n"


def _write_webhooks(page: _Page, webhooks: Mapping[str, WebhookStats]) -> None:
    page.family(f"{_WEBHOOK}_requests_total", "counter", "Calls of webhooks by path and HTTP status code.")
    for path, stats in webhooks.items():
        for code, count in stats.codes.items():
            page.sample(f"{_WEBHOOK}_requests_total", (("code", code), ("webhook", path)), count)
    page.family(f"{_WEBHOOK}_requests_in_flight", "gauge", "Calls of webhooks at this moment.")
    for path, stats in webhooks.items():
        page.sample(f"{_WEBHOOK}_requests_in_flight", (("webhook", path),), stats.in_flight)
    page.family(f"{_WEBHOOK}_latency_seconds", "histogram", "Seconds of a call of a webhook.")
    for path, stats in webhooks.items():
        page.histogram(
            f"{_WEBHOOK}_latency_seconds", (("webhook", path),), stats.bounds, stats.counts, stats.seconds
        )


def _write_certificate_reads(page: _Page, reads: int, errors: int) -> None:
    for name, count, description in (
        ("certwatcher_read_certificate_total", reads, "How often a certificate was read from its files."),
        ("certwatcher_read_certificate_errors_total", errors, "How often that failed."),
    ):
        page.family(name, "counter", description)
        page.sample(name, (), count)


def _write_runs(page: _Page, controllers: Sequence[ControllerStats]) -> None:
    page.family(_RESULTS, "counter", "Reconciles by controller and result.")
    for controller in controllers:
        results = {
            "conflict": controller.stats.conflicts,
            "error": controller.stats.failed,
            "requeue_after": controller.stats.requeued,
            "success": controller.stats.succeeded,
        }
        for result, count in results.items():
            page.sample(_RESULTS, (*controller.labels, ("result", result)), count)
    for name, kind, description, value in _FAMILIES:
        page.family(name, kind, description)
        for controller in controllers:
            page.sample(name, controller.labels, value(controller))
    page.family(_TIME, "histogram", "Seconds of a reconcile.")
    for controller in controllers:
        stats = controller.stats
        page.histogram(_TIME, controller.labels, _BOUNDS, stats.counts, stats.seconds)


def _write_queues(page: _Page, controllers: Sequence[ControllerStats]) -> None:
    page.family("workqueue_depth", "gauge", "Keys that are due, by priority.")
    for controller in controllers:
        for priority, depth in sorted((controller.queue.depth or {0: 0}).items()):
            page.sample("workqueue_depth", (*controller.queue_labels, ("priority", str(priority))), depth)
    for name, kind, description in (
        ("adds_total", "counter", "How often a key became due."),
        ("retries_total", "counter", "How often a key was requested after a failure."),
        ("unfinished_work_seconds", "gauge", "Seconds of the runs of this moment, together."),
        ("longest_running_processor_seconds", "gauge", "Seconds of the longest run of this moment."),
    ):
        page.family(f"workqueue_{name}", kind, description)
        for controller in controllers:
            page.sample(f"workqueue_{name}", controller.queue_labels, getattr(controller.queue, name))
    for name, description in (
        ("queue_duration_seconds", "Seconds that a key was due until it ran."),
        ("work_duration_seconds", "Seconds of a run."),
    ):
        page.family(f"workqueue_{name}", "histogram", description)
        for controller in controllers:
            seconds: Histogram = getattr(controller.queue, name)
            labels = controller.queue_labels
            page.histogram(f"workqueue_{name}", labels, seconds.bounds, seconds.counts, seconds.sum)


def _escaped(text: Any) -> str:
    return str(text).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
