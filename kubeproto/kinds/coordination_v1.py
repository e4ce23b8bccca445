"""The kinds of coordination.k8s.io/v1 and their parts, generated from Kubernetes 1.36.3."""

from __future__ import annotations

import msgspec

from ..objects import KubeObject, MicroTime
from ._generated_base import ALL_VERBS, Part

__all__ = ["Lease", "LeaseSpec"]


class LeaseSpec(Part):
    acquire_time: MicroTime | None = None
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    lease_transitions: int | None = None
    preferred_holder: str | None = None
    renew_time: MicroTime | None = None
    strategy: str | None = None


class Lease(KubeObject, group="coordination.k8s.io", version="v1", plural="leases", verbs=ALL_VERBS):
    spec: LeaseSpec = msgspec.field(default_factory=LeaseSpec)
