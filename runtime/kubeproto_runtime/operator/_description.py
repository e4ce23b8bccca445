"""What an operator consists of, as a value: what manifests are made from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from kubeproto import Resource
from kubeproto.requests import AllNamespaces

from ._leader_elector import LeaderElector

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..reconciling._plans import ControllerPlan
    from ..webhooks import WebhookServer
    from ._election import Election
else:
    WebhookServer = Any  # for help() and inspect.signature(): webhooks are imported by whoever serves them


class FollowedKind(Struct, frozen=True):
    """A kind that is listed and watched, and where."""

    resource: Resource
    namespaces: tuple[str | AllNamespaces, ...]


class OperatorDescription(Struct, frozen=True, kw_only=True):
    """What an operator follows, serves and writes by itself; `Operator.description` returns it."""

    kinds: tuple[type[Any], ...]  # those that its controllers reconcile
    follows: tuple[FollowedKind, ...]
    lease: str = ""  # the name of the Lease of its election, if there is one
    health_port: int | None = None
    webhooks: WebhookServer | None = None
    grace: float = 30.0


def describe(
    plans: Iterable[ControllerPlan], *, election: Election | None, health_port: int | None,
    webhooks: WebhookServer | None, grace: float,
) -> OperatorDescription:  # fmt: skip
    """Return the description of an operator of these controllers."""
    plans = tuple(plans)
    follows: dict[str, FollowedKind] = {}
    for source in (source for plan in plans for source in plan.sources):
        before = follows.get(str(source.resource))
        places = (*before.namespaces, *source.namespaces) if before else source.namespaces
        follows[str(source.resource)] = FollowedKind(source.resource, tuple(dict.fromkeys(places)))
    return OperatorDescription(
        kinds=tuple(dict.fromkeys(plan.kind for plan in plans)),
        follows=tuple(follows.values()),
        lease=election.lease_name if isinstance(election, LeaderElector) else "",
        health_port=health_port,
        webhooks=webhooks,
        grace=grace,
    )
