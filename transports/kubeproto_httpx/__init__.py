"""kubeproto over httpx: async on asyncio and trio, and blocking, with your client or its own.

httpx does not support WebSockets, so exec, attach and port-forward need another transport; an upgrade is
refused before anything is sent.
"""

from ._async_transport import HttpxTransport
from ._blocking_transport import BlockingHttpxTransport

__all__ = ["BlockingHttpxTransport", "HttpxTransport"]
