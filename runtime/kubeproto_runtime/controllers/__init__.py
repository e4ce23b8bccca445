"""Controllers as programs define them, with children, finalizers and events."""

from ._children import Children
from ._controller import Controller
from ._event_sender import Events, recording
from ._finalizer import finalizer

__all__ = ["Children", "Controller", "Events", "finalizer", "recording"]
