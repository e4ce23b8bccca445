"""A watch that is answered with a refusal: its body, in however many pieces, is one failure."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import trio
import trio.testing

import kubeproto as kp
from kubeproto.watching import resync
from kubeproto.wire import Headers, Outcome, RawRequest, ServerFailed
from kubeproto_runtime import Client
from kubeproto_runtime.watching import ResyncDriver

LIST = b'{"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":"5"},"items":[]}'
BUSY = b'{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"ServiceUnavailable","code":503}'


class Book(kp.Object[dict[str, Any], None], group="example.com", version="v1", plural="books"):
    """What is followed."""


class FakeResponse:
    def __init__(self, status: int, body: bytes) -> None:
        self.status = status
        self.headers: Headers = (("Content-Type", "application/json"),)
        self._body = body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for at in range(0, len(self._body), 10):
            yield self._body[at : at + 10]


class Busy:
    """A server that lists, and refuses to be watched."""

    @asynccontextmanager
    async def send(
        self, request: RawRequest, *, timeout: float | None = None, idle: float | None = None
    ) -> AsyncGenerator[FakeResponse]:
        yield FakeResponse(503, BUSY) if "watch=" in request.target else FakeResponse(200, LIST)


class Sink:
    """Keeps what was reported; the second report is enough."""

    def __init__(self) -> None:
        self.outcomes: list[Outcome | None] = []
        self.enough = trio.Event()

    def stage(self, items: list[Any]) -> None: ...
    def update(self, events: list[Any]) -> None: ...
    def replace(self, version: str) -> None: ...
    def discard(self) -> None: ...
    def abandon(self, outcome: Outcome) -> None: ...

    def report(self, failure: resync.SyncFailure) -> None:
        self.outcomes.append(failure.outcome)
        if len(self.outcomes) == 2:
            self.enough.set()


def test_a_watch_that_is_refused_is_reported_and_retried() -> None:
    sink = Sink()

    async def main() -> None:
        settings = resync.Settings(streaming=False)
        following = ResyncDriver(Client(Busy()), kp.Api(Book, namespace="default"), sink, settings=settings)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(following.run)
            await sink.enough.wait()
            nursery.cancel_scope.cancel()

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    assert [type(outcome) for outcome in sink.outcomes] == [ServerFailed, ServerFailed]
