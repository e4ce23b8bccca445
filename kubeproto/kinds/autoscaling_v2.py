"""The kinds of autoscaling/v2 and their parts, generated from Kubernetes 1.36.3."""

from __future__ import annotations

from datetime import datetime

from ..objects import HasStatus, Quantity
from ._generated_base import ALL_VERBS, Part
from .meta_v1 import LabelSelector

__all__ = [
    "ContainerResourceMetricSource",
    "ContainerResourceMetricStatus",
    "CrossVersionObjectReference",
    "ExternalMetricSource",
    "ExternalMetricStatus",
    "HPAScalingPolicy",
    "HPAScalingRules",
    "HorizontalPodAutoscaler",
    "HorizontalPodAutoscalerBehavior",
    "HorizontalPodAutoscalerCondition",
    "HorizontalPodAutoscalerSpec",
    "HorizontalPodAutoscalerStatus",
    "MetricIdentifier",
    "MetricSpec",
    "MetricStatus",
    "MetricTarget",
    "MetricValueStatus",
    "ObjectMetricSource",
    "ObjectMetricStatus",
    "PodsMetricSource",
    "PodsMetricStatus",
    "ResourceMetricSource",
    "ResourceMetricStatus",
]


class ContainerResourceMetricSource(Part):
    container: str
    name: str
    target: MetricTarget


class ContainerResourceMetricStatus(Part):
    container: str
    current: MetricValueStatus
    name: str


class CrossVersionObjectReference(Part):
    kind: str
    name: str
    api_version: str | None = None


class ExternalMetricSource(Part):
    metric: MetricIdentifier
    target: MetricTarget


class ExternalMetricStatus(Part):
    current: MetricValueStatus
    metric: MetricIdentifier


class HPAScalingPolicy(Part):
    period_seconds: int
    type: str
    value: int


class HPAScalingRules(Part):
    policies: list[HPAScalingPolicy] | None = None
    select_policy: str | None = None
    stabilization_window_seconds: int | None = None
    tolerance: Quantity | None = None


class HorizontalPodAutoscalerBehavior(Part):
    scale_down: HPAScalingRules | None = None
    scale_up: HPAScalingRules | None = None


class HorizontalPodAutoscalerCondition(Part):
    status: str
    type: str
    last_transition_time: datetime | None = None
    message: str | None = None
    reason: str | None = None


class HorizontalPodAutoscalerSpec(Part):
    max_replicas: int
    scale_target_ref: CrossVersionObjectReference
    behavior: HorizontalPodAutoscalerBehavior | None = None
    metrics: list[MetricSpec] | None = None
    min_replicas: int | None = None


class HorizontalPodAutoscalerStatus(Part):
    desired_replicas: int
    conditions: list[HorizontalPodAutoscalerCondition] | None = None
    current_metrics: list[MetricStatus] | None = None
    current_replicas: int | None = None
    last_scale_time: datetime | None = None
    observed_generation: int | None = None


class MetricIdentifier(Part):
    name: str
    selector: LabelSelector | None = None


class MetricSpec(Part):
    type: str
    container_resource: ContainerResourceMetricSource | None = None
    external: ExternalMetricSource | None = None
    object: ObjectMetricSource | None = None
    pods: PodsMetricSource | None = None
    resource: ResourceMetricSource | None = None


class MetricStatus(Part):
    type: str
    container_resource: ContainerResourceMetricStatus | None = None
    external: ExternalMetricStatus | None = None
    object: ObjectMetricStatus | None = None
    pods: PodsMetricStatus | None = None
    resource: ResourceMetricStatus | None = None


class MetricTarget(Part):
    type: str
    average_utilization: int | None = None
    average_value: Quantity | None = None
    value: Quantity | None = None


class MetricValueStatus(Part):
    average_utilization: int | None = None
    average_value: Quantity | None = None
    value: Quantity | None = None


class ObjectMetricSource(Part):
    described_object: CrossVersionObjectReference
    metric: MetricIdentifier
    target: MetricTarget


class ObjectMetricStatus(Part):
    current: MetricValueStatus
    described_object: CrossVersionObjectReference
    metric: MetricIdentifier


class PodsMetricSource(Part):
    metric: MetricIdentifier
    target: MetricTarget


class PodsMetricStatus(Part):
    current: MetricValueStatus
    metric: MetricIdentifier


class ResourceMetricSource(Part):
    name: str
    target: MetricTarget


class ResourceMetricStatus(Part):
    current: MetricValueStatus
    name: str


class HorizontalPodAutoscaler(
    HasStatus,
    group="autoscaling",
    version="v2",
    plural="horizontalpodautoscalers",
    short_names=("hpa",),
    categories=("all",),
    subresources=("status",),
    verbs=ALL_VERBS,
):
    spec: HorizontalPodAutoscalerSpec
    status: HorizontalPodAutoscalerStatus | None = None
