"""The headers of requests: the form of the response, and the form of the body."""

from __future__ import annotations

from typing import Final, get_origin

from ..objects import KubeObject, Metadata
from ..wire import Headers

JSON: Final = "application/json"
JSON_PATCH: Final = "application/json-patch+json"
MERGE_PATCH: Final = "application/merge-patch+json"
STRATEGIC_PATCH: Final = "application/strategic-merge-patch+json"
APPLY_PATCH: Final = "application/apply-patch+yaml"  # JSON is YAML, too
TABLE: Final = f"{JSON};as=Table;v=v1;g=meta.k8s.io"

# Sent in every request, because some HTTP libraries add their own. A server compresses responses from 128 KiB
# on, which Go's client requests by default too. Streams are not: from Kubernetes 1.37 a list-watch would come
# as one gzip member a flush, which costs both sides more than a short event can save.
_COMPRESSED: Final = ("Accept-Encoding", "gzip")
_AS_IT_IS: Final = ("Accept-Encoding", "identity")


def accept(kind: type[KubeObject], *, many: bool = False) -> Headers:
    """Ask for one object or a list of them, at the depth of the class."""
    return accept_media(_media(kind, "List" if many else ""))


def accept_media(media: str) -> Headers:
    """Ask for a response of this media type."""
    return (("Accept", media), _COMPRESSED)


def accept_stream(kind: type[KubeObject]) -> Headers:
    """Ask for a stream of objects, at the depth of the class."""
    return (("Accept", _media(kind, "")), _AS_IT_IS)


def accept_anything() -> Headers:
    """Ask for a log, which is not an object."""
    return (("Accept", "*/*"), _AS_IT_IS)


def content(media: str) -> Headers:
    """Return the header with the type of the body."""
    return (("Content-Type", media),)


def _media(kind: type[KubeObject], suffix: str) -> str:
    if issubclass(get_origin(kind) or kind, Metadata):
        return f"{JSON};as=PartialObjectMetadata{suffix};g=meta.k8s.io;v=v1"
    return JSON
