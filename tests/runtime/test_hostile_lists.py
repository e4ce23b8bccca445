"""Lists and watches that drip, never end or lie: each is left in time, and the cache gets its objects."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from sync_rig import Answer, Scripted
from virtual_time import Book, Go, go

from kubeproto import Headers, RawRequest
from kubeproto.watching import resync
from kubeproto_runtime import Caches, Client
from kubeproto_runtime.blocking import BlockingReflector

__all__ = ["go"]

Chunks = AsyncIterator[bytes]
# What a server does with a request, by its target and how many came before it.
Behaviour = Callable[[str, int], tuple[int, Chunks]]

PLAIN = resync.Settings(streaming=False, initial_version="")
STREAMING = resync.Settings(initial_version="")


class Hostile:
    """A transport whose server does as it likes; the times of its requests are kept."""

    def __init__(self, behave: Behaviour) -> None:
        self.asked: list[tuple[float, str]] = []
        self.limits: list[tuple[float | None, float | None]] = []
        self._behave = behave

    @asynccontextmanager
    async def send(
        self, request: RawRequest, *, timeout: float | None = None, idle: float | None = None
    ) -> AsyncGenerator[FakeResponse]:
        number = len(self.asked)
        self.asked.append((anyio.current_time(), request.target))
        self.limits.append((timeout, idle))
        status, chunks = self._behave(request.target, number)
        yield FakeResponse(status, chunks)


class FakeResponse:
    headers: Headers = (("content-type", "application/json"),)

    def __init__(self, status: int, chunks: Chunks) -> None:
        self.status = status
        self._chunks = chunks

    def __aiter__(self) -> Chunks:
        return self._chunks


async def whole(body: bytes) -> Chunks:
    yield body


async def forever(front: bytes, piece: bytes, every: float) -> Chunks:
    yield front
    for _ in range(10_000):
        await anyio.sleep(every)
        yield piece
    raise AssertionError("a reader of this reads forever")


def page(*names: str, token: str = "", version: str = "9") -> bytes:
    items = [{"metadata": {"name": name, "namespace": "default", "resourceVersion": "5"}} for name in names]
    metadata = {"resourceVersion": version, "continue": token}
    return json.dumps({"kind": "BookList", "metadata": metadata, "items": items}).encode()


def quiet() -> tuple[int, Chunks]:
    """A watch that says something each minute, as servers do."""
    bookmark = {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "10"}}}
    return 200, forever(b"", json.dumps(bookmark).encode() + b"\n", 60)


def synced_against(go: Go, behave: Behaviour, settings: resync.Settings = PLAIN) -> tuple[float, Hostile]:
    """How long it takes until the cache has synced, and what was asked."""
    results: list[tuple[float, Hostile]] = []

    async def main() -> None:
        transport = Hostile(behave)
        async with Caches(Client(transport)) as caches:
            await caches.cache(Book, settings=settings).wait_synced(timeout=3600)
            results.append((anyio.current_time(), transport))

    go(main)
    return results[0]


FRONT = b'{"kind":"BookList","metadata":{"resourceVersion":"9"},"items":['
ITEM = b'{"metadata":{"name":"moby","namespace":"default","resourceVersion":"5"}}'


@pytest.mark.parametrize(
    ("front", "piece", "every"),
    [
        (FRONT, b" ", 2.0),
        (FRONT + ITEM, b"\n", 2.0),
        (b"", b" ", 50.0),
        (FRONT + ITEM + b"," + ITEM[:30], b"x", 0.5),
    ],
    ids=["blanks among the items", "blanks after an item", "blanks before all", "an item without an end"],
)
def test_a_list_that_drips_bytes_and_no_objects_is_asked_for_again(
    go: Go, front: bytes, piece: bytes, every: float
) -> None:
    def behave(target: str, number: int) -> tuple[int, Chunks]:
        if "watch=" in target:
            return quiet()
        return 200, whole(page("moby")) if number else forever(front, piece, every)

    took, hostile = synced_against(go, behave)
    assert 60 <= took < 60 + every + 5
    assert len([target for _, target in hostile.asked if "watch" not in target]) == 2


def test_a_streaming_list_that_drips_is_left_for_a_plain_one(go: Go) -> None:
    def behave(target: str, number: int) -> tuple[int, Chunks]:
        if "sendInitialEvents" in target:
            return 200, forever(b'{"type":"ADDED",', b" ", 2)
        return quiet() if "watch=" in target else (200, whole(page("moby")))

    took, hostile = synced_against(go, behave, STREAMING)
    assert 75 <= took < 85
    assert "limit=500" in hostile.asked[1][1]


def test_a_watch_that_brings_bytes_and_no_events_is_opened_anew(go: Go) -> None:
    def behave(target: str, number: int) -> tuple[int, Chunks]:
        return (200, forever(b"", b"\n", 5)) if "watch=" in target else (200, whole(page("moby")))

    async def main() -> None:
        transport = Hostile(behave)
        async with Caches(Client(transport)) as caches:
            await caches.cache(Book, settings=PLAIN).wait_synced()
            with anyio.move_on_after(100):
                await anyio.sleep_forever()
        times = [at for at, target in transport.asked if "watch=" in target]
        assert len(times) == 2
        assert 75 <= times[1] - times[0] < 85

    go(main)


def test_a_slow_list_with_an_object_now_and_then_completes(go: Go) -> None:
    async def slow() -> Chunks:
        yield FRONT + ITEM
        for number in range(5):
            await anyio.sleep(50)
            yield b"," + ITEM.replace(b"moby", b"b%d" % number)
        yield b"]}"

    def behave(target: str, number: int) -> tuple[int, Chunks]:
        return quiet() if "watch=" in target else (200, slow())

    took, hostile = synced_against(go, behave)
    assert 250 <= took < 255
    assert hostile.limits[0] == (600.0, 60.0)
    assert len([target for _, target in hostile.asked if "watch" not in target]) == 1


@pytest.mark.parametrize("idle", [True, False], ids=["dripping", "flooding"])
def test_of_a_refusal_no_more_is_read_than_says_why(go: Go, idle: bool) -> None:
    def behave(target: str, number: int) -> tuple[int, Chunks]:
        if "watch=" in target:
            return quiet()
        if number:
            return 200, whole(page("moby"))
        front = b'{"kind":"Status","status":"Failure","code":403,"message":"no'
        return 403, forever(front, b" ", 1) if idle else forever(front, b"x" * 65_536, 0.0)

    took, hostile = synced_against(go, behave)
    # A refused list is retried after 10 to 20 s; a dripping body is read for 10 s.
    assert 10 <= took <= 31
    assert len([target for _, target in hostile.asked if "watch" not in target]) == 2


async def _calls(hostile: Hostile) -> Any:
    return await Client(hostile).api(Book).get("moby")


def test_a_call_reads_no_endless_refusal_either(go: Go) -> None:
    async def main() -> None:
        hostile = Hostile(lambda target, number: (403, forever(b"no", b"x" * 65_536, 0.001)))
        with pytest.raises(Exception, match="403"):
            await _calls(hostile)
        assert anyio.current_time() < 1

    go(main)


@pytest.mark.parametrize("lie", ["new tokens", "empty pages", "long tokens"])
def test_a_server_that_has_always_one_more_page_is_not_followed_at_full_speed(go: Go, lie: str) -> None:
    def behave(target: str, number: int) -> tuple[int, Chunks]:
        if "watch=" in target:
            return quiet()
        if "limit=" not in target:
            return 200, whole(page("moby"))
        token = f"t{number}" + "x" * (100_000 if lie == "long tokens" else 0)
        names = () if lie == "empty pages" else ("moby",)
        return 200, whole(page(*names, token=token))

    took, hostile = synced_against(go, behave)
    assert took < 10
    assert len([target for _, target in hostile.asked if "watch" not in target]) <= 12


def test_a_version_that_is_too_long_to_be_sent_back_is_listed_again(go: Go) -> None:
    long = "9" * 1_000_000
    sent: list[str] = []

    def behave(target: str, number: int) -> tuple[int, Chunks]:
        sent.append(target)
        if "watch=" not in target:
            return 200, whole(page("moby"))
        if len(sent) > 2:
            return quiet()
        event = {"type": "MODIFIED", "object": {"metadata": {"name": "moby", "resourceVersion": long}}}
        return 200, whole(json.dumps(event).encode() + b"\n")

    async def main() -> None:
        async with Caches(Client(Hostile(behave))) as caches:
            await caches.cache(Book, settings=PLAIN).wait_synced()
            await anyio.sleep(60)

    go(main)
    assert ["watch=" in target for target in sent] == [False, True, False, True]
    assert max(map(len, sent)) < 1000


class _Dripping(Answer):
    """A body of which a piece comes now and then, in the time of its server."""

    def __init__(self, server: Scripted, status: int, front: bytes, piece: bytes) -> None:
        super().__init__(status, (("content-type", "application/json"),), [])
        self._server, self._front, self._piece = server, front, piece

    def __iter__(self) -> Iterator[bytes]:
        yield self._front
        for _ in range(10_000):
            self._server.now += 2
            yield self._piece
        raise AssertionError("a reader of this reads forever")


@pytest.mark.parametrize(("status", "seconds"), [(200, 60), (403, 10)])
def test_a_thread_leaves_a_list_that_drips(status: int, seconds: float) -> None:
    server = Scripted()
    server.answers += [_Dripping(server, status, FRONT, b" "), LookupError()]
    client = server.client()
    cache = BlockingReflector(client, client.requests(Book), settings=PLAIN, spawn=lambda work: work())
    cache.__enter__()
    assert server.limits == [600.0, 600.0]
    failure = cache.sync_status.failure
    assert failure is not None
    assert 1000 + seconds <= failure.time <= 1000 + seconds + 3
    assert ("403" in failure.text) == (status == 403)


def test_a_call_in_a_thread_reads_no_endless_refusal() -> None:
    server = Scripted()
    server.answers += [_Dripping(server, 403, b"no", b" ")]
    with pytest.raises(Exception, match="403"):
        server.client().api(Book).get("moby")
    assert server.now <= 1012
