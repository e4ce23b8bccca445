"""The client: what is sent again and when, what is said of it, and what the server is asked about itself."""

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
    """A source of randomness that always gives the same."""

    def random(self) -> float:
        return 0.5


def test_rq_21_three_tries_with_a_retry_after_of_one_second_wait_and_send_the_whole_body_again(
    go: Go,
) -> None:
    async def main() -> None:
        client, wire = scripted(BUSY, BUSY, OK, rng=Half())
        reply = await client.call(client.requests(Book).create(book()))
        assert reply.value.metadata.name == "moby"
        # A second each, and half of the own backoff of 0.2 and 0.4.
        assert wire.times == pytest.approx([0.0, 1.1, 2.3])
        assert len({request.body for _, request in wire.asked}) == 1
        assert b"Moby-Dick" in wire.asked[2][1].body

    go(main)


def test_rq_09_what_may_have_been_done_is_the_cause_of_the_last_error(go: Go) -> None:
    async def main() -> None:
        lost = kp.TransportError("the response was lost")
        client, _ = scripted(lost, CONFLICT)
        held = book()
        held.metadata.resource_version = "7"
        with pytest.raises(kp.Conflict) as caught:
            await client.api(Book).replace(held)
        assert caught.value.__cause__ is lost

    go(main)


def test_rq_09_the_cause_stands_behind_those_that_an_error_has_already(go: Go) -> None:
    async def main() -> None:
        lost, refused = kp.TransportError("the response was lost"), kp.ConnectError("nobody listens")
        refused.__cause__ = OSError("refused")
        client, _ = scripted(lost, refused)
        with pytest.raises(kp.ConnectError) as caught:
            await client.call(client.requests(Book).create(book()))
        assert caught.value.__cause__ is not None
        assert caught.value.__cause__.__cause__ is lost

    go(main)


def test_rq_09_the_same_error_again_is_not_its_own_cause(go: Go) -> None:
    async def main() -> None:
        client, wire = scripted(*(kp.TransportError("lost") for _ in range(5)))
        with pytest.raises(kp.TransportError) as caught:
            await client.call(client.requests(Book).create(book()))
        assert caught.value.__cause__ is None
        assert len(wire.asked) == 5

    go(main)


def test_what_could_be_done_twice_is_sent_once(go: Go) -> None:
    async def main() -> None:
        client, wire = scripted(FAILED, OK)
        with pytest.raises(kp.ServiceUnavailable):
            await client.api(Book).delete("moby")
        assert len(wire.asked) == 1

    go(main)


def test_no_try_comes_after_the_deadline_which_is_for_all_of_them(go: Go) -> None:
    async def main() -> None:
        client, wire = scripted(BUSY, rng=Half())
        with pytest.raises(kp.TooManyRequests):
            await client.call(client.requests(Book).get("moby"), timeout=3.0)
        assert wire.times == pytest.approx([0.0, 1.1, 2.3])
        assert wire.timeouts == pytest.approx([3.0, 1.9, 0.7])

    go(main)


def test_retries_can_be_switched_off_for_one_call(go: Go) -> None:
    async def main() -> None:
        client, wire = scripted(FAILED, OK)
        with pytest.raises(kp.ServiceUnavailable):
            await client.call(client.requests(Book).get("moby"), retries=NO_RETRIES)
        assert len(wire.asked) == 1

    go(main)


def test_a_call_that_is_cancelled_between_two_tries_ends_there(go: Go) -> None:
    async def main() -> None:
        client, wire = scripted(BUSY)
        with anyio.move_on_after(0.5):
            await client.api(Book).get("moby")
        assert anyio.current_time() == 0.5
        assert len(wire.asked) == 1

    go(main)


def test_the_rate_lets_a_burst_go_and_then_one_at_a_time_however_many_wait(go: Go) -> None:
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


def test_rq_34_a_rate_that_would_hold_a_request_beyond_its_deadline_says_so_at_once(go: Go) -> None:
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


