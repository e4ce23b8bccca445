"""kubeproto on asyncio: HTTP/1.1 over sockets and TLS, with a pool of connections."""

from ._asyncio_transport import AsyncioTransport

__all__ = ["AsyncioTransport"]
