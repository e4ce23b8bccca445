"""Lists and watches: pages, the driver of the resync machine, and waiting for what an object becomes."""

from ._followed import Followed
from ._waiting import WaitTimeout

__all__ = ["Followed", "WaitTimeout"]
