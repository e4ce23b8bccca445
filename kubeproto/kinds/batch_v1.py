"""The kinds of batch/v1 and their parts, generated from Kubernetes 1.36.3."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from ..objects import HasStatus, ObjectMeta
from ._generated_base import ALL_VERBS, Filled, Part
from .core_v1 import ObjectReference, PodTemplateSpec
from .meta_v1 import LabelSelector

__all__ = [
    "CronJob",
    "CronJobSpec",
    "CronJobStatus",
    "Job",
    "JobCondition",
    "JobSpec",
    "JobStatus",
    "JobTemplateSpec",
    "PodFailurePolicy",
    "PodFailurePolicyOnExitCodesRequirement",
    "PodFailurePolicyOnPodConditionsPattern",
    "PodFailurePolicyRule",
    "SuccessPolicy",
    "SuccessPolicyRule",
    "UncountedTerminatedPods",
]


class CronJobSpec(Part):
    job_template: JobTemplateSpec
    schedule: str
    concurrency_policy: str | None = None
    failed_jobs_history_limit: int | None = None
    starting_deadline_seconds: int | None = None
    successful_jobs_history_limit: int | None = None
    suspend: bool | None = None
    time_zone: str | None = None


class CronJobStatus(Part):
    active: list[ObjectReference] | None = None
    last_schedule_time: datetime | None = None
    last_successful_time: datetime | None = None


class JobCondition(Part):
    status: str
    type: str
    last_probe_time: datetime | None = None
    last_transition_time: datetime | None = None
    message: str | None = None
    reason: str | None = None


class JobSpec(Part):
    template: PodTemplateSpec
    active_deadline_seconds: int | None = None
    backoff_limit: int | None = None
    backoff_limit_per_index: int | None = None
    completion_mode: str | None = None
    completions: int | None = None
    managed_by: str | None = None
    manual_selector: bool | None = None
    max_failed_indexes: int | None = None
    parallelism: int | None = None
    pod_failure_policy: PodFailurePolicy | None = None
    pod_replacement_policy: str | None = None
    selector: LabelSelector | None = None
    success_policy: SuccessPolicy | None = None
    suspend: bool | None = None
    ttl_seconds_after_finished: int | None = None


class JobStatus(Part):
    active: int | None = None
    completed_indexes: str | None = None
    completion_time: datetime | None = None
    conditions: list[JobCondition] | None = None
    failed: int | None = None
    failed_indexes: str | None = None
    ready: int | None = None
    start_time: datetime | None = None
    succeeded: int | None = None
    terminating: int | None = None
    uncounted_terminated_pods: UncountedTerminatedPods | None = None


class JobTemplateSpec(Part):
    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: JobSpec


class PodFailurePolicy(Part):
    rules: Filled[list[PodFailurePolicyRule]]

    def __post_init__(self: Any) -> None:
        if self.rules is None:
            self.rules = []


class PodFailurePolicyOnExitCodesRequirement(Part):
    operator: str
    values: Filled[list[int]]
    container_name: str | None = None

    def __post_init__(self: Any) -> None:
        if self.values is None:
            self.values = []


class PodFailurePolicyOnPodConditionsPattern(Part):
    type: str
    status: str | None = None


class PodFailurePolicyRule(Part):
    action: str
    on_exit_codes: PodFailurePolicyOnExitCodesRequirement | None = None
    on_pod_conditions: list[PodFailurePolicyOnPodConditionsPattern] | None = None


class SuccessPolicy(Part):
    rules: Filled[list[SuccessPolicyRule]]

    def __post_init__(self: Any) -> None:
        if self.rules is None:
            self.rules = []


class SuccessPolicyRule(Part):
    succeeded_count: int | None = None
    succeeded_indexes: str | None = None


class UncountedTerminatedPods(Part):
    failed: list[str] | None = None
    succeeded: list[str] | None = None


class CronJob(
    HasStatus,
    group="batch",
    version="v1",
    plural="cronjobs",
    short_names=("cj",),
    categories=("all",),
    subresources=("status",),
    verbs=ALL_VERBS,
):
    spec: CronJobSpec
    status: CronJobStatus | None = None


class Job(
    HasStatus,
    group="batch",
    version="v1",
    plural="jobs",
    categories=("all",),
    subresources=("status",),
    verbs=ALL_VERBS,
):
    spec: JobSpec
    status: JobStatus | None = None
