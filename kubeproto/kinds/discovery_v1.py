"""The kinds of discovery.k8s.io/v1 and their parts, generated from Kubernetes 1.36.3."""

from __future__ import annotations

from ..objects import Fields, KubeObject
from ._forms import ALL_VERBS, Filled, is_null
from .core_v1 import ObjectReference

__all__ = [
    "Endpoint",
    "EndpointConditions",
    "EndpointHints",
    "EndpointPort",
    "EndpointSlice",
    "ForNode",
    "ForZone",
]


class Endpoint(Fields):
    addresses: Filled[list[str]]
    conditions: EndpointConditions | None = None
    deprecated_topology: dict[str, str] | None = None
    hints: EndpointHints | None = None
    hostname: str | None = None
    node_name: str | None = None
    target_ref: ObjectReference | None = None
    zone: str | None = None

    def __post_init__(self) -> None:
        if is_null(self.addresses):
            self.addresses = []


class EndpointConditions(Fields):
    ready: bool | None = None
    serving: bool | None = None
    terminating: bool | None = None


class EndpointHints(Fields):
    for_nodes: list[ForNode] | None = None
    for_zones: list[ForZone] | None = None


class EndpointPort(Fields):
    app_protocol: str | None = None
    name: str | None = None
    port: int | None = None
    protocol: str | None = None


class ForNode(Fields):
    name: str


class ForZone(Fields):
    name: str


class EndpointSlice(
    KubeObject, group="discovery.k8s.io", version="v1", plural="endpointslices", verbs=ALL_VERBS
):
    address_type: str
    endpoints: list[Endpoint] | None = None
    ports: list[EndpointPort] | None = None
