"""The messages on the WebSockets of exec, attach and port-forward."""

from ._command_channels import (
    MAX_DATA as MAX_DATA,
    V4 as V4,
    V5 as V5,
    CommandChannels as CommandChannels,
    CommandEvent as CommandEvent,
    Exited,
    Process,
    Stderr as Stderr,
    Stdout,
)
from ._port_channels import (
    PortChannels as PortChannels,
    PortData as PortData,
    PortError as PortError,
    PortForwarding as PortForwarding,
    PortStream as PortStream,
)

__all__ = [
    "Exited",
    "Process",
    "Stdout",
]
