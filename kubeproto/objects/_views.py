"""Views: objects whose parts are read from their text when they are used.

A view of a `Book` is a `Book` for `isinstance`, `match` and the type checkers. It is an instance of a hidden
subclass, which has the fields of a Book and the position of its text::

    decoded        identity: kind, name, namespace, uid, version;  the text's span;  every other part ABSENT
       │ a part is read, or a field is written
       ▼
    opened         the text is split into members (`Source`); a part becomes a value on its first read

Only the identity is read before that, so a part that does not fit is an `InvalidObject` that names the object
when the part is used. The text is kept: `encode` writes back unchanged parts as they were received, including
keys that the class does not know, and a Store keeps the text.

Only the metadata, which is a view too, holds the span: a busy watch sets it for each object, and a
single assignment is cheaper than two. An object finds it there, and copies it before its metadata can be
replaced. An object keeps its hidden class: changing it to the plain class by ``__class__`` would leave no
slot for the text.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any, ClassVar, Final, cast

import msgspec
from msgspec import Raw, Struct, StructMeta
from msgspec.structs import force_setattr

from .._errors import InvalidObject
from ._base import KubeObject
from ._copies import ABSENT, deep_copy, fields_in_memory, pickle_fields, unpickle_fields
from ._depths import Dynamic
from ._json_hooks import unresolved
from ._meta import ObjectMeta
from ._reading import Reader, TooDeep
from ._sources import Source, shallow
from ._spans import SPANS, Span, copy_plain, line_of, object_in
from ._view_methods import METHODS, VIEWS, label

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ._resource import Resource

IDENTITY: Final = ("name", "namespace", "uid", "resource_version")
HEAD: Final = ("kind", "api_version", "metadata")

# The slot for the text: None, a span, or the `Source` after the split into members.
SOURCE: Final = "source_"

# Its name on the wire, with two dashes: an unread part has one dash before its name, and Events have a
# `source`.
_SOURCE_KEY: Final = "--source"

_write: Final = msgspec.json.encode

# Before it gets its text, the metadata of a view has a number, which counts all that have been made. If
# reading one event has made two, a key occurs twice in it, and its text cannot be found from its ends.
NEXT_NUMBER: Final = count().__next__


class Views:
    """The hidden subclasses of a class: `view` reads parts on use, `typed` all but the metadata at once.

    `parts` are the fields that a view leaves unread.
    """

    def __init__(self, plain: type[Any], parts: Iterable[str]) -> None:
        try:
            self.fields = {field.name: field for field in msgspec.structs.fields(plain)}
        except (NameError, AttributeError) as error:
            raise unresolved(plain.__qualname__, error) from None
        self.slots = {name: getattr(plain, name) for name in self.fields}
        self.plain = plain
        self.parts = tuple(parts)
        self._readers: dict[str, Reader[Any]] = {}
        self.typed: type[Any] = self._hide(plain, ())
        self.view: type[Any] = self._hide(self.typed, self.parts)
        for name in self.parts:
            type.__setattr__(self.view, name, self._part(name))
        self.source = getattr(self.typed, SOURCE)
        VIEWS[plain] = self

    def open(self, obj: Any) -> Source:
        """Find the members of an object's text."""
        raise NotImplementedError

    def read(self, source: Source, name: str, obj: Any) -> Any:
        """Return a field as the text has it, typed."""
        field = self.fields[name]
        raw = self._members(source).get(field.encode_name)
        if raw is None:
            return self.default(name, obj)
        part_reader = self._readers.get(name)
        if part_reader is None:
            owner = f"{self.plain.__qualname__}.{name}"
            part_reader = self._readers[name] = Reader[Any](field.type, owner)
        try:
            return part_reader.read(raw)
        except InvalidObject as error:
            path = f"`$.{self._path}{field.encode_name}"
            message = str(error) if "`$" in str(error) else f"{error} - at `$`"
            raise InvalidObject(f"{label(obj)}: {message.replace('`$', path, 1)}") from None

    def default(self, name: str, obj: Any) -> Any:
        """Return the value of a field if the text has no such key."""
        field = self.fields[name]
        if field.default is not msgspec.NODEFAULT:
            return field.default
        if field.default_factory is not msgspec.NODEFAULT:
            return field.default_factory()
        raise InvalidObject(f"{label(obj)}: {field.encode_name} is missing")

    def values(self, obj: Any) -> dict[str, Any]:
        """Return all fields; those that have not been read are read now."""
        return {name: getattr(obj, name) for name in self.fields}

    def _members(self, source: Source) -> dict[str, Raw]:
        return source.members

    _path = ""

    def _hide(self, base: type[Any], unread: Iterable[str]) -> type[Any]:
        """Make a subclass with a place for the text, which decodes everything but its unread parts."""
        plain = self.plain
        body: dict[str, Any] = {
            "__annotations__": {"plain_": ClassVar[type[Any]]}
            | self._nested()
            | dict.fromkeys(unread, Any)
            | {SOURCE: Any},
            "__module__": plain.__module__,
            "__qualname__": plain.__qualname__,
            "__doc__": plain.__doc__,
            "__hash__": plain.__hash__,  # which a class that defines __eq__ does not inherit
            "__deepcopy__": deep_copy,
            "__reduce_ex__": _reduced,
            "plain_": plain,
            **METHODS,
            # msgspec must not see the key of a part that is left unread.
            **{name: msgspec.field(default=ABSENT, name=f"-{name}") for name in unread},
            **{name: msgspec.field(default_factory=type_) for name, type_ in self._nested().items()},
            SOURCE: self._no_text(),
        }
        # Not by our own metaclass, which would turn the defaults into values that are sent.
        make = cast("Any", StructMeta.__new__)
        # No default is omitted: an encoder without knowledge of views must fail on an unread part. A server
        # sends trees; the garbage collector's walk over it took a third of a busy watch's time.
        hidden: type[Any] = make(
            type(plain), plain.__name__, (base,), body, kw_only=True, omit_defaults=False, gc=False
        )
        VIEWS[hidden] = self
        return hidden

    def _nested(self) -> dict[str, type[Any]]:
        return {}

    def _no_text(self) -> Any:
        return msgspec.field(default=None, name=_SOURCE_KEY)

    def _part(self, name: str) -> property:
        get, put = self.slots[name].__get__, self.slots[name].__set__

        def read(obj: Any) -> Any:
            value = get(obj)
            if value is ABSENT:
                value = self.read(self.open(obj), name, obj)
                put(obj, value)
            return value

        return property(read, put)


