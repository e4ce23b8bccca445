"""What an operator reports about itself: whether it works, whether it is ready, and its metrics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import anyio

from ..reconciling._metrics import ControllerStats, exposition

if TYPE_CHECKING:
    from ..calls._outgoing import RequestCounts
    from ..reconciling._reconciling import Reconciling
    from ..webhooks import WebhookServer
    from ._election import Election


def health(controllers: Mapping[str, Reconciling], election: Election | None) -> tuple[bool, str]:
    """Return whether every controller and the election work, with a line for each.

    A controller is unhealthy if a run continues although it was cancelled.
    """
    now = anyio.current_time()
    lines = [
        (not (stuck := one.workers.stuck_keys(now)), f"controller {name}: {_stuck_keys(stuck) or 'works'}")
        for name, one in controllers.items()
    ]
    if election is not None:
        leadership_status = election.leadership_status
        state = "leads" if leadership_status.leads else f"follows {leadership_status.leader or 'nobody'}"
        lines.append((leadership_status.healthy, f"election {election.name}: {state}"))
    return _listed(lines)


def readiness(controllers: Mapping[str, Reconciling], webhooks: WebhookServer | None) -> tuple[bool, str]:
    """Return whether every cache has synced and the webhooks are served, with a line for each.

    The caches of a candidate sync, too, and its webhooks are called as those of the leader are.
    """
    caches = {id(cache): cache for one in controllers.values() for cache in one.caches}
    lines = [
        (cache.synced, f"cache of {cache.place}: {cache.sync_status.why or 'in step'}")
        for cache in caches.values()
    ]
    lines += [
        (one.synced, f"controller {name}: {'ready' if one.synced else 'waits for its caches'}")
        for name, one in controllers.items()
    ]
    if webhooks is not None:
        lines.append((webhooks.listens, f"webhooks: {'served' if webhooks.listens else 'not served'}"))
    return _listed(lines)


def metrics_text(
    controllers: Mapping[str, Reconciling], election: Election | None, counts: RequestCounts,
    webhooks: WebhookServer | None,
) -> str:  # fmt: skip
    """Return the metrics of all controllers and webhooks in Prometheus' text format."""
    now = anyio.current_time()
    return exposition(
        [
            ControllerStats(
                name,
                one.plan.concurrency,
                one.queue.running,
                one.stats,
                one.queue.metrics(now),
                one.own_writes.machine,
            )
            for name, one in controllers.items()
        ],
        counts.totals,
        {} if election is None else {election.name: election.leadership_status.leads},
        {} if webhooks is None else webhooks.stats,
        None if webhooks is None else webhooks.certificate_reads,
    )


def _listed(lines: list[tuple[bool, str]]) -> tuple[bool, str]:
    """Return the lines in the form of Kubernetes' own servers, and whether all are in order."""
    text = "".join(f"[{'+' if good else '-'}] {line}\n" for good, line in lines)
    return all(good for good, _ in lines), text


def _stuck_keys(keys: list[str]) -> str:
    return f"{', '.join(keys[:5])} does not end, although it was cancelled" if keys else ""
