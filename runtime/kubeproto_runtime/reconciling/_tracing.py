"""A span for each reconcile, where the program has set up OpenTelemetry; nothing where it has not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..calls._tracing import Tracing

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from ._context import Context


def reconcile_span(
    tracing: Tracing, context: Context[Any], now: float
) -> AbstractContextManager[object] | None:
    """Return the span of a reconcile; None where none is recorded."""
    if (tracer := tracing.tracer(now)) is None:
        return None
    attributes = {
        "k8s.resource.kind": context.resource.kind,
        "k8s.resource.group": context.resource.group,
        "k8s.namespace.name": context.namespace,
        "k8s.object.name": context.name,
        "reconcile.reason": context.reason,
        "reconcile.attempt": context.attempt,
        "reconcile.id": context.reconcile_id,
    }
    started: AbstractContextManager[object] = tracer.start_as_current_span(
        f"reconcile {context.resource.kind}", attributes=attributes
    )
    return started
