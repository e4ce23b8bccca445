"""Admission reviews (admission.k8s.io/v1) as pure functions: bytes of a request in, bytes of a response out.

https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

import msgspec
from msgspec import Struct

from ..._errors import InvalidObject, RemoteProtocolError
from ...objects import GroupVersionKind, Reader, StatusCause, make_json_patch
from ...wire import reason_of

_API: Final = "admission.k8s.io/v1"
Operation = Literal["CREATE", "UPDATE", "DELETE", "CONNECT"]


class UserInfo(Struct, frozen=True, rename="camel", omit_defaults=True):
    """The user who made the request."""

    username: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: dict[str, list[str]] = {}


class AdmittedResource(Struct, frozen=True):
    """The resource that a request is about."""

    group: str = ""
    version: str = ""
    resource: str = ""


class AdmissionRequest(Struct, frozen=True, kw_only=True, rename="camel"):
    """The request of a review. `object` is None for deletions, `old_object` for creations."""

    uid: str
    operation: Operation
    kind: GroupVersionKind
    resource: AdmittedResource
    sub_resource: str = ""
    request_kind: GroupVersionKind | None = None
    request_resource: AdmittedResource | None = None
    request_sub_resource: str = ""
    name: str = ""
    namespace: str = ""
    user_info: UserInfo = UserInfo()
    object: dict[str, Any] | None = None
    old_object: dict[str, Any] | None = None
    dry_run: bool = False
    options: dict[str, Any] | None = None


class AdmissionVerdict(Struct, frozen=True, kw_only=True):
    """The verdict of a webhook. `allow`, `deny` and `change` return verdicts."""

    allowed: bool
    code: int = 0
    message: str = ""
    causes: tuple[StatusCause, ...] = ()
    changed: dict[str, Any] | None = None
    warnings: tuple[str, ...] = ()
    audit_annotations: dict[str, str] = {}


class _Review(Struct, rename="camel"):
    api_version: str
    kind: str
    request: AdmissionRequest


_read_review: Final = Reader[_Review](_Review).read


def read_admission(body: bytes) -> AdmissionRequest:
    """Return the request in an AdmissionReview; raise `RemoteProtocolError` for any other body."""
    try:
        review = _read_review(body)
    except InvalidObject as error:
        raise RemoteProtocolError(f"the body is not an AdmissionReview with a request: {error}") from None
    if (review.api_version, review.kind) != (_API, "AdmissionReview"):
        raise RemoteProtocolError(
            f"expected an AdmissionReview of {_API}, not {review.kind} of {review.api_version}"
        )
    return review.request


def allow(
    *, warnings: Sequence[str] = (), audit_annotations: Mapping[str, str] | None = None
) -> AdmissionVerdict:
    """Allow the request unchanged; the client gets the warnings."""
    return AdmissionVerdict(
        allowed=True, warnings=tuple(warnings), audit_annotations=dict(audit_annotations or {})
    )


def deny(
    message: str,
    *,
    code: int = 403,
    causes: Sequence[StatusCause] = (),
    warnings: Sequence[str] = (),
    audit_annotations: Mapping[str, str] | None = None,
) -> AdmissionVerdict:
    """Refuse the request with this message and HTTP status code; `causes` name the invalid fields."""
    if not 400 <= code <= 599:
        raise ValueError(f"the HTTP status code of a denial must be from 400 to 599, not {code}")
    return AdmissionVerdict(
        allowed=False,
        code=code,
        message=message,
        causes=tuple(causes),
        warnings=tuple(warnings),
        audit_annotations=dict(audit_annotations or {}),
    )


def change(
    obj: dict[str, Any],
    *,
    warnings: Sequence[str] = (),
    audit_annotations: Mapping[str, str] | None = None,
) -> AdmissionVerdict:
    """Allow the request with a changed object; the difference is sent as a JSON patch."""
    return AdmissionVerdict(
        allowed=True,
        changed=obj,
        warnings=tuple(warnings),
        audit_annotations=dict(audit_annotations or {}),
    )


def respond_to_admission(request: AdmissionRequest, verdict: AdmissionVerdict) -> bytes:
    """Return the AdmissionReview that responds to this request."""
    response: dict[str, Any] = {"uid": request.uid, "allowed": verdict.allowed}
    if not verdict.allowed:
        response["status"] = failure_status(verdict.message, reason_of(verdict.code), verdict.code)
        if verdict.causes:
            details = {"name": request.name, "group": request.kind.group, "kind": request.kind.kind}
            response["status"]["details"] = {**details, "causes": verdict.causes}
    if verdict.changed is not None:
        if request.object is None:
            raise ValueError(f"a {request.operation} request has no object to change; use allow() or deny()")
        patch = make_json_patch(request.object, verdict.changed)
        if patch:
            response["patchType"] = "JSONPatch"
            # msgspec writes bytes as base64, which the API requires.
            response["patch"] = msgspec.json.encode(patch)
    if verdict.audit_annotations:
        response["auditAnnotations"] = verdict.audit_annotations
    if verdict.warnings:
        response["warnings"] = verdict.warnings
    return msgspec.json.encode({"kind": "AdmissionReview", "apiVersion": _API, "response": response})


def failure_status(message: str, reason: str = "", code: int = 0) -> dict[str, Any]:
    """Return the Status of a refusal, in the form of a review."""
    status: dict[str, Any] = {"metadata": {}, "status": "Failure", "message": message}
    if reason:
        status["reason"] = reason
    if code:
        status["code"] = code
    return status
