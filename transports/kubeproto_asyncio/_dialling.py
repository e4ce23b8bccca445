"""From a `Connection` to an `AsyncioByteStream`: dial, through the proxy if there is one, and shake hands."""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING, Final

from kubeproto import ConnectError, RemoteProtocolError, TransportError
from kubeproto_h11 import open_tunnel

from ._connection import AsyncioByteStream, AsyncioByteStreams, until

if TYPE_CHECKING:
    from kubeproto.config import Connection
    from kubeproto_h11 import ReloadingTLS

    from ._tls import Contexts

DIAL: Final = 30.0  # seconds to reach the server or its proxy, as in client-go
SHAKE_HANDS: Final = 10.0  # seconds for TLS, and for the tunnel of a proxy, as in client-go


async def dial(
    streams: AsyncioByteStreams, connection: Connection, trust: ReloadingTLS[Contexts]
) -> AsyncioByteStream:
    """Open a connection; a `ConnectError` if none can be made, whatever the reason."""
    host, port = connection.address
    clock = asyncio.get_running_loop().time
    try:
        async with until(clock() + DIAL, f"nothing answered within {DIAL:g} s"):
            stream = await streams.open(host, port)
        try:
            async with until(clock() + SHAKE_HANDS, f"no handshake within {SHAKE_HANDS:g} s"):
                if (proxy := trust.settings.proxy) is not None:
                    await stream.encrypt(proxy, host)
                if connection.tunnelled:
                    await open_tunnel(stream, connection, math.inf)
                if (server := trust.settings.server) is not None:
                    await stream.encrypt(server, connection.tls_name)
        except BaseException:
            stream.close()
            raise
    except (TransportError, RemoteProtocolError) as error:
        raise ConnectError(f"no connection to {host}:{port}: {error}") from error
    return stream
