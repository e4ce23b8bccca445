"""The stages of a lazy object: hidden subclasses that read a part when it is first touched.

A lazy `Book` is a `Book` to `isinstance` and to the checkers. It stands at one of three stages, each a class
of the same layout, so that going on is an assignment to ``__class__``::

    front ──any touch or write──> lazy ──the last part is touched──> the plain class
    its identity has been read;   each part is JSON
    a span keeps the rest         or already a value

The *front* of an object is its kind, name, namespace, uid and version, read from the beginning of its text;
what is behind was not looked at, not even to see that it is JSON. Of a *lazy* object every byte was looked
at, and its parts are `Raw`. What was not read is checked when it is read: what does not fit then is an
`InvalidObject` that names the object. Parts that nobody touched are written back byte for byte.

The metadata goes through the same stages on its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

import msgspec
from msgspec import Raw, Struct, StructMeta

from .._errors import InvalidObject
from ._values import decoder_of, unresolved

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from ._spans import Span

T = TypeVar("T")

NOT_JSON: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)

# A part that the text does not have. As the default of its field it is never written.
ABSENT: Final = Raw(b"")


class Stages:
    """The hidden subclasses of one class, and how an object goes from one to the next.

    `parts` are left as JSON in the lazy class, one by one; `unread` is all that the front leaves behind.
    `nested` gives, for the fields that have stages of their own, their stages.
    """

    def __init__(
        self, plain: type[Any], parts: Iterable[str], unread: Iterable[str], nested: Mapping[str, Stages]
    ) -> None:
        try:
            self._fields = {field.name: field for field in msgspec.structs.fields(plain)}
        except (NameError, AttributeError) as error:
            raise unresolved(plain.__qualname__, error) from None
        self._slots = {name: getattr(plain, name) for name in self._fields}
        self._readers: dict[str, Callable[[Raw], Any]] = {}
        self._unread = tuple(unread)
        self.plain = plain
        self.parts = tuple(name for name in parts if self._fields[name].type is not Raw)
        self.lazy: type[Any] = self._hide_parts({name: stages.lazy for name, stages in nested.items()})
        self.front: type[Any] = self._hide(
            {name: stages.front for name, stages in nested.items()}, self._unread, Any
        )
        for name in self._unread:
            type.__setattr__(self.front, name, self._unread_part(name))
        type.__setattr__(self.front, "__setattr__", self._write_to_front())
        # Any slot would do to carry the span: all of them are filled when it is read.
        self._carrier = self._slots[self._unread[0]] if self._unread else None
        self.carries = self._carrier is not None
        self.carry: Callable[[Any, Span], None] = getattr(self._carrier, "__set__", _carries_nothing)
        self.carried: Callable[[Any], Span] = getattr(self._carrier, "__get__", _carries_nothing)
        STAGES[plain] = self

    def span(self, obj: Any) -> Span | None:
        """Where a front's text stands; None for an object at another stage."""
        if type(obj) is not self.front or self._carrier is None:
            return None
        return self.carried(obj)

    def unfold(self, obj: Any) -> None:
        """From front to lazy."""
        if (span := self.span(obj)) is not None:
            try:
                whole = self._whole(span)
            except NOT_JSON as error:
                raise InvalidObject(f"{label(obj)}: {error}") from None
            for name in self._unread:
                slot = self._slots[name]
                slot.__set__(obj, slot.__get__(whole))
        if type(obj) is self.front:
            _become(obj, self.lazy if self.parts else self.plain)

    def settle(self, obj: Any) -> None:
        """From any stage to the plain class: all that was not read is read now."""
        self.unfold(obj)
        for name in self.parts:
            getattr(obj, name)
        if type(obj) is not self.plain:
            _become(obj, self.plain)

    def _whole(self, span: Span) -> Any:
        """The object of a span once more, with every byte looked at."""
        raise NotImplementedError

    def _hide_parts(self, types: dict[str, Any], *, required: str = "") -> type[Any]:
        """A subclass that leaves the parts as JSON."""
        hidden = self._hide(types, self.parts, Raw, required=required)
        for name in self.parts:
            type.__setattr__(hidden, name, self._lazy_part(name))
        return hidden

    def _hide(
        self, types: dict[str, Any], left: Iterable[str], left_type: Any, *, required: str = ""
    ) -> type[Any]:
        """A subclass that looks like the class, but for what it leaves unread, and for what it must have."""
        plain = self.plain
        body: dict[str, Any] = {
            "__annotations__": types | dict.fromkeys(left, left_type),
            "__module__": plain.__module__,
            "__qualname__": plain.__qualname__,
            "__doc__": plain.__doc__,
            "__hash__": plain.__hash__,  # which a class with an __eq__ of its own does not inherit
            **{name: getattr(_Settled, name) for name in _SETTLED},
        }
        for name in types:
            if name != required:
                body[name] = msgspec.field(default_factory=types[name])
        for name in left:
            # The front must not even see the key: what it left out is read from the whole.
            wire = self._fields[name].encode_name if left_type is Raw else f"-{name}"
            body[name] = msgspec.field(default=ABSENT, name=wire)
        # Past our own metaclass, which would turn the defaults into values that are sent.
        make = cast("Any", StructMeta.__new__)
        hidden: type[Any] = make(
            type(plain), plain.__name__, (plain,), body, kw_only=True, omit_defaults=True
        )
        STAGES[hidden] = self
        return hidden

    def _lazy_part(self, name: str) -> property:
        get, put = self._slots[name].__get__, self._slots[name].__set__

        def read(obj: Any) -> Any:
            value = get(obj)
            return self._settle_part(obj, name, value) if type(value) is Raw else value

        def write(obj: Any, value: Any) -> None:
            put(obj, value)

        return property(read, write)

    def _unread_part(self, name: str) -> property:
        def read(obj: Any) -> Any:
            self.unfold(obj)
            return getattr(obj, name)

        return property(read)

    def _write_to_front(self) -> Callable[[Any, str, Any], None]:
        def write(obj: Any, name: str, value: Any) -> None:
            # A front that was written to no longer is what its span says.
            self.unfold(obj)
            setattr(obj, name, value)

        return write

    def _settle_part(self, obj: Any, name: str, raw: Raw) -> Any:
        value = self._default(obj, name) if raw is ABSENT else self._read_part(obj, name, raw)
        self._slots[name].__set__(obj, value)
        if not any(type(self._slots[part].__get__(obj)) is Raw for part in self.parts):
            _become(obj, self.plain)
        return value

    def _read_part(self, obj: Any, name: str, raw: Raw) -> Any:
        reader = self._readers.get(name)
        if reader is None:
            owner = f"{self.plain.__qualname__}.{name}"
            reader = self._readers[name] = decoder_of(self._fields[name].type, owner).decode
        try:
            return reader(raw)
        except NOT_JSON as error:
            path = f"`$.{self._path}{self._fields[name].encode_name}"
            said = str(error) if "`$" in str(error) else f"{error} - at `$`"
            raise InvalidObject(f"{label(obj)}: {said.replace('`$', path, 1)}") from None

    def _default(self, obj: Any, name: str) -> Any:
        field = self._fields[name]
        if field.default is not msgspec.NODEFAULT:
            return field.default
        if field.default_factory is not msgspec.NODEFAULT:
            return field.default_factory()
        raise InvalidObject(f"{label(obj)}: {field.encode_name} is missing")

    _path = ""


