"""The kinds of certificates.k8s.io/v1 and their parts, generated from Kubernetes 1.36.3."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from ..objects import HasApproval, HasStatus
from ._generated_base import ALL_VERBS, Filled, Part

__all__ = [
    "CertificateSigningRequest",
    "CertificateSigningRequestCondition",
    "CertificateSigningRequestSpec",
    "CertificateSigningRequestStatus",
]


class CertificateSigningRequestCondition(Part):
    status: str
    type: str
    last_transition_time: datetime | None = None
    last_update_time: datetime | None = None
    message: str | None = None
    reason: str | None = None


class CertificateSigningRequestSpec(Part):
    request: Filled[bytes]
    signer_name: str
    expiration_seconds: int | None = None
    extra: dict[str, list[str]] | None = None
    groups: list[str] | None = None
    uid: str | None = None
    usages: list[str] | None = None
    username: str | None = None

    def __post_init__(self: Any) -> None:
        if self.request is None:
            self.request = b""


class CertificateSigningRequestStatus(Part):
    certificate: bytes | None = None
    conditions: list[CertificateSigningRequestCondition] | None = None


class CertificateSigningRequest(
    HasApproval,
    HasStatus,
    group="certificates.k8s.io",
    version="v1",
    plural="certificatesigningrequests",
    namespaced=False,
    short_names=("csr",),
    subresources=("approval", "status"),
    verbs=ALL_VERBS,
):
    spec: CertificateSigningRequestSpec
    status: CertificateSigningRequestStatus | None = None