class MetaViews(Views):
    """The views of the metadata of any kind."""

    _path = "metadata."

    def __init__(self) -> None:
        super().__init__(ObjectMeta, [name for name in ObjectMeta.__struct_fields__ if name not in IDENTITY])

    def open(self, obj: Any) -> Source:
        source = self.source.__get__(obj)
        if type(source) is not Source:
            source = _source(obj, obj, source)
            self.source.__set__(obj, source)
        return source

    def _members(self, source: Source) -> dict[str, Raw]:
        return source.metadata

    def _no_text(self) -> Any:
        return msgspec.field(default_factory=NEXT_NUMBER, name=_SOURCE_KEY)


class KindViews(Views):
    """The views of a kind of object."""

    def __init__(self, kind: type[Any], *, lazy: bool) -> None:
        resource: Resource | None = getattr(kind, "resource", None)
        # A class without an identity takes its kind from the text.
        self.pinned = resource is not None
        self.cluster_scoped = resource is not None and not resource.namespaced
        # The methods of such a kind would see parts that have not been read, so it is read at once.
        self.lazy = lazy
        self._pins = () if resource is None else (
            ("kind", "kind", Raw(_write(resource.kind))),
            ("api_version", "apiVersion", Raw(_write(resource.api_version))),
        )  # fmt: skip
        super().__init__(kind, [name for name in kind.__struct_fields__ if name not in HEAD])
        # They read a text as a view, or as an object whose own parts are typed, which has no text yet.
        self.read_lazily: Callable[[bytes], Any] = Reader[Any](self.payload(strict=False)).read
        self.read_strictly: Callable[[bytes], Any] = Reader[Any](self.payload(strict=True)).read

    def payload(self, *, strict: bool) -> type[Any]:
        """Return the class as which text is decoded; pass the text of such an object to `attach`."""
        if not self.lazy:
            return self.plain
        # The content of a Dynamic is not one key, so it is read from the text at any depth.
        return self.typed if strict and not isinstance(self, _DynamicViews) else self.view

    def attach(self, obj: KubeObject, span: Span) -> None:
        """Set the span of a newly decoded object."""
        if not self.lazy:
            # It was decoded as the plain class; its metadata is the only place for the text.
            meta = obj.metadata
            view = META.view(**{name: getattr(meta, name) for name in IDENTITY})
            force_setattr(obj, "metadata", view)
        force_setattr(obj.metadata, SOURCE, span)

    def open(self, obj: Any) -> Source:
        source: Source | None = self.source.__get__(obj)
        if source is None:
            meta = obj.metadata
            meta_source = META.source.__get__(meta)
            source = meta_source if type(meta_source) is Source else _source(obj, meta, meta_source)
            META.source.__set__(meta, source)
            for name, key, expected in self._pins:  # a front need not contain them
                # In a server's spelling they need not be decoded, which took a fifth of the first access.
                if source.members.get(key) != expected:
                    self.read(source, name, obj)
            self.source.__set__(obj, source)
        return source

    def untouched_text(self, obj: Any) -> bytes | None:
        """Return the text of a view if neither it nor its metadata has been used; None otherwise."""
        meta = obj.metadata
        if type(obj) is self.view and type(meta) is META.view and obj.source_ is None:
            span = meta.source_
            if type(span) in SPANS:
                return copy_plain(span) or _find_text(obj, meta, span)
        return None

    def _nested(self) -> dict[str, type[Any]]:
        return {"metadata": META.view}


