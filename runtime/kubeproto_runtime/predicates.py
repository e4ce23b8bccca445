"""Predicates: which changes are worth a reconcile, combined by `&`, `|` and `~`.

Objects that are added or deleted pass every predicate here, and so does an object that has replaced another
one while no watch was open: predicates are about what has changed in an object that stayed. An unreadable
object passes as well: a superfluous change costs a reconcile, a missing one is a bug.

A predicate is any function from a `Change` to a bool; `Predicate` makes one that can be combined.
"""

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from msgspec import Raw, Struct

from kubeproto import InvalidObject
from kubeproto.control import CachedObject, Change
from kubeproto.objects import Reader, Selector, members

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
    """A function that says whether a change passes, and combines with others: `a & b`, `a | b`, `~a`."""

    def __init__(self, passes: ChangeFilter, says: str = "") -> None:
        self._passes = passes
        self._says = says or getattr(passes, "__qualname__", repr(passes))

    def __call__(self, change: Change[Any]) -> bool:
        """Return whether the change is worth a reconcile."""
        return self._passes(change)

    def __and__(self, other: ChangeFilter) -> "Predicate":
        return Predicate(lambda change: self(change) and other(change), f"({self!r} & {other!r})")

    def __or__(self, other: ChangeFilter) -> "Predicate":
        return Predicate(lambda change: self(change) or other(change), f"({self!r} | {other!r})")

    def __invert__(self) -> "Predicate":
        return Predicate(lambda change: not self(change), f"~{self!r}")

    def __repr__(self) -> str:
        return self._says


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


def _head(text: bytes) -> _Metadata:
    # Not the object as a whole: other parts of it may be nested too deeply to be read at once.
    return _read_metadata(members(text).get("metadata", b"{}"))


def _about_metadata(differ: Callable[[_Metadata, _Metadata], bool], says: str) -> Predicate:
    def passes(change: Change[Any]) -> bool:
        if change.type != "MODIFIED" or change.old is None or change.new is None:
            return True
        try:
            old, new = _head(change.old.raw), _head(change.new.raw)
        except InvalidObject:
            return True
        return old.uid != new.uid or differ(old, new)

    return Predicate(passes, says)


# A kind without a generation cannot show this.
generation: Final = _about_metadata(
    lambda old, new: old.generation != new.generation or not new.generation, "generation"
)
"""The specification has changed, as the server counts it; kinds without a generation always pass."""

labels: Final = _about_metadata(lambda old, new: (old.labels or {}) != (new.labels or {}), "labels")
"""A label has changed."""

annotations: Final = _about_metadata(
    lambda old, new: (old.annotations or {}) != (new.annotations or {}), "annotations"
)
"""An annotation has changed."""

finalizers: Final = _about_metadata(
    lambda old, new: (
        (old.finalizers or []) != (new.finalizers or []) or old.deletion_timestamp != new.deletion_timestamp
    ),
    "finalizers",
)
"""A finalizer was added or removed, or the object is being deleted, which is what finalizers wait for."""


def changed(*path: str) -> Predicate:
    """A field has another value: ``changed("spec.size")``; give names that contain dots one by one."""
    if not path or not all(path):
        raise ValueError(f"changed{path!r}: this names no field")
    names = tuple(path[0].split(".")) if len(path) == 1 else path

    def differ(old: bytes, new: bytes) -> bool:
        return not _same(_at(old, names), _at(new, names))

    return _about_content(differ, f"changed({'.'.join(names)})")


def selected(selector: str | Selector) -> Predicate:
    """The object's labels match, or have matched until now."""
    meant = Selector.parse(selector) if isinstance(selector, str) else selector

    def matches(entry: CachedObject | None) -> bool:
        if entry is None:
            return False
        try:
            return meant.matches(_head(entry.raw).labels or {})
        except InvalidObject:
            return True

    return Predicate(lambda change: matches(change.new) or matches(change.old), f"selected({meant})")


def _differ_beyond_status(old: bytes, new: bytes) -> bool:
    before, after = members(old), members(new)
    for fields in (before, after):
        fields.pop("status", None)
    was, now = (_read_metadata(fields.pop("metadata", b"{}")) for fields in (before, after))
    # Kinds with a generation count changes of their specification; here the content decides, for all kinds.
    was.generation = now.generation
    return (
        was != now
        or before.keys() != after.keys()
        or any(not _same(before[name], after[name]) for name in before)
    )


def _about_content(differ: Callable[[bytes, bytes], bool], says: str) -> Predicate:
    def passes(change: Change[Any]) -> bool:
        if change.type != "MODIFIED" or change.old is None or change.new is None:
            return True
        if change.old is change.new:
            return False
        try:
            return differ(change.old.raw, change.new.raw) or change.replaced
        except InvalidObject:
            return True

    return Predicate(passes, says)


beyond_status: Final = _about_content(_differ_beyond_status, "beyond_status")
"""Anything but the status has changed: the controller's own report is no reason for another run.

Versions and managed fields do not count, owners, finalizers and a deletion do.
"""


def _at(text: bytes | Raw, names: tuple[str, ...]) -> bytes | Raw | None:
    """Return the JSON of a field, None if there is none."""
    found: bytes | Raw = text
    for name in names:
        try:
            fields = members(found)
        except InvalidObject:
            return None  # not an object, so it has no fields
        if name not in fields:
            return None
        found = fields[name]
    return found


def _same(one: bytes | Raw | None, other: bytes | Raw | None) -> bool:
    if one is None or other is None:
        return one is other
    # Servers write the same value in the same way, nearly always.
    return bytes(one) == bytes(other) or bool(_read_value(one) == _read_value(other))


def _begins_deletion(change: Change[Any]) -> bool:  # pyright: ignore[reportUnusedFunction] # by key feeds
    """Return whether the object is being deleted from now on: then finalizers wait for a run.

    A controller lets such a change pass in any case. With the predicate `labels`, for example, it would
    otherwise never clean up, and the object would stay forever.
    """
    if change.type != "MODIFIED" or change.old is None or change.new is None:
        return False
    if _DELETION not in change.new.raw:  # a search in C, for nearly every change
        return False
    try:
        old, new = _head(change.old.raw), _head(change.new.raw)
    except InvalidObject:
        return False
    return bool(new.deletion_timestamp) and (not old.deletion_timestamp or old.uid != new.uid)
