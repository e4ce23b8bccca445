"""The sources of a controller's keys: changes of its own kind, of other kinds, and triggers.

A source follows one kind and maps each change to keys. Objects of the first list, and repetitions, are less
urgent than actual changes.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from msgspec import Struct

from kubeproto import InvalidObject, KubeObject, Resource
from kubeproto.control import Change, key_of
from kubeproto.objects import Reader

from ..tasks._error_texts import log_failure, value_repr
from ..tasks._stray_cancellations import failure_types

if TYPE_CHECKING:
    from kubeproto.control import CachedObject
    from kubeproto.objects import FieldSelector, Selector
    from kubeproto.requests import AllNamespaces

K = TypeVar("K", bound=KubeObject)

ChangePredicate: TypeAlias = Callable[[Change[Any]], bool]
Keys: TypeAlias = Callable[[Change[Any]], Iterable[str]]
"""Maps a change to keys; the same key may be returned twice."""


class KindSource(Struct, frozen=True):
    """A followed kind: the selectors of its objects, the predicate of its changes, and their keys."""

    kind: type[Any]
    resource: Resource
    namespaces: tuple[str | AllNamespaces, ...]
    keys: Keys | None  # None: the object's own key
    when: ChangePredicate | None
    label_selector: str | Selector
    field_selector: str | FieldSelector
    transform: Callable[[bytes], bytes] | None = None


class _Owner(Struct, rename="camel"):
    api_version: str = ""
    kind: str = ""
    name: str = ""
    controller: bool | None = None


class _OwnedMetadata(Struct, rename="camel"):
    namespace: str = ""
    owner_references: list[_Owner] | None = None


class _Owned(Struct):
    metadata: _OwnedMetadata


def owners(resource: Resource, *, controllers_only: bool) -> Keys:
    """Return a function that maps a change to the keys of the owners of this kind, before and after it.

    Owners match by group and kind; their API version may differ, and the uid is ignored (see
    docs/decisions/runtime/owners.md). An owner is in the namespace of the object,
    unless its kind is cluster-scoped.
    """
    read = Reader[_Owned](_Owned).read

    def keys_in(entry: CachedObject) -> Iterable[str]:
        try:
            metadata = read(entry.raw).metadata
        except InvalidObject:
            return
        for owner in metadata.owner_references or ():
            group, _, _ = owner.api_version.rpartition("/")
            matches = (group, owner.kind) == (resource.group, resource.kind)
            if matches and (owner.controller or not controllers_only):
                yield key_of(owner.name, metadata.namespace if resource.namespaced else "")

    return lambda change: (key for entry in _entries(change) for key in keys_in(entry))


def mapped(kind: type[K], to_keys: Callable[[K], Iterable[str]], name: str) -> Keys:
    """Return a function that maps a change to the keys that `to_keys` returns for both of its objects.

    If it fails on an object, the failure is logged, and the object has no keys. So the other objects are
    still reconciled.
    """
    log = logging.getLogger(f"kubeproto.controller.{name}")

    def keys_of(change: Change[K]) -> Iterable[str]:
        for entry in _entries(change):
            try:
                keys = _check_keys(to_keys(change.read(entry)))
            except InvalidObject as error:
                log.warning("%s leads to no key: %s", change.ref, error)
            except failure_types() as error:
                line = "%s leads to no key, because the function for its keys failed"
                log_failure(log, line, change.ref, error=error)
            else:
                yield from keys

    return keys_of


def _check_keys(returned: Iterable[str]) -> list[str]:
    """Check the keys of a function. A string would otherwise be one key for each letter."""
    keys: list[Any] = [returned] if isinstance(returned, str) else list(returned)
    if isinstance(returned, str) or not all(isinstance(key, str) for key in keys):
        raise TypeError(
            "the function must return a list of keys, each namespace/name, not " + value_repr(returned)
        )
    return [str.__str__(key) for key in keys]  # a str subclass may override __hash__ or __eq__


def _entries(change: Change[Any]) -> Iterable[CachedObject]:
    return (entry for entry in (change.old, change.new) if entry is not None)
