"""The result of discovery: groups, their versions, and their kinds; and the documents that contain them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from ..objects import GroupVersionKind, Resource

_NAMESPACED: Final = "Namespaced"


class ApiVersion(Struct, frozen=True):
    """One version of a group. It is stale if its aggregated server could not be reached."""

    version: str
    resources: tuple[Resource, ...] = ()
    stale: bool = False


class ApiGroup(Struct, frozen=True):
    """A group, its versions in the server's order. The core group has no name."""

    name: str
    versions: tuple[ApiVersion, ...]
    preferred: str


class Root(Struct, frozen=True):
    """The groups under ``/api`` or ``/apis``, and the ETag of this state."""

    groups: tuple[ApiGroup, ...]
    etag: str = ""


class Discovery(Struct, frozen=True):
    """All that a server serves. If kept, it makes another discovery cheap while nothing changes."""

    core: Root
    named: Root

    @property
    def groups(self) -> tuple[ApiGroup, ...]:
        """The core group, then the others in the server's order."""
        return self.core.groups + self.named.groups

    def __iter__(self) -> Iterator[Resource]:
        """Every resource of every version, in each group those of the preferred version first."""
        for group in self.groups:
            for version in sorted(group.versions, key=lambda version: version.version != group.preferred):
                yield from version.resources

    def find(self, name: str, *, group: str | None = None, version: str = "") -> Resource | None:
        """Return the resource that people mean by a kind, plural, singular or short name, in any case.

        As in kubectl, ``plural.group`` and ``plural.version.group`` name the group as well. If several groups
        have one, the first counts, and the preferred version of it.
        """
        first, dot, rest = name.partition(".")
        if dot and group is None and not version:
            maybe, _, deeper = rest.partition(".")
            return self.find(first, group=rest) or self.find(first, group=deeper, version=maybe)
        word = name.lower()
        within = [
            resource
            for resource in self
            if (group is None or resource.group == group) and (not version or resource.version == version)
        ]
        names = (resource for resource in within if word in _names(resource))
        short = (resource for resource in within if word in resource.short_names)
        return next(names, None) or next(short, None)

    def similar(self, name: str) -> tuple[str, ...]:
        """Return the resources that a user who wrote this name may have meant, the likeliest first."""
        from difflib import get_close_matches  # only needed after a mistake

        word = name.partition(".")[0].lower()
        known = {one: resource for resource in self for one in (*_names(resource), *resource.short_names)}
        meant = (known[one] for one in get_close_matches(word, known, n=6))
        names = (f"{one.plural}.{one.group}" if one.group else one.plural for one in meant)
        return tuple(dict.fromkeys(names))[:3]

    def category(self, name: str) -> tuple[Resource, ...]:
        """Return the resources of a category, such as ``all``: each once, in its preferred version."""
        found: dict[tuple[str, str], Resource] = {}
        for resource in self:
            if name.lower() in resource.categories:
                found.setdefault((resource.group, resource.plural), resource)
        return tuple(found.values())

    def get(self, gvk: GroupVersionKind) -> Resource | None:
        """Return the resource of exactly this kind; None if it is not served."""
        return next((resource for resource in self if resource.gvk == gvk), None)

    @property
    def stale(self) -> tuple[str, ...]:
        """The group versions whose kinds are unknown or uncertain."""
        return tuple(
            f"{group.name}/{version.version}" if group.name else version.version
            for group in self.groups
            for version in group.versions
            if version.stale
        )


def _names(resource: Resource) -> tuple[str, str, str]:
    return resource.kind.lower(), resource.plural, resource.singular


class ResponseKind(Struct):
    """The kind in an aggregated document; its group and version are empty where they are the list's."""

    kind: str = ""


class AggregatedSubresource(Struct):
    """A subresource in an aggregated document."""

    subresource: str


class AggregatedResource(Struct, rename="camel"):
    """A resource in an aggregated document."""

    resource: str
    response_kind: ResponseKind | None = None
    scope: str = _NAMESPACED
    singular_resource: str = ""
    verbs: tuple[str, ...] = ()
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[AggregatedSubresource, ...] = ()

    def to_resource(self, group: str, version: str) -> Resource:
        """Return the same as a value of this library."""
        return Resource(
            group=group,
            version=version,
            kind=self.response_kind.kind if self.response_kind else "",
            plural=self.resource,
            namespaced=self.scope == _NAMESPACED,
            singular=self.singular_resource,
            short_names=self.short_names,
            categories=self.categories,
            subresources=tuple(sub.subresource for sub in self.subresources),
            verbs=self.verbs,
        )


class AggregatedVersion(Struct):
    """A version in an aggregated document."""

    version: str
    resources: tuple[AggregatedResource, ...] = ()
    freshness: str = "Current"


class GroupName(Struct, frozen=True):
    """The metadata of a group; empty for the core group."""

    name: str = ""


class AggregatedGroup(Struct):
    """A group in an aggregated document, the preferred version first."""

    metadata: GroupName = GroupName()
    versions: tuple[AggregatedVersion, ...] = ()

    def to_group(self) -> ApiGroup:
        """Return the same as a value of this library.

        A resource without a kind has no objects: it is left out.
        """
        name = self.metadata.name
        versions = tuple(
            ApiVersion(
                said.version,
                tuple(
                    resource.to_resource(name, said.version)
                    for resource in said.resources
                    if resource.response_kind and resource.response_kind.kind
                ),
                said.freshness != "Current",
            )
            for said in self.versions
        )
        return ApiGroup(name, versions, versions[0].version if versions else "")


class LegacyVersion(Struct):
    """A version in an APIGroupList."""

    version: str


class LegacyGroup(Struct, rename="camel"):
    """A group in an APIGroupList."""

    name: str
    versions: tuple[LegacyVersion, ...]
    preferred_version: LegacyVersion | None = None

    def to_group(self) -> ApiGroup:
        """Return the same as a value of this library, its kinds still to be requested."""
        versions = tuple(ApiVersion(said.version) for said in self.versions)
        preferred = self.preferred_version or self.versions[0]
        return ApiGroup(self.name, versions, preferred.version)


class LegacyResource(Struct, rename="camel"):
    """A resource, or ``resource/subresource``, in an APIResourceList."""

    name: str
    kind: str
    namespaced: bool
    singular_name: str = ""
    verbs: tuple[str, ...] = ()
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()


def legacy_resources(group: str, version: str, said: tuple[LegacyResource, ...]) -> tuple[Resource, ...]:
    """Return the resources of one version, each with the names of its subresources."""
    subresources: dict[str, list[str]] = {}
    for one in said:
        parent, slash, name = one.name.partition("/")
        if slash:
            subresources.setdefault(parent, []).append(name)
    return tuple(
        Resource(
            group=group,
            version=version,
            kind=one.kind,
            plural=one.name,
            namespaced=one.namespaced,
            singular=one.singular_name,
            short_names=one.short_names,
            categories=one.categories,
            subresources=tuple(subresources.get(one.name, ())),
            verbs=one.verbs,
        )
        for one in said
        if "/" not in one.name
    )
