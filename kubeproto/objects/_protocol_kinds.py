"""The kinds that the protocol itself speaks in: scales, leases, events, evictions, tokens, tables.

Built-in kinds at large are generated; these few are what requests, election and the event recorder need.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

import msgspec
from msgspec import Struct

from ._base import Fields, KubeObject, Object
from ._meta import ListMeta
from ._times import MicroTime


class ScaleSpec(Fields):
    """How many replicas are wanted. A server leaves out a zero."""

    replicas: int = 0


class ScaleStatus(Fields):
    """How many replicas there are, and the label selector that finds them."""

    replicas: int = 0
    selector: str | None = None


class Scale(Object[ScaleSpec, ScaleStatus], group="autoscaling", version="v1"):
    """What the subresource `scale` of any kind reads and writes."""


class Preconditions(Fields):
    """What must still be true of an object that is deleted; otherwise the server answers 409."""

    uid: str | None = None
    resource_version: str | None = None


class DeleteOptions(Fields):
    """How to delete. It travels in the body, the only place where a server heeds preconditions."""

    grace_period_seconds: int | None = None
    propagation_policy: Literal["Background", "Foreground", "Orphan"] | None = None
    preconditions: Preconditions | None = None
    dry_run: tuple[str, ...] | None = None


class Eviction(KubeObject, group="policy", version="v1"):
    """Asks to delete a pod if its disruption budgets allow it."""

    delete_options: DeleteOptions | None = None


class NodeTarget(Fields):
    """The node that a pod is bound to."""

    name: str
    kind: str = "Node"
    api_version: str = "v1"


class Binding(KubeObject, group="", version="v1"):
    """Puts a pod on a node: what a scheduler sends."""

    target: NodeTarget


class BoundObject(Fields):
    """The object a token lives and dies with: a pod, a node or a secret."""

    kind: str | None = None
    api_version: str | None = None
    name: str | None = None
    uid: str | None = None


class TokenRequestSpec(Fields):
    """Whom a token is for and how long it lives. Without audiences it is for the API server itself."""

    audiences: list[str] = []
    expiration_seconds: int | None = None
    bound_object_ref: BoundObject | None = None


class TokenRequestStatus(Fields):
    """The token, and when it ends. Its repr does not show the token."""

    token: str
    expiration_timestamp: datetime

    def __repr__(self) -> str:
        return f"TokenRequestStatus(token=…, expiration_timestamp={self.expiration_timestamp!r})"


class TokenRequest(Object[TokenRequestSpec, TokenRequestStatus], group="authentication.k8s.io", version="v1"):
    """Asks for a token of a service account."""


class LeaseSpec(Fields):
    """Who holds a lease, since when and for how long."""

    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: MicroTime | None = None
    renew_time: MicroTime | None = None
    lease_transitions: int | None = None
    strategy: str | None = None
    preferred_holder: str | None = None


class Lease(KubeObject, group="coordination.k8s.io", version="v1"):
    """What leader election is about."""

    spec: LeaseSpec = msgspec.field(default_factory=LeaseSpec)


class ObjectReference(Fields):
    """An object as events name it."""

    kind: str | None = None
    namespace: str | None = None
    name: str | None = None
    uid: str | None = None
    api_version: str | None = None
    resource_version: str | None = None
    field_path: str | None = None


class EventSeries(Fields):
    """How often an event has come, and when last."""

    count: int
    last_observed_time: MicroTime


class EventSource(Fields):
    """Who reported an event, in the form of old servers and the core group."""

    component: str | None = None
    host: str | None = None


class Event(KubeObject, group="events.k8s.io", version="v1"):
    """What happened to an object, told to people. `regarding` is the object, `note` the sentence.

    `event_time` must be set on one that is created; the core group's events are read back without it.
    """

    event_time: MicroTime | None = None
    series: EventSeries | None = None
    reporting_controller: str | None = None
    reporting_instance: str | None = None
    action: str | None = None
    reason: str | None = None
    regarding: ObjectReference | None = None
    related: ObjectReference | None = None
    note: str | None = None
    type: str | None = None
    deprecated_source: EventSource | None = None
    deprecated_first_timestamp: datetime | None = None
    deprecated_last_timestamp: datetime | None = None
    deprecated_count: int | None = None


class TableColumn(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A column of a table. `priority` 0 is always shown, more only in a wide view."""

    name: str
    type: str = ""
    format: str = ""
    description: str = ""
    priority: int = 0


class TableRow(Struct, kw_only=True, omit_defaults=True):
    """One object as the server would print it. How much `object` holds was said in the request."""

    cells: list[Any]
    object: dict[str, Any] | None = None


class Table(Struct, kw_only=True, rename="camel", omit_defaults=True):
    """Objects as `kubectl get` would print them. Servers write null for an empty list."""

    column_definitions: list[TableColumn] | None
    rows: list[TableRow] | None
    metadata: ListMeta = msgspec.field(default_factory=ListMeta)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.column_definitions or ())
