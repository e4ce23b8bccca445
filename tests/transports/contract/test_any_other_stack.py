"""Forty lines make a transport on any I/O: each of the examples lists and watches like the others."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
from contract_scripts import chunk, chunked, response_bytes
from contract_server import BOUND, Peer, Server

Serve = Callable[..., Server]

EXAMPLES: Final = Path(__file__).resolve().parents[3] / "examples" / "transports"

BOOK: Final = (
    '{"apiVersion":"example.technosophos.com/v1","kind":"Book","metadata":{"name":"%s","namespace":"default",'
    '"resourceVersion":"8"},"spec":{"title":"%s"}}'
)
PAGE: Final = (
    '{"kind":"BookList","apiVersion":"example.technosophos.com/v1","metadata":{"resourceVersion":"7"},'
    f'"items":[{BOOK % ("moby", "Moby-Dick")}]}}'
).encode()
EVENTS: Final = "".join(
    f'{{"type":"{kind}","object":{BOOK % (name, title)}}}\n'
    for kind, name, title in (
        ("ADDED", "emma", "Emma"),
        ("MODIFIED", "emma", "Größe\u2028und Emma"),
        ("DELETED", "moby", "Moby-Dick"),
    )
).encode()

TOLD: Final = "there is Moby-Dick\nnow Emma\nnow Größe\u2028und Emma\ngone: Moby-Dick\n"


async def library(peer: Peer) -> None:
    while True:
        request = await peer.request()
        assert request.target.startswith("/apis/example.technosophos.com/v1/namespaces/default/books")
        if "watch=true" not in request.target:
            await peer.send(response_bytes(PAGE, ("Content-Type", "application/json")))
            continue
        assert "resourceVersion=7" in request.target
        await peer.send(chunked(end=False))
        for start in range(0, len(EVENTS), 100):
            await peer.send(chunk(EVENTS[start : start + 100]))
        await peer.send(chunk(b""))


def run(example: str, port: int) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        "-X",
        "utf8",
        "-W",
        "error",
        str(EXAMPLES / f"{example}.py"),
        "localhost",
        str(port),
    ]
    return subprocess.run(command, capture_output=True, encoding="utf-8", timeout=6 * BOUND, check=False)


@pytest.mark.parametrize(
    "example",
    [
        "asyncio_streams",
        "sockets_and_threads",
        pytest.param("over_aiohttp", marks=pytest.mark.needs("aiohttp")),
        pytest.param("on_twisted", marks=pytest.mark.needs("twisted")),
    ],
)
def test_each_example_lists_and_then_watches(serve: Serve, example: str) -> None:
    server = serve(library)
    process = run(example, server.port)
    assert (process.stdout, process.stderr, process.returncode) == (TOLD, "", 0)
    assert len(server.requests) == 2


def test_each_example_is_short() -> None:
    for path in EXAMPLES.glob("*.py"):
        assert sum(map(bool, path.read_text().splitlines())) < 75, path.name
