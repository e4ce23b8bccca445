"""Responses to paths below `/openapi`: the document, its format, and how long it may be cached.

Making a document takes milliseconds, and clients request the same documents repeatedly, so each is cached
until the kinds that it describes change.
"""

from __future__ import annotations

import hashlib
from typing import Any, Final
from weakref import WeakKeyDictionary

import msgspec

from kubeproto.wire import RawRequest

from .._rejections import method_not_allowed, not_acceptable, unknown_path
from .._state import ServerState
from ..kinds._kind_registry import KindRegistry
from ..reading._query import Query
from ._openapi_documents import document_v2, document_v3, index
from ._openapi_protobuf import REQUESTED_MEDIA, SENT_MEDIA, encode_v2
from ._server_responses import ServerResponse

_JSON: Final = "application/json"
# A changed definition makes new codecs, so the ids of codecs identify the kinds.
_Fingerprint = tuple[int, ...]


class _DocumentCache:
    """The documents of a server, by their path."""

    def __init__(self) -> None:
        self._documents: dict[str, tuple[_Fingerprint, bytes, str]] = {}

    def find(self, kinds: KindRegistry, path: str) -> tuple[bytes, str]:
        """Return a document and its hash."""
        group, _, version = path.rpartition("/")
        fingerprint = tuple(
            id(served.codec)
            for key, resources in kinds.by_version.items()
            if path.startswith("v2") or key == (group, version)
            for served in resources.values()
        )
        cached = self._documents.get(path)
        if cached is None or cached[0] != fingerprint:
            body = _make(kinds, path)
            cached = self._documents[path] = (fingerprint, body, hashlib.sha512(body).hexdigest().upper())
        return cached[1], cached[2]


_of_server: Final[WeakKeyDictionary[KindRegistry, _DocumentCache]] = WeakKeyDictionary()


def openapi_response(
    state: ServerState, request: RawRequest, segments: list[str], query: Query, headers: dict[str, str]
) -> ServerResponse:
    """Return the response for a path below `/openapi`."""
    kinds = state.kinds
    documents = _of_server.setdefault(kinds, _DocumentCache())
    match segments:
        case ["v2"]:
            media = _v2_media_type(headers.get("accept", ""))
            body, tag = documents.find(kinds, "v2" if media == _JSON else "v2.pb")
        case ["v3"]:
            hashes = {key: documents.find(kinds, f"{key[0]}/{key[1]}")[1] for key in kinds.by_version}
            body = msgspec.json.encode(index(kinds, hashes))
            media, tag = _JSON, hashlib.sha512(body).hexdigest().upper()
        case ["v3", "api", version] if ("", version) in kinds.by_version:
            media, (body, tag) = _JSON, documents.find(kinds, f"/{version}")
        case ["v3", "apis", group, version] if (group, version) in kinds.by_version:
            media, (body, tag) = _JSON, documents.find(kinds, f"{group}/{version}")
        case _:
            raise unknown_path()
    if request.method not in ("GET", "HEAD"):
        raise method_not_allowed()
    etag = f'"{tag}"'
    requested_hash = query.get("hash") if len(segments) > 1 else ""
    # A document that is requested by its hash never changes.
    caching = "public, immutable" if requested_hash == tag else "no-cache, private"
    shared = (("Cache-Control", caching), ("Etag", etag), ("Vary", "Accept"))
    if requested_hash and requested_hash != tag:
        location = f"/openapi/{'/'.join(segments)}?hash={tag}"
        return ServerResponse(
            301, (*shared, ("Content-Type", media), ("Location", location), ("Content-Length", "0")), b""
        )
    if headers.get("if-none-match") == etag:
        return ServerResponse(304, shared, b"")
    return ServerResponse(200, (*shared, ("Content-Type", media), ("Content-Length", str(len(body)))), body)


def _v2_media_type(accept: str) -> str:
    for entry in accept.split(",") if accept else [_JSON]:
        media = entry.partition(";")[0].strip()
        if media in (_JSON, "*/*", "application/*"):
            return _JSON
        if media in (REQUESTED_MEDIA, SENT_MEDIA):
            return SENT_MEDIA
    raise not_acceptable(f"{_JSON}, {SENT_MEDIA}")


def _make(kinds: KindRegistry, path: str) -> bytes:
    if path == "v2.pb":
        return encode_v2(document_v2(kinds))
    group, _, version = path.rpartition("/")
    document: dict[str, Any] = document_v2(kinds) if path == "v2" else document_v3(kinds, group, version)
    return msgspec.json.encode(document)
