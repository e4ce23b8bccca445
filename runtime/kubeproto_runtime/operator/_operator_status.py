"""The health, the readiness and the metrics of an operator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import anyio

from ..reconciling._metrics import ControllerStats, exposition

if TYPE_CHECKING:
    from ..calls._outgoing import RequestCounts
    from ..reconciling._controller_runner import ControllerRunner
    from ..webhooks import WebhookServer
    from ._election import Election


def health(controllers: Mapping[str, ControllerRunner], election: Election | None) -> tuple[bool, str]:
    """Return whether every controller and the election work, and a line for each.

    A controller is unhealthy if a cancelled run does not end.
    """
    now = anyio.current_time()
    lines = [
        (not (keys := controller.workers.stuck_keys(now)), f"controller {name}: {_describe_stuck_keys(keys)}")
        for name, controller in controllers.items()
    ]
    if election is not None:
        status = election.leadership_status
        state = "leads" if status.leads else f"follows {status.leader or 'nobody'}"
        lines.append((status.healthy, f"election {election.name}: {state}"))
    return _format_lines(lines)


def readiness(
    controllers: Mapping[str, ControllerRunner], webhooks: WebhookServer | None
) -> tuple[bool, str]:
    """Return whether every cache has synced and the webhooks are served, and a line for each.

    Candidates can be ready too: their caches sync, and their webhooks are called.
    """
    caches = {id(cache): cache for controller in controllers.values() for cache in controller.caches}
    lines = [
        (cache.synced, f"cache of {cache.display_name}: {cache.sync_status.reason or 'in sync'}")
        for cache in caches.values()
    ]
    lines += [
        (controller.synced, f"controller {name}: {'ready' if controller.synced else 'waits for its caches'}")
        for name, controller in controllers.items()
    ]
    if webhooks is not None:
        lines.append((webhooks.listens, f"webhooks: {'served' if webhooks.listens else 'not served'}"))
    return _format_lines(lines)


def metrics_text(
    controllers: Mapping[str, ControllerRunner], election: Election | None, counts: RequestCounts,
    webhooks: WebhookServer | None,
) -> str:  # fmt: skip
    """Return the metrics of all controllers and webhooks in Prometheus' text format."""
    now = anyio.current_time()
    return exposition(
        [
            ControllerStats(
                name,
                controller.plan.concurrency,
                controller.queue.running,
                controller.stats,
                controller.queue.metrics(now),
                controller.own_writes.machine,
            )
            for name, controller in controllers.items()
        ],
        counts.totals,
        {} if election is None else {election.name: election.leadership_status.leads},
        {} if webhooks is None else webhooks.stats,
        None if webhooks is None else webhooks.certificate_reads,
    )


def _format_lines(lines: list[tuple[bool, str]]) -> tuple[bool, str]:
    """Return whether all parts work, and their lines in the form of Kubernetes' servers."""
    text = "".join(f"[{'+' if good else '-'}] {line}\n" for good, line in lines)
    return all(good for good, _ in lines), text


def _describe_stuck_keys(keys: list[str]) -> str:
    return f"{', '.join(keys[:5])} does not end, although it was cancelled" if keys else "works"
