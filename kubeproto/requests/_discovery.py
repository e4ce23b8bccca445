"""Discovery: which kinds a server serves, from the documents that it has, merged into one value.

::

    begin:      /api and /apis, in the aggregated form if the server knows it (1.27 and later)
    aggregated  ─> done: all resources are in these two responses
    not changed ─> done: what was known is still valid (304, by the ETag of last time)
    legacy      ─> request one document for each group version; one that fails leaves its version stale

`Discovering` is a frozen value: send what `requests` lists, in any order, pass each response to `received`,
and read `result` when nothing is left to request. Each of the two roots proceeds on its own.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import msgspec
from msgspec import Struct

from .._api_errors import ApiError
from .._errors import InvalidRequest, LocalProtocolError, RemoteProtocolError
from ..objects import Resource
from ..wire import Headers, header
from ._discovered import (
    AggregatedGroup,
    ApiGroup,
    ApiVersion,
    Discovery,
    LegacyGroup,
    LegacyResource,
    Root,
    legacy_resources,
)
from ._headers import JSON, accept_media
from ._readings import DocumentIdentity, read_json
from ._request import Request
from ._targets import segment

# The first that the server has counts. The older v2beta1 has no users left.
_AGGREGATED: Final = f"{JSON};g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,{JSON}"
_ROOTS: Final = ("/api", "/apis")
_NOT_MODIFIED: Final = 304


class LegacyRoot(Struct, frozen=True):
    """The groups and versions under a root; the kinds of each version are in a document of its own."""

    groups: tuple[ApiGroup, ...]


class NotModified(Struct, frozen=True):
    """What was known is still valid."""


FoundRoot: TypeAlias = Root | LegacyRoot | NotModified


class _Aggregated(Struct):
    items: tuple[AggregatedGroup, ...]


class _Versions(Struct):
    versions: tuple[str, ...]


class _Groups(Struct):
    groups: tuple[LegacyGroup, ...]


class _Resources(Struct):
    resources: tuple[LegacyResource, ...]


class _RootReading(Struct, frozen=True):
    def read(self, status: int, headers: Headers, body: bytes) -> FoundRoot:
        if status == _NOT_MODIFIED:
            return NotModified()
        kind = read_json(DocumentIdentity, headers, body).kind
        match kind:
            case "APIGroupDiscoveryList":
                said = read_json(_Aggregated, headers, body)
                return Root(tuple(group.to_group() for group in said.items), header(headers, "etag"))
            case "APIVersions":
                versions = tuple(ApiVersion(name) for name in read_json(_Versions, headers, body).versions)
                return LegacyRoot((ApiGroup("", versions, versions[0].version),) if versions else ())
            case "APIGroupList":
                groups = read_json(_Groups, headers, body).groups
                return LegacyRoot(tuple(group.to_group() for group in groups if group.versions))
            case _:
                raise RemoteProtocolError(
                    f"its body is a {kind or 'thing without a kind'}, not a discovery document"
                )


class _ResourcesReading(Struct, frozen=True):
    group: str
    version: str

    def read(self, status: int, headers: Headers, body: bytes) -> tuple[Resource, ...]:
        return legacy_resources(self.group, self.version, read_json(_Resources, headers, body).resources)


def discovery_root(path: str, *, etag: str = "") -> Request[FoundRoot]:
    """Ask for the groups under ``/api`` or ``/apis``; with the tag of last time, only if they changed."""
    if path not in _ROOTS:
        raise InvalidRequest(f"{path!r} is not a root of the API: {' or '.join(_ROOTS)}")
    if not (etag.isascii() and etag.isprintable()):
        raise InvalidRequest(f"{etag!r} is not valid in a header")
    return Request(
        "GET",
        path,
        (*accept_media(_AGGREGATED), *((("If-None-Match", etag),) if etag else ())),
        verb="get",
        reading=_RootReading(),
        accepts=(_NOT_MODIFIED,) if etag else (),
    )


def discovery_resources(group: str, version: str) -> Request[tuple[Resource, ...]]:
    """Ask for the resources of one group version: the legacy form."""
    name = segment("version", version)
    return Request(
        "GET",
        f"/apis/{segment('group', group)}/{name}" if group else f"/api/{name}",
        accept_media(JSON),
        verb="get",
        reading=_ResourcesReading(group, version),
    )


class Discovering(Struct, frozen=True):
    """What is known so far, and what is still to be requested. `known` is the discovery of last time."""

    known: Discovery | None = None
    roots: tuple[Root | LegacyRoot | None, ...] = (None, None)
    versions: tuple[tuple[str, ApiVersion], ...] = ()  # legacy documents by the target they came from

    @property
    def requests(self) -> tuple[Request[Any], ...]:
        """What is still to be requested, in any order or at once; empty when it is done."""
        known = {target for target, _ in self.versions}
        asked: list[Request[Any]] = []
        for path, root, etag in zip(_ROOTS, self.roots, self._etags(), strict=True):
            if root is None:
                asked.append(discovery_root(path, etag=etag))
            elif isinstance(root, LegacyRoot):
                documents = [
                    discovery_resources(group.name, version.version)
                    for group in root.groups
                    for version in group.versions
                ]
                asked += [request for request in documents if request.target not in known]
        return tuple(asked)

    def received(self, request: Request[Any], status: int, headers: Headers, body: bytes) -> Discovering:
        """Take a response. A root's refusal is raised; a version's leaves that version stale."""
        if request not in self.requests:
            raise LocalProtocolError(f"{request} is not what discovery asked")
        if request.target in _ROOTS:
            response = request.parse(status, headers, body).value
            roots = list(self.roots)
            index = _ROOTS.index(request.target)
            roots[index] = self._known_root(index) if isinstance(response, NotModified) else response
            return msgspec.structs.replace(self, roots=tuple(roots))
        version = request.target.rpartition("/")[2]
        try:
            found = ApiVersion(version, request.parse(status, headers, body).value)
        except (ApiError, RemoteProtocolError):
            # A server behind the aggregator is down; the others are still served.
            found = ApiVersion(version, stale=True)
        return msgspec.structs.replace(self, versions=(*self.versions, (request.target, found)))

    @property
    def result(self) -> Discovery | None:
        """The result, once nothing is left to request."""
        core, named = self.roots
        if core is None or named is None or self.requests:
            return None
        return Discovery(self._merged(core), self._merged(named))

    def _merged(self, root: Root | LegacyRoot) -> Root:
        if isinstance(root, Root):
            return root
        found = dict(self.versions)
        return Root(
            tuple(
                msgspec.structs.replace(
                    group,
                    versions=tuple(
                        found[discovery_resources(group.name, version.version).target]
                        for version in group.versions
                    ),
                )
                for group in root.groups
            )
        )

    def _etags(self) -> tuple[str, str]:
        return (self.known.core.etag, self.known.named.etag) if self.known else ("", "")

    def _known_root(self, index: int) -> Root:
        assert self.known is not None  # only what was known has a tag, and only a tag can be not modified
        return (self.known.core, self.known.named)[index]
