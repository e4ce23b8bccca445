"""Servers that send valid responses with false content: every transport's clients limit their trust and their
memory.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

import pytest
from contract_certificates import Certificates, context
from contract_clients import SMALL, AnyClient, Book, get_moby, with_client
from contract_scripts import flooding, responding, response_bytes
from contract_server import BOUND, Peer, ReceivedRequest, Script, Server
from contract_transports import Rig, connection_to, rigs

import kubeproto as kp
from kubeproto import Transport
from kubeproto.config import Connection
from kubeproto.watching import resync
from kubeproto_runtime import Caches, Client

Serve = Callable[..., Server]


JSON: Final = ("Content-Type", "application/json")


@pytest.fixture(params=["plain", "TLS"])
def connect(request: pytest.FixtureRequest, serve: Serve, certificates: Certificates) -> Any:
    def connect(script: Script) -> Connection:
        if request.param == "plain":
            return connection_to(serve(script))
        return connection_to(serve(script, context(certificates.server)), ca=certificates.trusted)

    return connect


Connect = Callable[[Script], Connection]


def test_of_an_endless_refusal_the_beginning_is_read(rig: Rig, connect: Connect) -> None:
    with pytest.raises(kp.Forbidden, match="403"):
        with_client(rig, connect(flooding("403 Forbidden", b"no", b"x" * 65_536)), get_moby)


def test_an_object_without_an_end_is_refused_at_the_limit(rig: Rig, connect: Connect) -> None:
    with pytest.raises(kp.ResponseTooLarge, match=r"books/moby.* longer than 1048576 bytes"):
        with_client(
            rig, connect(flooding("200 OK", b'{"spec":{"a":"', b"x" * 65_536)), get_moby, limits=SMALL
        )


def test_a_status_cannot_forge_lines_or_fill_a_log(rig: Rig, serve: Serve) -> None:
    message = "no\n2026-01-01 ERROR all is lost\x1b[31m\u2028" + "x" * 200_000
    status = {"kind": "Status", "status": "Failure", "message": message, "code": 403, "reason": "Forbidden"}
    server = serve(responding(response_bytes(json.dumps(status).encode(), JSON, status="403 Forbidden")))
    with pytest.raises(kp.Forbidden) as caught:
        with_client(rig, connection_to(server), get_moby)
    assert caught.value.status.message == message
    text = str(caught.value)
    assert text.isprintable()
    assert len(text) < 10_000


def page(*names: str, token: str = "", version: str = "9") -> bytes:
    items = [{"metadata": {"name": name, "resourceVersion": "5"}} for name in names]
    metadata = {"resourceVersion": version, "continue": token}
    return json.dumps({"kind": "BookList", "metadata": metadata, "items": items}).encode()


LIES: Final[dict[str, Callable[[int], bytes]]] = {
    "the same page under new tokens": lambda number: page("moby", token=f"t{number}"),
    "empty pages under new tokens": lambda number: page(token=f"t{number}"),
    "a token of 100 KB": lambda number: page("moby", token=f"{number}" + "t" * 100_000),
    "a version of 1 MB": lambda number: page("moby", token=f"t{number}", version="9" * 1_000_000),
}


def serve_endless_list(next_page: str, requests: list[ReceivedRequest]) -> Script:
    """Serve pages without an end, but a complete list for a request without a limit. A watch stays open."""

    async def script(peer: Peer) -> None:
        while True:
            requests.append(await peer.request())
            target = requests[-1].target
            if "watch=" in target:
                await peer.send(response_bytes(b"", JSON, ("Transfer-Encoding", "chunked"), length=False))
                await peer.wait_closed()
            complete = "limit=" not in target
            await peer.send(
                response_bytes(page("moby", "typee") if complete else LIES[next_page](len(requests)), JSON)
            )

    return script


@pytest.mark.parametrize("next_page", LIES)
def test_an_endless_list_in_pages_is_refused(rig: Rig, serve: Serve, next_page: str) -> None:
    requests: list[ReceivedRequest] = []

    async def body(client: AnyClient) -> list[str]:
        return [name async for names in client.pages() for name in names]

    with pytest.raises(kp.RemoteProtocolError, match=r"token|page|version"):
        with_client(rig, connection_to(serve(serve_endless_list(next_page, requests))), body)
    assert len(requests) <= 12
    assert max(len(request.target) for request in requests) < 1000


@pytest.mark.parametrize("next_page", LIES)
@pytest.mark.parametrize("rig", rigs(is_async=True))
def test_a_cache_requests_an_endless_list_without_pages(rig: Rig, serve: Serve, next_page: str) -> None:
    requests: list[ReceivedRequest] = []
    settings = resync.Settings(streaming=False, initial_version="", backoff=resync.Backoff(initial=0.01))

    async def body(transport: Transport) -> list[str]:
        async with Caches(Client(transport)) as caches:
            books = caches.cache(Book, settings=settings)
            await books.wait_synced(timeout=BOUND)
            return books.keys()

    assert rig.run(connection_to(serve(serve_endless_list(next_page, requests))), body) == ["moby", "typee"]
    assert len(requests) <= 13
    assert max(len(request.target) for request in requests) < 1000
