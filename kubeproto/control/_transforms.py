"""`drop_managed_fields`: removes the managed fields of an object, a third of a pod, before a Store keeps it.

They are cut out of the text, which takes a tenth of the time of decoding and encoding it. The list is found
by markers, and the place is then verified:

- The text before `metadata` must be complete members of an object, and the text from there to the marker
  complete members of the metadata. So the marker is that of the metadata's own field.
- The list must contain no other list (field sets have none), so the first closing bracket ends it. A quote
  and a letter, or nothing, must follow: if the bracket were inside a string, that quote would close the
  string, and no letter could follow.

Any other text is decoded and encoded.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from msgspec import Raw

from .._errors import InvalidObject
from ..objects import Reader, split_object
from ..objects._shared import check_json, join_members

_METADATA: Final = b'"metadata":'
_MANAGED_FIELDS: Final = b',"managedFields":['
_BRACKET: Final = ord("[")
_BACKSLASH: Final = ord("\\")

# The text before the metadata is usually the kind and the version, which are equal in all objects of a kind.
# A longer text contains data of the object, which must not stay in the cache of `_is_cached_head`.
_MAX_CACHED_HEAD: Final = 200

_check_json: Final = Reader[Raw](Raw).read


def drop_managed_fields(raw: bytes) -> bytes:
    """Return the JSON of an object without ``metadata.managedFields``; other JSON is returned unchanged."""
    # A cache calls this for each event. A `partition` takes as long as a `find`, and half as long as slicing;
    # a single character is searched as a number, because `in` tries to convert other bytes to a number first.
    front, marker, tail = raw.partition(_MANAGED_FIELDS)
    if marker:
        fields, _, tail = tail.partition(b"]")
        if (
            _BRACKET not in fields
            and fields[-1:] == b"}"
            and ((tail[:2] == b',"' and tail[2:3].isalpha()) or _ends_metadata(tail))
            and _is_in_metadata(front)
        ):
            return front + tail
    elif raw.find(b"managedFields") < 0 and _BACKSLASH not in raw:  # a key could be written with escapes
        return raw
    try:
        return _reencode(raw)
    except InvalidObject:
        return raw


def _ends_metadata(tail: bytes) -> bool:
    """Return whether the metadata certainly ends here, without decoding."""
    return tail == b"}}" or (tail[:3] == b'},"' and tail[3:4].isalpha())


def _is_in_metadata(front: bytes) -> bool:
    """Return whether a text ends between two members of the metadata of its object."""
    head, marker, metadata = front.partition(_METADATA)
    if not marker or not (_is_cached_head(head) if len(head) <= _MAX_CACHED_HEAD else _is_head(head)):
        return False
    try:
        _check_json(metadata + b"}")  # only an object ends like this
    except InvalidObject:
        return False
    return True


def _is_head(head: bytes) -> bool:
    """Return whether an object begins with these bytes, and another member may follow."""
    try:
        check_json(head + b'"":0}')
    except InvalidObject:
        return False
    return True


_is_cached_head: Final = lru_cache(maxsize=256)(_is_head)


def _reencode(raw: bytes) -> bytes:
    members = split_object(raw)
    if "metadata" not in members:
        return raw
    metadata = split_object(members["metadata"])
    if metadata.pop("managedFields", None) is None:
        return raw
    members["metadata"] = Raw(join_members(metadata))
    return join_members(members)
