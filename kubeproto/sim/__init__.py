"""A Kubernetes API server as a pure machine: requests in, answers out, on a virtual clock."""

from ._cluster import Cluster, Exchange
from ._refusals import Refused
from ._server import Answer
from ._watches import Watch
from ._world import Modes

__all__ = ["Answer", "Cluster", "Exchange", "Modes", "Refused", "Watch"]
