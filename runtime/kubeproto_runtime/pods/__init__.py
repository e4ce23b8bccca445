"""Functions for running pods: merge logs, copy files to and from containers, forward ports."""

from ._blocking import BlockingPods, connect_pods_blocking
from ._blocking_process import BlockingProcess
from ._choosing import PODS, NoRunningPod, PodChoice, choose_pods, serving_pod
from ._container_log import LogLine
from ._container_runs import default_container, run_events
from ._copying import copy_from, copy_to
from ._extracting import Copied, CopyError, Extraction
from ._forwarding import ForwardedPort, ForwardingError, PortForwarder, forward_ports
from ._merged_logs import MAX_CONTAINERS, LogReading, MergedLogs, read_logs
from ._packing import TarPacking
from ._ports import PortPair, parse_port, pod_port
from ._tar_reader import TarReader

__all__ = [
    "MAX_CONTAINERS",
    "PODS",
    "BlockingPods",
    "BlockingProcess",
    "Copied",
    "CopyError",
    "Extraction",
    "ForwardedPort",
    "ForwardingError",
    "LogLine",
    "LogReading",
    "MergedLogs",
    "NoRunningPod",
    "PodChoice",
    "PortForwarder",
    "PortPair",
    "TarPacking",
    "TarReader",
    "choose_pods",
    "connect_pods_blocking",
    "copy_from",
    "copy_to",
    "default_container",
    "forward_ports",
    "parse_port",
    "pod_port",
    "read_logs",
    "run_events",
    "serving_pod",
]
