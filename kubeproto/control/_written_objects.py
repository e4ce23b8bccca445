"""Values that a run has written or read, and whether a cache will show, shows or has lost them.

- A key waits for a cache only if the cache will show the write: it follows the kind, the namespace and the
  labels, or holds the object, which will leave it then. In a field selector, only name and namespace are
  evaluated here: with others, a key does not wait for an object that the cache does not hold.
- Objects that were read count like those that were written: a run that found nothing to do, because the
  server showed what a cache did not, relies on them.
- A write that changed nothing returns a version that the cache has, or will have at once.
- A deletion is shown once the object of that uid is gone or has a deletion timestamp; a removal once it is
  gone. A write that removes the last finalizer is a removal, and its response has the version from before it;
  a 404 for an object that a cache shows is a removal too.
- Where versions have no order, the cached object must have exactly the version that was written.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from .._errors import InvalidObject
from ..objects import FieldSelector, KubeObject, ObjectMeta, Selector, Status, compare_versions, decode
from ._changes import CachedObject
from ._store import key_of


class OwnWrite(Struct, frozen=True, kw_only=True):
    """An object that a run has written, deleted or read, according to the response.

    `gone` means that a deleted object no longer exists. `uid` is "" if the response does not contain it.
    """

    group: str
    plural: str
    key: str
    uid: str
    version: str = ""
    labels: Mapping[str, str] = {}
    deleted: bool = False
    gone: bool = False


class CacheScope(Struct, frozen=True, kw_only=True):
    """What a cache follows; `namespace` is "" for all of them."""

    group: str
    plural: str
    namespace: str = ""
    labels: Selector = Selector()
    fields: FieldSelector = FieldSelector()


def own_write(method: str, target: str, value: object) -> OwnWrite | None:
    """Return what a request has written or read, by its response; None if no cache could show it."""
    path, _, query = target.partition("?")
    place = _place(path)
    if method == "HEAD" or place is None or "dryRun=" in query:
        return None
    group, plural, namespace, name, subresource = place
    if method == "GET" and (subresource or not name):
        return None
    if isinstance(value, Status):
        if method != "DELETE" or not name or not value.details.uid:
            return None
        return OwnWrite(
            group=group, plural=plural, key=key_of(name, namespace), uid=value.details.uid, deleted=True
        )
    if not isinstance(value, KubeObject):
        return None
    meta = value.metadata
    if not meta.name or not meta.resource_version:
        return None
    gone = method not in ("DELETE", "GET") and (group, plural) != ("", "namespaces") and _was_removed(meta)
    return OwnWrite(
        group=group,
        plural=plural,
        key=key_of(meta.name, meta.namespace),
        uid=meta.uid,
        version=meta.resource_version,
        labels=dict(meta.labels or {}),
        deleted=gone or method == "DELETE",
        gone=gone,
    )


def own_absence(target: str, refusal: Status) -> OwnWrite | None:
    """Return the object that does not exist, by a 404; None if something else may be missing.

    Something else may be missing if the refusal does not name the object, as for a kind that is not served,
    or if the request was for a subresource, which the kind may lack.
    """
    place = _place(target.partition("?")[0])
    if place is None:
        return None
    group, plural, namespace, name, subresource = place
    if subresource or not name or refusal.details.name != name:
        return None
    key = key_of(name, namespace)
    return OwnWrite(group=group, plural=plural, key=key, uid="", deleted=True, gone=True)


def _was_removed(meta: ObjectMeta) -> bool:
    """Return whether a write has taken away the last thing that the deletion of an object waited for.

    This is not known for a namespace, which has finalizers in its spec as well.
    """
    ends = meta.deletion_timestamp is not None
    return ends and not meta.finalizers and not meta.deletion_grace_period_seconds


def _place(path: str) -> tuple[str, str, str, str, str] | None:
    """Return the group, plural, namespace, name and subresource in a path; "" for what it does not have."""
    match path.split("/"):
        case ["", "api", _, *rest]:
            group = ""
        case ["", "apis", group, _, *rest]:
            pass
        case _:
            return None
    match rest:
        case ["namespaces", namespace, plural, *more] if plural not in ("status", "finalize"):
            pass
        case [plural, *more]:
            namespace = ""
        case _:
            return None
    name, *subresource = more or [""]
    return group, plural, namespace, name, "/".join(subresource)


def will_show(followed: CacheScope, write: OwnWrite, known: CachedObject | None) -> bool:
    """Return whether a cache will come to show a write. `known` is what it holds under the key."""
    if (followed.group, followed.plural) != (write.group, write.plural):
        return False
    if followed.namespace and followed.namespace != write.key.rpartition("/")[0]:
        return False
    if known is not None:
        return True  # it will see the object change, or leave its selection
    return not write.deleted and _fields_match(followed, write) and followed.labels.matches(write.labels)


def _fields_match(followed: CacheScope, write: OwnWrite) -> bool:
    """Return whether the fields of a selector are known and match."""
    namespace, _, name = write.key.rpartition("/")
    known = {"metadata.name": name, "metadata.namespace": namespace}
    fields = followed.fields
    return all(one.path in known for one in fields.requirements) and fields.matches(known)


def is_shown(write: OwnWrite, version: str, known: CachedObject | None) -> bool:
    """Return whether a cache at this version shows a write. `known` is what it holds under the key."""
    if write.deleted:
        return known is None or not _is_untouched(known, write)
    try:
        return compare_versions(version, write.version) >= 0
    except ValueError:
        return known is not None and known.version == write.version


def is_lost(write: OwnWrite, version: str, known: CachedObject | None) -> bool:
    """Return whether a cache that was relisted since a run began has lost what the run wrote."""
    if write.deleted:
        return not is_shown(write, version, known)
    if not is_shown(write, version, known):
        return False  # the list is older than the write
    return known is None or is_older(known, rank_of(write.version))


def _is_untouched(known: CachedObject, write: OwnWrite) -> bool:
    """Return whether this is the object that was deleted, as it was before."""
    try:
        meta = decode(known.raw, KubeObject).metadata
    except InvalidObject:
        return False
    return write.uid in ("", meta.uid) and (write.gone or meta.deletion_timestamp is None)


def is_older(known: CachedObject, rank: tuple[int, str] | None) -> bool:
    """Return whether a cached object is older than a write; False where versions have no order."""
    shown = rank_of(known.version)
    return shown is not None and rank is not None and shown < rank


def rank_of(version: str) -> tuple[int, str] | None:
    """Return a sort key for a version; None for a version that has no order."""
    try:
        compare_versions(version, version)
    except ValueError:
        return None
    return len(version), version


def follows(resource: Any, namespace: str, labels: str | Selector, fields: str | FieldSelector) -> CacheScope:
    """Return what a cache of a resource follows."""
    return CacheScope(
        group=resource.group,
        plural=resource.plural,
        namespace=namespace,
        labels=Selector.parse(labels) if isinstance(labels, str) else labels,
        fields=FieldSelector.parse(fields) if isinstance(fields, str) else fields,
    )
