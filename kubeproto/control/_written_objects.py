"""`OwnWrite`, an object that a run has written or read, and `CacheScope`, the objects that a cache follows.

Together they decide whether a cache will show a write, shows it, or has lost it.

- A key waits for a cache only if the cache will show the write: it follows the kind, the namespace and the
  labels, or contains the object, which will leave it then. Of a field selector only name and namespace can be
  evaluated here: with other fields, a key does not wait for an object that the cache lacks.
- Objects that were read count like objects that were written: a run that found nothing to do, because the
  server showed something that a cache did not, relies on them.
- A write that changed nothing returns a version that the cache has, or will have soon.
- A deletion is shown when the object of that uid is missing or has a deletion timestamp, a removal when it is
  missing. A write that removes the last finalizer is a removal, and its response has the version from before
  it. A 404 for an object that a cache shows is a removal too.
- Where versions have no order, the cached object must have exactly the version that was written.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from .._errors import InvalidObject
from ..objects import FieldSelector, KubeObject, ObjectMeta, Selector, Status, compare_versions, decode
from ._cached_objects import CachedObject
from ._store import key_of


class OwnWrite(Struct, frozen=True, kw_only=True):
    """An object that a run has written, deleted or read, according to the response.

    `removed` means that a deleted object no longer exists. `uid` is "" if the response does not contain it.
    """

    group: str
    plural: str
    key: str
    uid: str
    version: str = ""
    labels: Mapping[str, str] = {}
    deleted: bool = False
    removed: bool = False

    @classmethod
    def from_response(cls, method: str, target: str, value: object) -> OwnWrite | None:
        """Return the object of a successful request; None if no cache could show it."""
        path, _, query = target.partition("?")
        parts = _split_path(path)
        if method == "HEAD" or parts is None or "dryRun=" in query:
            return None
        group, plural, namespace, name, subresource = parts
        if method == "GET" and (subresource or not name):
            return None
        if isinstance(value, Status):
            if method != "DELETE" or not name or not value.details.uid:
                return None
            key = key_of(name, namespace)
            return cls(group=group, plural=plural, key=key, uid=value.details.uid, deleted=True)
        if not isinstance(value, KubeObject):
            return None
        meta = value.metadata
        if not meta.name or not meta.resource_version:
            return None
        is_write = method not in ("DELETE", "GET")
        # A namespace has finalizers in its spec as well, so its metadata does not show a removal.
        removed = is_write and (group, plural) != ("", "namespaces") and _is_removed(meta)
        return cls(
            group=group,
            plural=plural,
            key=key_of(meta.name, meta.namespace),
            uid=meta.uid,
            version=meta.resource_version,
            labels=dict(meta.labels or {}),
            deleted=removed or method == "DELETE",
            removed=removed,
        )

    @classmethod
    def from_not_found(cls, target: str, refusal: Status) -> OwnWrite | None:
        """Return the object that does not exist according to a 404; None if something else may be missing.

        The kind is missing if the refusal does not name the object, and a kind may lack a subresource.
        """
        parts = _split_path(target.partition("?")[0])
        if parts is None:
            return None
        group, plural, namespace, name, subresource = parts
        if subresource or not name or refusal.details.name != name:
            return None
        key = key_of(name, namespace)
        return cls(group=group, plural=plural, key=key, uid="", deleted=True, removed=True)

    def is_shown(self, version: str, cached: CachedObject | None) -> bool:
        """Return whether a cache at this version, with this entry under the key, shows the write."""
        if self.deleted:
            return cached is None or not self._precedes_deletion(cached)
        try:
            return compare_versions(version, self.version) >= 0
        except ValueError:
            return cached is not None and cached.version == self.version

    def is_lost(self, version: str, cached: CachedObject | None) -> bool:
        """Return whether a cache that was relisted since the run began has lost the write."""
        if self.deleted:
            return not self.is_shown(version, cached)
        if not self.is_shown(version, cached):
            return False  # the list is older than the write
        return cached is None or is_older(cached, version_rank(self.version))

    def _precedes_deletion(self, cached: CachedObject) -> bool:
        """Return whether an entry is the deleted object, as it was before."""
        try:
            meta = decode(cached.raw, KubeObject).metadata
        except InvalidObject:
            return False
        return self.uid in ("", meta.uid) and (self.removed or meta.deletion_timestamp is None)


class CacheScope(Struct, frozen=True, kw_only=True):
    """The objects that a cache follows; `namespace` is "" for all namespaces."""

    group: str
    plural: str
    namespace: str = ""
    labels: Selector = Selector()
    fields: FieldSelector = FieldSelector()

    @classmethod
    def of(
        cls, resource: Any, namespace: str, labels: str | Selector, fields: str | FieldSelector
    ) -> CacheScope:
        """Return the scope of a cache of a resource."""
        return cls(
            group=resource.group,
            plural=resource.plural,
            namespace=namespace,
            labels=Selector.parse(labels) if isinstance(labels, str) else labels,
            fields=FieldSelector.parse(fields) if isinstance(fields, str) else fields,
        )

    def will_show(self, write: OwnWrite, cached: CachedObject | None) -> bool:
        """Return whether the cache, with this entry under the key, will show a write at some time."""
        if (self.group, self.plural) != (write.group, write.plural):
            return False
        if self.namespace and self.namespace != write.key.rpartition("/")[0]:
            return False
        if cached is not None:
            return True  # the cache will see the object change, or leave its selection
        return not write.deleted and self._selects_fields(write) and self.labels.matches(write.labels)

    def _selects_fields(self, write: OwnWrite) -> bool:
        """Return whether the field selector uses only name and namespace, and matches."""
        namespace, _, name = write.key.rpartition("/")
        values = {"metadata.name": name, "metadata.namespace": namespace}
        requirements = self.fields.requirements
        return all(requirement.path in values for requirement in requirements) and self.fields.matches(values)


def is_older(cached: CachedObject, rank: tuple[int, str] | None) -> bool:
    """Return whether a cached object is older than a write; False where versions have no order."""
    cached_rank = version_rank(cached.version)
    return cached_rank is not None and rank is not None and cached_rank < rank


def version_rank(version: str) -> tuple[int, str] | None:
    """Return a sort key for a version; None for a version that has no order."""
    try:
        compare_versions(version, version)
    except ValueError:
        return None
    return len(version), version


def _is_removed(meta: ObjectMeta) -> bool:
    """Return whether a write removed the last finalizer of an object that was being deleted."""
    deleting = meta.deletion_timestamp is not None
    return deleting and not meta.finalizers and not meta.deletion_grace_period_seconds


def _split_path(path: str) -> tuple[str, str, str, str, str] | None:
    """Return the group, plural, namespace, name and subresource in a path, each "" if the path lacks it."""
    match path.split("/"):
        case ["", "api", _, *segments]:
            group = ""
        case ["", "apis", group, _, *segments]:
            pass
        case _:
            return None
    match segments:
        case ["namespaces", namespace, plural, *segments] if plural not in ("status", "finalize"):
            pass
        case [plural, *segments]:
            namespace = ""
        case _:
            return None
    name, *subresource = segments or [""]
    return group, plural, namespace, name, "/".join(subresource)
