"""A connected socket, from a host and a port.

asyncio's own `create_connection` leaks a socket if it is cancelled at the moment when one connects (with
`happy_eyeballs_delay`, on every Python up to now), so the race between the addresses is run here.
"""

from __future__ import annotations

import asyncio
import socket
from itertools import chain, zip_longest
from typing import Any, Final, TypeAlias

_Address: TypeAlias = tuple[int, Any]  # a family, and an address in its form

# Seconds before the next address is tried too: RFC 8305's recommendation, and trio's choice.
_HEAD_START: Final = 0.25


async def dialled(host: str, port: int) -> socket.socket:
    """Connect to the first address of the host that accepts; an `OSError` if none does."""
    addresses = await _addresses(host, port)
    if len(addresses) == 1:
        return await _connected(addresses[0])
    attempts: list[asyncio.Task[socket.socket]] = []
    winner: asyncio.Task[socket.socket] | None = None
    try:
        for address in addresses:
            attempts.append(asyncio.create_task(_connected(address)))
            winner = await _first(attempts, _HEAD_START)
            if winner is not None:
                return winner.result()
        winner = await _first(attempts, None)
        return (winner or attempts[0]).result()
    finally:
        for attempt in attempts:
            if not attempt.cancel() and attempt is not winner and attempt.exception() is None:
                attempt.result().close()


async def _first(
    attempts: list[asyncio.Task[socket.socket]], seconds: float | None
) -> asyncio.Task[socket.socket] | None:
    """Return the first that connects; None if that takes longer, or if none can."""
    while waiting := [attempt for attempt in attempts if not attempt.done()]:
        done, _ = await asyncio.wait(waiting, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        for attempt in done:
            if attempt.exception() is None:
                return attempt
        if seconds is not None:
            return None
    return None


async def _connected(address: _Address) -> socket.socket:
    family, where = address
    connecting = socket.socket(family, socket.SOCK_STREAM)
    try:
        connecting.setblocking(False)
        await asyncio.get_running_loop().sock_connect(connecting, where)
    except BaseException:
        connecting.close()
        raise
    return connecting


async def _addresses(host: str, port: int) -> list[_Address]:
    """Return the addresses, alternating between the families, in the order that the resolver prefers."""
    try:
        # An address needs no resolver, and no thread for it.
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except socket.gaierror:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    all_of_them: list[_Address] = [(family, where) for family, _, _, _, where in found]
    first = [one for one in all_of_them if one[0] == all_of_them[0][0]]
    others = [one for one in all_of_them if one[0] != all_of_them[0][0]]
    return [one for one in chain.from_iterable(zip_longest(first, others)) if one is not None]
