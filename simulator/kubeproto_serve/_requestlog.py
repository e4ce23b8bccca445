"""The request log: one line a request, for people who watch what their client does."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from kubeproto.wire import Head
    from kubeproto_h11 import Response


class RequestLog:
    """Writes a line for each request: when, what, the status, how long it took, and who asked."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def write(self, head: Head, response: Response, seconds: float) -> None:
        """Write the line of one request. Headers are not shown: there are tokens in them."""
        agent: Any = next((value for name, value in head.headers if name.lower() == "user-agent"), "-")
        size = "stream" if response.stream is not None else f"{len(response.body)} B"
        now = time.strftime("%H:%M:%S")
        took = f"{seconds * 1000:.1f} ms"
        print(
            f"{now} {head.method} {head.target} {response.status} {took} {size} {agent.partition(' ')[0]}",
            file=self._file, flush=True,
        )  # fmt: skip
