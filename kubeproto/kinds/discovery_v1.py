"""The kinds of discovery.k8s.io/v1 and their parts, generated from Kubernetes 1.36.3."""

from __future__ import annotations

from typing import Any

from ..objects import KubeObject
from ._generated_base import ALL_VERBS, Filled, Part
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


class Endpoint(Part):
    addresses: Filled[list[str]]
    conditions: EndpointConditions | None = None
    hostname: str | None = None
    target_ref: ObjectReference | None = None
    deprecated_topology: dict[str, str] | None = None
    node_name: str | None = None
    zone: str | None = None
    hints: EndpointHints | None = None

    def __post_init__(self: Any) -> None:
        if self.addresses is None:
            self.addresses = []


class EndpointConditions(Part):
    ready: bool | None = None
    serving: bool | None = None
    terminating: bool | None = None


class EndpointHints(Part):
    for_nodes: list[ForNode] | None = None
    for_zones: list[ForZone] | None = None


class EndpointPort(Part):
    app_protocol: str | None = None
    name: str | None = None
    port: int | None = None
    protocol: str | None = None


class ForNode(Part):
    name: str


class ForZone(Part):
    name: str


class EndpointSlice(
    KubeObject, group="discovery.k8s.io", version="v1", plural="endpointslices", verbs=ALL_VERBS
):
    address_type: str
    endpoints: list[Endpoint] | None = None
    ports: list[EndpointPort] | None = None
