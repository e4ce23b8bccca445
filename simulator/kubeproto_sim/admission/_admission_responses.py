"""The response of a webhook: a verdict, or what is wrong with the response, in a server's words."""

from __future__ import annotations

from typing import Any, Final

import msgspec
from msgspec import Struct

from .._rejections import Rejection, failure, quoted
from ..storage._json_values import go_kind, is_list, is_map, member
from ._webhook_calls import WebhookReply

GROUP: Final = "admission.k8s.io"
API: Final = f"{GROUP}/v1"
_KNOWN: Final = ("v1", "v1beta1")  # versions of reviews
_NOT_FOUND: Final = "the server could not find the requested resource"
_NO_JSON: Final = (
    "couldn't get version/kind; json parse error: json: cannot unmarshal string into Go value of type struct"
    ' { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
)
Json = dict[str, Any]


class CallFailed(Exception):
    """A webhook could not be called, or its response cannot be used."""


class Verdict(Struct, frozen=True):
    """The verdict of a webhook on a write."""

    allowed: bool
    status: Json
    operations: list[Json]
    warnings: list[str]


def read_verdict(reply: WebhookReply, uid: str, *, mutating: bool) -> Verdict:
    """Return the verdict in a reply; or `CallFailed`."""
    try:
        if reply.failure:
            raise CallFailed(reply.failure)
        review = read_review(reply, GROUP, "v1", "AdmissionReview")
    except CallFailed as error:
        raise CallFailed(f"failed to call webhook: {error}") from None
    response = review.get("response")
    if not is_map(response):
        raise CallFailed("received invalid webhook response: webhook response was absent")
    if response.get("uid") != uid:
        got = quoted(str(response.get("uid", "")))
        raise CallFailed(f"received invalid webhook response: expected response.uid={quoted(uid)}, got {got}")
    patch, kind = response.get("patch"), response.get("patchType")
    if wrong := _patch_fault(patch, kind, mutating=mutating):
        raise CallFailed(f"received invalid webhook response: {wrong}")
    warnings: Any = response.get("warnings")
    said = [str(one) for one in warnings] if is_list(warnings) else []
    operations = _operations(patch) if patch else []
    if operations and kind != "JSONPatch":
        raise CallFailed(f"unsupported patch type {quoted(str(kind))}")
    return Verdict(bool(response.get("allowed")), member(response, "status"), operations, said)


def read_review(reply: WebhookReply, group: str, version: str, kind: str) -> Json:
    """Return the review in a response, as a client of this type of review reads it; or `CallFailed`."""
    if not 200 <= reply.status < 300:
        raise CallFailed(_of_status(reply))
    if not reply.body:
        raise CallFailed(
            f"0-length response with status code: {reply.status} and content type: application/json"
        )
    try:
        review: Any = msgspec.json.decode(reply.body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        review = None
    if not is_map(review):
        raise CallFailed(_NO_JSON)
    got, api = str(review.get("kind", "")), str(review.get("apiVersion", ""))
    if (got or api) and (got, api) != (kind, f"{group}/{version}"):
        of = api.rpartition("/")[2]
        if got == kind and api in (f"{group}/{known}" for known in _KNOWN):
            raise CallFailed(f"converting ({of}.{kind}) to ({version}.{kind}): unknown conversion")
        scheme = quoted("pkg/runtime/scheme.go:111")
        raise CallFailed(f"no kind {quoted(got)} is registered for version {quoted(api)} in scheme {scheme}")
    return review


def _of_status(reply: WebhookReply) -> str:
    """Return the message of a Go client about an HTTP error."""
    try:
        said: Any = msgspec.json.decode(reply.body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        said = None
    if is_map(said) and said.get("kind") == "Status" and said.get("message"):
        return str(said["message"])
    if reply.status == 404:
        return _NOT_FOUND
    if reply.status == 422:
        return "the server rejected our request due to an error in our request"
    if reply.status >= 500:
        return 'an error on the server ("unknown") has prevented the request from succeeding'
    return "the server rejected our request for an unknown reason"


def _patch_fault(patch: Any, kind: Any, *, mutating: bool) -> str:
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
        why = f"json: cannot unmarshal {go_kind(operations)} into Go value of type jsonpatch.Patch"
        raise CallFailed(f"received undecodable patch in webhook response: {why}")
    return operations


def denial(name: str, status: Json) -> Rejection:
    """Return the refusal of a write that a webhook has denied."""
    said = dict(status)
    code: Any = said.get("code")
    message, reason = said.get("message", ""), said.get("reason", "")
    denied = f"admission webhook {quoted(name)} denied the request"
    text = f"{denied}: {message or reason}" if message or reason else f"{denied} without explanation"
    details = said.get("details")
    code = code if isinstance(code, int) and code >= 400 else 400
    return Rejection(failure(code, text, details if is_map(details) else None, reason=reason))


def internal(why: str) -> Rejection:
    """500: something about a webhook is broken."""
    details = {"causes": [{"message": why}]}
    return Rejection(failure(500, f"Internal error occurred: {why}", details, reason="InternalError"))


def failed_call(name: str, why: str) -> Rejection:
    """500: a webhook that has to be called could not be."""
    return internal(f"failed calling webhook {quoted(name)}: {why}")
