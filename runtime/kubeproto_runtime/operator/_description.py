"""`ProgramDescription`: the parts of an operator, or of another program, for generated manifests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from kubeproto import ALL, Resource
from kubeproto.requests import AllNamespaces

from ._leader_elector import LeaderElector

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..reconciling._plans import ControllerPlan
    from ..webhooks import WebhookServer
    from ._election import Election
else:
    WebhookServer = Any  # for help() and inspect.signature(): only programs that serve webhooks import them


class FollowedKind(Struct, frozen=True):
    """A kind that is listed and watched, and the namespaces."""

    resource: Resource
    namespaces: tuple[str | AllNamespaces, ...] = (ALL,)


class ProgramDescription(Struct, frozen=True, kw_only=True):
    """The kinds that a program follows, and the ports that it serves.

    `Operator.description` describes an operator. A program that follows objects without an Operator, such as
    a web application with a cache, constructs its own description.
    """

    kinds: tuple[type[Any], ...] = ()  # reconciled by its controllers, or part of the program
    follows: tuple[FollowedKind, ...] = ()
    reconciles: bool = True  # if False, several replicas may run without an election
    lease: str = ""  # the name of the Lease of its election, if there is one
    health_port: int | None = None  # for /livez and /readyz
    http_port: int | None = None  # for calls from the cluster; may be the health port
    webhooks: WebhookServer | None = None
    grace: float = 30.0


def describe(
    plans: Iterable[ControllerPlan], *, election: Election | None, health_port: int | None,
    webhooks: WebhookServer | None, grace: float,
) -> ProgramDescription:  # fmt: skip
    """Return the description of an operator of these controllers."""
    plans = tuple(plans)
    follows: dict[str, FollowedKind] = {}
    for source in (source for plan in plans for source in plan.sources):
        previous = follows.get(str(source.resource))
        namespaces = (*previous.namespaces, *source.namespaces) if previous else source.namespaces
        follows[str(source.resource)] = FollowedKind(source.resource, tuple(dict.fromkeys(namespaces)))
    return ProgramDescription(
        kinds=tuple(dict.fromkeys(plan.kind for plan in plans)),
        follows=tuple(follows.values()),
        lease=election.lease_name if isinstance(election, LeaderElector) else "",
        health_port=health_port,
        webhooks=webhooks,
        grace=grace,
    )
