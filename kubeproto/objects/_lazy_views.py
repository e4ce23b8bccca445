"""Views: objects whose parts are read from their text on first use.

A view of a `Book` is a `Book` for `isinstance`, `match` and the type checkers. It is an instance of a hidden
subclass, which has the fields of a Book and the position of its text::

    decoded   the identity (kind, name, namespace, uid, version), the span of the text; other parts are ABSENT
       │ a part is read, or a field is written
       ▼
    opened    the text is split into members (`Source`); a part becomes a value on its first read

So a part that does not fit raises an `InvalidObject`, which names the object, when the part is used. The text
is kept: `encode` writes unchanged parts as they were received, including keys that the class does not know,
and a Store keeps the text.

Only the metadata, which is a view too, holds the span: a watch sets it for each object, and a second
assignment would take 30 ns of the 1.2 µs of an event. An object finds it there, and copies it before its
metadata can be replaced. An object keeps its hidden class: the plain class, assigned to ``__class__``, would
have no slot for the text.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any, ClassVar, Final, cast

import msgspec
from msgspec import Raw, Struct, StructMeta
from msgspec.structs import force_setattr

from .._errors import InvalidObject
from ._base import KubeObject
from ._copies import ABSENT, deep_copy, loaded_fields, pickle_fields, unpickle_fields
from ._depths import Dynamic
from ._json_hooks import unresolved
from ._json_reader import Reader, TooDeep
from ._object_meta import ObjectMeta
from ._scanning import Source, extract_identity
from ._spans import SPANS, Span, extract_object, line_of, strip_envelope
from ._view_methods import METHODS, VIEWS, label_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ._resource import Resource

IDENTITY: Final = ("name", "namespace", "uid", "resource_version")
COMMON_FIELDS: Final = ("kind", "api_version", "metadata")

# The name of the slot for the text: None, a span, or a `Source` after the split into members.
SOURCE: Final = "source_"

# Its key on the wire, which no object has. Two dashes, because the key of an unread part has one, and Events
# have a `source`.
_SOURCE_KEY: Final = "--source"

_encode_json: Final = msgspec.json.encode

# The default of the slot in the metadata of a view: a number that counts all created metadata. If reading
# an event has created two, a key occurs twice in it, and its text cannot be found from its ends.
NEXT_NUMBER: Final = count().__next__


class Views:
    """The hidden subclasses of a class: `view` reads parts on first use, `typed` has typed parts.

    In both the metadata is a view. `parts` are the fields that a view leaves unread.
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
        self.typed: type[Any] = self._make_subclass(plain, ())
        self.view: type[Any] = self._make_subclass(self.typed, self.parts)
        for name in self.parts:
            type.__setattr__(self.view, name, self._lazy_property(name))
        self.source = getattr(self.typed, SOURCE)
        VIEWS[plain] = self

    def open(self, obj: Any) -> Source:
        """Find the members of an object's text."""
        raise NotImplementedError

    def read(self, source: Source, name: str, obj: Any) -> Any:
        """Return the value of a field in the text, typed."""
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
            raise InvalidObject(f"{label_of(obj)}: {message.replace('`$', path, 1)}") from None

    def default(self, name: str, obj: Any) -> Any:
        """Return the value of a field if the text has no such key."""
        field = self.fields[name]
        if field.default is not msgspec.NODEFAULT:
            return field.default
        if field.default_factory is not msgspec.NODEFAULT:
            return field.default_factory()
        raise InvalidObject(f"{label_of(obj)}: {field.encode_name} is missing")

    def values(self, obj: Any) -> dict[str, Any]:
        """Return all fields; those that have not been read are read now."""
        return {name: getattr(obj, name) for name in self.fields}

    def _members(self, source: Source) -> dict[str, Raw]:
        return source.members

    _path = ""

    def _make_subclass(self, base: type[Any], unread: Iterable[str]) -> type[Any]:
        """Make a subclass with a slot for the text, which decodes all fields but the unread parts."""
        plain = self.plain
        body: dict[str, Any] = {
            "__annotations__": {"plain_": ClassVar[type[Any]]}
            | self._view_fields()
            | dict.fromkeys(unread, Any)
            | {SOURCE: Any},
            "__module__": plain.__module__,
            "__qualname__": plain.__qualname__,
            "__doc__": plain.__doc__,
            "__hash__": plain.__hash__,  # which a class that defines __eq__ does not inherit
            "__deepcopy__": deep_copy,
            "__reduce_ex__": _reduce,
            "plain_": plain,
            **METHODS,
            # msgspec must not find the key of an unread part.
            **{name: msgspec.field(default=ABSENT, name=f"-{name}") for name in unread},
            **{name: msgspec.field(default_factory=type_) for name, type_ in self._view_fields().items()},
            SOURCE: self._text_slot(),
        }
        # Without our own metaclass, which would turn the defaults into values that are sent.
        make_class = cast("Any", StructMeta.__new__)
        # No default is omitted: an encoder without knowledge of views must fail on an unread part. The
        # objects of servers are trees, so the garbage collector is not needed: with it, a page of 500 objects
        # takes 20 % longer, and a watch whose 50,000 events are kept takes at least twice as long.
        hidden: type[Any] = make_class(
            type(plain), plain.__name__, (base,), body, kw_only=True, omit_defaults=False, gc=False
        )
        VIEWS[hidden] = self
        return hidden

    def _view_fields(self) -> dict[str, type[Any]]:
        return {}

    def _text_slot(self) -> Any:
        return msgspec.field(default=None, name=_SOURCE_KEY)

    def _lazy_property(self, name: str) -> property:
        get, set_ = self.slots[name].__get__, self.slots[name].__set__

        def read(obj: Any) -> Any:
            value = get(obj)
            if value is ABSENT:
                value = self.read(self.open(obj), name, obj)
                set_(obj, value)
            return value

        return property(read, set_)


