"""JSON in and out, at every depth of typing.

A long object is read from its front: its text is cut where the identity is complete, closed by hand, and only
that is decoded. This is sound for what `FRONT_MARKS` says; whatever fails is decoded whole.
"""

from __future__ import annotations

from typing import Any, Final, TypeVar, get_origin

import msgspec
from msgspec import NODEFAULT, UNSET, Struct
from msgspec.structs import astuple, replace

from .._errors import InvalidObject
from ._base import KubeObject
from ._depths import Dynamic
from ._lazy import KindStages, reader, settle, stages_of
from ._pointers import is_list, is_object
from ._spans import text_of, whole
from ._stages import NOT_JSON, STAGES, label
from ._values import enc_hook

T = TypeVar("T")

# Where a text may be cut once the identity of its object has passed, the metadata being the object that is
# open there. API servers write built-in kinds as kind, apiVersion, metadata{name, namespace, uid,
# resourceVersion, …, labels, …, managedFields}, spec, status, and custom resources with sorted keys, so that
# spec follows metadata.
# Other orders do no harm:
#  - inside a JSON string each quote is escaped, so no mark can stand in one;
#  - at another depth the braces that close the text do not balance, and decoding fails;
#  - what was read must have a name, a uid, a version and, where the kind is namespaced, a namespace; where
#    the class does not say which kind it is, a kind as well;
#  - all else that an object has is left unread, and is looked for in the whole text when it is touched.
# Only a key that stands twice in one object could be read two ways, and JSON gives that no meaning.
FRONT_MARKS: Final = (b',"labels":{', b',"managedFields":[', b'},"spec":')
# No identity is shorter than this: `{"metadata":{"name":"","uid":"…","resourceVersion":""}}`.
FRONT_SKIP: Final = 90
# From here on the cut costs less than scanning the text.
LONG: Final = 2048

_encode: Final = msgspec.json.Encoder(enc_hook=enc_hook).encode
_readers: Final[dict[Any, Any]] = {}


def decode(data: bytes, type_: type[T], *, strict: bool = False, checked: bool = False) -> T:
    """Read one JSON value as this type; what does not fit is an `InvalidObject`.

    An object is read lazily: a part that does not fit says so when it is touched. With `strict`, spec, status
    and whatever else is its own is typed at once; labels, annotations, owners and managed fields stay lazy.
    With `checked` nothing more is typed, but every byte is looked at, so that the text is JSON for sure.
    """
    kind: Any = get_origin(type_) or type_
    try:
        stages = stages_of(kind) if isinstance(kind, type) and issubclass(kind, KubeObject) else None
        if stages is None:
            return _reader(type_)(data)  # type: ignore[no-any-return]
        if strict:
            return _read_strictly(data, stages)  # type: ignore[return-value]
        front = None if checked or len(data) < LONG else _read_front(data, stages)
        return front or _read_whole(data, stages)  # type: ignore[return-value]
    except NOT_JSON as error:
        raise InvalidObject(f"{getattr(kind, '__name__', kind)}: {error}") from None


def encode(value: Any) -> bytes:
    """The JSON that is sent for a value. An object that nobody touched is what it was read from."""
    if isinstance(value, KubeObject):
        stages = STAGES.get(type(value))
        if isinstance(stages, KindStages):
            span = stages.pristine(value)
            if span is not None:
                try:
                    return text_of(span)
                except NOT_JSON as error:
                    raise InvalidObject(f"{label(value)}: {error}") from None
            stages.unfold(value)
        if (meta := STAGES.get(type(value.metadata))) is not None:
            meta.unfold(value.metadata)
        if isinstance(value, Dynamic):
            head = {"kind": value.kind, "apiVersion": value.api_version, "metadata": value.metadata}
            return _sent({key: part for key, part in head.items() if part != ""} | value.content)
    return _sent(value)


def _sent(value: Any) -> bytes:
    data = _encode(value)
    # msgspec leaves None out only where it is the default.
    return _encode(_without_nones(value)) if b":null" in data else data


def _without_nones(value: Any) -> Any:
    """The value without the None in a field that has another default. A null in a dict was meant so."""
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


def _read_whole(data: bytes, stages: KindStages) -> KubeObject:
    if stages.plain is not Dynamic:
        return _reader(stages.lazy)(data)  # type: ignore[no-any-return]
    obj: KubeObject = _reader(stages.front)(data)
    stages.attach(obj, whole(data))
    return obj


def _read_strictly(data: bytes, stages: KindStages) -> KubeObject:
    return settle(_read_whole(data, stages)) if stages.plain is Dynamic else _reader(stages.typed)(data)


def _read_front(data: bytes, stages: KindStages) -> KubeObject | None:
    for mark in FRONT_MARKS:
        cut = data.find(mark, FRONT_SKIP)
        if cut < 0:
            continue
        try:
            obj: KubeObject = _reader(stages.front)(data[:cut] + b"}}")
        except NOT_JSON:
            continue
        if stages.identified(obj):
            stages.attach(obj, whole(data))
            return obj
    return None


def _reader(type_: Any) -> Any:
    found = _readers.get(type_)
    if found is None:
        found = _readers[type_] = reader(type_)
    return found
