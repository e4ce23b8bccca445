"""What is counted, and how Prometheus reads it: names and labels are those of Go's controllers.

Dashboards and alerts that were made for controller-runtime fit as they are. The text format is written here,
in a page of code: prometheus_client would add a registry for the whole process and a lock around each metric;
a counter here is an integer in a task.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from kubeproto.control import Histogram, OwnWrites, QueueMetrics

    from ..webhooks._call_stats import WebhookStats

Labels: TypeAlias = tuple[tuple[str, str], ...]

# Those of controller-runtime's controller_runtime_reconcile_time_seconds.
_BOUNDS: Final = (
    0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9,
    1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0,
    10.0, 15.0, 20.0, 25.0, 30.0, 40.0, 50.0, 60.0,
)  # fmt: skip
_FASTEST: Final = _BOUNDS[0]  # most runs are faster, and a search takes longer than a comparison
_SLOWEST: Final = 10  # as many runs as a person reads


class ReconcileStats:
    """The outcomes of the runs of one controller."""

    __slots__ = (
        "conflicts", "counts", "failed", "overdue", "requeued", "seconds", "slowest", "succeeded", "terminal",
    )  # fmt: skip

    def __init__(self) -> None:
        self.succeeded = self.requeued = self.failed = 0
        self.terminal = self.overdue = 0  # of those that failed
        self.conflicts = 0  # another client had changed the object: this is normal, and not a failure
        self.counts = [0] * (len(_BOUNDS) + 1)
        self.seconds = 0.0
        self.slowest = SlowestRuns()

    @property
    def ended(self) -> int:
        """How many runs have ended, with any outcome."""
        return self.succeeded + self.requeued + self.failed + self.conflicts

    def observe(self, key: str, seconds: float, now: float) -> None:
        """Count how long a run took."""
        self.counts[0 if seconds <= _FASTEST else bisect_left(_BOUNDS, seconds)] += 1
        self.seconds += seconds
        if seconds > self.slowest.least:
            self.slowest.add(key, seconds, now)


class SlowestRuns:
    """The slowest runs so far, one of each key: key, seconds, and when it ended."""

    __slots__ = ("least", "runs")

    def __init__(self) -> None:
        self.runs: list[tuple[str, float, float]] = []
        self.least = 0.0  # what a run has to exceed to be one of them

    def add(self, key: str, seconds: float, now: float) -> None:
        """Take a run in, and drop the fastest if there are too many."""
        for at, (own, before, _) in enumerate(self.runs):
            if own == key:
                if seconds <= before:
                    return
                del self.runs[at]
                break
        self.runs.append((key, seconds, now))
        self.runs.sort(key=lambda run: -run[1])
        if len(self.runs) > _SLOWEST:
            self.runs.pop()
        if len(self.runs) == _SLOWEST:
            self.least = self.runs[-1][1]


class ControllerStats:
    """The metrics of one controller at one moment."""

    __slots__ = ("concurrency", "name", "own_writes", "queue", "running", "tally")

    def __init__(
        self,
        name: str,
        concurrency: int,
        running: int,
        tally: ReconcileStats,
        queue: QueueMetrics,
        own_writes: OwnWrites[str],
    ) -> None:
        self.name = name
        self.concurrency = concurrency
        self.running = running
        self.tally = tally
        self.queue = queue
        self.own_writes = own_writes


class _Page:
    """Yield the text format, one family after the other."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def family(self, name: str, kind: str, says: str) -> None:
        self.lines += (f"# HELP {name} {says}", f"# TYPE {name} {kind}")

    def sample(self, name: str, labels: Labels, value: float) -> None:
        named = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels)
        self.lines.append(f"{name}{{{named}}} {value!r}" if named else f"{name} {value!r}")

    def histogram(
        self, name: str, labels: Labels, bounds: Iterable[float], counts: Iterable[int], total: float
    ) -> None:
        so_far = 0
        for bound, count in zip([*map(repr, bounds), "+Inf"], counts, strict=True):
            so_far += count
            self.sample(f"{name}_bucket", (*labels, ("le", bound)), so_far)
        self.sample(f"{name}_sum", labels, total)
        self.sample(f"{name}_count", labels, so_far)


_RESULTS: Final = "controller_runtime_reconcile_total"
_TIME: Final = "controller_runtime_reconcile_time_seconds"
_WEBHOOK: Final = "controller_runtime_webhook"


