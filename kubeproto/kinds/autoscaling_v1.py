"""The kinds of autoscaling/v1 and their parts, generated from Kubernetes 1.36.3."""

from __future__ import annotations

from datetime import datetime

import msgspec

from ..objects import HasStatus, KubeObject
from ._generated_base import ALL_VERBS, Part

__all__ = [
    "CrossVersionObjectReference",
    "HorizontalPodAutoscaler",
    "HorizontalPodAutoscalerSpec",
    "HorizontalPodAutoscalerStatus",
    "Scale",
    "ScaleSpec",
    "ScaleStatus",
]


class CrossVersionObjectReference(Part):
    kind: str
    name: str
    api_version: str | None = None


class HorizontalPodAutoscalerSpec(Part):
    max_replicas: int
    scale_target_ref: CrossVersionObjectReference
    min_replicas: int | None = None
    target_cpu_utilization_percentage: int | None = msgspec.field(
        default=None, name="targetCPUUtilizationPercentage"
    )


class HorizontalPodAutoscalerStatus(Part):
    current_replicas: int
    desired_replicas: int
    current_cpu_utilization_percentage: int | None = msgspec.field(
        default=None, name="currentCPUUtilizationPercentage"
    )
    last_scale_time: datetime | None = None
    observed_generation: int | None = None


class ScaleSpec(Part):
    replicas: int | None = None


class ScaleStatus(Part):
    replicas: int
    selector: str | None = None


class HorizontalPodAutoscaler(
    HasStatus,
    group="autoscaling",
    version="v1",
    plural="horizontalpodautoscalers",
    short_names=("hpa",),
    categories=("all",),
    subresources=("status",),
    verbs=ALL_VERBS,
):
    spec: HorizontalPodAutoscalerSpec
    status: HorizontalPodAutoscalerStatus | None = None


class Scale(KubeObject):
    kind: str = "Scale"
    api_version: str = "autoscaling/v1"
    spec: ScaleSpec = msgspec.field(default_factory=ScaleSpec)
    status: ScaleStatus | None = None
