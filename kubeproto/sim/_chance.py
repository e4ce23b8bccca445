"""Chance from a seed: uids, generated names and faults that come out the same on every run."""

from __future__ import annotations

from typing import Final

_MASK: Final = (1 << 64) - 1
# No vowels, and no digits that look like one: generated names spell no words.
_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"
_LONGEST_BASE: Final = 58


class Chance:
    """A stream of numbers that its seed decides (splitmix64: short, and equal on every Python)."""

    def __init__(self, seed: int) -> None:
        self.state = seed & _MASK

    def bits(self) -> int:
        """64 bits."""
        self.state = z = (self.state + 0x9E3779B97F4A7C15) & _MASK
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
        return z ^ (z >> 31)

    def below(self, bound: int) -> int:
        """A whole number from 0 to `bound` - 1."""
        return self.bits() % bound

    def hits(self, share: float) -> bool:
        """True in this share of all cases."""
        return self.bits() < share * (1 << 64)

    def uid(self) -> str:
        """A UUID of version 4."""
        high, low = self.bits(), self.bits()
        text = f"{high:016x}{low:016x}"
        return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-{'89ab'[low >> 62]}{text[17:20]}-{text[20:]}"

    def name(self, base: str) -> str:
        """A name that begins with `base`, as a server generates it."""
        drawn = self.bits()
        suffix = ""
        for _ in range(5):
            drawn, digit = divmod(drawn, len(_ALPHABET))
            suffix += _ALPHABET[digit]
        return base[:_LONGEST_BASE] + suffix

    def copy(self) -> Chance:
        """A stream that goes on as this one would."""
        return Chance(self.state)
