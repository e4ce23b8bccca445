"""What may be left out of an object before a Store keeps it: its managed fields, a third of a pod.

They are cut out of the text, which costs a tenth of reading and writing it. Where to cut is guessed by
markers, and then verified:

- The text before `metadata` must be whole members of an object, and the text from there to the marker whole
  members of the metadata. So the marker is that of the metadata's own field.
- The list must contain no other one (field sets have no arrays), so the first closing bracket ends it; and
  the end must be followed by a quote and a letter, or by nothing. If the end were inside a string, that quote
  would close the string, and no letter could follow.

Any other text is decoded and encoded.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from msgspec import Raw

from .._errors import InvalidObject
from ..objects import Reader, members
from ..objects._shared import check_json, joined

_METADATA: Final = b'"metadata":'
_FIELDS: Final = b',"managedFields":['
_BRACKET: Final = ord("[")
_BACKSLASH: Final = ord("\\")

# The kind and the version precede the metadata, and are alike in all objects of a kind. A longer head
# contains data of the object, which must not stay in a cache of heads.
_LONGEST_HEAD: Final = 200

_check: Final = Reader[Raw](Raw).read


def drop_managed_fields(raw: bytes) -> bytes:
    """Return the JSON of an object without ``metadata.managedFields``; other JSON stays as it is."""
    # A cache calls this for each event. One `partition` takes as long as one `find`, and half as long as a
    # cut; a letter is looked for as a number, because `in` tries any other bytes as a number first.
    front, found, rest = raw.partition(_FIELDS)
    if found:
        fields, _, behind = rest.partition(b"]")
        if (
            _BRACKET not in fields
            and fields[-1:] == b"}"
            and ((behind[:2] == b',"' and behind[2:3].isalpha()) or _ends_the_metadata(behind))
            and _is_in_metadata(front)
        ):
            return front + behind
    elif raw.find(b"managedFields") < 0 and _BACKSLASH not in raw:  # a key could be written with escapes
        return raw
    try:
        return _rewritten(raw)
    except InvalidObject:
        return raw


def _ends_the_metadata(behind: bytes) -> bool:
    """Return whether nothing else of the metadata follows the list, which is certain without decoding."""
    return behind == b"}}" or (behind[:3] == b'},"' and behind[3:4].isalpha())


def _is_in_metadata(front: bytes) -> bool:
    """Return whether a text ends between two members of the metadata of its object."""
    head, found, own = front.partition(_METADATA)
    if not found or not (_is_known_head(head) if len(head) <= _LONGEST_HEAD else _is_head(head)):
        return False
    try:
        _check(own + b"}")  # only an object ends like this
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


_is_known_head: Final = lru_cache(maxsize=256)(_is_head)


def _rewritten(raw: bytes) -> bytes:
    whole = members(raw)
    if "metadata" not in whole:
        return raw
    metadata = members(whole["metadata"])
    if metadata.pop("managedFields", None) is None:
        return raw
    whole["metadata"] = Raw(joined(metadata))
    return joined(whole)
