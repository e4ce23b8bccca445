"""Several controllers in one process: start and end, leader election, health and metrics pages."""

from ._leader_elector import BootClock, LeaderElector
from ._lease_candidate import Coordinated
from ._operator import Election, Operator, Run

__all__ = ["BootClock", "Coordinated", "Election", "LeaderElector", "Operator", "Run"]