def _settle(obj: Any) -> Any:
    """The same object at the plain stage. It may sit in a hidden class, which is how this was called."""
    STAGES[type(obj)].settle(obj)
    return obj


class _Settled:
    """What hidden classes do only once nothing is left unread."""

    def __repr__(self) -> str:
        try:
            return repr(_settle(self))
        except InvalidObject as error:
            return f"<{type(self).__name__} that cannot be read: {error}>"

    def __eq__(self, other: object) -> bool:
        return bool(_settle(self) == other)

    def __ne__(self, other: object) -> bool:
        return bool(_settle(self) != other)

    def __lt__(self, other: Any) -> bool:
        return bool(_settle(self) < other)

    def __le__(self, other: Any) -> bool:
        return bool(_settle(self) <= other)

    def __gt__(self, other: Any) -> bool:
        return bool(_settle(self) > other)

    def __ge__(self, other: Any) -> bool:
        return bool(_settle(self) >= other)

    def __rich_repr__(self) -> Any:
        return _settle(self).__rich_repr__()

    def __copy__(self) -> Any:
        return _settle(self).__copy__()

    def __reduce__(self) -> Any:
        return _settle(self).__reduce__()

    def __replace__(self, **changes: Any) -> Any:
        return msgspec.structs.replace(_settle(self), **changes)


_SETTLED: Final = (
    "__repr__", "__rich_repr__", "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__",
    "__copy__", "__reduce__", "__replace__",
)  # fmt: skip
STAGES: Final[dict[type[Any], Stages]] = {}


def _carries_nothing(obj: Any, *_: Span) -> Any:
    raise AssertionError(f"a {type(obj).__name__} leaves nothing unread")


def _become(obj: Any, class_: type[Any]) -> None:
    Struct.__setattr__(obj, "__class__", class_)


def label(obj: Any) -> str:
    """How an error names an object, or the metadata of one."""
    meta = getattr(obj, "metadata", obj)
    name = f"{meta.namespace}/{meta.name}" if meta.namespace else meta.name or "(no name)"
    return str(name) if obj is meta else f"{obj.kind} {name}"
