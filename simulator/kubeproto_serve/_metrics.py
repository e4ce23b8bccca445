"""What the server counts about itself, as Prometheus reads it, under the names of a real API server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from kubeproto_sim import Cluster

METRICS: Final = ("Content-Type", "text/plain; version=0.0.4; charset=utf-8")


class RequestMetrics:
    """Counts requests, and shows them beside the state of the cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self.connections = 0
        self._cluster = cluster
        self._requests: dict[tuple[str, int], int] = {}
        self._seconds: dict[str, float] = {}

    def count(self, method: str, status: int, seconds: float) -> None:
        """Count a request that was answered; of a watch, the head of its response."""
        key = method, status
        self._requests[key] = self._requests.get(key, 0) + 1
        self._seconds[method] = self._seconds.get(method, 0.0) + seconds

    def exposition(self) -> bytes:
        """The page that Prometheus reads."""
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
