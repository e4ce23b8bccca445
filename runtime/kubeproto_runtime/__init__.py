"""The controller runtime: clients, caches and controllers on asyncio and on trio."""

from kubeproto.control import Action, await_change, requeue

from . import _conditions as conditions
from . import _predicates as predicates
from ._applying import Applied, NotApplied, apply_manifests
from ._authorized import Authorized
from ._bodies import BodyLimits
from ._caches import Cache, Caches
from ._candidacy import Coordinated
from ._client import Client, Streamed
from ._connect import connect
from ._context import Context
from ._controller import Controller
from ._discovering import NotInstalled
from ._entry import BlockingEntry, Entry
from ._events import Events, recording
from ._finalizing import finalizer
from ._leading import BootClock, Leading
from ._metered import LeaseLost
from ._operator import Election, Operator, Run
from ._reconciling import Overdue, Result, Terminal
from ._rollouts import Unattainable
from ._sync import connect_blocking
from ._sync_authorized import BlockingAuthorized
from ._sync_client import BlockingClient
from ._sync_reflector import BlockingReflector
from ._sync_verbs import BlockingApi
from ._sync_watch import BlockingFollowed
from ._verbs import BoundApi
from ._waiting import NotYet
from ._watching import Followed

__all__ = [
    "Action",
    "Applied",
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
    "Context",
    "Controller",
    "Coordinated",
    "Election",
    "Entry",
    "Events",
    "Followed",
    "Leading",
    "LeaseLost",
    "NotApplied",
    "NotInstalled",
    "NotYet",
    "Operator",
    "Overdue",
    "Result",
    "Run",
    "Streamed",
    "Terminal",
    "Unattainable",
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
