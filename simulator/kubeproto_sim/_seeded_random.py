"""Randomness from a seed: uids, generated names and faults that are the same in every run."""

from __future__ import annotations

from typing import Final

_MASK: Final = (1 << 64) - 1
# No vowels, and no digits that resemble a vowel: generated names contain no words.
_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"
# A name has at most 63 characters, of which the suffix takes five.
_MAX_BASE_LENGTH: Final = 58


class SeededRandom:
    """A stream of random numbers from a seed: splitmix64, which is short and equal on every Python."""

    def __init__(self, seed: int) -> None:
        self.state = seed & _MASK

    def bits(self) -> int:
        """Return 64 random bits."""
        self.state = z = (self.state + 0x9E3779B97F4A7C15) & _MASK
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
        return z ^ (z >> 31)

    def randrange(self, bound: int) -> int:
        """Return an integer from 0 to `bound` - 1."""
        return self.bits() % bound

    def happens(self, probability: float) -> bool:
        """Return True with this probability."""
        return self.bits() < probability * (1 << 64)

    def uid(self) -> str:
        """Return a UUID of version 4."""
        high, low = self.bits(), self.bits()
        return (
            f"{high >> 32:08x}-{high >> 16 & 0xFFFF:04x}-4{high & 0xFFF:03x}-"
            f"{'89ab'[low >> 62]}{low >> 48 & 0xFFF:03x}-{low & 0xFFFFFFFFFFFF:012x}"
        )

    def name(self, base: str) -> str:
        """Return a name that begins with `base`, as a server generates it."""
        bits = self.bits()
        suffix = ""
        for _ in range(5):
            bits, digit = divmod(bits, len(_ALPHABET))
            suffix += _ALPHABET[digit]
        return base[:_MAX_BASE_LENGTH] + suffix

    def copy(self) -> SeededRandom:
        """Return an independent stream that yields the same further numbers."""
        return SeededRandom(self.state)
