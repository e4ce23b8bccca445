"""The controller runtime: clients, caches and controllers on asyncio and on trio."""

from kubeproto.control import Action, await_change, requeue

from . import conditions, predicates
from ._rollouts import ConditionUnreachable
from .blocking._authorized import BlockingAuthorized
from .blocking._client import BlockingClient
from .blocking._connect import connect_blocking
from .blocking._reflector import BlockingReflector
from .blocking._verbs import BlockingApi
from .blocking._watch import BlockingFollowed
from .caches._caches import Cache, Caches
from .calls._bodies import BodyLimits
from .calls._discovery import KindNotServed
from .calls._metered import LeaseLost
from .client._client import Client, Streamed
from .client._connect import connect
from .client._verbs import BoundApi
from .controllers._controller import Controller
from .controllers._events import Events, recording
from .controllers._finalizer import finalizer
from .credentials._authorized import Authorized
from .operator._leader_elector import BootClock, LeaderElector
from .operator._lease_candidate import Coordinated
from .operator._operator import Election, Operator, Run
from .reconciling._context import Context
from .reconciling._reconciling import ReconcileTimeout, Result, Terminal
from .watching._followed import Followed
from .watching._waiting import WaitTimeout
from .writing._applying import Applied, ApplyError, apply_manifests
from .writing._entry import BlockingEntry, Entry

__all__ = [
    "Action",
    "Applied",
    "ApplyError",
    "Authorized",
    "BlockingApi",
    "BlockingAuthorized",
    "BlockingClient",
    "BlockingEntry",
    "BlockingFollowed",
    "BlockingReflector",
    "BodyLimits",
    "BootClock",
    "BoundApi",
    "Cache",
    "Caches",
    "Client",
    "ConditionUnreachable",
    "Context",
    "Controller",
    "Coordinated",
    "Election",
    "Entry",
    "Events",
    "Followed",
    "KindNotServed",
    "LeaderElector",
    "LeaseLost",
    "Operator",
    "ReconcileTimeout",
    "Result",
    "Run",
    "Streamed",
    "Terminal",
    "WaitTimeout",
    "apply_manifests",
    "await_change",
    "conditions",
    "connect",
    "connect_blocking",
    "finalizer",
    "predicates",
    "recording",
    "requeue",
]
