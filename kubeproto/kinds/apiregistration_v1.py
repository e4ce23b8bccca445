"""The kinds of apiregistration.k8s.io/v1 and their parts, generated from Kubernetes 1.36.3."""

from __future__ import annotations

from datetime import datetime

import msgspec

from ..objects import HasStatus
from ._generated_base import ALL_VERBS, Part

__all__ = ["APIService", "APIServiceCondition", "APIServiceSpec", "APIServiceStatus", "ServiceReference"]


class APIServiceCondition(Part):
    status: str
    type: str
    last_transition_time: datetime | None = None
    message: str | None = None
    reason: str | None = None


class APIServiceSpec(Part):
    group_priority_minimum: int
    version_priority: int
    ca_bundle: bytes | None = None
    group: str | None = None
    insecure_skip_tls_verify: bool | None = msgspec.field(default=None, name="insecureSkipTLSVerify")
    service: ServiceReference | None = None
    version: str | None = None


class APIServiceStatus(Part):
    conditions: list[APIServiceCondition] | None = None


class ServiceReference(Part):
    name: str | None = None
    namespace: str | None = None
    port: int | None = None


class APIService(
    HasStatus,
    group="apiregistration.k8s.io",
    version="v1",
    plural="apiservices",
    namespaced=False,
    categories=("api-extensions",),
    subresources=("status",),
    verbs=ALL_VERBS,
):
    spec: APIServiceSpec
    status: APIServiceStatus | None = None
