"""Users of a cluster in a kubeconfig, and a server that authenticates them."""

from __future__ import annotations

import json
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

import anyio
from contract_certificates import Certificates, context
from contract_scripts import chunk, chunked, response_bytes
from contract_server import Peer, ReceivedRequest, Script, Server
from contract_transports import Rig, transport_factory

from kubeproto.config import Config, RequiredFiles, infer
from kubeproto_runtime.credentials import AuthorizedTransport

T = TypeVar("T")

REFUSED: Final = response_bytes(
    b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Unauthorized",'
    b'"reason":"Unauthorized","code":401}',
    ("Content-Type", "application/json"),
    status="401 Unauthorized",
)


class Visit(NamedTuple):
    """A request, and the common name of the client certificate."""

    request: ReceivedRequest
    certificate: str

    @property
    def authorization(self) -> str:
        return self.request.header("authorization")


Guard = Callable[[Visit], bool]


def guarded(guard: Guard, visits: list[Visit]) -> Script:
    """Respond with the name of each user that the guard accepts; a watch gets two more events."""

    async def script(peer: Peer) -> None:
        while True:
            visit = Visit(await peer.request(), _common_name(peer))
            visits.append(visit)
            if not guard(visit):
                await peer.send(REFUSED)
            elif "watch=true" in visit.request.target:
                await peer.send(chunked(b"first", end=False))
                await peer.send(chunk(b"second") + b"0\r\n\r\n")
            else:
                await peer.send(response_bytes(f"{visit.certificate}|{visit.authorization}".encode()))

    return script


def _common_name(peer: Peer) -> str:
    certificate: Any = peer.writer.get_extra_info("ssl_object").getpeercert()
    parts: tuple[tuple[tuple[str, str], ...], ...] = certificate["subject"] if certificate else ()
    return next((value for part in parts for key, value in part if key == "commonName"), "")


def verifying_certificates(certificates: Certificates) -> ssl.SSLContext:
    """Return a server's context that verifies a client certificate, if the client has one."""
    tls_context = context(certificates.server, clients_of=certificates.ca)
    tls_context.verify_mode = ssl.CERT_OPTIONAL
    return tls_context


def kubeconfig(folder: Path, server: Server, certificates: Certificates, user: dict[str, Any]) -> Config:
    """Return the configuration of a kubeconfig with this user."""
    ca = folder / "ca.crt"
    if not ca.exists():
        ca.write_bytes(certificates.trusted)
    document = {
        "kind": "Config",
        "apiVersion": "v1",
        "clusters": [{"name": "c", "cluster": {"server": server.url, "certificate-authority": str(ca)}}],
        "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    path = folder / "kubeconfig"
    path.write_text(json.dumps(document))
    contents: dict[str, bytes] = {}
    inferred = infer({"KUBECONFIG": str(path)}, contents)
    while isinstance(inferred, RequiredFiles):
        contents |= {name: Path(name).read_bytes() for name in inferred.paths}
        inferred = infer({"KUBECONFIG": str(path)}, contents)
    return inferred


class Clock:
    """Unix time, set by the test."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def as_user(
    rig: Rig, config: Config, body: Callable[[AuthorizedTransport], Awaitable[T]], clock: Clock | None = None
) -> T:
    """Run a body over a transport of this rig with the credentials of a configuration."""

    async def run() -> T:
        async with AuthorizedTransport(config, transport_factory(rig), clock=clock or Clock()) as authorized:
            return await body(authorized)

    return anyio.run(run, backend=rig.loop)
