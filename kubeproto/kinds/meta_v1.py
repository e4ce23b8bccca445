"""What many groups share, generated from Kubernetes 1.36.3."""

from __future__ import annotations

from datetime import datetime

from ..objects import Fields

__all__ = [
    "Condition",
    "DeleteOptions",
    "FieldSelectorRequirement",
    "LabelSelector",
    "LabelSelectorRequirement",
    "Preconditions",
]


class Condition(Fields):
    message: str
    reason: str
    status: str
    type: str
    last_transition_time: datetime | None = None
    observed_generation: int | None = None


class DeleteOptions(Fields):
    api_version: str | None = None
    dry_run: list[str] | None = None
    grace_period_seconds: int | None = None
    ignore_store_read_error_with_cluster_breaking_potential: bool | None = None
    kind: str | None = None
    orphan_dependents: bool | None = None
    preconditions: Preconditions | None = None
    propagation_policy: str | None = None


class FieldSelectorRequirement(Fields):
    key: str
    operator: str
    values: list[str] | None = None


class LabelSelector(Fields):
    match_expressions: list[LabelSelectorRequirement] | None = None
    match_labels: dict[str, str] | None = None


class LabelSelectorRequirement(Fields):
    key: str
    operator: str
    values: list[str] | None = None


class Preconditions(Fields):
    resource_version: str | None = None
    uid: str | None = None
