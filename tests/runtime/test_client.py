"""Tests of the client: retries, deadlines and rates, streams, and requests about the server itself."""

from __future__ import annotations

import gc
import logging
import random
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import anyio
import msgspec
import pytest
from virtual_time import Book, Go, Scripted, book, go, library, scripted

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto.control import Rate
from kubeproto.wire import NO_RETRIES
from kubeproto_runtime import Client, KindNotServed
from kubeproto_runtime.testing import simulated

__all__ = ["go"]

JSON = (("Content-Type", "application/json"),)
OK = (
    200,
    JSON,
    b'{"kind":"Book","apiVersion":"example.com/v1","metadata":{"name":"moby"},"spec":{"title":"t"}}',
)
BUSY = (
    429,
    (*JSON, ("Retry-After", "1")),
    b'{"kind":"Status","status":"Failure","code":429,"message":"busy"}',
)
FAILED = (503, JSON, b'{"kind":"Status","status":"Failure","code":503,"message":"not now"}')
CONFLICT = (
    409,
    JSON,
    b'{"kind":"Status","status":"Failure","code":409,"reason":"Conflict","message":"it has changed"}',
)


class Half(random.Random):
    """A source of randomness that always returns 0.5."""

    def random(self) -> float:
        return 0.5


def test_rq_21_retries_wait_for_retry_after_and_send_the_whole_body_again(
    go: Go,
) -> None:
    async def main() -> None:
        client, wire = scripted(BUSY, BUSY, OK, rng=Half())
        reply = await client.call(client.requests(Book).create(book()))
        assert reply.value.metadata.name == "moby"
        # A second of Retry-After, and half of the backoffs of 0.2 and 0.4 seconds.
        assert wire.times == pytest.approx([0.0, 1.1, 2.3])
        assert len({request.body for _, request in wire.asked}) == 1
        assert b"Moby-Dick" in wire.asked[2][1].body

    go(main)


def test_rq_09_an_attempt_that_may_have_succeeded_is_the_cause_of_the_last_error(go: Go) -> None:
    async def main() -> None:
        lost = kp.TransportError("the response was lost")
        client, _ = scripted(lost, CONFLICT)
        obj = book()
        obj.metadata.resource_version = "7"
        with pytest.raises(kp.Conflict) as caught:
            await client.api(Book).replace(obj)
        assert caught.value.__cause__ is lost

    go(main)


def test_rq_09_the_cause_is_added_behind_existing_causes(go: Go) -> None:
    async def main() -> None:
        lost, refused = kp.TransportError("the response was lost"), kp.ConnectError("nobody listens")
        refused.__cause__ = OSError("refused")
        client, _ = scripted(lost, refused)
        with pytest.raises(kp.ConnectError) as caught:
            await client.call(client.requests(Book).create(book()))
        assert caught.value.__cause__ is not None
        assert caught.value.__cause__.__cause__ is lost

    go(main)


def test_rq_09_a_repeated_error_is_not_its_own_cause(go: Go) -> None:
    async def main() -> None:
        client, wire = scripted(*(kp.TransportError("lost") for _ in range(5)))
        with pytest.raises(kp.TransportError) as caught:
            await client.call(client.requests(Book).create(book()))
        assert caught.value.__cause__ is None
        assert len(wire.asked) == 5

    go(main)


def test_a_request_that_is_not_idempotent_is_sent_once(go: Go) -> None:
    async def main() -> None:
        client, wire = scripted(FAILED, OK)
        with pytest.raises(kp.ServiceUnavailable):
            await client.api(Book).delete("moby")
        assert len(wire.asked) == 1

    go(main)


def test_no_attempt_starts_after_the_common_deadline(go: Go) -> None:
    async def main() -> None:
        client, wire = scripted(BUSY, rng=Half())
        with pytest.raises(kp.TooManyRequests):
            await client.call(client.requests(Book).get("moby"), timeout=3.0)
        assert wire.times == pytest.approx([0.0, 1.1, 2.3])
        assert wire.timeouts == pytest.approx([3.0, 1.9, 0.7])

    go(main)


def test_retries_can_be_disabled_for_a_call(go: Go) -> None:
    async def main() -> None:
        client, wire = scripted(FAILED, OK)
        with pytest.raises(kp.ServiceUnavailable):
            await client.call(client.requests(Book).get("moby"), retries=NO_RETRIES)
        assert len(wire.asked) == 1

    go(main)


def test_a_call_can_be_cancelled_between_two_attempts(go: Go) -> None:
    async def main() -> None:
        client, wire = scripted(BUSY)
        with anyio.move_on_after(0.5):
            await client.api(Book).get("moby")
        assert anyio.current_time() == 0.5
        assert len(wire.asked) == 1

    go(main)


def test_the_rate_allows_a_burst_and_then_a_request_per_interval(go: Go) -> None:
    async def main() -> None:
        client, wire = scripted(OK, rate=Rate(1.0, burst=2))
        async with anyio.create_task_group() as tasks:
            for _ in range(6):
                tasks.start_soon(client.call, client.requests(Book).get("moby"))
        assert wire.times == [0.0, 0.0, 1.0, 2.0, 3.0, 4.0]
        await anyio.sleep(100)
        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(client.call, client.requests(Book).get("moby"))
        assert wire.times[6:] == [104.0, 104.0, 105.0]

    go(main)


