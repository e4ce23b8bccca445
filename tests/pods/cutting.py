"""A transport that cuts the logs that go through it, at bytes that a seed decides."""

from __future__ import annotations

import random
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import kubeproto as kp


class Cutting:
    """A transport that ends each response of a log after some bytes, broken or normally."""

    def __init__(self, transport: Any, seed: int, most: int) -> None:
        self._transport = transport
        self._rng = random.Random(seed)
        self._most = most
        self.cuts = 0
        self.upgrade = getattr(transport, "upgrade", None)

    @asynccontextmanager
    async def send(self, request: kp.RawRequest, **options: Any) -> AsyncGenerator[Any]:
        async with self._transport.send(request, **options) as incoming:
            if "/log?" in request.target:
                if self._rng.random() < 0.1:
                    self.cuts += 1
                    raise kp.TransportError("the server hung up")
                self.cuts += 1
                yield CutIncoming(incoming, self._rng.randrange(self._most), self._rng.random() < 0.5)
            else:
                yield incoming


class CutIncoming:
    """A response that ends after a number of bytes."""

    def __init__(self, incoming: Any, left: int, breaks: bool) -> None:
        self.status, self.headers = incoming.status, incoming.headers
        self._pieces = aiter(incoming)
        self._left = left
        self._breaks = breaks

    def __aiter__(self) -> CutIncoming:
        return self

    async def __anext__(self) -> bytes:
        if self._left <= 0:
            if self._breaks:
                raise kp.TransportError("the server hung up")
            raise StopAsyncIteration
        piece: bytes = (await anext(self._pieces))[: self._left]
        self._left -= len(piece)
        return piece
