"""The kinds of authentication.k8s.io/v1 and their parts, generated from Kubernetes 1.36.3."""

from __future__ import annotations

from datetime import datetime

import msgspec

from ..objects import KubeObject
from ._generated_base import Part, concealed_repr

__all__ = [
    "BoundObjectReference",
    "SelfSubjectReview",
    "SelfSubjectReviewStatus",
    "TokenRequest",
    "TokenRequestSpec",
    "TokenRequestStatus",
    "TokenReview",
    "TokenReviewSpec",
    "TokenReviewStatus",
    "UserInfo",
]


class BoundObjectReference(Part):
    api_version: str | None = None
    kind: str | None = None
    name: str | None = None
    uid: str | None = None


class SelfSubjectReviewStatus(Part):
    user_info: UserInfo | None = None


class TokenRequestSpec(Part):
    audiences: list[str] | None = None
    bound_object_ref: BoundObjectReference | None = None
    expiration_seconds: int | None = None


class TokenRequestStatus(Part):
    expiration_timestamp: datetime | None = None
    token: str | None = None

    def __repr__(self) -> str:
        return concealed_repr(self, "token")


class TokenReviewSpec(Part):
    token: str
    audiences: list[str] | None = None

    def __repr__(self) -> str:
        return concealed_repr(self, "token")


class TokenReviewStatus(Part):
    audiences: list[str] | None = None
    authenticated: bool | None = None
    error: str | None = None
    user: UserInfo | None = None


class UserInfo(Part):
    extra: dict[str, list[str]] | None = None
    groups: list[str] | None = None
    uid: str | None = None
    username: str | None = None


class SelfSubjectReview(
    KubeObject,
    group="authentication.k8s.io",
    version="v1",
    plural="selfsubjectreviews",
    namespaced=False,
    verbs=("create",),
):
    status: SelfSubjectReviewStatus | None = None


class TokenRequest(KubeObject):
    kind: str = "TokenRequest"
    api_version: str = "authentication.k8s.io/v1"
    spec: TokenRequestSpec = msgspec.field(default_factory=TokenRequestSpec)
    status: TokenRequestStatus | None = None


class TokenReview(
    KubeObject,
    group="authentication.k8s.io",
    version="v1",
    plural="tokenreviews",
    namespaced=False,
    verbs=("create",),
):
    spec: TokenReviewSpec
    status: TokenReviewStatus | None = None
