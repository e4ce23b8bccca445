"""The base of quantities and durations: an integer number of the smallest unit, so that sums are exact."""

from typing import Self


class Amount:
    """An immutable number of units that adds and compares only with its own kind."""

    # An ordinary class, because msgspec would write a Struct as a JSON object, and these are strings.
    __slots__ = ("_count",)

    _count: int

    def _like(self, count: int) -> Self:
        raise NotImplementedError

    def __add__(self, other: Self) -> Self:
        if type(other) is not type(self):
            return NotImplemented
        # Zero has no form of its own: a sum that starts from it has the form of the added amount.
        return (self if self._count else other)._like(self._count + other._count)

    def __radd__(self, other: int) -> Self:
        if other != 0:  # sum() starts from 0; no other number has a unit
            return NotImplemented
        return self

    def __sub__(self, other: Self) -> Self:
        if type(other) is not type(self):
            return NotImplemented
        return (self if self._count else other)._like(self._count - other._count)

    def __mul__(self, factor: int) -> Self:
        if type(factor) is not int:
            return NotImplemented
        return self._like(self._count * factor)

    __rmul__ = __mul__

    def __truediv__(self, other: Self) -> float:
        """Return how many times `other` fits in, as a float: the only operation here that rounds."""
        return self._count / other._count if type(other) is type(self) else NotImplemented

    def __neg__(self) -> Self:
        return self._like(-self._count)

    def __abs__(self) -> Self:
        return self._like(abs(self._count))

    def __bool__(self) -> bool:
        return self._count != 0

    def __eq__(self, other: object) -> bool:
        return self._count == other._count if isinstance(other, type(self)) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._count)

    def __lt__(self, other: Self) -> bool:
        return self._count < other._count if type(other) is type(self) else NotImplemented

    def __le__(self, other: Self) -> bool:
        return self._count <= other._count if type(other) is type(self) else NotImplemented

    def __gt__(self, other: Self) -> bool:
        return self._count > other._count if type(other) is type(self) else NotImplemented

    def __ge__(self, other: Self) -> bool:
        return self._count >= other._count if type(other) is type(self) else NotImplemented

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"
