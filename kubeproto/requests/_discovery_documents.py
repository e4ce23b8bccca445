"""`Discovery`, the groups, versions and kinds of a server, and the documents that describe them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from ..objects import GroupVersionKind, Resource

_NAMESPACED: Final = "Namespaced"


class ApiVersion(Struct, frozen=True):
    """A version of a group. It is stale if its aggregated server is unavailable."""

    version: str
    resources: tuple[Resource, ...] = ()
    stale: bool = False


class ApiGroup(Struct, frozen=True):
    """A group, with its versions in the server's order. The core group has the name ""."""

    name: str
    versions: tuple[ApiVersion, ...]
    preferred: str


class ApiRoot(Struct, frozen=True):
    """The groups under ``/api`` or ``/apis``, and the ETag of this state."""

    groups: tuple[ApiGroup, ...]
    etag: str = ""


class Discovery(Struct, frozen=True):
    """Everything that a server serves. It makes the next discovery cheap if nothing has changed."""

    core: ApiRoot
    apis: ApiRoot

    @property
    def groups(self) -> tuple[ApiGroup, ...]:
        """The core group, then the others in the server's order."""
        return self.core.groups + self.apis.groups

    def __iter__(self) -> Iterator[Resource]:
        """Every resource of every version; the preferred version of a group comes first."""
        for group in self.groups:
            for version in sorted(group.versions, key=lambda version: version.version != group.preferred):
                yield from version.resources

    def find(self, name: str, *, group: str | None = None, version: str = "") -> Resource | None:
        """Return the resource with this kind, plural, singular or short name, in upper or lower case.

        As in kubectl, the name may be ``plural.group`` or ``plural.version.group``. If several groups have
        such a resource, the first group wins, and its preferred version.
        """
        prefix, dot, suffix = name.partition(".")
        if dot and group is None and not version:
            first_label, _, other_labels = suffix.partition(".")
            return self.find(prefix, group=suffix) or self.find(
                prefix, group=other_labels, version=first_label
            )
        name = name.lower()
        candidates = [
            resource
            for resource in self
            if (group is None or resource.group == group) and (not version or resource.version == version)
        ]
        by_name = (resource for resource in candidates if name in _names_of(resource))
        by_short_name = (resource for resource in candidates if name in resource.short_names)
        return next(by_name, None) or next(by_short_name, None)

    def similar(self, name: str) -> tuple[str, ...]:
        """Return up to three resources with similar names, the most similar first."""
        from difflib import get_close_matches  # only needed after a mistake

        resources = {
            word: resource for resource in self for word in (*_names_of(resource), *resource.short_names)
        }
        matches = get_close_matches(name.partition(".")[0].lower(), resources, n=6)
        plurals = (
            f"{resource.plural}.{resource.group}" if resource.group else resource.plural
            for resource in (resources[word] for word in matches)
        )
        return tuple(dict.fromkeys(plurals))[:3]

    def category(self, name: str) -> tuple[Resource, ...]:
        """Return the resources of a category, such as ``all``, in their preferred versions."""
        resources: dict[tuple[str, str], Resource] = {}
        for resource in self:
            if name.lower() in resource.categories:
                resources.setdefault((resource.group, resource.plural), resource)
        return tuple(resources.values())

    def get(self, gvk: GroupVersionKind) -> Resource | None:
        """Return the resource of exactly this kind; None if it is not served."""
        return next((resource for resource in self if resource.gvk == gvk), None)

    @property
    def stale(self) -> tuple[str, ...]:
        """The group versions whose kinds are unknown or outdated."""
        return tuple(
            f"{group.name}/{version.version}" if group.name else version.version
            for group in self.groups
            for version in group.versions
            if version.stale
        )


def _names_of(resource: Resource) -> tuple[str, str, str]:
    return resource.kind.lower(), resource.plural, resource.singular


# Aggregated discovery: APIGroupDiscoveryList


