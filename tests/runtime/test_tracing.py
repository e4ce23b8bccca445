"""SpanRecorder of reconciles and requests with OpenTelemetry, and the headers that carry them to servers."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import anyio
import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace import SpanContext, SpanKind, StatusCode

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto.control import Action, requeue
from kubeproto.kinds.core_v1 import ConfigMap, Pod
from kubeproto_runtime import BlockingClient, Caches, Client, Context, Controller, Operator
from kubeproto_runtime.calls._request_tracing import Tracing
from kubeproto_runtime.testing import BACKENDS, Backend, run, simulated


class SpanRecorder(SpanExporter):
    """Records the finished spans."""

    def __init__(self) -> None:
        self.finished: list[ReadableSpan] = []

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.finished += spans
        return SpanExportResult.SUCCESS


@pytest.fixture
def spans() -> SpanRecorder:
    return SpanRecorder()


@pytest.fixture
def provider(spans: SpanRecorder) -> Generator[TracerProvider]:
    tracer_provider = TracerProvider(shutdown_on_exit=False)
    tracer_provider.add_span_processor(SimpleSpanProcessor(spans))
    yield tracer_provider
    tracer_provider.shutdown()


@pytest.fixture
def tracing(provider: TracerProvider, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the tracer provider. `set_tracer_provider` can be called only once in a process."""
    monkeypatch.setattr("opentelemetry.trace._TRACER_PROVIDER", provider)


def context_of(span: ReadableSpan) -> SpanContext:
    context = span.get_span_context()
    assert context is not None
    return context


class HeaderRecorder(sim.SimTransport):
    """A transport that records the header with the span of each request."""

    def __init__(self, cluster: sim.Cluster) -> None:
        self.parents: list[str] = []
        super().__init__(cluster, self._answer)
        self._recorded_cluster = cluster

    def _answer(self, request: kp.RawRequest) -> sim.ServerResponse:
        self.parents.append(dict(request.headers).get("traceparent", ""))
        return self._recorded_cluster.respond(request)


