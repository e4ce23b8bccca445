"""Spans on standard error, where OpenTelemetry's SDK is installed and they are asked for.

The runtime makes a span of each reconcile as soon as a tracer provider is set. Under
`opentelemetry-instrument python hello.py` that is so before this program begins, and it sends them to a
collector. `OTEL_TRACES_EXPORTER=console python hello.py` is for looking at them.
"""

from __future__ import annotations

import os
import sys


def show_spans() -> None:
    """Print spans if `OTEL_TRACES_EXPORTER` says so and nobody else has seen to them."""
    if os.environ.get("OTEL_TRACES_EXPORTER") != "console":
        return
    # Imported here: the operator works without OpenTelemetry as well.
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter

    if isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        provider = TracerProvider()
        provider.add_span_processor(BatchSpanProcessor(ConsoleSpanExporter(out=sys.stderr)))
        trace.set_tracer_provider(provider)  # what is left is printed when the process ends
