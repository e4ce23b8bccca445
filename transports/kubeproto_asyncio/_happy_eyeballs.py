"""`connect_socket`: a connected socket, from a host and a port.

asyncio's own `create_connection` leaks a socket if it is cancelled at the moment when an attempt connects
(with `happy_eyeballs_delay`, in every Python so far), so the race between the addresses is run here.
"""

from __future__ import annotations

import asyncio
import socket
from itertools import chain, zip_longest
from typing import Any, Final, TypeAlias

_Address: TypeAlias = tuple[int, Any]  # a family, and an address of that family

# Seconds before the next address is tried too: RFC 8305's recommendation, and trio's choice.
_ATTEMPT_DELAY: Final = 0.25


async def connect_socket(host: str, port: int) -> socket.socket:
    """Connect to the first address of the host that accepts; raise `OSError` if none does."""
    addresses = await _resolve(host, port)
    if len(addresses) == 1:
        return await _connect(addresses[0])
    attempts: list[asyncio.Task[socket.socket]] = []
    winner: asyncio.Task[socket.socket] | None = None
    try:
        for address in addresses:
            attempts.append(asyncio.create_task(_connect(address)))
            winner = await _first_success(attempts, _ATTEMPT_DELAY)
            if winner is not None:
                return winner.result()
        winner = await _first_success(attempts, None)
        return (winner or attempts[0]).result()
    finally:
        # An attempt that connected in the meantime cannot be cancelled, and its socket would leak.
        for attempt in attempts:
            if not attempt.cancel() and attempt is not winner and attempt.exception() is None:
                attempt.result().close()


async def _first_success(
    attempts: list[asyncio.Task[socket.socket]], timeout: float | None
) -> asyncio.Task[socket.socket] | None:
    """Return the first attempt that connects; None on timeout, or as soon as an attempt fails."""
    while pending := [attempt for attempt in attempts if not attempt.done()]:
        finished, _ = await asyncio.wait(pending, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        for attempt in finished:
            if attempt.exception() is None:
                return attempt
        if timeout is not None:
            return None
    return None


async def _connect(address: _Address) -> socket.socket:
    family, target = address
    connection = socket.socket(family, socket.SOCK_STREAM)
    try:
        connection.setblocking(False)
        await asyncio.get_running_loop().sock_connect(connection, target)
    except BaseException:
        connection.close()
        raise
    return connection


async def _resolve(host: str, port: int) -> list[_Address]:
    """Return the addresses, alternating between the families, in the order that the resolver prefers."""
    try:
        # A numeric address needs no resolver, and no thread for it.
        results = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except socket.gaierror:
        results = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses: list[_Address] = [(family, target) for family, _, _, _, target in results]
    preferred_family = addresses[0][0]
    preferred = [address for address in addresses if address[0] == preferred_family]
    others = [address for address in addresses if address[0] != preferred_family]
    alternating = chain.from_iterable(zip_longest(preferred, others))
    return [address for address in alternating if address is not None]