def test_a_warning_is_logged_once_and_told_each_time(go: Go, caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        warned = (200, (*JSON, ("Warning", '299 - "v1 is old"')), OK[2])
        client, _ = scripted(warned)
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


def test_a_warning_of_a_server_is_escaped_and_cut(go: Go, caplog: pytest.LogCaptureFixture) -> None:
    forged = "\x1b[2J ERROR forged\u202e\x9b"
    warned = (
        200,
        (*JSON, ("Warning", f'299 - "{forged}"'), ("Warning", f'299 - "{"y" * 1_000_000}"')),
        OK[2],
    )

    async def main() -> None:
        client, _ = scripted(warned)
        await client.call(client.requests(Book).get("moby"))

    with caplog.at_level(logging.WARNING, "kubeproto.client"):
        go(main)
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == 2
    assert all(line.isprintable() for line in lines)
    assert max(map(len, lines)) < 3000


def test_a_stream_that_is_left_in_the_middle_leaves_nothing_behind(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        async with simulated(cluster) as client:
            async with client.open(client.requests(Book).watch(send_initial_events=True)) as events:
                async for _ in events:
                    break
                assert len(cluster.watches) == 1
            assert cluster.watches == []
        gc.collect()  # trio warns of generators that were left

    go(main)


def test_a_body_that_is_a_generator_is_closed_with_its_stream(go: Go) -> None:
    ends: list[str] = []

    class Body:
        status, headers = 200, JSON

        async def __aiter__(self) -> AsyncGenerator[bytes]:
            try:
                while True:
                    yield b"\n"
            finally:
                ends.append("closed")

    class Generating(Scripted):
        @asynccontextmanager
        async def send(
            self, request: kp.RawRequest, *, timeout: float | None = None, idle: float | None = None
        ) -> AsyncGenerator[Any]:
            yield Body()
            ends.append("left")

    async def main() -> None:
        pods = Client(Generating()).requests(kp.Dynamic, resource=kp.Resource("", "v1", "Pod", "pods"))
        async with Client(Generating()).open(pods.follow_log("web-0")) as lines:
            assert await anext(lines) == [b""]

    go(main)
    assert ends == ["closed", "left"]


def test_a_stream_that_is_cancelled_closes_what_it_has_opened(go: Go) -> None:
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


def test_a_namespace_is_that_of_the_client_unless_another_is_named(go: Go) -> None:
    async def main() -> None:
        client, _ = scripted(OK, namespace="library")
        assert client.api(Book).namespace == "library"
        assert client.api(Book, namespace="attic").namespace == "attic"
        assert client.api(Book, namespace=kp.ALL).namespace is kp.ALL
        resource = kp.Resource("", "v1", "Node", "nodes", namespaced=False)
        assert client.api(kp.Dynamic, resource=resource).namespace == ""

    go(main)


def test_the_server_tells_its_version_its_health_and_its_documents(go: Go) -> None:
    async def main() -> None:
        async with simulated(library()) as asked:
            assert (await asked.version()).release >= (1, 30)
            assert (await asked.health("livez")).healthy
        index = b'{"paths":{"apis/apps/v1":{"serverRelativeURL":"/openapi/v3/apis/apps/v1?hash=ab"}}}'
        client, wire = scripted((200, JSON, index), (200, JSON, b'{"openapi":"3.0.0"}'))
        assert await client.openapi_index() == {"apis/apps/v1": "ab"}
        assert await client.openapi_document("apis/apps/v1", hash="ab") == {"openapi": "3.0.0"}
        assert wire.asked[1][1].target == "/openapi/v3/apis/apps/v1?hash=ab"

    go(main)


@pytest.mark.parametrize("hash_", ["ab", ""])
def test_a_document_that_has_changed_since_the_index_is_what_it_is_now(go: Go, hash_: str) -> None:
    async def main() -> None:
        moved = (301, (("Location", "/openapi/v3/apis/apps/v1?hash=cd"),), b"")
        client, wire = scripted(moved, *[(200, JSON, b'{"openapi":"3.0.0"}')] * bool(hash_))
        if hash_:
            assert await client.openapi_document("apis/apps/v1", hash=hash_) == {"openapi": "3.0.0"}
        else:  # a redirect is not followed: the server sends no such one
            with pytest.raises(kp.ApiError, match="301"):
                await client.openapi_document("apis/apps/v1")
        targets = ["/openapi/v3/apis/apps/v1?hash=ab", "/openapi/v3/apis/apps/v1"]
        assert [request.target for _, request in wire.asked] == (targets if hash_ else targets[1:])

    go(main)


class Old:
    """A server of before 1.27, which knows no aggregated discovery."""

    def __init__(self, transport: kp.Transport) -> None:
        self.transport = transport

    def send(
        self, request: kp.RawRequest, *, timeout: float | None = None, idle: float | None = None
    ) -> AbstractAsyncContextManager[kp.IncomingResponse]:
        old = msgspec.structs.replace(request, headers=(("Accept", "application/json"),))
        return self.transport.send(old, timeout=timeout, idle=idle)


@pytest.mark.parametrize("aggregated", [True, False])
def test_discovery_finds_every_kind_and_asks_for_little_while_nothing_changes(
    go: Go, aggregated: bool
) -> None:
    async def main() -> None:
        cluster = library()
        async with simulated(cluster) as client:
            if not aggregated:
                client.transport = Old(client.transport)
            found = await client.discover()
            assert found.find("books") is not None
            assert found.find("deploy") is not None
            before = len(cluster.log)
            assert (await client.discover()).find("books") == found.find("books")
            assert not aggregated or [one.status for one in cluster.log[before:]] == [304, 304]

    go(main)


def test_discovery_survives_a_server_that_fails_now_and_then(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        faults = sim.Faults(cluster, script=[sim.Fail(), sim.Throttle(), sim.Html()])
        async with simulated(cluster, faults=faults) as client:
            assert (await client.discover()).find("books") is not None
        assert faults.script == []

    go(main)


def test_a_kind_that_is_not_installed_is_named_and_waited_for_if_asked(go: Go) -> None:
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


def test_a_transport_without_websockets_says_so(go: Go) -> None:
    async def main() -> None:
        client, _ = scripted(OK)
        pods = client.api(kp.Dynamic, resource=kp.Resource("", "v1", "Pod", "pods"))
        with pytest.raises(kp.LocalProtocolError, match="no WebSockets, which exec needs"):
            async with pods.exec("web-0", ["ls"]):
                pass

    go(main)


def test_a_client_shows_no_secret(go: Go) -> None:
    async def main() -> None:
        client, _ = scripted(OK)
        assert repr(client).startswith("Client(<")
        assert "namespace='default'" in repr(client)

    go(main)
