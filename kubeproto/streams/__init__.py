"""The messages on the WebSockets of exec, attach and port-forward."""

from ._commands import PIECE, V4, V5, CommandChannels, CommandEvent, Exited, Stderr, Stdout
from ._forwarding import Forwarding, PortStream
from ._ports import Arrived, PortChannels, PortEvent, Unreached
from ._processes import Process

__all__ = [
    "PIECE",
    "V4",
    "V5",
    "Arrived",
    "CommandChannels",
    "CommandEvent",
    "Exited",
    "Forwarding",
    "PortChannels",
    "PortEvent",
    "PortStream",
    "Process",
    "Stderr",
    "Stdout",
    "Unreached",
]
