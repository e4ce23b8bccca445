"""Decode and encode JSON, at every depth of typing.

A long object is read from its front: only the part of its text up to the end of the identity is decoded,
closed by hand. The comment on `FRONT_MARKS` explains why this is sound; after a failure the whole text is
decoded.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final, TypeVar, get_origin

import msgspec
from msgspec import NODEFAULT, UNSET, Raw, Struct
from msgspec.structs import astuple, force_setattr, replace

from .._errors import InvalidObject
from .._patterns import Pattern
from ._base import KubeObject
from ._copies import fields_in_memory
from ._depths import Dynamic
from ._json_hooks import enc_hook
from ._json_values import is_list, is_object
from ._naive_times import refuse_naive_times
from ._reading import Reader, TooDeep, reader
from ._resource import Resource
from ._sources import Source, joined, shallow
from ._spans import whole
from ._view_methods import VIEWS, label, to_plain
from ._views import META, SOURCE, KindViews, Views, text_of, views_of

T = TypeVar("T")

# The ends of a front: the identity precedes them, and the metadata is the open object. API servers write
# built-in kinds as kind, apiVersion, metadata{name, namespace, uid, resourceVersion, …, labels, …,
# managedFields}, spec, status, and custom resources with sorted keys, so that spec follows metadata.
# Other orders do no harm:
#  - inside a JSON string each quote is escaped, so a string contains no mark;
#  - at another depth the braces that close the text do not balance, and decoding fails;
#  - a front must have a name, a uid, a version and, where the kind is namespaced, a namespace; where
#    the class has no kind of its own, a kind as well;
#  - all other parts of an object stay unread, and are read from the whole text when they are used.
# Only a duplicate key could be read in two ways, and JSON does not define that.
FRONT_MARKS: Final = (b',"labels":{', b',"managedFields":[', b'},"spec":')
# No identity is shorter than this: `{"metadata":{"name":"","uid":"…","resourceVersion":""}}`.
FRONT_SKIP: Final = 90
# For longer texts, the search for a front costs less than scanning.
LONG: Final = 2048

_encode: Final = msgspec.json.Encoder(enc_hook=enc_hook).encode
# An encoded naive time. Only a match causes a check of each value, because a string may have the same form.
_ZONELESS: Final = Pattern(rb'T\d\d:\d\d:\d\d(?:\.\d+)?"')


def decode(
    data: bytes,
    type_: type[T],
    *,
    strict: bool = False,
    checked: bool = False,
    resource: Resource | None = None,
) -> T:
    """Read a JSON value as this type; `InvalidObject` if it does not fit.

    An object is read lazily: a part that does not fit raises the error when it is used. With `strict`, spec,
    status and all other fields of the kind are typed at once; labels, annotations, owners and managed fields
    stay lazy. With `checked` every byte is checked without typing more parts, so that the text is
    certainly JSON. `resource` is the kind of an object whose text has none: items of built-in lists have no
    kind.
    """
    views: Any = VIEWS.get(type_)  # a cache decodes the same kind again and again
    if not isinstance(views, KindViews):
        kind: Any = get_origin(type_) or type_
        if not _is_kind(kind):
            return _read_value(data, type_, kind)
        views = views_of(kind)
    obj: Any = None
    try:
        if not (strict or checked or len(data) < LONG) and views.lazy:
            obj = _read_front(data, views)
        if obj is None:
            obj = read_whole(data, views, strict=strict)
    except InvalidObject as error:
        refusal = str(error)
    else:
        if resource is None or views.pinned:
            return obj  # type: ignore[no-any-return]
        return identified(obj, resource, views)  # type: ignore[no-any-return]
    name = str(views.plain.__name__)
    is_labelled = refusal.startswith(f"{name} ") or isinstance(obj, KubeObject)
    raise InvalidObject(refusal if is_labelled else f"{_label_unreadable(data, views, resource)}: {refusal}")


def _label_unreadable(data: bytes, views: KindViews, resource: Resource | None) -> str:
    """Return the label of an object that cannot be read as a whole; at worst its class."""
    try:
        obj: KubeObject = identified(views.read_lazily(data), resource, views)
        if obj.metadata.name:
            return label(obj)
    except InvalidObject:
        pass
    return str(views.plain.__name__)


def _read_value(data: bytes, type_: type[T], kind: Any) -> T:
    """Read a value of a type that is not a kind."""
    try:
        return reader(type_).read(data)  # type: ignore[no-any-return]
    except InvalidObject as error:
        refusal = f"{getattr(kind, '__name__', kind)}: {error}"
    raise InvalidObject(refusal)


def _is_kind(type_: Any) -> bool:
    return isinstance(type_, type) and issubclass(type_, KubeObject)


def identified(obj: T, resource: Resource | None, views: KindViews) -> T:
    """Return the object with its kind filled in if its text has none. It still counts as unchanged."""
    if resource is not None and not views.pinned:
        for name, value in (("kind", resource.kind), ("api_version", resource.api_version)):
            slot = views.slots[name]
            if not slot.__get__(obj):
                slot.__set__(obj, value)
    return obj


def read_whole(text: bytes, views: KindViews, *, strict: bool) -> KubeObject:
    """Read an object from its whole text: as a view, or with `strict` with typed parts."""
    try:
        read = views.read_strictly if strict else views.read_lazily
        obj: KubeObject = read(text)
    except TooDeep:
        if strict or not views.lazy:
            raise
        obj = reader(views.view).read(shallow(text))
    if views.lazy:
        force_setattr(obj.metadata, SOURCE, whole(text))
    else:
        views.attach(obj, whole(text))
    if strict and views.plain is Dynamic:
        getattr(obj, "content")  # noqa: B009 # reads it
    return obj


def _read_front(data: bytes, views: KindViews) -> KubeObject | None:
    for marker in FRONT_MARKS:
        position = data.find(marker, FRONT_SKIP)
        if position < 0:
            continue
        try:
            obj: KubeObject = reader(views.view).read(data[:position] + b"}}")
        except InvalidObject:
            continue
        if is_identified(obj, views) and (obj.metadata.namespace or shows_all(data, position, len(data))):
            views.attach(obj, whole(data))
            return obj
    return None


def is_identified(obj: KubeObject, views: KindViews) -> bool:
    """Return whether a front identifies the object and its version."""
    meta = obj.metadata
    has_identity = meta.name and meta.uid and meta.resource_version
    return bool(
        has_identity
        and (meta.namespace or views.cluster_scoped)
        and (views.pinned or (obj.kind and obj.api_version))
    )


def shows_all(text: bytes, start: int, end: int) -> bool:
    """Return whether no namespace can follow the front: an object may have its namespace behind it."""
    if text.find(b'"namespace"', start, end) >= 0:
        return False
    return text.find(b"\\u00", start, end) < 0 or _ESCAPED_LETTER.search(text, start, end) is None


# A letter of "namespace" written as an escape, \u0061 for "a".
_ESCAPED_LETTER: Final = Pattern(rb"\\u00(?:6[135dDeE]|7[03])")


def encode(value: Any) -> bytes:
    """Return the JSON of a value for a request.

    The unchanged parts of an object that was read from JSON are copied byte for byte, including keys that the
    class lacks. Its kind is added if the text had none.
    """
    kind: type[Any] = value.__class__
    views = VIEWS.get(kind)
    if isinstance(views, KindViews) and kind is not views.plain:
        return _write_view(value, views, with_kind=True)
    name = kind.__name__
    if isinstance(value, KubeObject):
        value = to_plain(value)
        if isinstance(value, Dynamic):
            head = {"kind": value.kind, "apiVersion": value.api_version, "metadata": value.metadata}
            value = {key: part for key, part in head.items() if part != ""} | value.content
    return _encode_checked(value, name)


def kept_text(obj: KubeObject) -> bytes:
    """Return the text of an object for a Store: the received text, or the JSON of an object made by hand."""
    views = VIEWS.get(type(obj))
    if isinstance(views, KindViews):
        if (text := views.untouched_text(obj)) is not None:
            return text
        if views.lazy and type(obj) is not views.plain:
            return _write_view(obj, views, with_kind=False)
        if not views.lazy and (text := text_of(obj)) is not None and decode(text, views.plain) == obj:
            return text
    return encode(obj)


def _write_view(obj: KubeObject, views: KindViews, *, with_kind: bool) -> bytes:
    """Return the text of a view with its changes."""
    text = views.untouched_text(obj)
    if text is not None and (not with_kind or _begins_with_kind(text, obj)):
        return text
    source = views.open(obj)
    texts: dict[str, bytes | Raw] = dict(source.members)
    changed = _edit(obj, views, source, texts)
    changed = _edit_metadata(obj.metadata, source, texts) or changed
    if with_kind:
        head = {"kind": obj.kind, "apiVersion": obj.api_version}
        missing = {key: _encode(value) for key, value in head.items() if value and key not in texts}
        if missing:
            texts, changed = missing | texts, True
    return joined(texts) if changed else source.text


def _begins_with_kind(text: bytes, obj: KubeObject) -> bool:
    """Return whether a text begins with the kind and the apiVersion of the object."""
    return text.startswith(_beginnings(obj.kind, obj.api_version))


@lru_cache(maxsize=1000)
def _beginnings(kind: str, api_version: str) -> tuple[bytes, bytes]:
    kind_member, version_member = f'"kind":"{kind}"', f'"apiVersion":"{api_version}"'
    return f"{{{kind_member},{version_member}".encode(), f"{{{version_member},{kind_member}".encode()


def _edit_metadata(meta: Any, source: Source, texts: dict[str, bytes | Raw]) -> bool:
    if type(meta) is META.view and META.source.__get__(meta) is source:
        members: dict[str, bytes | Raw] = dict(source.metadata)
        if not _edit(meta, META, source, members):
            return False
        texts["metadata"] = joined(members)
    else:
        texts["metadata"] = _encode_checked(to_plain(meta))  # metadata of another text, or made by hand
    return True


def _edit(obj: Any, views: Views, source: Source, texts: dict[str, bytes | Raw]) -> bool:
    """Replace the texts of the changed fields."""
    changes: dict[str, bytes | None] = {}
    for name, value in fields_in_memory(obj).items():
        key = views.fields[name].encode_name
        if name == "content":
            changes |= _changed_content(value, source)
        # The metadata is edited separately, a status without a type is not on the wire, and a kind that was
        # filled in is not a change.
        elif name != "metadata" and key[0] != "-" and (key in texts or name not in ("kind", "api_version")):
            omitted = value is None or (views is META and value in ("", {}, []))
            if _differs(value, views, source, name, obj):
                changes[key] = None if omitted else _encode_checked(value)
    for key, text in changes.items():
        if text is not None:
            texts[key] = text
        else:
            texts.pop(key, None)
    return bool(changes)


def _differs(value: Any, views: Views, source: Source, name: str, obj: Any) -> bool:
    try:
        original = views.read(source, name, obj)
    except InvalidObject:
        return True  # it could not be read, so the value is new
    return _encode_checked(original) != _encode_checked(value)


def _changed_content(content: dict[str, Any], source: Source) -> dict[str, bytes | None]:
    """Return the changed members of a Dynamic; None for a removed member."""
    originals = {
        key: raw for key, raw in source.members.items() if key not in ("kind", "apiVersion", "metadata")
    }
    changes: dict[str, bytes | None] = {key: None for key in originals if key not in content}
    for key, value in content.items():
        text = _encode_checked(value)
        if key not in originals or _encode_checked(_any(originals[key])) != text:
            changes[key] = text
    return changes


_any: Final = Reader[Any](Any).read


def _encode_checked(value: Any, name: str = "") -> bytes:
    try:
        data = _encode(value)
        if _ZONELESS.search(data):
            refuse_naive_times(value, name or type(value).__name__)
        # msgspec omits None only where it is the default.
        return _encode(_without_nones(value)) if b":null" in data else data
    except RecursionError:
        raise InvalidObject(f"a {type(value).__name__} is nested too deeply to be written as JSON") from None


def _without_nones(value: Any) -> Any:
    """Return the value without None in fields that have another default. A null in a dict is intended."""
    if isinstance(value, Struct):
        fields, defaults = value.__struct_fields__, value.__struct_defaults__
        optional = fields[len(fields) - len(defaults) :]
        omissible = {
            name
            for name, default in zip(optional, defaults, strict=True)
            if default is not NODEFAULT and default is not None
        }
        changes: dict[str, Any] = {}
        for name, part in zip(fields, astuple(value), strict=True):
            kept_part = UNSET if part is None and name in omissible else _without_nones(part)
            if kept_part is not part:
                changes[name] = kept_part
        return replace(value, **changes) if changes else value
    if is_list(value):
        return [_without_nones(part) for part in value]
    if is_object(value):
        return {key: _without_nones(part) for key, part in value.items()}
    return value
