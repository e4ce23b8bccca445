"""Several controllers in a process: start and end, leader election, health and metrics pages."""

from ._description import FollowedKind, ProgramDescription
from ._election import Election
from ._leader_elector import LeaderElector
from ._lease_candidate import CoordinatedElection as CoordinatedElection
from ._lease_clocks import BootClock as BootClock
from ._operator import ControllerRun, Operator

__all__ = [
    "ControllerRun",
    "Election",
    "FollowedKind",
    "LeaderElector",
    "Operator",
    "ProgramDescription",
]
