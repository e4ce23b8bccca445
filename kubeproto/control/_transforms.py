"""What may be left out of an object before a Store keeps it: its managed fields, a third of a pod.

They are cut out of the text, which costs a tenth of reading and writing it. Where to cut is guessed by
markers, and then verified:

- What precedes `metadata` must be whole members of an object, and what is between there and the marker whole
  members of the metadata. So the marker is that of the metadata's own fields.
- The list must contain no other one (field sets have no arrays), so what closes first closes it; and after
  the end must come a quote and a letter, or nothing. Were the end inside a string, that quote would close it,
  and no letter can follow.

Any other text is read and written.
"""

from __future__ import annotations

from typing import Final

from msgspec import Raw

from .._errors import InvalidObject
from ..objects import check_json, joined, members

_METADATA: Final = b'"metadata":{'
_FIELDS: Final = b',"managedFields":['
_ENDS: Final = (b'}]},"', b'}],"')
_LAST: Final = b"}]}}"


def drop_managed_fields(raw: bytes) -> bytes:
    """Return the JSON of an object without ``metadata.managedFields``; other JSON stays as it is."""
    begin = raw.find(_METADATA)
    start = raw.find(_FIELDS, begin)
    if begin >= 0 <= start and (end := _end(raw, start)) and _is_own(raw, begin, start):
        return raw[:start] + raw[end:]
    if b"managedFields" not in raw and b"\\" not in raw:  # a key can be written with escapes, if oddly
        return raw
    try:
        return _rewritten(raw)
    except InvalidObject:
        return raw


def _end(raw: bytes, start: int) -> int:
    """Return where the list ends that begins at a marker; 0 if that takes more than a glance."""
    end = raw.find(b"]", start) + 1
    if raw.find(b"[", start + len(_FIELDS), end) >= 0:
        return 0
    for follows in _ENDS:
        if raw.startswith(follows, end - 2):
            behind = end - 2 + len(follows)
            return end if raw[behind : behind + 1].isalpha() else 0
    return end if end + 2 == len(raw) and raw.endswith(_LAST) else 0


def _is_own(raw: bytes, begin: int, start: int) -> bool:
    """Return whether a marker is that of the metadata's own fields."""
    try:
        check_json(raw[:begin] + b'"":0}')
        check_json(raw[begin + len(_METADATA) - 1 : start] + b"}")
    except InvalidObject:
        return False
    return True


def _rewritten(raw: bytes) -> bytes:
    whole = members(raw)
    if "metadata" not in whole:
        return raw
    metadata = members(whole["metadata"])
    if metadata.pop("managedFields", None) is None:
        return raw
    whole["metadata"] = Raw(joined(metadata))
    return joined(whole)
