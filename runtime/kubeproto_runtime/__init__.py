"""The controller runtime: clients, caches and controllers on asyncio and on trio."""

from kubeproto.control import Action, await_change, requeue

from . import conditions, predicates
from ._rollouts import ConditionUnreachable
from .blocking import BlockingClient, connect_blocking
from .caches import Caches
from .calls import BodyLimits, KindNotServed, LeaseLost, UnknownKind
from .client import Client, connect
from .controllers import Controller, Events, finalizer, recording
from .operator import LeaderElector, Operator, Run
from .reconciling import Context, ReconcileTimeout, Terminal
from .watching import WaitTimeout
from .writing import ApplyError, MigrationError, apply_manifests

__all__ = [
    "Action",
    "ApplyError",
    "BlockingClient",
    "BodyLimits",
    "Caches",
    "Client",
    "ConditionUnreachable",
    "Context",
    "Controller",
    "Events",
    "KindNotServed",
    "LeaderElector",
    "LeaseLost",
    "MigrationError",
    "Operator",
    "ReconcileTimeout",
    "Run",
    "Terminal",
    "UnknownKind",
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
