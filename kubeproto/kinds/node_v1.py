"""The kinds of node.k8s.io/v1 and their parts, generated from Kubernetes 1.36.3."""

from __future__ import annotations

from ..objects import KubeObject, Quantity
from ._generated_base import ALL_VERBS, Part
from .core_v1 import Toleration

__all__ = ["Overhead", "RuntimeClass", "Scheduling"]


class Overhead(Part):
    pod_fixed: dict[str, Quantity] | None = None


class Scheduling(Part):
    node_selector: dict[str, str] | None = None
    tolerations: list[Toleration] | None = None


class RuntimeClass(
    KubeObject, group="node.k8s.io", version="v1", plural="runtimeclasses", namespaced=False, verbs=ALL_VERBS
):
    handler: str
    overhead: Overhead | None = None
    scheduling: Scheduling | None = None
