"""JSON in and out, at every depth of typing.

A long object is read from its front: its text is cut where the identity is complete, closed by hand, and only
that is decoded. The comment on `FRONT_MARKS` says why this is sound; whatever fails is decoded as a whole.
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
from ._view_methods import VIEWS, label, settle
from ._views import META, SOURCE, KindViews, Views, text_of, views_of

T = TypeVar("T")

# Where a text may be cut once the identity of its object has passed, the metadata being the object that is
# open there. API servers write built-in kinds as kind, apiVersion, metadata{name, namespace, uid,
# resourceVersion, …, labels, …, managedFields}, spec, status, and custom resources with sorted keys, so that
# spec follows metadata.
# Other orders do no harm:
#  - inside a JSON string each quote is escaped, so no mark can occur in one;
#  - at another depth the braces that close the text do not balance, and decoding fails;
#  - what was read must have a name, a uid, a version and, where the kind is namespaced, a namespace; where
#    the class does not say which kind it is, a kind as well;
#  - everything else in an object is left unread, and is looked up in the whole text when it is used.
# Only a key that occurs twice in one object could be read in two ways, and JSON does not define that.
FRONT_MARKS: Final = (b',"labels":{', b',"managedFields":[', b'},"spec":')
# No identity is shorter than this: `{"metadata":{"name":"","uid":"…","resourceVersion":""}}`.
FRONT_SKIP: Final = 90
# For texts longer than this, the cut costs less than scanning.
LONG: Final = 2048

_encode: Final = msgspec.json.Encoder(enc_hook=enc_hook).encode
# What a naive time looks like once it is encoded. Only then is each value checked, because a string may look
# the same.
_ZONELESS: Final = Pattern(rb'T\d\d:\d\d:\d\d(?:\.\d+)?"')


def decode(
    data: bytes,
    type_: type[T],
    *,
    strict: bool = False,
    checked: bool = False,
    resource: Resource | None = None,
) -> T:
    """Read one JSON value as this type; `InvalidObject` if it does not fit.

    An object is read lazily: a part that does not fit raises the error when it is used. With `strict`, spec,
    status and all other fields of the kind are typed at once; labels, annotations, owners and managed fields
    stay lazy. With `checked` nothing more is typed, but every byte is checked, so that the text is certainly
    JSON. `resource` names the kind of the object if its text does not: items of built-in lists carry no kind.
    """
    views: Any = VIEWS.get(type_)  # a cache asks for the same kind over and over
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
    named = refusal.startswith(f"{name} ") or isinstance(obj, KubeObject)
    raise InvalidObject(refusal if named else f"{_name_in(data, views, resource)}: {refusal}")


def _name_in(data: bytes, views: KindViews, resource: Resource | None) -> str:
    """Return how an error names an object that cannot be read as a whole; at worst by its class."""
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
    """Return the object with its kind filled in if its text has none. It still counts as untouched."""
    if resource is not None and not views.pinned:
        for name, value in (("kind", resource.kind), ("api_version", resource.api_version)):
            slot = views.slots[name]
            if not slot.__get__(obj):
                slot.__set__(obj, value)
    return obj


def read_whole(text: bytes, views: KindViews, *, strict: bool) -> KubeObject:
    """Read an object from all of its text: a view, or with `strict` one whose own parts are typed."""
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
    for mark in FRONT_MARKS:
        cut = data.find(mark, FRONT_SKIP)
        if cut < 0:
            continue
        try:
            obj: KubeObject = reader(views.view).read(data[:cut] + b"}}")
        except InvalidObject:
            continue
        if is_identified(obj, views) and (obj.metadata.namespace or shows_all(data, cut, len(data))):
            views.attach(obj, whole(data))
            return obj
    return None


def is_identified(obj: KubeObject, views: KindViews) -> bool:
    """Return whether the front that was read identifies the object and its version."""
    meta = obj.metadata
    named = meta.name and meta.uid and meta.resource_version
    return bool(
        named
        and (meta.namespace or views.cluster_scoped)
        and (views.pinned or (obj.kind and obj.api_version))
    )


def shows_all(text: bytes, cut: int, end: int) -> bool:
    """Return whether no namespace can follow the cut: an object without one so far may have one after it."""
    if text.find(b'"namespace"', cut, end) >= 0:
        return False
    return text.find(b"\\u00", cut, end) < 0 or _ESCAPED_LETTER.search(text, cut, end) is None


# A letter of "namespace" written as an escape, \u0061 for "a".
_ESCAPED_LETTER: Final = Pattern(rb"\\u00(?:6[135dDeE]|7[03])")


def encode(value: Any) -> bytes:
    """Return the JSON that is sent for a value.

    An object that was read from JSON is written back: parts that were not changed are copied byte for byte,
    including keys that the class does not know. Its kind is added if the text had none.
    """
    kind: type[Any] = value.__class__
    views = VIEWS.get(kind)
    if isinstance(views, KindViews) and kind is not views.plain:
        return _written(value, views, named=True)
    name = kind.__name__
    if isinstance(value, KubeObject):
        value = settle(value)
        if isinstance(value, Dynamic):
            head = {"kind": value.kind, "apiVersion": value.api_version, "metadata": value.metadata}
            value = {key: part for key, part in head.items() if part != ""} | value.content
    return _sent(value, name)


def kept_text(obj: KubeObject) -> bytes:
    """Return what a Store keeps of an object: the text it was read from, or the JSON of one made by hand."""
    views = VIEWS.get(type(obj))
    if isinstance(views, KindViews):
        if (text := views.untouched_text(obj)) is not None:
            return text
        if views.lazy and type(obj) is not views.plain:
            return _written(obj, views, named=False)
        if not views.lazy and (text := text_of(obj)) is not None and decode(text, views.plain) == obj:
            return text
    return encode(obj)


def _written(obj: KubeObject, views: KindViews, *, named: bool) -> bytes:
    """Return the text of a view, with what was changed since it was read."""
    text = views.untouched_text(obj)
    if text is not None and (not named or _says_its_kind(text, obj)):
        return text
    source = views.open(obj)
    found: dict[str, bytes | Raw] = dict(source.members)
    changed = _edit(obj, views, source, found)
    changed = _edit_metadata(obj.metadata, source, found) or changed
    if named:
        head = {"kind": obj.kind, "apiVersion": obj.api_version}
        missing = {key: _encode(value) for key, value in head.items() if value and key not in found}
        if missing:
            found, changed = missing | found, True
    return joined(found) if changed else source.text


def _says_its_kind(text: bytes, obj: KubeObject) -> bool:
    """Return whether a text begins with the kind and the apiVersion of the object."""
    return text.startswith(_beginnings(obj.kind, obj.api_version))


@lru_cache(maxsize=1000)
def _beginnings(kind: str, api_version: str) -> tuple[bytes, bytes]:
    said, version = f'"kind":"{kind}"', f'"apiVersion":"{api_version}"'
    return f"{{{said},{version}".encode(), f"{{{version},{said}".encode()


def _edit_metadata(meta: Any, source: Source, found: dict[str, bytes | Raw]) -> bool:
    if type(meta) is META.view and META.source.__get__(meta) is source:
        own: dict[str, bytes | Raw] = dict(source.metadata)
        if not _edit(meta, META, source, own):
            return False
        found["metadata"] = joined(own)
    else:
        found["metadata"] = _sent(settle(meta))  # it was read from another text, or made by hand
    return True


def _edit(obj: Any, views: Views, source: Source, found: dict[str, bytes | Raw]) -> bool:
    """Replace the text of the fields that have changed since they were read."""
    changes: dict[str, bytes | None] = {}
    for name, value in fields_in_memory(obj).items():
        key = views.fields[name].encode_name
        if name == "content":
            changes |= _changed_content(value, source)
        # The metadata is edited separately, a status without a type is not on the wire, and a kind that was
        # filled in is not a change.
        elif name != "metadata" and key[0] != "-" and (key in found or name not in ("kind", "api_version")):
            left_out = value is None or (views is META and value in ("", {}, []))
            if _differs(value, views, source, name, obj):
                changes[key] = None if left_out else _sent(value)
    for key, text in changes.items():
        if text is not None:
            found[key] = text
        else:
            found.pop(key, None)
    return bool(changes)


def _differs(value: Any, views: Views, source: Source, name: str, obj: Any) -> bool:
    try:
        before = views.read(source, name, obj)
    except InvalidObject:
        return True  # it could not be read, so this is a new one
    return _sent(before) != _sent(value)


def _changed_content(content: dict[str, Any], source: Source) -> dict[str, bytes | None]:
    """Return what has changed in a Dynamic: None for what has been removed."""
    before = {
        key: raw for key, raw in source.members.items() if key not in ("kind", "apiVersion", "metadata")
    }
    changes: dict[str, bytes | None] = {key: None for key in before if key not in content}
    for key, value in content.items():
        text = _sent(value)
        if key not in before or _sent(_any(before[key])) != text:
            changes[key] = text
    return changes


_any: Final = Reader[Any](Any).read


def _sent(value: Any, name: str = "") -> bytes:
    try:
        data = _encode(value)
        if _ZONELESS.search(data):
            refuse_naive_times(value, name or type(value).__name__)
        # msgspec leaves out None only where it is the default.
        return _encode(_without_nones(value)) if b":null" in data else data
    except RecursionError:
        raise InvalidObject(f"a {type(value).__name__} is nested too deeply to be written as JSON") from None


def _without_nones(value: Any) -> Any:
    """Return the value without None in fields that have another default. A null in a dict is intended."""
    if isinstance(value, Struct):
        fields, defaults = value.__struct_fields__, value.__struct_defaults__
        optional = fields[len(fields) - len(defaults) :]
        left_out = {
            name
            for name, default in zip(optional, defaults, strict=True)
            if default is not NODEFAULT and default is not None
        }
        changes: dict[str, Any] = {}
        for name, part in zip(fields, astuple(value), strict=True):
            sent = UNSET if part is None and name in left_out else _without_nones(part)
            if sent is not part:
                changes[name] = sent
        return replace(value, **changes) if changes else value
    if is_list(value):
        return [_without_nones(part) for part in value]
    if is_object(value):
        return {key: _without_nones(part) for key, part in value.items()}
    return value
