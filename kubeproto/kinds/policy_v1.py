"""The kinds of policy/v1 and their parts, generated from Kubernetes 1.36.3."""

from __future__ import annotations

from datetime import datetime

import msgspec

from ..objects import HasStatus, KubeObject
from ._generated_base import ALL_VERBS, IntOrString, Part
from .meta_v1 import Condition, DeleteOptions, LabelSelector

__all__ = ["Eviction", "PodDisruptionBudget", "PodDisruptionBudgetSpec", "PodDisruptionBudgetStatus"]


class PodDisruptionBudgetSpec(Part):
    max_unavailable: IntOrString | None = None
    min_available: IntOrString | None = None
    selector: LabelSelector | None = None
    unhealthy_pod_eviction_policy: str | None = None


class PodDisruptionBudgetStatus(Part):
    conditions: list[Condition] | None = None
    current_healthy: int | None = None
    desired_healthy: int | None = None
    disrupted_pods: dict[str, datetime] | None = None
    disruptions_allowed: int | None = None
    expected_pods: int | None = None
    observed_generation: int | None = None


class Eviction(KubeObject):
    kind: str = "Eviction"
    api_version: str = "policy/v1"
    delete_options: DeleteOptions | None = None


class PodDisruptionBudget(
    HasStatus,
    group="policy",
    version="v1",
    plural="poddisruptionbudgets",
    short_names=("pdb",),
    subresources=("status",),
    verbs=ALL_VERBS,
):
    spec: PodDisruptionBudgetSpec = msgspec.field(default_factory=PodDisruptionBudgetSpec)
    status: PodDisruptionBudgetStatus | None = None
