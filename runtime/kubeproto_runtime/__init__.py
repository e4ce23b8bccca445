"""The controller runtime: clients, caches and controllers on asyncio and on trio.

A name is imported when it is first used: a script that uses `connect` does not pay for the controllers.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from kubeproto.config import ConfigError, CredentialsError
    from kubeproto.control import (
        Action,
        StoreFull,
        await_change,
        is_controlled_by,
        owner_reference,
        requeue,
        set_condition,
    )

    from . import conditions, predicates
    from ._rollouts import ConditionUnreachable
    from .blocking import BlockingClient, connect_blocking
    from .caches import Cache, Caches
    from .calls import BodyLimits, KindNotServed, LeaseLost, UnknownKind
    from .client import Client, connect
    from .controllers import Children, Controller, Events, finalizer, recording
    from .operator import ControllerRun, FollowedKind, LeaderElector, Operator, ProgramDescription
    from .reconciling import Context, ReconcileTimeout, Terminal
    from .sets import PlanRefused
    from .watching import WaitTimeout
    from .writing import ApplyError, DrainError, MigrationError, apply_manifests

__all__ = [
    "Action",
    "ApplyError",
    "BlockingClient",
    "BodyLimits",
    "Cache",
    "Caches",
    "Children",
    "Client",
    "ConditionUnreachable",
    "ConfigError",
    "Context",
    "Controller",
    "ControllerRun",
    "CredentialsError",
    "DrainError",
    "Events",
    "FollowedKind",
    "KindNotServed",
    "LeaderElector",
    "LeaseLost",
    "MigrationError",
    "Operator",
    "PlanRefused",
    "ProgramDescription",
    "ReconcileTimeout",
    "StoreFull",
    "Terminal",
    "UnknownKind",
    "WaitTimeout",
    "apply_manifests",
    "await_change",
    "conditions",
    "connect",
    "connect_blocking",
    "finalizer",
    "is_controlled_by",
    "owner_reference",
    "predicates",
    "recording",
    "requeue",
    "set_condition",
]

# The module of each name, as in the imports above. A module is its own home.
_HOMES: Final = {
    "Action": "kubeproto.control",
    "ApplyError": ".writing",
    "BlockingClient": ".blocking",
    "BodyLimits": ".calls",
    "Cache": ".caches",
    "Caches": ".caches",
    "Children": ".controllers",
    "Client": ".client",
    "ConditionUnreachable": "._rollouts",
    "ConfigError": "kubeproto.config",
    "Context": ".reconciling",
    "Controller": ".controllers",
    "CredentialsError": "kubeproto.config",
    "DrainError": ".writing",
    "Events": ".controllers",
    "FollowedKind": ".operator",
    "KindNotServed": ".calls",
    "LeaderElector": ".operator",
    "LeaseLost": ".calls",
    "MigrationError": ".writing",
    "Operator": ".operator",
    "PlanRefused": ".sets",
    "ProgramDescription": ".operator",
    "ReconcileTimeout": ".reconciling",
    "ControllerRun": ".operator",
    "StoreFull": "kubeproto.control",
    "Terminal": ".reconciling",
    "UnknownKind": ".calls",
    "WaitTimeout": ".watching",
    "apply_manifests": ".writing",
    "await_change": "kubeproto.control",
    "conditions": ".conditions",
    "connect": ".client",
    "connect_blocking": ".blocking",
    "finalizer": ".controllers",
    "is_controlled_by": "kubeproto.control",
    "owner_reference": "kubeproto.control",
    "predicates": ".predicates",
    "recording": ".controllers",
    "requeue": "kubeproto.control",
    "set_condition": "kubeproto.control",
}


if not TYPE_CHECKING:  # type checkers would accept any name of a package with a `__getattr__`

    def __getattr__(name: str) -> Any:
        """Import the name when it is first used, and cache it in the module."""
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        home = _HOMES[name]
        module = import_module(home, __name__)
        value = globals()[name] = module if home == f".{name}" else getattr(module, name)
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
