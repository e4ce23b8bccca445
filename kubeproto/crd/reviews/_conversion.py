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
from ._statuses import failure

_API: Final = "apiextensions.k8s.io/v1"
# What a conversion must return unchanged. Of the metadata only labels and annotations may change.
_MUTABLE: Final = ("labels", "annotations")

Object = dict[str, Any]
# From an object and the requested apiVersion to the converted object.
Converter = Callable[[Object, str], Object]


class ConversionRequest(Struct, frozen=True, kw_only=True, rename="camel"):
    """The request of a review: these objects in this version."""

    uid: str
    desired_api_version: str = msgspec.field(name="desiredAPIVersion")
    objects: list[dict[str, Any]]


class _Review(Struct, rename="camel"):
    api_version: str
    kind: str
    request: ConversionRequest


_read_review: Final = Reader[_Review](_Review).read


def read_conversion(body: bytes) -> ConversionRequest:
    """Return the request in a ConversionReview.

    Any other body is a `RemoteProtocolError` that says what is wrong with it.
    """
    try:
        review = _read_review(body)
    except InvalidObject as error:
        raise RemoteProtocolError(f"not a ConversionReview with a request: {error}") from None
    if (review.api_version, review.kind) != (_API, "ConversionReview"):
        raise RemoteProtocolError(f"not {_API} ConversionReview but {review.api_version} {review.kind}")
    return review.request


def respond_to_conversion(request: ConversionRequest, convert: Converter) -> bytes:
    """Return the ConversionReview that responds to a request: all objects converted, or none and why.

    A converter that cannot convert an object raises ValueError or LookupError; other exceptions are bugs, and
    propagate.
    """
    converted: list[Object] = []
    for obj in request.objects:
        shown = _shown(obj)  # the converter may change what it gets
        try:
            converted.append(_converted(obj, request.desired_api_version, convert))
        except (ValueError, LookupError) as error:
            return _review(request, [], failure(f"{shown}: {error}"))
    return _review(request, converted, {"status": "Success"})


def _review(request: ConversionRequest, objects: list[Object], result: dict[str, Any]) -> bytes:
    response = {"uid": request.uid, "convertedObjects": objects, "result": result}
    return msgspec.json.encode({"kind": "ConversionReview", "apiVersion": _API, "response": response})


def _converted(obj: Object, version: str, convert: Converter) -> Object:
    if obj.get("apiVersion") == version:
        return obj
    before: Object = msgspec.json.decode(msgspec.json.encode(obj))
    made = convert(obj, version)
    made["apiVersion"] = version
    if made.get("kind") != before.get("kind"):
        raise ValueError(f"a conversion must keep the kind, not make it {made.get('kind')!r}")
    kept, now = _fixed_metadata(before), _fixed_metadata(made)
    if kept != now:
        names = sorted(name for name in kept.keys() | now.keys() if kept.get(name) != now.get(name))
        raise ValueError(
            f"a conversion may change no metadata but labels and annotations: {', '.join(names)}"
        )
    return made


def _fixed_metadata(obj: Object) -> Object:
    metadata: Object = obj.get("metadata") or {}
    return {name: value for name, value in metadata.items() if name not in _MUTABLE}


def _shown(obj: Object) -> str:
    metadata: Object = obj.get("metadata") or {}
    place = f"{metadata['namespace']}/" if metadata.get("namespace") else ""
    return f"{obj.get('kind', 'object')} {place}{metadata.get('name', '')}"
