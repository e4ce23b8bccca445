"""The parts of a controller that programs use: the builder, finalizers and events."""

from ._controller import Controller
from ._events import Events, recording
from ._finalizer import finalizer

__all__ = ["Controller", "Events", "finalizer", "recording"]
