"""Types of many groups, generated from Kubernetes 1.36.3."""

from __future__ import annotations

from datetime import datetime

from ._generated_base import Part

__all__ = [
    "Condition",
    "DeleteOptions",
    "FieldSelectorRequirement",
    "LabelSelector",
    "LabelSelectorRequirement",
    "Preconditions",
]


class Condition(Part):
    type: str
    status: str
    observed_generation: int | None = None
    last_transition_time: datetime | None = None
    reason: str
    message: str


class DeleteOptions(Part):
    api_version: str | None = None
    dry_run: list[str] | None = None
    grace_period_seconds: int | None = None
    ignore_store_read_error_with_cluster_breaking_potential: bool | None = None
    kind: str | None = None
    orphan_dependents: bool | None = None
    preconditions: Preconditions | None = None
    propagation_policy: str | None = None


class FieldSelectorRequirement(Part):
    key: str
    operator: str
    values: list[str] | None = None


class LabelSelector(Part):
    match_expressions: list[LabelSelectorRequirement] | None = None
    match_labels: dict[str, str] | None = None


class LabelSelectorRequirement(Part):
    key: str
    operator: str
    values: list[str] | None = None


class Preconditions(Part):
    resource_version: str | None = None
    uid: str | None = None
