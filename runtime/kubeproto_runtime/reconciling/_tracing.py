"""A span for each reconcile, where the program has set up OpenTelemetry; nothing where it has not."""

from __future__ import annotations

from importlib import import_module
from math import inf
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from ._context import Context

# A program may set its tracer provider late. Looking for it reads the environment, which takes more than a
# µs.
_ASK_EVERY: Final = 1.0  # seconds


class Tracer:
    """Begins spans, once the program has set a tracer provider.

    Many environments have OpenTelemetry's API because something else needs it, and a span that records
    nothing would take a third of an empty reconcile's time.
    """

    def __init__(self, trace: Any) -> None:
        self._trace = trace
        self._tracer: Any = None
        self._ask_at = -inf

    def span(self, context: Context[Any], now: float) -> AbstractContextManager[object] | None:
        """Return the span of a reconcile; None where none is recorded."""
        if self._tracer is None:
            if now < self._ask_at:
                return None
            self._ask_at = now + _ASK_EVERY
            provider = self._trace.get_tracer_provider()
            if isinstance(provider, self._trace.ProxyTracerProvider):
                return None
            self._tracer = provider.get_tracer("kubeproto_runtime")
        attributes = {
            "k8s.resource.kind": context.resource.kind,
            "k8s.resource.group": context.resource.group,
            "k8s.namespace.name": context.namespace,
            "k8s.object.name": context.name,
            "reconcile.reason": context.reason,
            "reconcile.attempt": context.attempt,
        }
        started: AbstractContextManager[object] = self._tracer.start_as_current_span(
            f"reconcile {context.resource.kind}", attributes=attributes
        )
        return started


def find_tracer() -> Tracer | None:
    """Return what begins spans; None without OpenTelemetry's API."""
    try:
        return Tracer(import_module("opentelemetry.trace"))
    except ModuleNotFoundError:
        return None
