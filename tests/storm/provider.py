"""Tokens that expire, and their sources: an identity provider, a file or a plugin, which sometimes fail."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from random import Random
from typing import Any, Final, Literal

import anyio

import kubeproto as kp
from kubeproto.config import Config, Connection, Identity, Oidc, Plugin, UnreadableFile, credentials as c
from kubeproto_runtime.credentials import AuthorizedTransport

SERVER: Final = "https://cluster.example.com"
ISSUER: Final = "https://id.example.com"
EXEC: Final = "client.authentication.k8s.io/v1"
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
    """The issuer of tokens: an identity provider, as a transport, a file or a plugin."""

    def __init__(self, rng: Random, now: Callable[[], float], count: Callable[[str], None]) -> None:
        self.calm = False
        self._rng = rng
        self._now = now
        self._count = count
        self._issued = 0

    @asynccontextmanager
    async def send(
        self, request: kp.RawRequest, *, timeout: float | None = None, idle: float | None = None
    ) -> AsyncGenerator[_Body]:
        """Respond to a request for tokens."""
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
        if request.method == "GET":
            yield _Body(200, json.dumps({"token_endpoint": f"{ISSUER}/token"}).encode())
            return
        self._issued += 1
        token = self.token(self._rng.choice(LIVES))
        yield _Body(200, json.dumps({"id_token": token, "refresh_token": f"r{self._issued}"}).encode())

    def token(self, life: float) -> str:
        """Return a token that expires after a number of seconds."""
        claims = json.dumps({"sub": f"t{self._issued}", "exp": self._now() + life}).encode()
        return f"e30.{urlsafe_b64encode(claims).decode().rstrip('=')}.x"

    def read(self, paths: tuple[str, ...]) -> c.FilesRead:
        """Return the files of a token, which are sometimes being replaced."""
        content: bytes | UnreadableFile = self.token(600.0).encode()
        if not self.calm and (draw := self._rng.random()) < 0.4:
            self._count("credential file fails")
            content = UnreadableFile("it is being replaced") if draw < 0.2 else b""
        return c.FilesRead(tuple(content for _ in paths))

    async def run(self) -> c.Event:
        """Return the output of a plugin, which takes its time."""
        await anyio.sleep(self._rng.choice((0.05, 1.0, 20.0)))
        if not self.calm and (draw := self._rng.random()) < 0.4:
            self._count("credential plugin fails")
            if draw < 0.1:
                return c.PluginMissing()
            return c.PluginExited(1, b"") if draw < 0.25 else c.PluginExited(0, b"<html>")
        self._issued += 1
        ends = datetime.fromtimestamp(self._now() + self._rng.choice(LIVES), UTC)
        status = {"token": f"t{self._issued}", "expirationTimestamp": ends.strftime("%Y-%m-%dT%H:%M:%SZ")}
        output = {"apiVersion": EXEC, "kind": "ExecCredential", "status": status}
        return c.PluginExited(0, json.dumps(output).encode())


class StormAuthorized(AuthorizedTransport):
    """Reads no file and runs no command: the provider of the storm supplies the results."""

    provider: Provider

    async def _perform(self, effect: Any) -> Any:
        match effect:
            case c.ReadFiles(paths):
                return self.provider.read(paths)
            case c.RunPlugin():
                return await self.provider.run()
            case _:
                return await super()._perform(effect)


def authorized(
    inner: kp.Transport,
    provider: Provider,
    now: Callable[[], float],
    source: Literal["oidc", "file", "exec"],
) -> AuthorizedTransport:
    """Return a transport to the cluster with the tokens of this provider."""

    @asynccontextmanager
    async def opener(connection: Connection) -> AsyncGenerator[kp.Transport]:
        yield provider if connection.server.startswith(ISSUER) else inner

    match source:
        case "oidc":
            first = provider.token(30.0)
            oidc = Oidc(issuer=ISSUER, client_id="storm", refresh_token="r0", id_token=first)
            identity = Identity(oidc=oidc)
        case "file":
            identity = Identity(token_file="/var/run/secrets/token")
        case "exec":
            identity = Identity(plugin=Plugin(command="get-token"))
    config = Config(connection=Connection(server=SERVER), identity=identity)
    transport = StormAuthorized(config, opener, clock=now)
    transport.provider = provider
    return transport
