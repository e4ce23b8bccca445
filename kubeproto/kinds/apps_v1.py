"""The kinds of apps/v1 and their parts, generated from Kubernetes 1.36.3."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from ..objects import HasScale, HasStatus, KubeObject
from ._generated_base import ALL_VERBS, IntOrString, Part
from .core_v1 import PersistentVolumeClaim, PodTemplateSpec
from .meta_v1 import LabelSelector

__all__ = [
    "ControllerRevision",
    "DaemonSet",
    "DaemonSetCondition",
    "DaemonSetSpec",
    "DaemonSetStatus",
    "DaemonSetUpdateStrategy",
    "Deployment",
    "DeploymentCondition",
    "DeploymentSpec",
    "DeploymentStatus",
    "DeploymentStrategy",
    "ReplicaSet",
    "ReplicaSetCondition",
    "ReplicaSetSpec",
    "ReplicaSetStatus",
    "RollingUpdateDaemonSet",
    "RollingUpdateDeployment",
    "RollingUpdateStatefulSetStrategy",
    "StatefulSet",
    "StatefulSetCondition",
    "StatefulSetOrdinals",
    "StatefulSetPersistentVolumeClaimRetentionPolicy",
    "StatefulSetSpec",
    "StatefulSetStatus",
    "StatefulSetUpdateStrategy",
]


class DaemonSetCondition(Part):
    status: str
    type: str
    last_transition_time: datetime | None = None
    message: str | None = None
    reason: str | None = None


class DaemonSetSpec(Part):
    selector: LabelSelector
    template: PodTemplateSpec
    min_ready_seconds: int | None = None
    revision_history_limit: int | None = None
    update_strategy: DaemonSetUpdateStrategy | None = None


class DaemonSetStatus(Part):
    current_number_scheduled: int
    desired_number_scheduled: int
    number_misscheduled: int
    number_ready: int
    collision_count: int | None = None
    conditions: list[DaemonSetCondition] | None = None
    number_available: int | None = None
    number_unavailable: int | None = None
    observed_generation: int | None = None
    updated_number_scheduled: int | None = None


class DaemonSetUpdateStrategy(Part):
    rolling_update: RollingUpdateDaemonSet | None = None
    type: str | None = None


class DeploymentCondition(Part):
    type: str
    status: str
    last_update_time: datetime | None = None
    last_transition_time: datetime | None = None
    reason: str | None = None
    message: str | None = None


class DeploymentSpec(Part):
    replicas: int | None = None
    selector: LabelSelector
    template: PodTemplateSpec
    strategy: DeploymentStrategy | None = None
    min_ready_seconds: int | None = None
    revision_history_limit: int | None = None
    paused: bool | None = None
    progress_deadline_seconds: int | None = None


class DeploymentStatus(Part):
    observed_generation: int | None = None
    replicas: int | None = None
    updated_replicas: int | None = None
    ready_replicas: int | None = None
    available_replicas: int | None = None
    unavailable_replicas: int | None = None
    terminating_replicas: int | None = None
    conditions: list[DeploymentCondition] | None = None
    collision_count: int | None = None


class DeploymentStrategy(Part):
    rolling_update: RollingUpdateDeployment | None = None
    type: str | None = None


class ReplicaSetCondition(Part):
    status: str
    type: str
    last_transition_time: datetime | None = None
    message: str | None = None
    reason: str | None = None


class ReplicaSetSpec(Part):
    replicas: int | None = None
    min_ready_seconds: int | None = None
    selector: LabelSelector
    template: PodTemplateSpec | None = None


class ReplicaSetStatus(Part):
    replicas: int
    fully_labeled_replicas: int | None = None
    ready_replicas: int | None = None
    available_replicas: int | None = None
    terminating_replicas: int | None = None
    observed_generation: int | None = None
    conditions: list[ReplicaSetCondition] | None = None


class RollingUpdateDaemonSet(Part):
    max_surge: IntOrString | None = None
    max_unavailable: IntOrString | None = None


class RollingUpdateDeployment(Part):
    max_surge: IntOrString | None = None
    max_unavailable: IntOrString | None = None


class RollingUpdateStatefulSetStrategy(Part):
    max_unavailable: IntOrString | None = None
    partition: int | None = None


class StatefulSetCondition(Part):
    status: str
    type: str
    last_transition_time: datetime | None = None
    message: str | None = None
    reason: str | None = None


class StatefulSetOrdinals(Part):
    start: int | None = None


class StatefulSetPersistentVolumeClaimRetentionPolicy(Part):
    when_deleted: str | None = None
    when_scaled: str | None = None


class StatefulSetSpec(Part):
    selector: LabelSelector
    template: PodTemplateSpec
    min_ready_seconds: int | None = None
    ordinals: StatefulSetOrdinals | None = None
    persistent_volume_claim_retention_policy: StatefulSetPersistentVolumeClaimRetentionPolicy | None = None
    pod_management_policy: str | None = None
    replicas: int | None = None
    revision_history_limit: int | None = None
    service_name: str | None = None
    update_strategy: StatefulSetUpdateStrategy | None = None
    volume_claim_templates: list[PersistentVolumeClaim] | None = None


class StatefulSetStatus(Part):
    replicas: int
    available_replicas: int | None = None
    collision_count: int | None = None
    conditions: list[StatefulSetCondition] | None = None
    current_replicas: int | None = None
    current_revision: str | None = None
    observed_generation: int | None = None
    ready_replicas: int | None = None
    update_revision: str | None = None
    updated_replicas: int | None = None


class StatefulSetUpdateStrategy(Part):
    rolling_update: RollingUpdateStatefulSetStrategy | None = None
    type: str | None = None


class ControllerRevision(
    KubeObject, group="apps", version="v1", plural="controllerrevisions", verbs=ALL_VERBS
):
    revision: int
    data: Any = None


class DaemonSet(
    HasStatus,
    group="apps",
    version="v1",
    plural="daemonsets",
    short_names=("ds",),
    categories=("all",),
    subresources=("status",),
    verbs=ALL_VERBS,
):
    spec: DaemonSetSpec
    status: DaemonSetStatus | None = None


class Deployment(
    HasScale,
    HasStatus,
    group="apps",
    version="v1",
    plural="deployments",
    short_names=("deploy",),
    categories=("all",),
    subresources=("scale", "status"),
    verbs=ALL_VERBS,
):
    spec: DeploymentSpec
    status: DeploymentStatus | None = None


class ReplicaSet(
    HasScale,
    HasStatus,
    group="apps",
    version="v1",
    plural="replicasets",
    short_names=("rs",),
    categories=("all",),
    subresources=("scale", "status"),
    verbs=ALL_VERBS,
):
    spec: ReplicaSetSpec
    status: ReplicaSetStatus | None = None


class StatefulSet(
    HasScale,
    HasStatus,
    group="apps",
    version="v1",
    plural="statefulsets",
    short_names=("sts",),
    categories=("all",),
    subresources=("scale", "status"),
    verbs=ALL_VERBS,
):
    spec: StatefulSetSpec
    status: StatefulSetStatus | None = None
