"""Functions for running pods: merge logs, copy files to and from containers, forward ports."""

from ._blocking_pods import BlockingPods, BlockingProcess, connect_pods_blocking
from ._container_log import LogLine
from ._copying import copy_from, copy_to
from ._extracting import CopyError, CopyResult
from ._forwarding import ForwardedPort, ForwardingError, PortForwarder, forward_ports
from ._merged_logs import MergedLogs, ReadLogsOptions as ReadLogsOptions, read_logs
from ._pod_choice import NoRunningPod

__all__ = [
    "BlockingPods",
    "BlockingProcess",
    "CopyError",
    "CopyResult",
    "ForwardedPort",
    "ForwardingError",
    "LogLine",
    "MergedLogs",
    "NoRunningPod",
    "PortForwarder",
    "connect_pods_blocking",
    "copy_from",
    "copy_to",
    "forward_ports",
    "read_logs",
]
