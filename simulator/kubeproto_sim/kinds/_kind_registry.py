"""The registry of served kinds: the built-in kinds of a release, and custom resources."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from kubeproto.crd import (
    DefinedKind,
    DefinedVersion,
)
from kubeproto.kinds import BuiltinResource, BuiltinSubresource, kind_table
from kubeproto.objects import GroupVersionKind

from ..storage._storage import Storage
from ._builtin_conversion import STORED_WITH
from ._kubernetes_releases import Release
from ._selectable_fields import META_FIELDS
from ._served_kinds import Converter, SchemaCodec, ServedKind
from ._typed_codec import TypedCodec

# In the order in which discovery lists those of custom resources.
_CUSTOM_VERBS: Final = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
_SCALE: Final = GroupVersionKind("autoscaling", "v1", "Scale")


class KindRegistry:
    """All served kinds, by group, version and plural."""

    def __init__(self, storage: Storage, release: Release) -> None:
        self.storage = storage
        self.release = release
        self.by_version: dict[tuple[str, str], dict[str, ServedKind]] = {}
        self._builtin_groups: frozenset[str] | None = None
        self.by_storage: dict[str, ServedKind] = {}
        self.converter: Converter | None = None
        self.changes = 0  # incremented when the served kinds change
        for resource_facts in kind_table().resources:
            if _resource_path(resource_facts) not in release.missing_resources:
                self._add(_built_in(resource_facts, storage, release))
        for served in self:
            if (stored_with := self.by_storage[served.storage.name]) is not served:
                served.storage_kind = stored_with

    def find(self, group: str, version: str, plural: str) -> ServedKind | None:
        """Return the kind with this group, version and plural; None if there is none."""
        return self.by_version.get((group, version), {}).get(plural)

    def is_builtin_group(self, group: str) -> bool:
        """Return whether a group contains built-in kinds."""
        if self._builtin_groups is None:
            versions = self.by_version.items()
            self._builtin_groups = frozenset(
                key[0] for key, kinds in versions if any(not kind.custom for kind in kinds.values())
            )
        return group in self._builtin_groups

    def of_kind(self, api_version: str, kind: str) -> ServedKind | None:
        """Return the kind with this apiVersion and kind; None if it is not served."""
        group, _, version = api_version.rpartition("/")
        for served in self.by_version.get((group, version), {}).values():
            if served.kind == kind:
                return served
        return None

    def __iter__(self) -> Iterator[ServedKind]:
        for resources in self.by_version.values():
            yield from resources.values()

    def of_storage(self, name: str) -> ServedKind | None:
        """Return a served version of the kind with this storage; None if there is none."""
        return self.by_storage.get(name)

    def define(self, kind: DefinedKind, *, ready_at: float) -> list[ServedKind]:
        """Serve a custom resource, in place of its previous definition if there was one."""
        previous = [served for served in self if served.custom and served.full_name == kind.name]
        ready_time = previous[0].ready_at if previous else ready_at
        self.forget(kind.name)
        codecs = {each.resource.api_version: SchemaCodec(each.schema) for each in kind.versions}
        versions = kind.versions
        if not self.release.selectable_fields:
            versions = tuple(msgspec.structs.replace(each, selectable_fields=()) for each in versions)
        served_versions = [
            _custom(kind, version, self.storage, codecs) for version in versions if version.served
        ]
        for served in served_versions:
            served.ready_at = ready_time
            served.outdated = bool(served.storage.objects)
            served.webhook, served.converter = kind.conversion, self.converter
            self._add(served)
        return served_versions

    def forget(self, full_name: str) -> None:
        """Stop serving a custom resource."""
        for key, resources in list(self.by_version.items()):
            for plural, served in list(resources.items()):
                if served.custom and served.full_name == full_name:
                    del resources[plural]
                    self.by_storage.pop(served.storage.name, None)
                    self.changes += 1
            if not resources:
                del self.by_version[key]

    def _add(self, served: ServedKind) -> None:
        self.changes += 1
        self.by_version.setdefault((served.group, served.version), {})[served.plural] = served
        self.by_storage.setdefault(served.storage.name, served)


def _resource_path(resource_facts: BuiltinResource) -> str:
    return f"{resource_facts.resource.gvk.api_version}/{resource_facts.resource.plural}"


def _built_in(resource_facts: BuiltinResource, storage: Storage, release: Release) -> ServedKind:
    resource = resource_facts.resource
    subresources = tuple(
        subresource
        for subresource in resource_facts.subresources
        if f"{_resource_path(resource_facts)}/{subresource.name}" not in release.missing_resources
    )
    name = f"{resource.plural}.{resource.group}" if resource.group else resource.plural
    name = STORED_WITH.get(name, name)
    codec = TypedCodec(resource_facts.type, resource.kind, release)
    served = ServedKind(resource, storage.resource(name), codec, subresources, type_=resource_facts.type)
    served.warning = release.deprecation(served.full_name)
    if not release.has_service_fields and served.full_name == "services":
        served.fields = META_FIELDS
    if not release.pod_generations and served.full_name == "pods":
        served.counts_generation = False
    return served


def _custom(
    kind: DefinedKind, version: DefinedVersion, storage: Storage, codecs: dict[str, SchemaCodec]
) -> ServedKind:
    resource = msgspec.structs.replace(version.resource, verbs=_CUSTOM_VERBS)
    subresources: list[BuiltinSubresource] = []
    if version.has_status:
        subresources.append(
            BuiltinSubresource(name="status", kind=resource.gvk, verbs=("get", "patch", "update"))
        )
    if version.scale:
        subresources.append(BuiltinSubresource(name="scale", kind=_SCALE, verbs=("get", "patch", "update")))
    served = ServedKind(
        resource, storage.resource(kind.name), codecs[resource.api_version], tuple(subresources), version,
        kind.list_kind,
    )  # fmt: skip
    served.stored_as = kind.stored.resource.api_version
    served.codecs = codecs
    return served
