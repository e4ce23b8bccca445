"""What is done with pods that run: logs of many at once, files copied to and from them, ports forwarded."""

from ._choosing import NoRunningPod
from ._container_log import LogLine
from ._container_runs import run_events
from ._merged_logs import MAX_CONTAINERS, LogReading, MergedLogs, read_logs

__all__ = ["MAX_CONTAINERS", "LogLine", "LogReading", "MergedLogs", "NoRunningPod", "read_logs", "run_events"]
