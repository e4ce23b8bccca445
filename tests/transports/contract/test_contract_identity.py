"""Requests end over every transport, whatever an identity provider responds, and a later renewal succeeds."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import anyio
import pytest
from contract_certificates import Certificates, context
from contract_scripts import response_bytes
from contract_server import Peer, Script, Server
from contract_transports import Rig, fetch, get, rigs
from contract_users import Clock, Visit, as_user, guarded, kubeconfig, verifying_certificates

from kubeproto.config import CredentialsError
from kubeproto_runtime.credentials import AuthorizedTransport

Serve = Callable[..., Server]

JSON: Final = ("Content-Type", "application/json")
DEEP: Final = b"[" * 100_000
WITHIN: Final = 20.0


@pytest.fixture(params=rigs(is_async=True))
def rig(request: pytest.FixtureRequest) -> Rig:
    """Each async transport: the credentials of blocking ones go the same way."""
    parameter: object = request.param
    assert isinstance(parameter, Rig)
    return parameter


def token(payload: bytes) -> str:
    return f"e30.{base64.urlsafe_b64encode(payload).decode().rstrip('=')}.c2lnbmVk"


OLD: Final = token(b'{"exp": 900}')  # the clock of these tests begins at 1000
DEEP_TOKEN: Final = token(b'{"x": ' + DEEP[:4000])  # more would not fit into the head of a request
GOOD: Final = token(b'{"exp": 90000}')

GARBAGE: Final = {
    "a byte that is not UTF-8": response_bytes(b'{"id_token": "\xff"}', JSON),
    "a key that is not UTF-8": response_bytes(b'{"\xff": 1}', JSON),
    "100,000 brackets": response_bytes(DEEP, JSON),
    "100,000 brackets as the token": response_bytes(b'{"id_token": ' + DEEP, JSON),
    "nothing": response_bytes(b"", JSON),
    "null": response_bytes(b"null", JSON),
    "a page": response_bytes(b"<html>", ("Content-Type", "text/html"), status="502 Bad Gateway"),
    "a chunk without a size": response_bytes(b"zz\r\n", JSON, ("Transfer-Encoding", "chunked"), length=False),
}


class Login:
    """An identity provider, a server behind it, and a user whose token has expired."""

    def __init__(self, serve: Serve, certificates: Certificates, folder: Path) -> None:
        # replacements of the normal responses, by the method of the request
        self.broken: dict[str, bytes | Script] = {}
        self.issued = GOOD
        self.visits: list[Visit] = []
        script = guarded(lambda visit: visit.authorization == f"Bearer {self.issued}", self.visits)
        server = serve(script, verifying_certificates(certificates))
        self.provider = serve(self._provide, context(certificates.server))
        settings = {
            "idp-issuer-url": self.provider.url,
            "client-id": "kubectl",
            "id-token": OLD,
            "refresh-token": "r1",
            "idp-certificate-authority-data": base64.b64encode(certificates.trusted).decode(),
        }
        user = {"auth-provider": {"name": "oidc", "config": settings}}
        self.config = kubeconfig(folder, server, certificates, user)

    async def _provide(self, peer: Peer) -> None:
        while True:
            request = await peer.request()
            match self.broken.get(request.method):
                case None:
                    document: dict[str, Any] = {"token_endpoint": f"{self.provider.url}/token"}
                    if request.method == "POST":
                        document = {"id_token": self.issued, "refresh_token": "r2"}
                    await peer.send(response_bytes(json.dumps(document).encode(), JSON))
                case bytes(garbage):
                    await peer.send(garbage)
                case script:
                    await script(peer)
                    return


@pytest.fixture
def login(serve: Serve, certificates: Certificates, tmp_path: Path) -> Login:
    return Login(serve, certificates, tmp_path)


async def three_at_once(transport: AuthorizedTransport) -> list[str]:
    """Send three requests concurrently, and return the outcome of each."""
    outcomes: list[str] = []

    async def fetch_one() -> None:
        try:
            response = await fetch(transport, get("/version"))
        except CredentialsError:
            outcomes.append("no credentials")
        else:
            outcomes.append(str(response.status))

    with anyio.fail_after(WITHIN):
        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(fetch_one)
    return outcomes


@pytest.mark.parametrize("method", ["GET", "POST"], ids=["its addresses", "its tokens"])
@pytest.mark.parametrize("case", GARBAGE)
def test_a_malformed_response_of_a_provider_fails_waiting_requests_and_the_next_renewal_succeeds(
    rig: Rig, login: Login, case: str, method: str
) -> None:
    clock = Clock()

    async def body(transport: AuthorizedTransport) -> tuple[list[str], list[str]]:
        login.broken = {method: GARBAGE[case]}
        refused = await three_at_once(transport)
        login.broken.clear()
        clock.now += 3600
        return refused, await three_at_once(transport)

    assert as_user(rig, login.config, body, clock) == (["no credentials"] * 3, ["200"] * 3)
    assert {visit.authorization for visit in login.visits} == {f"Bearer {GOOD}"}


def test_of_an_endless_response_of_a_provider_a_mebibyte_is_read(rig: Rig, login: Login) -> None:
    sizes: list[int] = []

    async def flood(peer: Peer) -> None:
        await peer.send(response_bytes(b"", JSON, ("Transfer-Encoding", "chunked"), length=False))
        chunk = b"10000\r\n" + b" " * 65_536 + b"\r\n"
        while not peer.writer.is_closing() and len(sizes) < 1024:
            sizes.append(len(chunk))
            await peer.send(chunk)

    login.broken = {"POST": flood}
    assert as_user(rig, login.config, three_at_once) == ["no credentials"] * 3
    assert sum(sizes) < 32 << 20  # the limit allows for bytes that were in flight when the client closed


def test_a_token_whose_claims_are_nested_too_deeply_is_sent(rig: Rig, login: Login) -> None:
    login.issued = DEEP_TOKEN
    assert as_user(rig, login.config, three_at_once) == ["200"] * 3
