"""Spans of requests, if the program has configured OpenTelemetry.

A request is a client span, by OpenTelemetry's conventions for HTTP, and sends the context of its span to the
server, as `traceparent` or in another form that the program has chosen. The span of a stream (a watch, a log,
a WebSocket) ends when its response begins.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from math import inf
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Generator

    from kubeproto import RawRequest

H = TypeVar("H", bound="RawRequest")

# A program may set its tracer provider late. The lookup reads the environment, which takes more than 1 µs.
_LOOKUP_PERIOD: Final = 1.0  # seconds
_MIN_ERROR_STATUS: Final = 400


class Tracing:
    """Opens spans once the program has set a tracer provider.

    Many environments have OpenTelemetry's API because another package needs it, and a span without a provider
    would take a third of the time of an empty reconcile. A program that sets a provider has imported the API;
    importing it here would slow down every script.
    """

    def __init__(self) -> None:
        self._tracer: Any = None
        self._next_lookup = -inf

    def tracer(self, now: float) -> Any:
        """Return the tracer of this package; None if spans are not recorded."""
        if self._tracer is None and now >= self._next_lookup:
            self._next_lookup = now + _LOOKUP_PERIOD
            if (trace := sys.modules.get("opentelemetry.trace")) is not None:
                provider = trace.get_tracer_provider()
                if not isinstance(provider, trace.ProxyTracerProvider):
                    self._tracer = provider.get_tracer("kubeproto_runtime")
        return self._tracer

    @contextmanager
    def request(self, request: H, host: str, now: float) -> Generator[TracedRequest[H]]:
        """Open a span around a request, if spans are recorded."""
        tracer = self.tracer(now)
        if tracer is None:
            yield TracedRequest(request, None)
            return
        from opentelemetry.propagate import inject
        from opentelemetry.trace import SpanKind

        # Without the query, which may be private.
        attributes = {"http.request.method": request.method, "url.path": request.target.partition("?")[0]}
        if host:
            attributes["server.address"] = host
        carrier: dict[str, str] = {}
        with tracer.start_as_current_span(
            request.method, kind=SpanKind.CLIENT, attributes=attributes
        ) as span:
            inject(carrier)
            yield TracedRequest(request.with_headers(*carrier.items()), span)

    @contextmanager
    def apart(self) -> Generator[None]:
        """Detach the spans of a task from the span in which the task was started.

        Otherwise the spans of a cache would belong to the reconcile that opened the cache, forever.
        """
        context: Any = sys.modules.get("opentelemetry.context")
        if context is None:
            yield
            return
        token = context.attach(context.Context())
        try:
            yield
        finally:
            context.detach(token)


class TracedRequest(Generic[H]):
    """A request with the headers that carry its span."""

    __slots__ = ("_span", "request")

    def __init__(self, request: H, span: Any) -> None:
        self.request = request
        self._span = span

    def record_response(self, status: int) -> None:
        """Record the status of the response."""
        if self._span is None:
            return
        self._span.set_attribute("http.response.status_code", status)
        if status >= _MIN_ERROR_STATUS:
            from opentelemetry.trace import StatusCode

            self._span.set_status(StatusCode.ERROR)
