"""Reviews: a request is decoded, a response is encoded, and an invalid request is a clear error."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

import kubeproto as kp
from kubeproto.crd import (
    AdmissionVerdict,
    allow,
    change,
    deny,
    read_admission,
    read_conversion,
    respond_to_admission,
    respond_to_conversion,
)
from kubeproto.objects import apply_json_patch

POD: dict[str, Any] = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}


def admission_review(**request: Any) -> bytes:
    request_json = {
        "uid": "705ab4f5",
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "requestKind": {"group": "", "version": "v1", "kind": "Pod"},
        "name": "a",
        "namespace": "w",
        "operation": "CREATE",
        "userInfo": {"username": "admin", "groups": ["system:authenticated"], "extra": {"k": ["v"]}},
        "object": POD,
        "oldObject": None,
        "dryRun": False,
        "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
        **request,
    }
    return json.dumps(
        {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request_json}
    ).encode()


def decode_review(verdict: AdmissionVerdict, **request: Any) -> dict[str, Any]:
    review = json.loads(respond_to_admission(read_admission(admission_review(**request)), verdict))
    assert (review["apiVersion"], review["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
    response: dict[str, Any] = review["response"]
    assert response.pop("uid") == "705ab4f5"
    return response


def test_a_request_is_read_with_all_fields() -> None:
    request = read_admission(admission_review(operation="DELETE", object=None, oldObject=POD, dryRun=True))
    assert (request.operation, request.namespace, request.name) == ("DELETE", "w", "a")
    assert (request.object, request.old_object, request.dry_run) == (None, POD, True)
    assert str(request.kind) == "v1 Pod"
    assert request.user_info.username == "admin"
    assert request.user_info.extra == {"k": ["v"]}


def test_allow_has_warnings_and_audit_annotations() -> None:
    assert decode_review(allow()) == {"allowed": True}
    assert decode_review(allow(warnings=["old"], audit_annotations={"k": "v"})) == {
        "allowed": True,
        "warnings": ["old"],
        "auditAnnotations": {"k": "v"},
    }


def test_deny_has_a_message_a_code_and_a_reason() -> None:
    status: dict[str, Any] = {
        "metadata": {},
        "status": "Failure",
        "message": "no",
        "reason": "Forbidden",
        "code": 403,
    }
    assert decode_review(deny("no")) == {"allowed": False, "status": status}
    assert decode_review(deny("no", code=422))["status"]["reason"] == "Invalid"
    assert "reason" not in decode_review(deny("no", code=418))["status"]
    with pytest.raises(ValueError, match="from 400 to 599, not 200"):
        deny("no", code=200)


def test_a_change_is_sent_as_a_json_patch_in_base64() -> None:
    changed_pod = {**POD, "metadata": {"name": "a", "labels": {"x/y": "1"}}}
    response = decode_review(change(changed_pod))
    assert (response["allowed"], response["patchType"]) == (True, "JSONPatch")
    patch = json.loads(base64.b64decode(response["patch"]))
    assert apply_json_patch(POD, patch) == changed_pod


def test_an_empty_change_sends_no_patch_and_a_deletion_cannot_be_changed() -> None:
    assert decode_review(change(POD)) == {"allowed": True}
    with pytest.raises(ValueError, match="a DELETE request has no object to change"):
        decode_review(change(POD), operation="DELETE", object=None)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "not an AdmissionReview with a request"),
        (b"[]", "not an AdmissionReview with a request"),
        (
            b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}',
            "missing required field `request`",
        ),
        (admission_review(operation="PATCH"), "Invalid enum value 'PATCH'"),
        (
            admission_review().replace(b"s.io/v1", b"s.io/v1beta1"),
            "not AdmissionReview of admission.k8s.io/v1beta1",
        ),
        (
            admission_review().replace(b"AdmissionReview", b"TokenReview"),
            "not TokenReview of admission.k8s.io/v1",
        ),
    ],
)
def test_a_body_that_is_not_an_admission_review_is_an_error_with_the_reason(
    body: bytes, message: str
) -> None:
    with pytest.raises(kp.RemoteProtocolError, match=message):
        read_admission(body)


def book(name: str, version: str = "v1", **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": f"g.example.com/{version}",
        "kind": "Book",
        "metadata": {"name": name, "namespace": "w", "uid": "u", **metadata},
        "spec": {"pages": 1},
    }


def conversion(*objects: dict[str, Any], version: str = "v2") -> bytes:
    request = {"uid": "u1", "desiredAPIVersion": f"g.example.com/{version}", "objects": objects}
    review = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": request}
    return json.dumps(review).encode()


def convert_review(body: bytes, convert: Any) -> dict[str, Any]:
    review = json.loads(respond_to_conversion(read_conversion(body), convert))
    assert (review["apiVersion"], review["kind"]) == ("apiextensions.k8s.io/v1", "ConversionReview")
    response: dict[str, Any] = review["response"]
    assert response.pop("uid") == "u1"
    return response


def to_v2(obj: dict[str, Any], version: str) -> dict[str, Any]:
    assert version == "g.example.com/v2"
    obj["spec"] = {"pageCount": obj["spec"]["pages"]}
    return obj


def test_every_object_is_converted_to_the_requested_version() -> None:
    response = convert_review(conversion(book("a"), book("b")), to_v2)
    assert response["result"] == {"status": "Success"}
    assert [obj["metadata"]["name"] for obj in response["convertedObjects"]] == ["a", "b"]
    assert {obj["apiVersion"] for obj in response["convertedObjects"]} == {"g.example.com/v2"}
    assert response["convertedObjects"][0]["spec"] == {"pageCount": 1}


def test_an_object_of_the_requested_version_is_not_converted() -> None:
    assert convert_review(conversion(book("a", "v2")), to_v2)["convertedObjects"] == [book("a", "v2")]


def test_an_object_that_cannot_be_converted_fails_the_review_with_its_name() -> None:
    def convert(obj: dict[str, Any], version: str) -> dict[str, Any]:
        if obj["metadata"]["name"] == "b":
            raise ValueError("b has no pages")
        return to_v2(obj, version)

    response = convert_review(conversion(book("a"), book("b")), convert)
    assert response["convertedObjects"] == []
    assert response["result"]["status"] == "Failure"
    assert response["result"]["message"] == "Book w/b: b has no pages"


@pytest.mark.parametrize(
    ("metadata", "kind", "message"),
    [
        ({"name": "x"}, "Book", "a conversion must not change metadata except labels and annotations: name"),
        ({"uid": "x", "generation": 2}, "Book", "labels and annotations: generation, uid"),
        ({}, "Tome", "a conversion must not change the kind (got 'Tome')"),
    ],
)
def test_a_conversion_that_changes_kind_or_metadata_fails(
    metadata: dict[str, Any], kind: str, message: str
) -> None:
    def convert(obj: dict[str, Any], version: str) -> dict[str, Any]:
        obj["metadata"] |= metadata
        obj["kind"] = kind
        return obj

    result = convert_review(conversion(book("a")), convert)["result"]
    assert result["status"] == "Failure"
    assert result["message"].startswith("Book w/a: ")
    assert result["message"].endswith(message)


def test_labels_and_annotations_may_change() -> None:
    def convert(obj: dict[str, Any], version: str) -> dict[str, Any]:
        obj["metadata"]["labels"] = {"a": "b"}
        obj["metadata"]["annotations"] = {"a": "b"}
        return obj

    assert convert_review(conversion(book("a")), convert)["result"] == {"status": "Success"}


def test_a_bug_in_a_converter_is_not_a_response() -> None:
    def convert(obj: dict[str, Any], version: str) -> dict[str, Any]:
        raise TypeError("a bug")

    with pytest.raises(TypeError, match="a bug"):
        convert_review(conversion(book("a")), convert)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"{", "not a ConversionReview with a request"),
        (
            b'{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview"}',
            "missing required field `request`",
        ),
        (
            conversion().replace(b"s.io/v1", b"s.io/v1beta1"),
            "not ConversionReview of apiextensions.k8s.io/v1beta1",
        ),
    ],
)
def test_a_body_that_is_not_a_conversion_review_is_an_error_with_the_reason(
    body: bytes, message: str
) -> None:
    with pytest.raises(kp.RemoteProtocolError, match=message):
        read_conversion(body)
