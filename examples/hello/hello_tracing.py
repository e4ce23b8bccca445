"""Spans on standard error, if OpenTelemetry's SDK is installed and they are requested.

The runtime makes a span of each reconcile as soon as a tracer provider is set. `opentelemetry-instrument
python hello.py` sets one before this program begins, and sends the spans to a collector.
`OTEL_TRACES_EXPORTER=console python hello.py` prints them.
"""

from __future__ import annotations

import os
import sys


def show_spans() -> None:
    """Print spans if `OTEL_TRACES_EXPORTER=console` and no tracer provider is set."""
    if os.environ.get("OTEL_TRACES_EXPORTER") != "console":
        return
    # Imported here: the operator works without OpenTelemetry as well.
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter

    if isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        provider = TracerProvider()
        provider.add_span_processor(BatchSpanProcessor(ConsoleSpanExporter(out=sys.stderr)))
        trace.set_tracer_provider(provider)  # the remaining spans are printed when the process ends
