"""A transport that interrupts the logs that it carries, at bytes that a seed determines."""

from __future__ import annotations

import random
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import kubeproto as kp


class InterruptingTransport:
    """A transport that ends each response of a log after some bytes, with an error or normally."""

    def __init__(self, transport: Any, seed: int, max_bytes: int) -> None:
        self._transport = transport
        self._rng = random.Random(seed)
        self._max_bytes = max_bytes
        self.interruptions = 0
        self.upgrade = getattr(transport, "upgrade", None)

    @asynccontextmanager
    async def send(self, request: kp.RawRequest, **options: Any) -> AsyncGenerator[Any]:
        async with self._transport.send(request, **options) as incoming:
            if "/log?" in request.target:
                if self._rng.random() < 0.1:
                    self.interruptions += 1
                    raise kp.TransportError("the server hung up")
                self.interruptions += 1
                yield InterruptedResponse(
                    incoming, self._rng.randrange(self._max_bytes), self._rng.random() < 0.5
                )
            else:
                yield incoming


class InterruptedResponse:
    """A response that ends after a number of bytes."""

    def __init__(self, incoming: Any, remaining: int, raises_error: bool) -> None:
        self.status, self.headers = incoming.status, incoming.headers
        self._chunks = aiter(incoming)
        self._remaining = remaining
        self._raises_error = raises_error

    def __aiter__(self) -> InterruptedResponse:
        return self

    async def __anext__(self) -> bytes:
        if self._remaining <= 0:
            if self._raises_error:
                raise kp.TransportError("the server hung up")
            raise StopAsyncIteration
        chunk: bytes = (await anext(self._chunks))[: self._remaining]
        self._remaining -= len(chunk)
        return chunk
