"""Tokens that expire, and the identity provider that gives them out, which fails now and then."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from random import Random
from typing import Final

import anyio

import kubeproto as kp
from kubeproto.config import Config, Connection, Identity, Oidc
from kubeproto_runtime.credentials import Authorized

SERVER: Final = "https://cluster.example.com"
ISSUER: Final = "https://id.example.com"
LIVES: Final = (20.0, 90.0, 600.0)


class _Body:
    def __init__(self, status: int, body: bytes) -> None:
        self.status = status
        self.headers: kp.Headers = (("Content-Type", "application/json"),)
        self._pieces = [body]

    def __aiter__(self) -> _Body:
        return self

    async def __anext__(self) -> bytes:
        if not self._pieces:
            raise StopAsyncIteration
        return self._pieces.pop()


class Provider:
    """An identity provider, as a transport."""

    def __init__(self, rng: Random, now: Callable[[], float], count: Callable[[str], None]) -> None:
        self.calm = False
        self._rng = rng
        self._now = now
        self._count = count
        self._issued = 0

    @asynccontextmanager
    async def send(
        self, head: kp.Head, *, timeout: float | None = None, idle: float | None = None
    ) -> AsyncGenerator[_Body]:
        """Answer a request for tokens."""
        await anyio.sleep(self._rng.choice((0.0, 0.05, 1.0)))
        if not self.calm and (draw := self._rng.random()) < 0.4:
            self._count("identity provider fails")
            if draw < 0.1:
                raise kp.ConnectError("the identity provider refused the connection")
            if draw < 0.2:
                yield _Body(503, b"{}")
                return
            yield _Body(200, b"{}" if draw < 0.3 else b"<html>")
            return
        if head.method == "GET":
            yield _Body(200, json.dumps({"token_endpoint": f"{ISSUER}/token"}).encode())
            return
        self._issued += 1
        token = self.token(self._rng.choice(LIVES))
        yield _Body(200, json.dumps({"id_token": token, "refresh_token": f"r{self._issued}"}).encode())

    def token(self, life: float) -> str:
        """A token that expires after so many seconds."""
        claims = json.dumps({"sub": f"t{self._issued}", "exp": self._now() + life}).encode()
        return f"e30.{urlsafe_b64encode(claims).decode().rstrip('=')}.x"


def authorized(inner: kp.Transport, provider: Provider, now: Callable[[], float]) -> Authorized:
    """A transport to the cluster that has tokens of this provider."""

    @asynccontextmanager
    async def opener(connection: Connection) -> AsyncGenerator[kp.Transport]:
        yield provider if connection.server.startswith(ISSUER) else inner

    oidc = Oidc(issuer=ISSUER, client_id="storm", refresh_token="r0", id_token=provider.token(30.0))
    return Authorized(
        Config(connection=Connection(server=SERVER), identity=Identity(oidc=oidc)), opener, clock=now
    )
