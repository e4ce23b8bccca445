"""Shards: a part of a collection, chosen by the server by a hash (KEP-5866), or here where it cannot."""

from __future__ import annotations

import re
from typing import Final, Literal

from msgspec import Struct

from .._errors import InvalidRequest
from ..objects import ListMeta, ObjectMeta

By = Literal["uid", "namespace"]

_HASHES: Final = 1 << 64
_RANGE: Final = (
    r"\s*shardRange\(\s*object\.metadata\.(uid|namespace)\s*"
    r",\s*(['\"])(0x[0-9a-f]{16}|0x10000000000000000)\2\s*"
    r",\s*(['\"])(0x[0-9a-f]{16}|0x10000000000000000)\4\s*\)\s*"
)


def shard_hash(text: str) -> int:
    """Return the 64-bit FNV-1a hash by which a server sorts objects into shards."""
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = ((value ^ byte) * 0x100000001B3) % _HASHES
    return value


class Shard(Struct, frozen=True):
    """The objects whose hash is in one of the ranges, each from its start up to but not with its end.

    A server that does not know shards sends everything without an error: check a list's metadata with
    `confirmed_by`, and if it is False, keep only what `holds` selects.
    """

    by: By
    ranges: tuple[tuple[int, int], ...]

    def __post_init__(self) -> None:
        if not self.ranges:
            raise InvalidRequest("a shard needs a range")
        for start, end in self.ranges:
            if not 0 <= start < end <= _HASHES:
                raise InvalidRequest(f"{start:#x} to {end:#x} is not a range of 64-bit hashes")

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Read the string form; `InvalidRequest` for what a server would refuse with a bare 500."""
        found = [re.fullmatch(_RANGE, part, re.ASCII) for part in text.split("||")]
        ranges = [match for match in found if match]
        keys = {match[1] for match in ranges}
        if len(ranges) != len(found) or len(keys) != 1:
            raise InvalidRequest(
                f"shard selector {text!r}: one reads shardRange(object.metadata.uid, '0x0000000000000000', "
                "'0x8000000000000000'), several are joined by || and have one key"
            )
        by: By = "uid" if "uid" in keys else "namespace"
        return cls(by, tuple((int(match[3], 16), int(match[5], 16)) for match in ranges))

    def holds(self, metadata: ObjectMeta) -> bool:
        """Return whether the object with this metadata belongs to the shard."""
        value = shard_hash(metadata.uid if self.by == "uid" else metadata.namespace)
        return any(start <= value < end for start, end in self.ranges)

    def confirmed_by(self, metadata: ListMeta) -> bool:
        """Return whether the server sent only this shard: it repeats the selector in its normal form."""
        return metadata.shard_info is not None and metadata.shard_info.selector == str(self)

    def __str__(self) -> str:
        """The normal form, the one in which a server repeats it."""
        key = f"object.metadata.{self.by}"
        return " || ".join(
            f"shardRange({key}, '{_bound(start)}', '{_bound(end)}')" for start, end in self.ranges
        )


def shard(index: int, count: int, *, by: By = "uid") -> Shard:
    """Return shard `index` (from 0) of `count` equal ones, which together contain every object once."""
    if not 0 <= index < count:
        raise InvalidRequest(f"there is no shard {index} of {count}: they are counted from 0")
    return Shard(by, ((_HASHES * index // count, _HASHES * (index + 1) // count),))


def _bound(value: int) -> str:
    return f"0x{value:016x}"
