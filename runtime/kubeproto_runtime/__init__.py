"""The controller runtime: clients, caches and controllers on asyncio and on trio."""

from kubeproto.control import Action, await_change, requeue

from . import _conditions as conditions
from . import _predicates as predicates
from ._applying import Applied, NotApplied, apply_manifests
from ._caches import Cache, Caches
from ._client import Client, Streamed
from ._connect import connect
from ._context import Context
from ._controller import Controller
from ._discovering import NotInstalled
from ._entry import Entry
from ._events import Events, recording
from ._finalizing import finalizer
from ._leading import Leading
from ._operator import Election, Operator, Run
from ._reconciling import Overdue, Result, Terminal
from ._rollouts import Unattainable
from ._sync import connect_blocking
from ._sync_client import BlockingClient
from ._sync_reflector import BlockingReflector
from ._verbs import BoundApi
from ._waiting import NotYet

__all__ = [
    "Action",
    "Applied",
    "BlockingClient",
    "BlockingReflector",
    "BoundApi",
    "Cache",
    "Caches",
    "Client",
    "Context",
    "Controller",
    "Election",
    "Entry",
    "Events",
    "Leading",
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
