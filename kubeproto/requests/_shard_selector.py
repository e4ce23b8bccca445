"""`Shard`: a part of a collection, selected by a hash (KEP-5866), by the server or else by the client."""

from __future__ import annotations

import re
from typing import Final, Literal

from msgspec import Struct

from .._errors import InvalidRequest
from ..objects import ListMeta, ObjectMeta

ShardKey = Literal["uid", "namespace"]

_HASH_COUNT: Final = 1 << 64
_RANGE_PATTERN: Final = (
    r"\s*shardRange\(\s*object\.metadata\.(uid|namespace)\s*"
    r",\s*(['\"])(0x[0-9a-f]{16}|0x10000000000000000)\2\s*"
    r",\s*(['\"])(0x[0-9a-f]{16}|0x10000000000000000)\4\s*\)\s*"
)


def _fnv_hash(text: str) -> int:
    """Return the 64-bit FNV-1a hash by which a server assigns objects to shards."""
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = ((value ^ byte) * 0x100000001B3) % _HASH_COUNT
    return value


class Shard(Struct, frozen=True):
    """The objects whose hash is in one of the ranges, each from its start to before its end.

    A server without support for shards sends all objects and no error: check the metadata of a list with
    `confirmed_by`; if it is False, select the objects with `contains`.
    """

    by: ShardKey
    ranges: tuple[tuple[int, int], ...]

    def __post_init__(self) -> None:
        if not self.ranges:
            raise InvalidRequest("a shard needs at least one range")
        for start, end in self.ranges:
            if not 0 <= start < end <= _HASH_COUNT:
                raise InvalidRequest(f"{start:#x} to {end:#x} is not a range of 64-bit hashes")

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Parse the string form; raise `InvalidRequest` for a text that a server would refuse with a mere
        500."""
        parts = text.split("||")
        matches = [match for part in parts if (match := re.fullmatch(_RANGE_PATTERN, part, re.ASCII))]
        keys = {match[1] for match in matches}
        if len(matches) != len(parts) or len(keys) != 1:
            raise InvalidRequest(
                f"shard selector {text!r}: each range has the form shardRange(object.metadata.uid,"
                " '0x0000000000000000', '0x8000000000000000'); several are joined by || and have the same key"
            )
        by: ShardKey = "uid" if "uid" in keys else "namespace"
        return cls(by, tuple((int(match[3], 16), int(match[5], 16)) for match in matches))

    @classmethod
    def of(cls, index: int, count: int, *, by: ShardKey = "uid") -> Shard:
        """Return shard `index`, from 0, of `count` equal shards, which together contain every object once."""
        if not 0 <= index < count:
            raise InvalidRequest(f"shard {index} of {count}: the index must be from 0 to {count - 1}")
        return cls(by, ((_HASH_COUNT * index // count, _HASH_COUNT * (index + 1) // count),))

    def contains(self, metadata: ObjectMeta) -> bool:
        """Return whether the object with this metadata belongs to the shard."""
        value = _fnv_hash(metadata.uid if self.by == "uid" else metadata.namespace)
        return any(start <= value < end for start, end in self.ranges)

    def confirmed_by(self, metadata: ListMeta) -> bool:
        """Return whether the server sent only this shard: its list repeats the normalized selector."""
        return metadata.shard_info is not None and metadata.shard_info.selector == str(self)

    def __str__(self) -> str:
        """Return the normalized form, as a server repeats it."""
        key = f"object.metadata.{self.by}"
        return " || ".join(
            f"shardRange({key}, '{_format_bound(start)}', '{_format_bound(end)}')"
            for start, end in self.ranges
        )


def _format_bound(value: int) -> str:
    return f"0x{value:016x}"
