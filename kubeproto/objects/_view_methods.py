"""The methods of views: a view equals its plain object, has its repr, and can be converted into it."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar, cast

import msgspec
from msgspec import Struct

from .._errors import InvalidObject

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

T = TypeVar("T")


class HiddenClasses(Protocol):
    """The part of `Views` that the methods of hidden subclasses use."""

    plain: type[Any]

    @property
    def fields(self) -> Mapping[str, object]:
        """The fields of the class by name."""
        ...

    def open(self, obj: Any) -> object:
        """Find the members of an object's text."""
        ...

    def values(self, obj: Any) -> dict[str, Any]:
        """Read every field of an object."""
        ...


# The views of a class, by the plain class and by each hidden subclass.
VIEWS: Final[dict[type[Any], HiddenClasses]] = {}


def to_plain(obj: T) -> T:
    """Return an object of the plain class with all parts read; a plain object is returned unchanged."""
    views = VIEWS.get(type(obj))
    if views is None or type(obj) is views.plain:
        meta = getattr(obj, "metadata", None)
        if isinstance(obj, Struct) and type(meta) in VIEWS and (plain := to_plain(meta)) is not meta:
            return cast("T", msgspec.structs.replace(obj, metadata=plain))
        return obj
    values = views.values(obj)
    if "metadata" in values:
        values["metadata"] = to_plain(values["metadata"])
    return cast("T", views.plain(**values))


def kind_of(obj: T) -> type[T]:
    """Return the class that the program defined, even if the object is of its hidden subclass."""
    views = VIEWS.get(type(obj))
    return type(obj) if views is None else cast("type[T]", views.plain)


def asdict(obj: Struct) -> dict[str, Any]:
    """Return the fields of an object by name, like `msgspec.structs.asdict`; unread parts are read."""
    plain: Any = kind_of(obj)
    return {name: getattr(obj, name) for name in plain.__struct_fields__}


def replace(obj: T, **changes: Any) -> T:
    """Return a copy of an object with other values in some fields, as `msgspec.structs.replace` does."""
    views = VIEWS.get(type(obj))
    if views is None or type(obj) is views.plain:
        return cast("T", msgspec.structs.replace(cast("Any", obj), **changes))
    if unknown := changes.keys() - views.fields.keys():
        raise TypeError(f"{views.plain.__name__} has no field {min(unknown)!r}")
    other: Any = cast("Any", obj).__copy__()
    for name, value in changes.items():
        setattr(other, name, value)
    return cast("T", other)


def label_of(obj: Any) -> str:
    """Return the label of an object, or of its metadata, for errors."""
    meta = getattr(obj, "metadata", obj)
    name = f"{meta.namespace}/{meta.name}" if meta.namespace else meta.name or "(no name)"
    return str(name) if obj is meta else f"{obj.kind} {name}"


def _set_field(obj: Any, name: str, value: Any) -> None:
    # The text is split before the change: afterwards the object no longer matches it.
    VIEWS[type(obj)].open(obj)
    Struct.__setattr__(obj, name, value)


def _repr(obj: Any) -> str:
    try:
        return repr(to_plain(obj))
    except InvalidObject as error:
        return f"<{type(obj).__name__} that cannot be read: {error}>"


def _rich_repr(obj: Any) -> Any:
    plain: Any = to_plain(obj)
    return plain.__rich_repr__()


def _make_comparison(compare: Callable[[Any, Any], Any]) -> Callable[[Any, object], Any]:
    def compare_plain(obj: Any, other: object) -> Any:
        views = VIEWS.get(type(other))
        if views is not VIEWS[type(obj)]:
            return NotImplemented
        return compare(to_plain(obj), to_plain(other))

    return compare_plain


# Each hidden subclass has these methods. Those of a Struct, in C, would see unread slots.
METHODS: Final[dict[str, Any]] = {
    "__setattr__": _set_field,
    "__repr__": _repr,
    "__rich_repr__": _rich_repr,
    "__replace__": replace,
    **{
        f"__{name}__": _make_comparison(getattr(operator, name))
        for name in ("eq", "ne", "lt", "le", "gt", "ge")
    },
}
