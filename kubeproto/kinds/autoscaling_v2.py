"""The kinds of autoscaling/v2 and their parts, generated from Kubernetes 1.36.3."""

from __future__ import annotations

from datetime import datetime

from ..objects import Fields, KubeObject, Quantity
from ._forms import ALL_VERBS
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


class ContainerResourceMetricSource(Fields):
    container: str
    name: str
    target: MetricTarget


class ContainerResourceMetricStatus(Fields):
    container: str
    current: MetricValueStatus
    name: str


class CrossVersionObjectReference(Fields):
    kind: str
    name: str
    api_version: str | None = None


class ExternalMetricSource(Fields):
    metric: MetricIdentifier
    target: MetricTarget


class ExternalMetricStatus(Fields):
    current: MetricValueStatus
    metric: MetricIdentifier


class HPAScalingPolicy(Fields):
    period_seconds: int
    type: str
    value: int


class HPAScalingRules(Fields):
    policies: list[HPAScalingPolicy] | None = None
    select_policy: str | None = None
    stabilization_window_seconds: int | None = None
    tolerance: Quantity | None = None


class HorizontalPodAutoscalerBehavior(Fields):
    scale_down: HPAScalingRules | None = None
    scale_up: HPAScalingRules | None = None


class HorizontalPodAutoscalerCondition(Fields):
    status: str
    type: str
    last_transition_time: datetime | None = None
    message: str | None = None
    reason: str | None = None


class HorizontalPodAutoscalerSpec(Fields):
    max_replicas: int
    scale_target_ref: CrossVersionObjectReference
    behavior: HorizontalPodAutoscalerBehavior | None = None
    metrics: list[MetricSpec] | None = None
    min_replicas: int | None = None


class HorizontalPodAutoscalerStatus(Fields):
    desired_replicas: int
    conditions: list[HorizontalPodAutoscalerCondition] | None = None
    current_metrics: list[MetricStatus] | None = None
    current_replicas: int | None = None
    last_scale_time: datetime | None = None
    observed_generation: int | None = None


class MetricIdentifier(Fields):
    name: str
    selector: LabelSelector | None = None


class MetricSpec(Fields):
    type: str
    container_resource: ContainerResourceMetricSource | None = None
    external: ExternalMetricSource | None = None
    object: ObjectMetricSource | None = None
    pods: PodsMetricSource | None = None
    resource: ResourceMetricSource | None = None


class MetricStatus(Fields):
    type: str
    container_resource: ContainerResourceMetricStatus | None = None
    external: ExternalMetricStatus | None = None
    object: ObjectMetricStatus | None = None
    pods: PodsMetricStatus | None = None
    resource: ResourceMetricStatus | None = None


class MetricTarget(Fields):
    type: str
    average_utilization: int | None = None
    average_value: Quantity | None = None
    value: Quantity | None = None


class MetricValueStatus(Fields):
    average_utilization: int | None = None
    average_value: Quantity | None = None
    value: Quantity | None = None


class ObjectMetricSource(Fields):
    described_object: CrossVersionObjectReference
    metric: MetricIdentifier
    target: MetricTarget


class ObjectMetricStatus(Fields):
    current: MetricValueStatus
    described_object: CrossVersionObjectReference
    metric: MetricIdentifier


class PodsMetricSource(Fields):
    metric: MetricIdentifier
    target: MetricTarget


class PodsMetricStatus(Fields):
    current: MetricValueStatus
    metric: MetricIdentifier


class ResourceMetricSource(Fields):
    name: str
    target: MetricTarget


class ResourceMetricStatus(Fields):
    current: MetricValueStatus
    name: str


class HorizontalPodAutoscaler(
    KubeObject,
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
