"""Predicates: functions that decide which changes cause a reconcile, combined by `&`, `|` and `~`.

A predicate compares the old and the new state of an object. Added and deleted objects pass every predicate of
this module. So does an object that replaced another object of the same name while no watch was open. An
unreadable object passes as well: a superfluous change costs a reconcile, and a missed change is a bug.

Any function from a `Change` to a bool is a predicate. `Predicate` wraps a function so that it can be
combined.
"""

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from msgspec import Raw, Struct

from kubeproto import InvalidObject
from kubeproto.control import CachedObject, Change
from kubeproto.objects import Reader, Selector, split_object

__all__ = [
    "ChangeFilter",
    "Predicate",
    "annotations",
    "beyond_status",
    "changed",
    "finalizers",
    "generation",
    "labels",
    "selected",
]

ChangeFilter: TypeAlias = Callable[[Change[Any]], bool]


class Predicate:
    """A function that returns whether a change causes a reconcile, combined as `a & b`, `a | b`, `~a`."""

    def __init__(self, passes: ChangeFilter, name: str = "") -> None:
        self._passes = passes
        self._name = name or getattr(passes, "__qualname__", repr(passes))

    def __call__(self, change: Change[Any]) -> bool:
        """Return whether the change causes a reconcile."""
        return self._passes(change)

    def __and__(self, other: ChangeFilter) -> "Predicate":
        return Predicate(lambda change: self(change) and other(change), f"({self!r} & {other!r})")

    def __or__(self, other: ChangeFilter) -> "Predicate":
        return Predicate(lambda change: self(change) or other(change), f"({self!r} | {other!r})")

    def __invert__(self) -> "Predicate":
        return Predicate(lambda change: not self(change), f"~{self!r}")

    def __repr__(self) -> str:
        return self._name


_DELETION: Final = b"deletionTimestamp"


class _Metadata(Struct, rename="camel"):
    uid: str = ""
    generation: int = 0
    deletion_timestamp: str | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    finalizers: list[str] | None = None
    owner_references: list[dict[str, Any]] | None = None


_read_metadata: Final = Reader[_Metadata](_Metadata).read
_read_value: Final = Reader[Any](Any).read


def _metadata_of(text: bytes) -> _Metadata:
    # Not `Reader[KubeObject]`: other split_object may be nested more deeply than the decoder allows.
    return _read_metadata(split_object(text).get("metadata", b"{}"))


def _metadata_predicate(differ: Callable[[_Metadata, _Metadata], bool], name: str) -> Predicate:
    def passes(change: Change[Any]) -> bool:
        if change.type != "MODIFIED" or change.old is None or change.new is None:
            return True
        try:
            old, new = _metadata_of(change.old.raw), _metadata_of(change.new.raw)
        except InvalidObject:
            return True
        return old.uid != new.uid or differ(old, new)

    return Predicate(passes, name)


# Objects of some kinds have no generation, so all of their changes pass.
generation: Final = _metadata_predicate(
    lambda old, new: old.generation != new.generation or not new.generation, "generation"
)
"""The generation has changed, so the spec has changed; objects without a generation always pass."""

labels: Final = _metadata_predicate(lambda old, new: (old.labels or {}) != (new.labels or {}), "labels")
"""A label has changed."""

annotations: Final = _metadata_predicate(
    lambda old, new: (old.annotations or {}) != (new.annotations or {}), "annotations"
)
"""An annotation has changed."""

finalizers: Final = _metadata_predicate(
    lambda old, new: (
        (old.finalizers or []) != (new.finalizers or []) or old.deletion_timestamp != new.deletion_timestamp
    ),
    "finalizers",
)
"""A finalizer was added or removed, or the deletion of the object was requested."""


def changed(*path: str) -> Predicate:
    """Return the predicate that a field has changed, as in ``changed("spec.size")``.

    If a name contains dots, pass each name of the path as an argument.
    """
    if not path or not all(path):
        raise ValueError(f"changed{path!r}: the path of the field is empty, or contains an empty name")
    names = tuple(path[0].split(".")) if len(path) == 1 else path

    def differ(old: bytes, new: bytes) -> bool:
        return not _are_equal(_field(old, names), _field(new, names))

    return _content_predicate(differ, f"changed({'.'.join(names)})")


def selected(selector: str | Selector) -> Predicate:
    """Return the predicate that the labels of the object match a selector now, or did before the change."""
    parsed_selector = Selector.parse(selector) if isinstance(selector, str) else selector

    def matches(entry: CachedObject | None) -> bool:
        if entry is None:
            return False
        try:
            return parsed_selector.matches(_metadata_of(entry.raw).labels or {})
        except InvalidObject:
            return True

    return Predicate(
        lambda change: matches(change.new) or matches(change.old), f"selected({parsed_selector})"
    )


def _differ_beyond_status(old: bytes, new: bytes) -> bool:
    old_members, new_members = split_object(old), split_object(new)
    for fields in (old_members, new_members):
        fields.pop("status", None)
    old_metadata, new_metadata = (
        _read_metadata(fields.pop("metadata", b"{}")) for fields in (old_members, new_members)
    )
    # The split_object are compared instead of the generation, because some kinds have no generation.
    old_metadata.generation = new_metadata.generation
    return (
        old_metadata != new_metadata
        or old_members.keys() != new_members.keys()
        or any(not _are_equal(old_members[name], new_members[name]) for name in old_members)
    )


def _content_predicate(differ: Callable[[bytes, bytes], bool], name: str) -> Predicate:
    def passes(change: Change[Any]) -> bool:
        if change.type != "MODIFIED" or change.old is None or change.new is None:
            return True
        if change.old is change.new:
            return False
        try:
            return differ(change.old.raw, change.new.raw) or change.replaced
        except InvalidObject:
            return True

    return Predicate(passes, name)


beyond_status: Final = _content_predicate(_differ_beyond_status, "beyond_status")
"""A part of the object other than the status has changed.

With this predicate, a controller is not called again by its own writes of the status. The resource version
and the managed fields are ignored. Owners, finalizers and a requested deletion are compared.
"""


def _field(text: bytes | Raw, names: tuple[str, ...]) -> bytes | Raw | None:
    """Return the JSON of a field, None if it is missing."""
    value: bytes | Raw = text
    for name in names:
        try:
            fields = split_object(value)
        except InvalidObject:
            return None  # the value is not an object, and has no fields
        if name not in fields:
            return None
        value = fields[name]
    return value


def _are_equal(old: bytes | Raw | None, new: bytes | Raw | None) -> bool:
    if old is None or new is None:
        return old is new
    # Servers nearly always write an equal value as equal bytes.
    return bytes(old) == bytes(new) or bool(_read_value(old) == _read_value(new))


def _begins_deletion(change: Change[Any]) -> bool:  # pyright: ignore[reportUnusedFunction] # by key feeds
    """Return whether the deletion of the object was requested by this change.

    Such a change passes every predicate of a controller. Otherwise a controller with the predicate `labels`,
    for example, would never remove its finalizer, and the object would never be deleted.
    """
    if change.type != "MODIFIED" or change.old is None or change.new is None:
        return False
    if _DELETION not in change.new.raw:  # a search in C, which decides for nearly every change
        return False
    try:
        old, new = _metadata_of(change.old.raw), _metadata_of(change.new.raw)
    except InvalidObject:
        return False
    return bool(new.deletion_timestamp) and (not old.deletion_timestamp or old.uid != new.uid)
