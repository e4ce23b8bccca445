"""Reports about requests: `RequestMetrics` for Prometheus, and `RequestLog`, one line for each request.

The metrics have the names of a real API server.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final, TextIO

if TYPE_CHECKING:
    from kubeproto.wire import RawRequest
    from kubeproto_h11 import Response
    from kubeproto_sim import Cluster

METRICS: Final = ("Content-Type", "text/plain; version=0.0.4; charset=utf-8")


class RequestMetrics:
    """Counts requests, and reports the counts and the state of the cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self.connections = 0
        self._cluster = cluster
        self._requests: dict[tuple[str, int], int] = {}
        self._seconds: dict[str, float] = {}

    def count(self, method: str, status: int, seconds: float) -> None:
        """Count a request when the head of its response is ready."""
        key = method, status
        self._requests[key] = self._requests.get(key, 0) + 1
        self._seconds[method] = self._seconds.get(method, 0.0) + seconds

    def exposition(self) -> bytes:
        """Return the text that Prometheus reads."""
        lines = ["# TYPE apiserver_request_total counter"]
        for (method, code), count in sorted(self._requests.items()):
            lines.append(f'apiserver_request_total{{method="{method}",code="{code}"}} {count}')
        lines.append("# TYPE apiserver_request_duration_seconds summary")
        for method, seconds in sorted(self._seconds.items()):
            total = sum(count for (name, _), count in self._requests.items() if name == method)
            lines.append(f'apiserver_request_duration_seconds_sum{{method="{method}"}} {seconds:.6f}')
            lines.append(f'apiserver_request_duration_seconds_count{{method="{method}"}} {total}')
        lines += [
            "# TYPE apiserver_longrunning_requests gauge",
            f'apiserver_longrunning_requests{{verb="WATCH"}} {len(self._cluster.watches)}',
            "# TYPE apiserver_connections gauge",
            f"apiserver_connections {self.connections}",
            "# TYPE apiserver_storage_version gauge",
            f"apiserver_storage_version {self._cluster.version}",
        ]
        return ("\n".join(lines) + "\n").encode()


class RequestLog:
    """Writes a line for each request: time, request, status, duration, size and user agent."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def write(self, request: RawRequest, response: Response, seconds: float) -> None:
        """Write the line of a request, without headers, because they contain tokens."""
        agent: Any = next((value for name, value in request.headers if name.lower() == "user-agent"), "-")
        size = "stream" if response.stream is not None else f"{len(response.body)} B"
        now = time.strftime("%H:%M:%S")
        duration = f"{seconds * 1000:.1f} ms"
        request_line = f"{request.method} {request.target}"
        print(
            f"{now} {request_line} {response.status} {duration} {size} {agent.partition(' ')[0]}",
            file=self._file, flush=True,
        )  # fmt: skip