class MetaViews(Views):
    """The views of the metadata of any kind."""

    _path = "metadata."

    def __init__(self) -> None:
        super().__init__(ObjectMeta, [name for name in ObjectMeta.__struct_fields__ if name not in IDENTITY])

    def open(self, obj: Any) -> Source:
        source = self.source.__get__(obj)
        if type(source) is not Source:
            source = _split_text(obj, obj, source)
            self.source.__set__(obj, source)
        return source

    def _members(self, source: Source) -> dict[str, Raw]:
        return source.metadata

    def _text_slot(self) -> Any:
        return msgspec.field(default_factory=NEXT_NUMBER, name=_SOURCE_KEY)


class KindViews(Views):
    """The views of a kind of object."""

    def __init__(self, kind: type[Any], *, lazy: bool) -> None:
        resource: Resource | None = getattr(kind, "resource", None)
        # A class without a resource takes its kind from the text.
        self.pinned = resource is not None
        self.cluster_scoped = resource is not None and not resource.namespaced
        # False if methods of the kind would see unread parts: then objects are read completely.
        self.lazy = lazy
        self._pins = () if resource is None else (
            ("kind", "kind", Raw(_encode_json(resource.kind))),
            ("api_version", "apiVersion", Raw(_encode_json(resource.api_version))),
        )  # fmt: skip
        super().__init__(kind, [name for name in kind.__struct_fields__ if name not in COMMON_FIELDS])
        # They return an object without its span, which `attach` sets.
        self.read_lazily: Callable[[bytes], Any] = Reader[Any](self.payload(strict=False)).read
        self.read_strictly: Callable[[bytes], Any] = Reader[Any](self.payload(strict=True)).read

    def payload(self, *, strict: bool) -> type[Any]:
        """Return the class of newly decoded objects, whose spans `attach` sets."""
        if not self.lazy:
            return self.plain
        # The content of a Dynamic is several members, so it is read from the text even if `strict`.
        return self.typed if strict and not isinstance(self, _DynamicViews) else self.view

    def attach(self, obj: KubeObject, span: Span) -> None:
        """Set the span of a newly decoded object."""
        if not self.lazy:
            # It was decoded as the plain class, which has no slot for the text, so its metadata gets one.
            meta = obj.metadata
            view = META.view(**{name: getattr(meta, name) for name in IDENTITY})
            force_setattr(obj, "metadata", view)
        force_setattr(obj.metadata, SOURCE, span)

    def open(self, obj: Any) -> Source:
        source: Source | None = self.source.__get__(obj)
        if source is None:
            meta = obj.metadata
            meta_source = META.source.__get__(meta)
            source = meta_source if type(meta_source) is Source else _split_text(obj, meta, meta_source)
            META.source.__set__(meta, source)
            for name, key, expected in self._pins:  # an identity prefix need not contain them
                # A kind in a server's spelling is compared as JSON: decoding it would take 9 % of the first
                # access to a part.
                if source.members.get(key) != expected:
                    self.read(source, name, obj)
            self.source.__set__(obj, source)
        return source

    def untouched_text(self, obj: Any) -> bytes | None:
        """Return the text of a view if neither it nor its metadata has been used; None otherwise.

        A Store needs the text of each event: it takes 2.2 µs with the decoding of the event (0.5 KB), and ten
        times as long if the text is split into members.
        """
        meta = obj.metadata
        if type(obj) is self.view and type(meta) is META.view and obj.source_ is None:
            span = meta.source_
            if type(span) in SPANS:
                return strip_envelope(span) or _search_text(obj, meta, span)
        return None

    def _view_fields(self) -> dict[str, type[Any]]:
        return {"metadata": META.view}


