"""A thousand watches at the same time: all receive data, and all are closed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Final

import pytest
from contract_scripts import chunk, chunked
from contract_server import Gate, Peer, Server
from contract_transports import Rig, connection_to, get, wait_until_idle

from kubeproto import Transport

Serve = Callable[..., Server]

WATCHES: Final = 1000

# A thousand watches take seconds, and longer with httpx, which searches all its connections for each request.
# Only the gate runs them.
FEWER: Final = 200


def test_a_thousand_watches_are_open_at_the_same_time_on_each_transport(
    rig: Rig, serve: Serve, gate: Gate, pytestconfig: pytest.Config
) -> None:
    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.send(chunked(end=False))
        await gate.wait()
        await peer.send(chunk(b"%d\n" % peer.number))

    server = serve(script)
    all_of_them = rig.label == "asyncio" or pytestconfig.getoption("--thorough")
    count = WATCHES if all_of_them else FEWER

    async def watch(transport: Transport) -> set[bytes]:
        heard: set[bytes] = set()
        async with AsyncExitStack() as stack:
            watches = [await stack.enter_async_context(transport.send(get())) for _ in range(count)]
            assert server.open_connections == count
            gate.open()
            for incoming in watches:
                async for chunk in incoming:
                    heard.add(chunk)
                    break
        await wait_until_idle(server)
        return heard

    assert rig.run(connection_to(server), watch) == {b"%d\n" % number for number in range(count)}
