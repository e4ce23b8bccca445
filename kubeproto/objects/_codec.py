"""Decode and encode JSON, at every depth of typing.

Of a long object only the identity prefix is decoded: its text up to the end of the identity, closed by
braces. The comment on `PREFIX_ENDS` explains why this is sound. If it fails, the whole text is decoded.
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
from ._copies import loaded_fields
from ._depths import Dynamic
from ._json_hooks import enc_hook
from ._json_reader import Reader, TooDeep, reader_of
from ._json_values import is_list, is_object
from ._lazy_views import META, SOURCE, KindViews, Views, received_text, views_of
from ._naive_times import refuse_naive_times
from ._resource import Resource
from ._scanning import Source, extract_identity, join_members
from ._spans import span_of_object
from ._view_methods import VIEWS, label_of, to_plain

T = TypeVar("T")

# Texts that may end an identity prefix: the identity precedes them, inside the metadata. API servers write
# built-in kinds as kind, apiVersion, metadata{name, namespace, uid, resourceVersion, …, labels, …,
# managedFields}, spec, status, and custom resources with sorted keys, so that spec follows metadata.
# Other orders do no harm:
#  - inside a JSON string each quote is escaped, so a string contains none of these texts;
#  - at another depth the braces that close the text do not balance, and decoding fails;
#  - a prefix must have a name, a uid, a version and, if the kind is namespaced, a namespace; and a kind, if
#    the class has none;
#  - all other parts of an object stay unread, and are read from the whole text when they are used.
# Only a duplicate key could be read in two ways, and JSON does not define that.
PREFIX_ENDS: Final = (b',"labels":{', b',"managedFields":[', b'},"spec":')
# No identity is shorter than this: `{"metadata":{"name":"","uid":"…","resourceVersion":""}}`.
MIN_PREFIX: Final = 90
# For texts of this length, the search for the end of a prefix costs less than decoding all: a pod of 2.8 KB
# takes 1.5 µs with its prefix, and 3.5 µs without.
LONG_TEXT: Final = 2048

_encode: Final = msgspec.json.Encoder(enc_hook=enc_hook).encode
# A naive time as JSON. A match only causes a check of each value, because a string may have the same form.
_ZONELESS: Final = Pattern(rb'T\d\d:\d\d:\d\d(?:\.\d+)?"')


def decode(
    data: bytes,
    type_: type[T],
    *,
    strict: bool = False,
    checked: bool = False,
    resource: Resource | None = None,
) -> T:
    """Read a JSON value as this type; raise `InvalidObject` if it does not fit.

    An object is read lazily: a part that does not fit raises the error when it is used. With `strict`, spec,
    status and all other fields of the kind are typed immediately; labels, annotations, owners and managed
    fields stay lazy. With `checked` every byte is checked without typing more parts, so the text is certainly
    JSON. `resource` is the kind of an object whose text has no kind, like the items of built-in lists.
    """
    views: Any = VIEWS.get(type_)  # the check of `_is_kind` would take 0.6 µs
    if not isinstance(views, KindViews):
        kind: Any = get_origin(type_) or type_
        if not _is_kind(kind):
            return _read_value(data, type_, kind)
        views = views_of(kind)
    obj: Any = None
    try:
        if not (strict or checked or len(data) < LONG_TEXT) and views.lazy:
            obj = _read_prefix(data, views)
        if obj is None:
            obj = read_object(data, views, strict=strict)
    except InvalidObject as error:
        problem = str(error)
    else:
        if resource is None or views.pinned:
            return obj  # type: ignore[no-any-return]
        return fill_in_kind(obj, resource, views)  # type: ignore[no-any-return]
    name = str(views.plain.__name__)
    is_labelled = problem.startswith(f"{name} ") or isinstance(obj, KubeObject)
    raise InvalidObject(problem if is_labelled else f"{_label_unreadable(data, views, resource)}: {problem}")


def _label_unreadable(data: bytes, views: KindViews, resource: Resource | None) -> str:
    """Return the label of an object that cannot be read as a whole; at worst its class."""
    try:
        obj: KubeObject = fill_in_kind(views.read_lazily(data), resource, views)
        if obj.metadata.name:
            return label_of(obj)
    except InvalidObject:
        pass
    return str(views.plain.__name__)


def _read_value(data: bytes, type_: type[T], kind: Any) -> T:
    """Read a value of a type that is not a kind."""
    try:
        return reader_of(type_).read(data)  # type: ignore[no-any-return]
    except InvalidObject as error:
        problem = f"{getattr(kind, '__name__', kind)}: {error}"
    raise InvalidObject(problem)


def _is_kind(type_: Any) -> bool:
    return isinstance(type_, type) and issubclass(type_, KubeObject)


def fill_in_kind(obj: T, resource: Resource | None, views: KindViews) -> T:
    """Set the kind of an object whose text has no kind, and return it. It still counts as unchanged."""
    if resource is not None and not views.pinned:
        for name, value in (("kind", resource.kind), ("api_version", resource.api_version)):
            slot = views.slots[name]
            if not slot.__get__(obj):
                slot.__set__(obj, value)
    return obj


def read_object(text: bytes, views: KindViews, *, strict: bool) -> KubeObject:
    """Read the whole text of an object: as a view, or with typed parts if `strict`."""
    try:
        read = views.read_strictly if strict else views.read_lazily
        obj: KubeObject = read(text)
    except TooDeep:
        if strict or not views.lazy:
            raise
        obj = reader_of(views.view).read(extract_identity(text))
    if views.lazy:
        force_setattr(obj.metadata, SOURCE, span_of_object(text))
    else:
        views.attach(obj, span_of_object(text))
    if strict and views.plain is Dynamic:
        getattr(obj, "content")  # noqa: B009 # the first use reads it
    return obj


def _read_prefix(data: bytes, views: KindViews) -> KubeObject | None:
    """Return a view that was read from the identity prefix of a text; None if that does not identify it."""
    for prefix_end in PREFIX_ENDS:
        position = data.find(prefix_end, MIN_PREFIX)
        if position < 0:
            continue
        try:
            obj: KubeObject = reader_of(views.view).read(data[:position] + b"}}")
        except InvalidObject:
            continue
        if is_identified(obj, views) and (
            obj.metadata.namespace or excludes_namespace(data, position, len(data))
        ):
            views.attach(obj, span_of_object(data))
            return obj
    return None


def is_identified(obj: KubeObject, views: KindViews) -> bool:
    """Return whether an identity prefix contained the identity of its object."""
    meta = obj.metadata
    has_identity = meta.name and meta.uid and meta.resource_version
    return bool(
        has_identity
        and (meta.namespace or views.cluster_scoped)
        and (views.pinned or (obj.kind and obj.api_version))
    )


def excludes_namespace(text: bytes, start: int, end: int) -> bool:
    """Return whether a part of a text contains no key "namespace": it may follow the identity prefix."""
    if text.find(b'"namespace"', start, end) >= 0:
        return False
    return text.find(b"\\u00", start, end) < 0 or _ESCAPED_LETTER.search(text, start, end) is None


# A letter of "namespace" written as an escape, \u0061 for "a".
_ESCAPED_LETTER: Final = Pattern(rb"\\u00(?:6[135dDeE]|7[03])")


def encode(value: Any) -> bytes:
    """Return the JSON of a value for a request.

    The unchanged parts of an object that was read from JSON are copied byte for byte, including keys that the
    class lacks. The kind is added if the text had no kind.
    """
    kind: type[Any] = value.__class__
    views = VIEWS.get(kind)
    if isinstance(views, KindViews) and kind is not views.plain:
        return _encode_view(value, views, with_kind=True)
    name = kind.__name__
    if isinstance(value, KubeObject):
        value = to_plain(value)
        if isinstance(value, Dynamic):
            identity = {"kind": value.kind, "apiVersion": value.api_version, "metadata": value.metadata}
            value = {key: part for key, part in identity.items() if part != ""} | value.content
    return _encode_checked(value, name)


def encode_for_store(obj: KubeObject) -> bytes:
    """Return the text of an object for a Store: the received text, or the JSON of a created object."""
    views = VIEWS.get(type(obj))
    if isinstance(views, KindViews):
        if (text := views.untouched_text(obj)) is not None:
            return text
        if views.lazy and type(obj) is not views.plain:
            return _encode_view(obj, views, with_kind=False)
        if not views.lazy and (text := received_text(obj)) is not None and decode(text, views.plain) == obj:
            return text
    return encode(obj)


def _encode_view(obj: KubeObject, views: KindViews, *, with_kind: bool) -> bytes:
    """Return the text of a view with its changes."""
    text = views.untouched_text(obj)
    if text is not None and (not with_kind or _starts_with_type_meta(text, obj)):
        return text
    source = views.open(obj)
    members: dict[str, bytes | Raw] = dict(source.members)
    changed = _edit(obj, views, source, members)
    changed = _edit_metadata(obj.metadata, source, members) or changed
    if with_kind:
        type_meta = {"kind": obj.kind, "apiVersion": obj.api_version}
        missing = {key: _encode(value) for key, value in type_meta.items() if value and key not in members}
        if missing:
            members, changed = missing | members, True
    return join_members(members) if changed else source.text


def _starts_with_type_meta(text: bytes, obj: KubeObject) -> bool:
    """Return whether a text begins with the kind and the apiVersion of the object."""
    return text.startswith(_type_meta_prefixes(obj.kind, obj.api_version))


@lru_cache(maxsize=1000)  # without it, encoding an unchanged view takes a third longer
def _type_meta_prefixes(kind: str, api_version: str) -> tuple[bytes, bytes]:
    kind_member, version_member = f'"kind":"{kind}"', f'"apiVersion":"{api_version}"'
    return f"{{{kind_member},{version_member}".encode(), f"{{{version_member},{kind_member}".encode()


def _edit_metadata(meta: Any, source: Source, object_members: dict[str, bytes | Raw]) -> bool:
    if type(meta) is META.view and META.source.__get__(meta) is source:
        members: dict[str, bytes | Raw] = dict(source.metadata)
        if not _edit(meta, META, source, members):
            return False
        object_members["metadata"] = join_members(members)
    else:
        object_members["metadata"] = _encode_checked(
            to_plain(meta)
        )  # metadata of another text, or created by the program
    return True


def _edit(obj: Any, views: Views, source: Source, members: dict[str, bytes | Raw]) -> bool:
    """Replace the members of the changed fields; return whether any field has changed."""
    changes: dict[str, bytes | None] = {}
    for name, value in loaded_fields(obj).items():
        key = views.fields[name].encode_name
        if name == "content":
            changes |= _changed_content(value, source)
        # The metadata is edited separately, a status without a type is not on the wire, and a kind that was
        # filled in is not a change.
        elif name != "metadata" and key[0] != "-" and (key in members or name not in ("kind", "api_version")):
            omitted = value is None or (views is META and value in ("", {}, []))
            if _differs(value, views, source, name, obj):
                changes[key] = None if omitted else _encode_checked(value)
    for key, text in changes.items():
        if text is not None:
            members[key] = text
        else:
            members.pop(key, None)
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
    """Drop None from fields whose default is not None; keep null inside dicts."""
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
            new_part = UNSET if part is None and name in omissible else _without_nones(part)
            if new_part is not part:
                changes[name] = new_part
        return replace(value, **changes) if changes else value
    if is_list(value):
        return [_without_nones(part) for part in value]
    if is_object(value):
        return {key: _without_nones(part) for key, part in value.items()}
    return value
