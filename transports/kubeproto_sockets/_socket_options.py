"""How long a connection may take, and when the kernel notices that its peer has vanished."""

from __future__ import annotations

import socket
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Final, Protocol

CONNECT_TIMEOUT: Final = 30.0  # seconds to reach the server or its proxy, as in client-go
HANDSHAKE_TIMEOUT: Final = 10.0  # seconds for TLS, and for the tunnel of a proxy, as in client-go

# Seconds and counts: a vanished peer is noticed after 30 + 4 x 15 s; client-go sends its first probe after
# 30. No probes are sent while sent data is unacknowledged: the last option limits that, in milliseconds.
_KEEP_ALIVE: Final = {
    "TCP_KEEPIDLE": 30,
    "TCP_KEEPALIVE": 30,  # macOS' name of TCP_KEEPIDLE
    "TCP_KEEPINTVL": 15,
    "TCP_KEEPCNT": 4,
    "TCP_USER_TIMEOUT": 90_000,
}


class _Socket(Protocol):
    def setsockopt(self, level: int, option: int, value: int, /) -> object: ...


def keep_alive_options() -> list[tuple[int, int, int]]:
    """Return the socket options that notice a vanished peer; no system has all of them."""
    return [
        (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
        *(
            (socket.IPPROTO_TCP, option, value)
            for name, value in _KEEP_ALIVE.items()
            if (option := getattr(socket, name, None)) is not None
        ),
    ]


def set_options(connection: _Socket, options: Iterable[tuple[Any, ...]]) -> None:
    """Set those options that the kernel accepts: kernels in sandboxes refuse some."""
    for option in options:
        with suppress(OSError):
            connection.setsockopt(*option)
