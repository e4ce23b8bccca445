"""The headers of requests: the media types of the response and of the body."""

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
# on, which client-go requests by default too. Streams stay uncompressed: from Kubernetes 1.37 on, a watch
# would arrive as a gzip member for each flush, which costs both sides more than a short event can save.
_ACCEPT_GZIP: Final = ("Accept-Encoding", "gzip")
_ACCEPT_IDENTITY: Final = ("Accept-Encoding", "identity")


def accept(kind: type[KubeObject], *, many: bool = False) -> Headers:
    """Request an object, or a list of objects, at the depth of the class."""
    return accept_media(_media_type(kind, "List" if many else ""))


def accept_media(media: str) -> Headers:
    """Request a response of this media type."""
    return (("Accept", media), _ACCEPT_GZIP)


def accept_stream(kind: type[KubeObject]) -> Headers:
    """Request a stream of objects, at the depth of the class."""
    return (("Accept", _media_type(kind, "")), _ACCEPT_IDENTITY)


def accept_anything() -> Headers:
    """Request a log or another response that is not an object."""
    return (("Accept", "*/*"), _ACCEPT_IDENTITY)


def content_type(media: str) -> Headers:
    """Return the header with the type of the body."""
    return (("Content-Type", media),)


def _media_type(kind: type[KubeObject], suffix: str) -> str:
    if issubclass(get_origin(kind) or kind, Metadata):
        return f"{JSON};as=PartialObjectMetadata{suffix};g=meta.k8s.io;v=v1"
    return JSON
