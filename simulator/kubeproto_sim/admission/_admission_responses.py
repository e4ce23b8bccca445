"""The response of an admission webhook: its verdict, or an error with the message of a server."""

from __future__ import annotations

from typing import Any, Final

import msgspec
from msgspec import Struct

from kubeproto.objects import is_list, is_object

from .._rejections import Rejection, failure
from ..storage._json_values import go_kind, member, quoted
from ._webhook_calls import WebhookReply

GROUP: Final = "admission.k8s.io"
API: Final = f"{GROUP}/v1"
_REVIEW_VERSIONS: Final = ("v1", "v1beta1")
_NOT_FOUND: Final = "the server could not find the requested resource"
_NO_JSON: Final = (
    "couldn't get version/kind; json parse error: json: cannot unmarshal string into Go value of type struct"
    ' { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
)
Json = dict[str, Any]


class CallFailed(Exception):
    """A webhook could not be called, or its response is invalid."""


class Verdict(Struct, frozen=True):
    """The verdict of a webhook on a write."""

    allowed: bool
    status: Json
    operations: list[Json]
    warnings: list[str]


def read_verdict(reply: WebhookReply, uid: str, *, mutating: bool) -> Verdict:
    """Return the verdict in a reply, or raise `CallFailed`."""
    try:
        if reply.failure:
            raise CallFailed(reply.failure)
        review = read_review(reply, GROUP, "v1", "AdmissionReview")
    except CallFailed as error:
        raise CallFailed(f"failed to call webhook: {error}") from None
    response = review.get("response")
    if not is_object(response):
        raise CallFailed("received invalid webhook response: webhook response was absent")
    if response.get("uid") != uid:
        quoted_uid = quoted(str(response.get("uid", "")))
        raise CallFailed(
            f"received invalid webhook response: expected response.uid={quoted(uid)}, got {quoted_uid}"
        )
    patch, kind = response.get("patch"), response.get("patchType")
    if problem := _patch_error(patch, kind, mutating=mutating):
        raise CallFailed(f"received invalid webhook response: {problem}")
    warnings: Any = response.get("warnings")
    texts = [str(warning) for warning in warnings] if is_list(warnings) else []
    operations = _operations(patch) if patch else []
    if operations and kind != "JSONPatch":
        raise CallFailed(f"unsupported patch type {quoted(str(kind))}")
    return Verdict(bool(response.get("allowed")), member(response, "status"), operations, texts)


def read_review(reply: WebhookReply, group: str, version: str, kind: str) -> Json:
    """Return the review in a response, or raise `CallFailed`."""
    if not 200 <= reply.status < 300:
        raise CallFailed(_http_error_message(reply))
    if not reply.body:
        raise CallFailed(
            f"0-length response with status code: {reply.status} and content type: application/json"
        )
    try:
        review: Any = msgspec.json.decode(reply.body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        review = None
    if not is_object(review):
        raise CallFailed(_NO_JSON)
    review_kind, review_version = str(review.get("kind", "")), str(review.get("apiVersion", ""))
    if (review_kind or review_version) and (review_kind, review_version) != (kind, f"{group}/{version}"):
        received = review_version.rpartition("/")[2]
        if review_kind == kind and review_version in (
            f"{group}/{supported}" for supported in _REVIEW_VERSIONS
        ):
            raise CallFailed(f"converting ({received}.{kind}) to ({version}.{kind}): unknown conversion")
        scheme = quoted("pkg/runtime/scheme.go:111")
        raise CallFailed(
            f"no kind {quoted(review_kind)} is registered for version {quoted(review_version)} in scheme"
            f" {scheme}"
        )
    return review


def _http_error_message(reply: WebhookReply) -> str:
    """Return the message of a Go client for an HTTP error."""
    try:
        status: Any = msgspec.json.decode(reply.body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        status = None
    if is_object(status) and status.get("kind") == "Status" and status.get("message"):
        return str(status["message"])
    if reply.status == 404:
        return _NOT_FOUND
    if reply.status == 422:
        return "the server rejected our request due to an error in our request"
    if reply.status >= 500:
        return 'an error on the server ("unknown") has prevented the request from succeeding'
    return "the server rejected our request for an unknown reason"


def _patch_error(patch: Any, kind: Any, *, mutating: bool) -> str:
    if not mutating:
        name = "response.patch" if patch else "response.patchType" if kind is not None else ""
        return f"validating webhook may not return {name}" if name else ""
    if patch and kind is None:
        return "webhook returned response.patch but not response.patchType"
    if kind is not None and not patch:
        return "webhook returned response.patchType but not response.patch"
    return ""


def _operations(patch: Any) -> list[Json]:
    try:
        operations: Any = msgspec.json.decode(msgspec.convert(patch, bytes))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise CallFailed(
            "received undecodable patch in webhook response: unexpected end of JSON input"
        ) from None
    if not is_list(operations):
        problem = f"json: cannot unmarshal {go_kind(operations)} into Go value of type jsonpatch.Patch"
        raise CallFailed(f"received undecodable patch in webhook response: {problem}")
    return operations


def denial(name: str, status: Json) -> Rejection:
    """Return the refusal of a write that a webhook denied."""
    content = dict(status)
    code: Any = content.get("code")
    message, reason = content.get("message", ""), content.get("reason", "")
    prefix = f"admission webhook {quoted(name)} denied the request"
    text = f"{prefix}: {message or reason}" if message or reason else f"{prefix} without explanation"
    details = content.get("details")
    code = code if isinstance(code, int) and code >= 400 else 400
    return Rejection(failure(code, text, details if is_object(details) else None, reason=reason))


def internal_error(problem: str) -> Rejection:
    """500: a webhook is broken."""
    details = {"causes": [{"message": problem}]}
    return Rejection(failure(500, f"Internal error occurred: {problem}", details, reason="InternalError"))


def failed_call(name: str, problem: str) -> Rejection:
    """500: a required call of a webhook failed."""
    return internal_error(f"failed calling webhook {quoted(name)}: {problem}")
