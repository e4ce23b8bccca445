"""What an operator, or any other program, consists of, as a value: what manifests are made from."""

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
    """A kind that is listed and watched, and where."""

    resource: Resource
    namespaces: tuple[str | AllNamespaces, ...] = (ALL,)


class ProgramDescription(Struct, frozen=True, kw_only=True):
    """What a program follows, serves and writes by itself.

    `Operator.description` returns that of an operator. A program that follows objects without an Operator,
    such as a web application with a cache, describes itself by one of these.
    """

    kinds: tuple[type[Any], ...] = ()  # those that its controllers reconcile, or that come with it
    follows: tuple[FollowedKind, ...] = ()
    reconciles: bool = True  # if not, several replicas may run without an election
    lease: str = ""  # the name of the Lease of its election, if there is one
    health_port: int | None = None  # where /livez and /readyz are served
    http_port: int | None = None  # where others in the cluster call it; may be the health port too
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
        before = follows.get(str(source.resource))
        places = (*before.namespaces, *source.namespaces) if before else source.namespaces
        follows[str(source.resource)] = FollowedKind(source.resource, tuple(dict.fromkeys(places)))
    return ProgramDescription(
        kinds=tuple(dict.fromkeys(plan.kind for plan in plans)),
        follows=tuple(follows.values()),
        lease=election.lease_name if isinstance(election, LeaderElector) else "",
        health_port=health_port,
        webhooks=webhooks,
        grace=grace,
    )
