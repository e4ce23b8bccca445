"""The kinds of scheduling.k8s.io/v1 and their parts, generated from Kubernetes 1.36.3."""

from __future__ import annotations

from ..objects import KubeObject
from ._generated_base import ALL_VERBS

__all__ = ["PriorityClass"]


class PriorityClass(
    KubeObject,
    group="scheduling.k8s.io",
    version="v1",
    plural="priorityclasses",
    namespaced=False,
    short_names=("pc",),
    verbs=ALL_VERBS,
):
    description: str | None = None
    global_default: bool | None = None
    preemption_policy: str | None = None
    value: int | None = None
