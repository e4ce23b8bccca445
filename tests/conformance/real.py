"""The real server behind the interface of the suite; only `make real` has one."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from kubeproto.wire import BlockingTransport
from kubeproto_httpx import BlockingHttpxTransport

if TYPE_CHECKING:
    from realserver import RealServer


class Real:
    """A separate control plane, accessed like by any client."""

    real = True

    def __init__(self, server: RealServer) -> None:
        self._server = server
        self._http = BlockingHttpxTransport(server.connection)
        self.transport: BlockingTransport = self._http

    def compact(self) -> None:
        self._server.compact()

    def wait(self, seconds: float) -> None:
        time.sleep(seconds)

    def stop(self) -> None:
        self._http.close()
