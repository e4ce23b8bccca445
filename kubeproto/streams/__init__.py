"""The messages on the WebSockets of exec, attach and port-forward."""

from ._command_channels import (
    MAX_DATA,
    V4,
    V5,
    CommandChannels,
    CommandEvent,
    Exited,
    Process,
    Stderr,
    Stdout,
)
from ._port_channels import PortChannels, PortData, PortError, PortForwarding, PortStream

__all__ = [
    "MAX_DATA",
    "V4",
    "V5",
    "CommandChannels",
    "CommandEvent",
    "Exited",
    "PortChannels",
    "PortData",
    "PortError",
    "PortForwarding",
    "PortStream",
    "Process",
    "Stderr",
    "Stdout",
]