class _ResponseKind(Struct):
    # The group and version are empty if they are those of the list.
    kind: str = ""


class _AggregatedSubresource(Struct):
    subresource: str


class _AggregatedResource(Struct, rename="camel"):
    resource: str
    response_kind: _ResponseKind | None = None
    scope: str = _NAMESPACED
    singular_resource: str = ""
    verbs: tuple[str, ...] = ()
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[_AggregatedSubresource, ...] = ()

    def to_resource(self, group: str, version: str) -> Resource:
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


class _AggregatedVersion(Struct):
    version: str
    resources: tuple[_AggregatedResource, ...] = ()
    freshness: str = "Current"

    def to_version(self, group: str) -> ApiVersion:
        """Return the version without the resources that have no kind, and hence no objects."""
        resources = [resource.to_resource(group, self.version) for resource in self.resources]
        return ApiVersion(
            self.version,
            tuple(resource for resource in resources if resource.kind),
            self.freshness != "Current",
        )


class _GroupMetadata(Struct, frozen=True):
    name: str = ""


class _AggregatedGroup(Struct):
    # The preferred version is the first.
    metadata: _GroupMetadata = _GroupMetadata()
    versions: tuple[_AggregatedVersion, ...] = ()

    def to_group(self) -> ApiGroup:
        name = self.metadata.name
        versions = tuple(version.to_version(name) for version in self.versions)
        return ApiGroup(name, versions, versions[0].version if versions else "")


class AggregatedDiscovery(Struct):
    """An APIGroupDiscoveryList."""

    items: tuple[_AggregatedGroup, ...]

    def to_groups(self) -> tuple[ApiGroup, ...]:
        """Return the groups with all their resources."""
        return tuple(group.to_group() for group in self.items)


# Legacy discovery: APIVersions, APIGroupList and APIResourceList


class LegacyVersions(Struct):
    """An APIVersions document."""

    versions: tuple[str, ...]

    def to_groups(self) -> tuple[ApiGroup, ...]:
        """Return the core group, without resources."""
        versions = tuple(ApiVersion(name) for name in self.versions)
        return (ApiGroup("", versions, versions[0].version),) if versions else ()


class _LegacyVersion(Struct):
    version: str


class _LegacyGroup(Struct, rename="camel"):
    name: str
    versions: tuple[_LegacyVersion, ...]
    preferred_version: _LegacyVersion | None = None

    def to_group(self) -> ApiGroup:
        versions = tuple(ApiVersion(version.version) for version in self.versions)
        preferred = self.preferred_version or self.versions[0]
        return ApiGroup(self.name, versions, preferred.version)


class LegacyGroups(Struct):
    """An APIGroupList."""

    groups: tuple[_LegacyGroup, ...]

    def to_groups(self) -> tuple[ApiGroup, ...]:
        """Return the groups, without resources."""
        return tuple(group.to_group() for group in self.groups if group.versions)


class _LegacyResource(Struct, rename="camel"):
    # `name` is that of a resource, or ``resource/subresource``.
    name: str
    kind: str
    namespaced: bool
    singular_name: str = ""
    verbs: tuple[str, ...] = ()
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()


class LegacyResources(Struct):
    """An APIResourceList."""

    resources: tuple[_LegacyResource, ...]

    def to_resources(self, group: str, version: str) -> tuple[Resource, ...]:
        """Return the resources, each with the names of its subresources."""
        subresources: dict[str, list[str]] = {}
        for entry in self.resources:
            plural, slash, name = entry.name.partition("/")
            if slash:
                subresources.setdefault(plural, []).append(name)
        return tuple(
            Resource(
                group=group,
                version=version,
                kind=entry.kind,
                plural=entry.name,
                namespaced=entry.namespaced,
                singular=entry.singular_name,
                short_names=entry.short_names,
                categories=entry.categories,
                subresources=tuple(subresources.get(entry.name, ())),
                verbs=entry.verbs,
            )
            for entry in self.resources
            if "/" not in entry.name
        )
