"""A span for each reconcile, if the program has configured OpenTelemetry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._plans import check_awaitable

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from kubeproto.control import Action

    from ._context import Context
    from ._plans import ReconcileFunction


def reconcile_span(tracer: Any, context: Context[Any]) -> AbstractContextManager[object]:
    """Return the span of a reconcile."""
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


async def traced(
    span: AbstractContextManager[object], reconcile: ReconcileFunction, subject: Any, context: Context[Any]
) -> Action | None:
    """Reconcile within a span."""
    with span:
        return await check_awaitable(reconcile(subject, context))