def test_rq_34_a_rate_that_would_delay_a_request_beyond_its_deadline_is_an_immediate_error(go: Go) -> None:
    async def main() -> None:
        client, wire = scripted(OK, rate=Rate(10.0))
        await client.api(Book).get("moby")
        with pytest.raises(kp.DeadlineExceeded, match="the rate of this client"):
            await client.call(client.requests(Book).get("moby"), timeout=5.0)
        assert anyio.current_time() == 0.0
        await client.call(client.requests(Book).get("moby"), timeout=11.0)
        assert wire.times == [0.0, 10.0]

    go(main)


def test_rq_34_requests_that_wait_for_the_rate_count_for_the_deadline_of_the_next(go: Go) -> None:
    async def main() -> None:
        client, wire = scripted(OK, rate=Rate(10.0))
        failed_at: list[float] = []

        async def get() -> None:
            try:
                await client.call(client.requests(Book).get("moby"), timeout=15.0)
            except kp.DeadlineExceeded:
                failed_at.append(anyio.current_time())

        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(get)
        assert (wire.times, failed_at) == ([0.0, 10.0], [0.0])

    go(main)


def test_a_warning_is_logged_once_and_returned_each_time(go: Go, caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        response = (200, (*JSON, ("Warning", '299 - "v1 is old"')), OK[2])
        client, _ = scripted(response)
        for _ in range(3):
            assert (await client.call(client.requests(Book).get("moby"))).warnings == ("v1 is old",)

    with caplog.at_level(logging.WARNING, "kubeproto.client"):
        go(main)
    [line] = [record.getMessage() for record in caplog.records]
    assert line.startswith("GET /apis/example.com/v1/namespaces/default/books/moby: Book.example.com ")
    assert line.endswith("moby: v1 is old")


def test_a_thousand_warnings_are_logged_and_no_more(go: Go, caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        headers = [(*JSON, ("Warning", f'299 - "{number}"')) for number in range(1002)]
        client, _ = scripted(*((200, header, OK[2]) for header in headers))
        for _ in headers:
            await client.call(client.requests(Book).get("moby"))

    with caplog.at_level(logging.WARNING, "kubeproto.client"):
        go(main)
    assert len(caplog.records) == 1000


def test_a_warning_of_a_server_is_escaped_and_truncated(go: Go, caplog: pytest.LogCaptureFixture) -> None:
    forged = "\x1b[2J ERROR forged\u202e\x9b"
    response = (
        200,
        (*JSON, ("Warning", f'299 - "{forged}"'), ("Warning", f'299 - "{"y" * 1_000_000}"')),
        OK[2],
    )

    async def main() -> None:
        client, _ = scripted(response)
        await client.call(client.requests(Book).get("moby"))

    with caplog.at_level(logging.WARNING, "kubeproto.client"):
        go(main)
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == 2
    assert all(line.isprintable() for line in lines)
    assert max(map(len, lines)) < 3000


def test_a_stream_that_exits_early_is_closed(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        async with simulated(cluster) as client:
            async with client.open(client.requests(Book).watch(send_initial_events=True)) as events:
                async for _ in events:
                    break
                assert len(cluster.watches) == 1
            assert cluster.watches == []
        gc.collect()  # trio warns about unfinished generators

    go(main)


def test_a_body_that_is_a_generator_is_closed_with_its_stream(go: Go) -> None:
    closed: list[str] = []

    class Body:
        status, headers = 200, JSON

        async def __aiter__(self) -> AsyncGenerator[bytes]:
            try:
                while True:
                    yield b"\n"
            finally:
                closed.append("body")

    class GeneratorTransport(Scripted):
        @asynccontextmanager
        async def send(
            self, request: kp.RawRequest, *, timeout: float | None = None, idle: float | None = None
        ) -> AsyncGenerator[Any]:
            yield Body()
            closed.append("stream")

    async def main() -> None:
        pods = Client(GeneratorTransport()).requests(
            kp.Dynamic, resource=kp.Resource("", "v1", "Pod", "pods")
        )
        async with Client(GeneratorTransport()).open(pods.follow_log("web-0")) as lines:
            assert await anext(lines) == [b""]

    go(main)
    assert closed == ["body", "stream"]


def test_a_cancelled_stream_closes_its_connection(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        async with simulated(cluster) as client:
            with anyio.move_on_after(10):
                async with client.open(client.requests(Book).watch(resource_version="1")) as events:
                    async for _ in events:
                        pass
            assert anyio.current_time() == 10
            assert cluster.watches == []

    go(main)


def test_the_default_namespace_is_the_namespace_of_the_client(go: Go) -> None:
    async def main() -> None:
        client, _ = scripted(OK, namespace="library")
        assert client.api(Book).namespace == "library"
        assert client.api(Book, namespace="attic").namespace == "attic"
        assert client.api(Book, namespace=kp.ALL).namespace is kp.ALL
        resource = kp.Resource("", "v1", "Node", "nodes", namespaced=False)
        assert client.api(kp.Dynamic, resource=resource).namespace == ""

    go(main)


def test_the_client_reads_version_health_and_openapi_documents(go: Go) -> None:
    async def main() -> None:
        async with simulated(library()) as client_of_cluster:
            assert (await client_of_cluster.version()).release >= (1, 30)
            assert (await client_of_cluster.health("livez")).healthy
        index = b'{"paths":{"apis/apps/v1":{"serverRelativeURL":"/openapi/v3/apis/apps/v1?hash=ab"}}}'
        client, wire = scripted((200, JSON, index), (200, JSON, b'{"openapi":"3.0.0"}'))
        assert await client.openapi_index() == {"apis/apps/v1": "ab"}
        assert await client.openapi_document("apis/apps/v1", hash="ab") == {"openapi": "3.0.0"}
        assert wire.asked[1][1].target == "/openapi/v3/apis/apps/v1?hash=ab"

    go(main)


@pytest.mark.parametrize("hash_", ["ab", ""])
def test_a_document_that_has_changed_since_the_index_is_the_current_document(go: Go, hash_: str) -> None:
    async def main() -> None:
        moved = (301, (("Location", "/openapi/v3/apis/apps/v1?hash=cd"),), b"")
        client, wire = scripted(moved, *[(200, JSON, b'{"openapi":"3.0.0"}')] * bool(hash_))
        if hash_:
            assert await client.openapi_document("apis/apps/v1", hash=hash_) == {"openapi": "3.0.0"}
        else:  # without a hash, servers send no redirects, and the client follows none
            with pytest.raises(kp.ApiError, match="301"):
                await client.openapi_document("apis/apps/v1")
        targets = ["/openapi/v3/apis/apps/v1?hash=ab", "/openapi/v3/apis/apps/v1"]
        assert [request.target for _, request in wire.asked] == (targets if hash_ else targets[1:])

    go(main)


class OldServerTransport:
    """A transport to a server before 1.27, which has no aggregated discovery."""

    def __init__(self, transport: kp.Transport) -> None:
        self.transport = transport

    def send(
        self, request: kp.RawRequest, *, timeout: float | None = None, idle: float | None = None
    ) -> AbstractAsyncContextManager[kp.IncomingResponse]:
        old_request = msgspec.structs.replace(request, headers=(("Accept", "application/json"),))
        return self.transport.send(old_request, timeout=timeout, idle=idle)


@pytest.mark.parametrize("aggregated", [True, False])
def test_discovery_returns_every_kind_and_is_cheap_while_nothing_changes(go: Go, aggregated: bool) -> None:
    async def main() -> None:
        cluster = library()
        async with simulated(cluster) as client:
            if not aggregated:
                client.transport = OldServerTransport(client.transport)
            discovery = await client.discover()
            assert discovery.find("books") is not None
            assert discovery.find("deploy") is not None
            request_count = len(cluster.log)
            assert (await client.discover()).find("books") == discovery.find("books")
            assert not aggregated or [entry.status for entry in cluster.log[request_count:]] == [304, 304]

    go(main)


def test_discovery_survives_occasional_failures(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        faults = sim.Faults(cluster, script=[sim.Fail(), sim.Throttle(), sim.Html()])
        async with simulated(cluster, faults=faults) as client:
            assert (await client.discover()).find("books") is not None
        assert faults.script == []

    go(main)


def test_require_names_a_missing_kind_and_may_wait_for_it(go: Go) -> None:
    async def main() -> None:
        cluster = sim.Cluster()
        async with simulated(cluster) as client:
            with pytest.raises(
                KindNotServed, match=r"the definition of Book \(example.com/v1\) is not installed"
            ):
                await client.require(Book)
            assert anyio.current_time() == 0.0
            cluster.later(5, lambda: cluster.define(Book))
            await client.require(Book, kp.Metadata[Book], within=30)
            assert anyio.current_time() == pytest.approx(5.0, abs=1.0)
            shelf = kp.Resource("example.com", "v1", "Shelf", "shelves")
            with pytest.raises(KindNotServed, match="Shelf"):
                await client.require(Book, shelf, within=3)
            assert anyio.current_time() == pytest.approx(8.0, abs=1.0)

    go(main)


def test_exec_over_a_transport_without_websockets_is_an_error(go: Go) -> None:
    async def main() -> None:
        client, _ = scripted(OK)
        pods = client.api(kp.Dynamic, resource=kp.Resource("", "v1", "Pod", "pods"))
        with pytest.raises(kp.LocalProtocolError, match="no WebSockets, which exec needs"):
            async with pods.exec("web-0", ["ls"]):
                pass

    go(main)


def test_the_repr_of_a_client_contains_no_secret(go: Go) -> None:
    async def main() -> None:
        client, _ = scripted(OK)
        assert repr(client).startswith("Client(<")
        assert "namespace='default'" in repr(client)

    go(main)
