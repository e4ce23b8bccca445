"""A span for each reconcile, where OpenTelemetry's API is installed; nothing where it is not."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from importlib import import_module
from typing import Any, TypeAlias

from ._context import Context

Tracer: TypeAlias = Callable[[Context[Any]], AbstractContextManager[object]]


def find_tracer() -> Tracer | None:
    """What makes a span of a context; None without OpenTelemetry.

    Whoever does not set up an exporter pays for spans that record nothing.
    """
    try:
        trace: Any = import_module("opentelemetry.trace")
    except ModuleNotFoundError:
        return None
    tracer: Any = trace.get_tracer("kubeproto_runtime")

    def span(context: Context[Any]) -> AbstractContextManager[object]:
        attributes = {
            "k8s.resource.kind": context.resource.kind,
            "k8s.resource.group": context.resource.group,
            "k8s.namespace.name": context.namespace,
            "k8s.object.name": context.name,
            "reconcile.reason": context.reason,
            "reconcile.attempt": context.attempt,
        }
        started: AbstractContextManager[object] = tracer.start_as_current_span(
            f"reconcile {context.resource.kind}", attributes=attributes
        )
        return started

    return span
