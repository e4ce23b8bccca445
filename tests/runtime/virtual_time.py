"""What the tests of the runtime's conveniences share: both event loops in virtual time, and a kind."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

import anyio
import pytest

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto.wire import Headers
from kubeproto_runtime import Client
from kubeproto_runtime.testing import BACKENDS, run

Go: TypeAlias = Callable[[Callable[[], Awaitable[None]]], None]


class BookSpec(kp.Fields):
    title: str
    authors: list[str] = []
    pages: int | None = None
    shelf: dict[str, str] | None = None


class BookStatus(kp.Fields):
    conditions: list[dict[str, Any]] = []
    read: int | None = None
    lent: str | None = None


class Book(kp.Object[BookSpec, BookStatus], group="example.com", version="v1"):
    """A book."""


def book(name: str = "moby", **spec: Any) -> Book:
    words: dict[str, Any] = {"title": "Moby-Dick"} | spec
    return Book(metadata=kp.ObjectMeta(name=name), spec=BookSpec(**words))


def library() -> sim.Cluster:
    return sim.Cluster(crds=[Book])


@pytest.fixture(params=BACKENDS)
def go(request: pytest.FixtureRequest) -> Go:
    """Run a test on each event loop, in virtual time."""

    def on_loop(main: Callable[[], Awaitable[None]]) -> None:
        run(main, backend=request.param)

    return on_loop


class Said:
    """A response that comes at once."""

    def __init__(self, status: int, headers: Headers, body: bytes) -> None:
        self.status, self.headers, self.pieces = status, headers, [body]

    def __aiter__(self) -> Said:
        return self

    async def __anext__(self) -> bytes:
        if not self.pieces:
            raise StopAsyncIteration
        return self.pieces.pop()


class Scripted:
    """A transport that answers what it was told to, and writes down when it was asked for what."""

    def __init__(self, *answers: tuple[int, Headers, bytes] | Exception) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[float, kp.RawRequest]] = []
        self.timeouts: list[float | None] = []

    @asynccontextmanager
    async def send(
        self, request: kp.RawRequest, *, timeout: float | None = None, idle: float | None = None
    ) -> AsyncGenerator[Said]:
        self.asked.append((anyio.current_time(), request))
        self.timeouts.append(timeout)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        yield Said(*answer)

    @property
    def times(self) -> list[float]:
        return [at for at, _ in self.asked]


def scripted(*answers: tuple[int, Headers, bytes] | Exception, **settings: Any) -> tuple[Client, Scripted]:
    transport = Scripted(*answers)
    return Client(transport, **settings), transport
