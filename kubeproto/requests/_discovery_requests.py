"""`DiscoveryProgress`: requests the discovery documents of a server, and merges them into a `Discovery`.

::

    begin:       /api and /apis, in the aggregated form if the server supports it (1.27 and later)
    aggregated   ─> finished: all resources are in these two responses
    not modified ─> finished: the previous discovery is still valid (304, by its ETag)
    legacy       ─> a document for each group version; a failed request leaves its version stale

`DiscoveryProgress` is a frozen value: send its `requests` in any order, pass each response to `receive`, and
read `result` when no request is left. Each of the two roots proceeds independently.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import msgspec
from msgspec import Struct

from .._api_errors import ApiError
from .._errors import InvalidRequest, LocalProtocolError, RemoteProtocolError
from ..objects import Resource
from ..wire import Headers, header
from ._discovery_documents import (
    AggregatedDiscovery,
    ApiGroup,
    ApiRoot,
    ApiVersion,
    Discovery,
    LegacyGroups,
    LegacyResources,
    LegacyVersions,
)
from ._headers import JSON, accept_media
from ._request import Request
from ._response_parsers import DocumentIdentity, read_json
from ._targets import encode_segment

# A server responds in the first form that it supports. The older v2beta1 has no users left.
_AGGREGATED: Final = f"{JSON};g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,{JSON}"
_ROOTS: Final = ("/api", "/apis")
_NOT_MODIFIED: Final = 304


class LegacyRoot(Struct, frozen=True):
    """The groups and versions under a root; the kinds of each version are in a separate document."""

    groups: tuple[ApiGroup, ...]


class NotModified(Struct, frozen=True):
    """The previous discovery is still valid."""


RootResponse: TypeAlias = ApiRoot | LegacyRoot | NotModified


class _RootParser(Struct, frozen=True):
    def parse(self, status: int, headers: Headers, body: bytes) -> RootResponse:
        if status == _NOT_MODIFIED:
            return NotModified()
        kind = read_json(DocumentIdentity, headers, body).kind
        match kind:
            case "APIGroupDiscoveryList":
                document = read_json(AggregatedDiscovery, headers, body)
                return ApiRoot(document.to_groups(), header(headers, "etag"))
            case "APIVersions":
                return LegacyRoot(read_json(LegacyVersions, headers, body).to_groups())
            case "APIGroupList":
                return LegacyRoot(read_json(LegacyGroups, headers, body).to_groups())
            case _:
                described = f"is a {kind}" if kind else "has no kind"
                raise RemoteProtocolError(f"its body {described}, not a discovery document")


class _ResourcesParser(Struct, frozen=True):
    group: str
    version: str

    def parse(self, status: int, headers: Headers, body: bytes) -> tuple[Resource, ...]:
        return read_json(LegacyResources, headers, body).to_resources(self.group, self.version)


def discovery_root(path: str, *, etag: str = "") -> Request[RootResponse]:
    """Request the groups under ``/api`` or ``/apis``; with an ETag, only if they have changed."""
    if not (etag.isascii() and etag.isprintable()):
        raise InvalidRequest(f"the ETag {etag!r} is not valid in a header")
    return Request(
        "GET",
        path,
        (*accept_media(_AGGREGATED), *((("If-None-Match", etag),) if etag else ())),
        verb="get",
        parser=_RootParser(),
        accepts=(_NOT_MODIFIED,) if etag else (),
    )


def discovery_resources(group: str, version: str) -> Request[tuple[Resource, ...]]:
    """Request the resources of a group version, in the legacy form."""
    name = encode_segment("version", version)
    return Request(
        "GET",
        f"/apis/{encode_segment('group', group)}/{name}" if group else f"/api/{name}",
        accept_media(JSON),
        verb="get",
        parser=_ResourcesParser(group, version),
    )


class DiscoveryProgress(Struct, frozen=True):
    """A discovery that is not finished. `previous` is the result of an earlier discovery."""

    previous: Discovery | None = None
    roots: tuple[ApiRoot | LegacyRoot | None, ...] = (None, None)
    versions: tuple[tuple[str, ApiVersion], ...] = ()  # those of legacy documents, by target

    @property
    def requests(self) -> tuple[Request[Any], ...]:
        """The remaining requests, to be sent in any order or concurrently; empty when it is finished."""
        received = {target for target, _ in self.versions}
        remaining: list[Request[Any]] = []
        for path, root, etag in zip(_ROOTS, self.roots, self._etags(), strict=True):
            if root is None:
                remaining.append(discovery_root(path, etag=etag))
            elif isinstance(root, LegacyRoot):
                documents = [
                    discovery_resources(group.name, version.version)
                    for group in root.groups
                    for version in group.versions
                ]
                remaining += [request for request in documents if request.target not in received]
        return tuple(remaining)

    def receive(self, request: Request[Any], status: int, headers: Headers, body: bytes) -> DiscoveryProgress:
        """Return the discovery after a response. A refused root raises; a refused version becomes stale."""
        if request not in self.requests:
            raise LocalProtocolError(f"{request} is not a request of this discovery")
        if request.target in _ROOTS:
            root = request.parse(status, headers, body).value
            roots = list(self.roots)
            index = _ROOTS.index(request.target)
            roots[index] = self._previous_root(index) if isinstance(root, NotModified) else root
            return msgspec.structs.replace(self, roots=tuple(roots))
        name = request.target.rpartition("/")[2]
        try:
            version = ApiVersion(name, request.parse(status, headers, body).value)
        except (ApiError, RemoteProtocolError):
            # A server behind the aggregator is down; the others are still served.
            version = ApiVersion(name, stale=True)
        return msgspec.structs.replace(self, versions=(*self.versions, (request.target, version)))

    @property
    def result(self) -> Discovery | None:
        """The result; None while requests remain."""
        core, apis = self.roots
        if core is None or apis is None or self.requests:
            return None
        return Discovery(self._complete(core), self._complete(apis))

    def _complete(self, root: ApiRoot | LegacyRoot) -> ApiRoot:
        """Return a root with the resources from its legacy documents."""
        if isinstance(root, ApiRoot):
            return root
        versions = dict(self.versions)
        groups: list[ApiGroup] = []
        for group in root.groups:
            targets = [discovery_resources(group.name, version.version).target for version in group.versions]
            completed = tuple(versions[target] for target in targets)
            groups.append(msgspec.structs.replace(group, versions=completed))
        return ApiRoot(tuple(groups))

    def _etags(self) -> tuple[str, str]:
        return (self.previous.core.etag, self.previous.apis.etag) if self.previous else ("", "")

    def _previous_root(self, index: int) -> ApiRoot:
        assert self.previous is not None  # only an ETag causes a 304, and only a previous discovery has one
        return (self.previous.core, self.previous.apis)[index]