class Book(kp.KubeObject, group="tracing.test", version="v1", plural="books"):
    """A book."""


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_reconcile_is_a_span_and_the_parent_of_its_requests(
    backend: Backend, spans: SpanRecorder, provider: TracerProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids: list[str] = []

    async def main() -> None:
        async with simulated(sim.Cluster(crds=[Book])) as client:
            await client.api(Book).create(Book(metadata=kp.ObjectMeta(name="a")))

            async def reconcile(book: Book, ctx: Context[None]) -> Action | None:
                await ctx.api(ConfigMap).get_or_none("settings")
                ids.append(ctx.reconcile_id)
                if len(ids) == 1:
                    monkeypatch.setattr("opentelemetry.trace._TRACER_PROVIDER", provider)
                    return requeue(after=2)
                if len(ids) == 2:
                    raise ValueError("once")
                return None

            operator = Operator()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(operator.run, Controller(client, Book).run(reconcile))
                await anyio.sleep(5)
                operator.stop()

    run(main, backend=backend)
    request, reconcile, *_ = spans.finished
    assert (request.name, request.kind) == ("GET", SpanKind.CLIENT)
    assert reconcile.name == "reconcile Book"
    assert request.parent is not None
    assert request.parent.span_id == context_of(reconcile).span_id
    assert request.attributes == {
        "http.request.method": "GET",
        "url.path": "/api/v1/namespaces/default/configmaps/settings",
        "http.response.status_code": 404,
    }
    assert request.status.status_code == StatusCode.ERROR
    runs = [span for span in spans.finished if span.name == "reconcile Book"]
    names = ("k8s.object.name", "reconcile.attempt", "reconcile.id")
    outcomes = [
        (*((span.attributes or {})[name] for name in names), span.status.status_code) for span in runs
    ]
    assert outcomes == [
        ("a", 1, ids[1], StatusCode.ERROR),
        ("a", 2, ids[2], StatusCode.UNSET),
    ]  # fmt: skip


@pytest.mark.usefixtures("tracing")
def test_a_request_sends_its_span_to_the_server(spans: SpanRecorder) -> None:
    transport = HeaderRecorder(sim.Cluster())

    async def main() -> None:
        await Client(transport).api(ConfigMap).list(label_selector="secret=1")

    anyio.run(main)
    [span] = spans.finished
    context = context_of(span)
    [parent] = transport.parents
    assert parent.startswith(f"00-{context.trace_id:032x}-{context.span_id:016x}-")
    assert (span.attributes or {})["url.path"] == "/api/v1/namespaces/default/configmaps"
    assert (span.attributes or {})["http.response.status_code"] == 200
    assert span.status.status_code == StatusCode.UNSET


@pytest.mark.usefixtures("tracing")
def test_each_attempt_of_a_blocking_client_is_a_span(spans: SpanRecorder) -> None:
    cluster = sim.Cluster()
    faults = sim.Faults(cluster, script=[sim.RefuseConnection(), sim.Fail(code=503)])
    client = BlockingClient(faults.blocking_transport(), sleep=cluster.advance, clock=lambda: cluster.now)
    client.api(ConfigMap).list()
    refused, failed, succeeded = spans.finished
    assert refused.status.status_code == failed.status.status_code == StatusCode.ERROR
    assert [event.name for event in refused.events] == ["exception"]
    assert [(span.attributes or {}).get("http.response.status_code") for span in (failed, succeeded)] == [
        503,
        200,
    ]


@pytest.mark.usefixtures("tracing")
def test_the_span_of_a_stream_ends_when_its_response_begins(spans: SpanRecorder) -> None:
    cluster = sim.Cluster()

    async def main() -> None:
        client = Client(cluster.transport())
        async with client.open(client.requests(ConfigMap).watch()):
            assert [span.name for span in spans.finished] == ["GET"]
            assert trace.get_current_span() is trace.INVALID_SPAN

    anyio.run(main)
    blocking = BlockingClient(cluster.blocking_transport())
    with blocking.open(blocking.requests(ConfigMap).watch()):
        assert len(spans.finished) == 2


@pytest.mark.usefixtures("tracing")
@pytest.mark.parametrize("backend", BACKENDS)
def test_the_list_and_the_watch_of_a_cache_have_no_parent_span(
    backend: Backend, spans: SpanRecorder, provider: TracerProvider
) -> None:
    cluster = sim.Cluster()
    recorder = HeaderRecorder(cluster)

    async def main() -> None:
        async with simulated(cluster) as client, AsyncExitStack() as entered:
            client.transport = recorder
            # The span that starts a cache ends long before the cache.
            with provider.get_tracer("program").start_as_current_span("start"):
                caches = await entered.enter_async_context(Caches(client))
                await caches.cache(ConfigMap).wait_synced()
            cluster.end_watches()
            await anyio.sleep(30)

    run(main, backend=backend)
    requests = [span for span in spans.finished if span.kind == SpanKind.CLIENT]
    assert len(requests) >= 2  # a streaming list, and a second watch
    for span in requests:
        assert span.parent is None
        attributes = span.attributes or {}
        assert attributes["url.path"] == "/api/v1/configmaps"
        assert attributes["http.response.status_code"] == 200
    assert all(f"{context_of(span).span_id:016x}" in parent
               for span, parent in zip(requests, recorder.parents, strict=True))  # fmt: skip


@pytest.mark.usefixtures("tracing")
def test_the_span_of_the_consumer_is_the_parent_of_the_requests_of_a_follow(
    spans: SpanRecorder, provider: TracerProvider
) -> None:
    cluster = sim.Cluster()

    async def main() -> None:
        async with simulated(cluster) as client:
            with provider.get_tracer("program").start_as_current_span("work") as work:
                async with client.api(ConfigMap).follow() as events:
                    await anext(events)
            [span] = [span for span in spans.finished if span.kind == SpanKind.CLIENT]
            assert span.parent is not None
            assert span.parent.span_id == work.get_span_context().span_id

    run(main)


@pytest.mark.usefixtures("tracing")
def test_a_blocking_follow_has_spans(spans: SpanRecorder) -> None:
    cluster = sim.Cluster()
    client = BlockingClient(cluster.blocking_transport(), sleep=cluster.advance, clock=lambda: cluster.now)
    with client.api(ConfigMap).follow() as events:
        next(events)
        assert [
            (span.name, (span.attributes or {})["http.response.status_code"]) for span in spans.finished
        ] == [("GET", 200)]


class UpgradingTransport:
    """A transport that accepts or refuses upgrades, and records the header of the span."""

    def __init__(self, refused: kp.ApiError | None = None) -> None:
        self.parent = ""
        self._refused = refused

    @asynccontextmanager
    async def upgrade(self, request: kp.RawRequest, **limits: object) -> AsyncGenerator[str]:
        self.parent = dict(request.headers)["traceparent"]
        if self._refused is not None:
            raise self._refused
        yield "a WebSocket"


@pytest.mark.usefixtures("tracing")
def test_an_upgrade_is_a_span_that_ends_when_it_is_accepted(spans: SpanRecorder) -> None:
    transport: Any = UpgradingTransport()
    client = Client(transport)
    request = client.requests(Pod).exec("a", ["ls"])

    async def main() -> None:
        async with client.upgrade(request) as socket:
            assert str(socket) == "a WebSocket"
            [span] = spans.finished
            assert (span.attributes or {})["http.response.status_code"] == 101
            assert (span.attributes or {})["url.path"] == "/api/v1/namespaces/default/pods/a/exec"
            assert f"{context_of(span).span_id:016x}" in transport.parent
            assert trace.get_current_span() is trace.INVALID_SPAN

    anyio.run(main)


@pytest.mark.usefixtures("tracing")
def test_the_span_of_a_refused_upgrade_has_the_status(spans: SpanRecorder) -> None:
    transport: Any = UpgradingTransport(kp.Forbidden(kp.Status(code=403, reason="Forbidden")))
    client = Client(transport)

    async def main() -> None:
        with pytest.raises(kp.Forbidden):
            async with client.upgrade(client.requests(Pod).exec("a", ["ls"])):
                pass

    anyio.run(main)
    [span] = spans.finished
    assert (span.attributes or {})["http.response.status_code"] == 403
    assert span.status.status_code == StatusCode.ERROR


def test_no_span_is_recorded_without_a_provider_which_is_looked_up_once_a_second(
    provider: TracerProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    tracing, request = Tracing(), kp.RawRequest("GET", "/version")
    with tracing.request(request, "", 0.0) as traced:
        traced.record_response(500)
        assert traced.request is request
    monkeypatch.setattr("opentelemetry.trace._TRACER_PROVIDER", provider)
    assert tracing.tracer(0.9) is None
    assert tracing.tracer(1.0) is not None


def test_no_span_is_recorded_if_opentelemetry_is_not_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "opentelemetry.trace")
    assert Tracing().tracer(0.0) is None