class _DynamicViews(KindViews):
    """Any kind: all fields except the metadata are a single part, a dict."""

    def read(self, source: Source, name: str, obj: Any) -> Any:
        if name != "content":
            return super().read(source, name, obj)
        return {
            key: self._value(raw, key, obj)
            for key, raw in source.members.items()
            if key not in ("kind", "apiVersion", "metadata")
        }

    def _value(self, raw: Raw, key: str, obj: Any) -> Any:
        try:
            return _any(raw)
        except InvalidObject as error:
            raise InvalidObject(f"{label(obj)}: {error} - at `$.{key}`") from None


def _source(obj: Any, meta: Any, span: Span) -> Source:
    text = text_in(obj, meta, span)
    try:
        return Source(text)
    except InvalidObject as error:
        raise InvalidObject(f"{label(obj)}: {error}") from None


def text_in(obj: Any, meta: Any, span: Span) -> bytes:
    """Return the text of a span of an object or of its metadata."""
    return copy_plain(span) or _find_text(obj, meta, span)


def _find_text(obj: Any, meta: Any, span: Span) -> bytes:
    """Search the text in an unusual line; `InvalidObject` if it is broken."""
    try:
        text = object_in(line_of(span))
        identity = _identity_in(text)
        if any(getattr(identity, name) != getattr(meta, name) for name in IDENTITY):
            # An event has the key "object" twice: the front showed the first, by JSON's rules the last
            # counts.
            raise InvalidObject("its event holds two objects")
    except InvalidObject as error:
        refusal = InvalidObject(f"{label(obj)}: {error}")
    else:
        return text
    raise refusal


def _identity_in(text: bytes) -> Any:
    try:
        return _read_identity(text).metadata
    except TooDeep:
        return _read_identity(shallow(text)).metadata


def text_of(obj: KubeObject) -> bytes | None:
    """Return the JSON that the server sent for an object; None for an object made by hand.

    It does not contain later changes of the object: `encode` writes the object as it is. `InvalidObject` if a
    part that was not read yet is not JSON.
    """
    views = VIEWS.get(type(obj))
    if isinstance(views, KindViews) and (type(obj) is not views.plain or not views.lazy):
        if (text := views.untouched_text(obj)) is not None:
            return text
        source: Any = views.source.__get__(obj) if type(obj) is not views.plain else None
        meta: Any = obj.metadata
        if source is None and type(meta) is META.view:
            source = META.source.__get__(meta)
        if type(source) is Source:
            return source.text
        if type(source) in SPANS:
            span: Any = source
            return text_in(obj, meta, span)
    return None


def views_of(kind: type[KubeObject]) -> KindViews:
    """Return the views of a kind."""
    views = VIEWS.get(kind)
    if views is None:
        lazy = not (hasattr(kind, "__post_init__") or kind.__struct_config__.frozen)
        views = _DynamicViews(kind, lazy=lazy) if issubclass(kind, Dynamic) else KindViews(kind, lazy=lazy)
    assert isinstance(views, KindViews)
    return views


def _reduced(obj: Any, protocol: int) -> Any:
    views = VIEWS[type(obj)]
    # The text is found first, so that an object and its metadata share it in the pickle too.
    state = {SOURCE: views.open(obj), **fields_in_memory(obj)}
    return _restored, (views.plain, pickle_fields(obj, state, protocol))


def _restored(plain: type[Any], state: bytes) -> Any:
    views = META if plain is ObjectMeta else views_of(plain)
    return views.view(**unpickle_fields(state))


META: Final = MetaViews()

_any: Final = Reader[Any](Any).read


class _Identity(Struct):
    metadata: META.view  # type: ignore[name-defined]


_read_identity: Final[Callable[[bytes], Any]] = Reader[Any](_Identity).read