def exposition(
    controlled: Iterable[ControllerStats],
    requests: Mapping[tuple[str, str, str], int],
    leading: Mapping[str, bool],
    webhooks: Mapping[str, WebhookStats] = MappingProxyType({}),
    certificate_reads: tuple[int, int] | None = None,
) -> str:
    """Return all metrics in Prometheus' text format."""
    page, all_of = _Page(), list(controlled)
    _write_runs(page, all_of)
    _write_queues(page, all_of)
    page.family("rest_client_requests_total", "counter", "HTTP requests by status code, method and host.")
    for (code, method, host), count in sorted(requests.items()):
        page.sample("rest_client_requests_total", (("code", code), ("host", host), ("method", method)), count)
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


def _write_certificate_reads(page: _Page, reads: int, failed: int) -> None:
    for name, count, says in (
        ("certwatcher_read_certificate_total", reads, "How often a certificate was read from its files."),
        ("certwatcher_read_certificate_errors_total", failed, "How often that failed."),
    ):
        page.family(name, "counter", says)
        page.sample(name, (), count)


def _write_runs(page: _Page, all_of: list[ControllerStats]) -> None:
    page.family(_RESULTS, "counter", "Reconciles by controller and result.")
    for one in all_of:
        results = {
            "conflict": one.tally.conflicts,
            "error": one.tally.failed,
            "requeue_after": one.tally.requeued,
            "success": one.tally.succeeded,
        }
        for result, count in results.items():
            page.sample(_RESULTS, (("controller", one.name), ("result", result)), count)
    for name, kind, says in (
        ("reconcile_errors_total", "counter", "Reconciles that failed."),
        ("terminal_reconcile_errors_total", "counter", "Reconciles that failed and are not retried."),
        ("reconcile_timeouts_total", "counter", "Reconciles that were cancelled for their timeout."),
        ("max_concurrent_reconciles", "gauge", "The most runs at once."),
        ("active_workers", "gauge", "Runs at this moment."),
    ):
        page.family(f"controller_runtime_{name}", kind, says)
        for one in all_of:
            sample = {
                "reconcile_errors_total": one.tally.failed,
                "terminal_reconcile_errors_total": one.tally.terminal,
                "reconcile_timeouts_total": one.tally.overdue,
                "max_concurrent_reconciles": one.concurrency,
                "active_workers": one.running,
            }
            page.sample(f"controller_runtime_{name}", (("controller", one.name),), sample[name])
    for name, says in (
        ("waits_total", "Keys that waited until the caches showed what their last run had written."),
        ("timeouts_total", "Those of them that gave up after a second."),
        ("wait_seconds_total", "Seconds that they waited, together."),
    ):
        page.family(f"kubeproto_own_writes_{name}", "counter", says)
        for one in all_of:
            own = one.own_writes
            counts = {
                "waits_total": own.waits,
                "timeouts_total": own.timeouts,
                "wait_seconds_total": own.seconds,
            }
            page.sample(f"kubeproto_own_writes_{name}", (("controller", one.name),), counts[name])
    page.family(_TIME, "histogram", "Seconds of a reconcile.")
    for one in all_of:
        page.histogram(_TIME, (("controller", one.name),), _BOUNDS, one.tally.counts, one.tally.seconds)


def _write_queues(page: _Page, all_of: list[ControllerStats]) -> None:
    page.family("workqueue_depth", "gauge", "Keys that are due, by priority.")
    for one in all_of:
        for priority, depth in sorted((one.queue.depth or {0: 0}).items()):
            page.sample("workqueue_depth", (*_queue_of(one), ("priority", str(priority))), depth)
    for name, kind, says in (
        ("adds_total", "counter", "How often a key became due."),
        ("retries_total", "counter", "How often a key was asked for after a failure."),
        ("unfinished_work_seconds", "gauge", "Seconds of the runs of this moment, together."),
        ("longest_running_processor_seconds", "gauge", "Seconds of the longest run of this moment."),
    ):
        page.family(f"workqueue_{name}", kind, says)
        for one in all_of:
            page.sample(f"workqueue_{name}", _queue_of(one), getattr(one.queue, name))
    for name, says in (
        ("queue_duration_seconds", "Seconds that a key was due until it ran."),
        ("work_duration_seconds", "Seconds of a run."),
    ):
        page.family(f"workqueue_{name}", "histogram", says)
        for one in all_of:
            seconds: Histogram = getattr(one.queue, name)
            page.histogram(f"workqueue_{name}", _queue_of(one), seconds.bounds, seconds.counts, seconds.sum)


def _queue_of(one: ControllerStats) -> Labels:
    return (("controller", one.name), ("name", one.name))


def _escaped(text: Any) -> str:
    return str(text).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
