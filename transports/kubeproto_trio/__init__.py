"""kubeproto on trio: HTTP/1.1 over sockets and TLS, with a pool of connections."""

from ._trio_transport import TrioTransport

__all__ = ["TrioTransport"]
