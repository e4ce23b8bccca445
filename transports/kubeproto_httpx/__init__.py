"""kubeproto over httpx: async on asyncio and trio, and blocking, with a client of yours or one made here.

httpx speaks no WebSockets, so exec, attach and port-forward need another transport; a request to upgrade is
refused here before anything is sent.
"""

from ._async import HttpxTransport
from ._blocking import BlockingHttpxTransport

__all__ = ["BlockingHttpxTransport", "HttpxTransport"]