class _DynamicViews(KindViews):
    """The views of `Dynamic`: the content is all members but the kind and the metadata, in a dict."""

    def read(self, source: Source, name: str, obj: Any) -> Any:
        if name != "content":
            return super().read(source, name, obj)
        return {
            key: self._read_member(raw, key, obj)
            for key, raw in source.members.items()
            if key not in ("kind", "apiVersion", "metadata")
        }

    def _read_member(self, raw: Raw, key: str, obj: Any) -> Any:
        try:
            return _read_any(raw)
        except InvalidObject as error:
            raise InvalidObject(f"{label_of(obj)}: {error} - at `$.{key}`") from None


def _split_text(obj: Any, meta: Any, span: Span) -> Source:
    text = find_text(obj, meta, span)
    try:
        return Source(text)
    except InvalidObject as error:
        raise InvalidObject(f"{label_of(obj)}: {error}") from None


def find_text(obj: Any, meta: Any, span: Span) -> bytes:
    """Return the text of a span of an object or of its metadata."""
    return strip_envelope(span) or _search_text(obj, meta, span)


def _search_text(obj: Any, meta: Any, span: Span) -> bytes:
    """Return the text of an object in an unusual line; raise `InvalidObject` if the line is broken."""
    try:
        text = extract_object(line_of(span))
        identity = _read_metadata(text)
        if any(getattr(identity, name) != getattr(meta, name) for name in IDENTITY):
            # The key "object" occurs twice: the identity prefix contained the first object, but JSON parsers
            # use the last object.
            raise InvalidObject("its event holds two objects")
    except InvalidObject as error:
        problem = InvalidObject(f"{label_of(obj)}: {error}")
    else:
        return text
    raise problem


def _read_metadata(text: bytes) -> Any:
    try:
        return _read_identity(text).metadata
    except TooDeep:
        return _read_identity(extract_identity(text)).metadata


def received_text(obj: KubeObject) -> bytes | None:
    """Return the JSON that the server sent for an object; None for an object that the program created.

    It does not contain later changes of the object, which `encode` writes. Raise `InvalidObject` if an unread
    part is not JSON.
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
            return find_text(obj, meta, span)
    return None


def views_of(kind: type[KubeObject]) -> KindViews:
    """Return the views of a kind."""
    views = VIEWS.get(kind)
    if views is None:
        lazy = not (hasattr(kind, "__post_init__") or kind.__struct_config__.frozen)
        views = _DynamicViews(kind, lazy=lazy) if issubclass(kind, Dynamic) else KindViews(kind, lazy=lazy)
    assert isinstance(views, KindViews)
    return views


def _reduce(obj: Any, protocol: int) -> Any:
    views = VIEWS[type(obj)]
    # The text is found first, so that an object and its metadata share it in the pickle too.
    state = {SOURCE: views.open(obj), **loaded_fields(obj)}
    return _restore, (views.plain, pickle_fields(obj, state, protocol))


def _restore(plain: type[Any], state: bytes) -> Any:
    views = META if plain is ObjectMeta else views_of(plain)
    return views.view(**unpickle_fields(state))


META: Final = MetaViews()

_read_any: Final = Reader[Any](Any).read


class _Identity(Struct):
    metadata: META.view  # type: ignore[name-defined]


_read_identity: Final[Callable[[bytes], Any]] = Reader[Any](_Identity).read
