"""Conversion reviews (apiextensions.k8s.io/v1): objects of one version in, the same objects in another out.

https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec
from msgspec import Struct

from ..._errors import InvalidObject, RemoteProtocolError
from ...objects import Reader
from ._admission_reviews import failure_status

_API: Final = "apiextensions.k8s.io/v1"
# The metadata that a conversion may change.
_MUTABLE_METADATA: Final = ("labels", "annotations")

Object = dict[str, Any]
# From an object and the requested apiVersion to the converted object.
Converter = Callable[[Object, str], Object]


class ConversionRequest(Struct, frozen=True, kw_only=True, rename="camel"):
    """The request of a review: the objects to convert, and the requested version."""

    uid: str
    desired_api_version: str = msgspec.field(name="desiredAPIVersion")
    objects: list[dict[str, Any]]


class _Review(Struct, rename="camel"):
    api_version: str
    kind: str
    request: ConversionRequest


_read_review: Final = Reader[_Review](_Review).read


def read_conversion(body: bytes) -> ConversionRequest:
    """Return the request in a ConversionReview; raise `RemoteProtocolError` for any other body."""
    try:
        review = _read_review(body)
    except InvalidObject as error:
        raise RemoteProtocolError(f"the body is not a ConversionReview with a request: {error}") from None
    if (review.api_version, review.kind) != (_API, "ConversionReview"):
        raise RemoteProtocolError(
            f"expected a ConversionReview of {_API}, not {review.kind} of {review.api_version}"
        )
    return review.request


def respond_to_conversion(request: ConversionRequest, convert: Converter) -> bytes:
    """Return the ConversionReview that responds to this request: all objects converted, or a failure.

    A converter that cannot convert an object raises ValueError or LookupError; other exceptions are bugs, and
    propagate.
    """
    converted: list[Object] = []
    for obj in request.objects:
        name = _object_name(obj)  # first, because the converter may change the object
        try:
            converted.append(_convert(obj, request.desired_api_version, convert))
        except (ValueError, LookupError) as error:
            return _encode_review(request, [], failure_status(f"{name}: {error}"))
    return _encode_review(request, converted, {"status": "Success"})


def _encode_review(request: ConversionRequest, objects: list[Object], result: dict[str, Any]) -> bytes:
    response = {"uid": request.uid, "convertedObjects": objects, "result": result}
    return msgspec.json.encode({"kind": "ConversionReview", "apiVersion": _API, "response": response})


def _convert(obj: Object, version: str, convert: Converter) -> Object:
    if obj.get("apiVersion") == version:
        return obj
    original: Object = msgspec.json.decode(msgspec.json.encode(obj))
    converted = convert(obj, version)
    converted["apiVersion"] = version
    if converted.get("kind") != original.get("kind"):
        raise ValueError(f"a conversion must not change the kind (got {converted.get('kind')!r})")
    old, new = _fixed_metadata(original), _fixed_metadata(converted)
    if old != new:
        names = sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))
        raise ValueError(
            f"a conversion must not change metadata except labels and annotations: {', '.join(names)}"
        )
    return converted


def _fixed_metadata(obj: Object) -> Object:
    metadata: Object = obj.get("metadata") or {}
    return {name: value for name, value in metadata.items() if name not in _MUTABLE_METADATA}


def _object_name(obj: Object) -> str:
    metadata: Object = obj.get("metadata") or {}
    namespace = f"{metadata['namespace']}/" if metadata.get("namespace") else ""
    return f"{obj.get('kind', 'object')} {namespace}{metadata.get('name', '')}"
