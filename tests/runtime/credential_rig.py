"""Helpers of the tests of credentials: servers as functions, plugins as scripts, and a manual clock."""

from __future__ import annotations

import json
import stat
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import anyio
from anyio.lowlevel import checkpoint

import kubeproto as kp
from kubeproto.config import Config, Connection, Identity, Plugin
from kubeproto.wire import UpgradeRequest, header
from kubeproto_runtime.credentials import AuthorizedTransport

SERVER: Final = "https://cluster.test"
SECRET: Final = "s3cr3t"

# The status and the body of a response.
Answer = tuple[int, bytes]
Server = Callable[[Connection, kp.RawRequest], Answer]

PEM: Final = b"-----BEGIN CERTIFICATE-----\n%s\n-----END CERTIFICATE-----\n"


class FakeResponse:
    """A response. The rest of its body waits for `gate`."""

    def __init__(self, status: int, body: bytes, gate: anyio.Event | None) -> None:
        self.status = status
        self.headers: kp.Headers = ()
        self._body = body
        self._gate = gate

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._body
        if self._gate is not None:
            await self._gate.wait()
            yield b"the end"


class Net:
    """Opens transports, and records them and their requests."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.sent: list[tuple[Connection, kp.RawRequest]] = []
        self.opened: list[Connection] = []
        self.closed: list[Connection] = []
        self.answering = 0
        self.gate: anyio.Event | None = None

    @asynccontextmanager
    async def open(self, connection: Connection) -> AsyncGenerator[Any]:
        await checkpoint()
        self.opened.append(connection)
        yield RecordingTransport(self, connection)
        self.closed.append(connection)

    def authorizations(self) -> list[str]:
        return [header(request.headers, "authorization") for _, request in self.sent]


class RecordingTransport:
    """A transport that records its requests."""

    def __init__(self, net: Net, connection: Connection) -> None:
        self.net = net
        self.connection = connection

    @asynccontextmanager
    async def send(
        self, request: kp.RawRequest, *, timeout: float | None = None, idle: float | None = None
    ) -> AsyncGenerator[FakeResponse]:
        await checkpoint()
        self.net.sent.append((self.connection, request))
        status, body = self.net.server(self.connection, request)
        self.net.answering += 1
        try:
            yield FakeResponse(status, body, self.net.gate)
        finally:
            self.net.answering -= 1

    @asynccontextmanager
    async def upgrade(
        self, request: UpgradeRequest, *, timeout: float | None = None, idle: float | None = None
    ) -> AsyncGenerator[Socket]:
        async with self.send(request) as incoming:
            if incoming.status == 401:
                raise request.refused(401, (), b"")
            yield Socket()


class Socket:
    """A WebSocket that receives a single message."""

    async def receive(self) -> bytes:
        return b"a message"


def accepting(*tokens: str) -> Server:
    """Return a server that accepts these tokens."""
    authorizations = {f"Bearer {token}" for token in tokens}
    return lambda _, request: (
        (200, b"welcome") if header(request.headers, "authorization") in authorizations else (401, b"who?")
    )


def authorized(net: Net, identity: Identity, **options: Any) -> AuthorizedTransport:
    config = Config(connection=Connection(server=SERVER), identity=identity)
    return AuthorizedTransport(config, net.open, **options)


async def get(transport: Any, *headers: tuple[str, str]) -> Answer:
    """Send a request and read its response."""
    async with transport.send(kp.RawRequest("GET", "/version", headers)) as incoming:
        return incoming.status, b"".join([chunk async for chunk in incoming])


class Script:
    """A plugin as a shell script, which counts its runs and may wait for `go`."""

    def __init__(self, folder: Path, output: str, *, waits: bool = False, code: int = 0) -> None:
        self.path = folder / "login"
        self.log = folder / "runs"
        self.go = folder / "go"
        wait = f"until [ -e '{self.go}' ]; do sleep 0.01; done" if waits else ":"
        self.path.write_text(
            f"#!/bin/sh\necho $$ >> '{self.log}'\nN=$(wc -l < '{self.log}' | tr -d ' ')\n"
            f"{wait}\ncat <<END\n{output}\nEND\nexit {code}\n"
        )
        self.path.chmod(stat.S_IRWXU)

    @property
    def pids(self) -> list[int]:
        return [int(line) for line in self.log.read_text().split()] if self.log.exists() else []

    async def started(self, times: int = 1) -> None:
        """Wait until the plugin was started this many times."""
        with anyio.fail_after(30):
            while len(self.pids) < times:
                await anyio.sleep(0.005)

    @property
    def identity(self) -> Identity:
        return Identity(plugin=Plugin(command=str(self.path)))


def credential(**status: str) -> str:
    """Return the output of a plugin."""
    return json.dumps(
        {"kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/v1", "status": status}
    )


class Clock:
    """A clock of Unix time that tests advance."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now
