"""Exact amounts of CPU, memory and the like, in the string form of Kubernetes.

A quantity is an integer number of 10**-9, the finest step of Kubernetes, and remembers the family of its
suffix: decimal ("500m", "2G"), binary ("1Gi") or decimal exponent ("1e3").
"""

from typing import Final, Literal, Self, final

from ._amounts import Amount
from ._json_hooks import PARSED_VALUES

QuantityFormat = Literal["DecimalSI", "BinarySI", "DecimalExponent"]

_ONE: Final = 10**9
_DECIMAL: Final = ("n", "u", "m", "", "k", "M", "G", "T", "P", "E")
_BINARY: Final = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_UNITS: Final[dict[str, tuple[int, QuantityFormat]]] = {
    **{suffix: (_ONE * 1024**power, "BinarySI") for power, suffix in enumerate(_BINARY)},
    **{suffix: (1000**power, "DecimalSI") for power, suffix in enumerate(_DECIMAL)},
}
_SUFFIX_LETTERS: Final = "".join(_UNITS)
# A server caps binary quantities, and only those, at the largest int64.
_BINARY_LIMIT: Final = (2**63 - 1) * _ONE
# No real amount is longer, and "1e999999999" must not cost a minute of arithmetic.
_MAX_TEXT: Final = 256
_MAX_EXPONENT: Final = 3  # digits


@final
class Quantity(Amount):
    """An amount such as "500m", "1Gi", "0.5" or "1e3"; equal by value, not by spelling."""

    __slots__ = ("_format",)

    _format: QuantityFormat

    def __init__(self, value: str | int) -> None:
        if isinstance(value, str):
            self._count, self._format = _read(value)
        elif type(value) is int:
            self._count, self._format = value * _ONE, "DecimalSI"
        else:
            # A float has a rounding error, and True is not an amount.
            raise TypeError(f"a quantity is made from a string or an int, not from {value!r}")

    @staticmethod
    def parse(text: str) -> "Quantity":
        """Read any string form that Kubernetes accepts; digits below 10**-9 are rounded away from zero."""
        quantity = _cache.get(text)
        if quantity is None:
            if len(_cache) >= _MAX_CACHED:
                _cache.clear()
            quantity = _cache[text] = Quantity(text)
        return quantity

    def _like(self, count: int) -> Self:
        quantity = type(self).__new__(type(self))
        quantity._count, quantity._format = count, self._format
        return quantity

    @property
    def format(self) -> QuantityFormat:
        """The family of suffixes that the string form uses, where it can."""
        return self._format

    def to_integer(self) -> int:
        """Return whole units, rounded away from zero, as the scheduler counts them."""
        return _divide_away_from_zero(self._count, _ONE)

    def to_millis(self) -> int:
        """Return thousandths, rounded away from zero: the millicores of a CPU quantity."""
        return _divide_away_from_zero(self._count, _ONE // 1000)

    def __int__(self) -> int:
        """Return the exact integer; raise ValueError if there is a fraction."""
        integer, fraction = divmod(self._count, _ONE)
        if fraction:
            raise ValueError(f"{self!r} is not a whole number; to_integer() rounds")
        return integer

    def __float__(self) -> float:
        return self._count / _ONE

    def __str__(self) -> str:
        """Return the canonical form: no fraction, the largest suffix that loses nothing."""
        count = self._count
        if not count:
            return "0"
        # Below 1024, and for fractions, a binary suffix would need rounding: Kubernetes shows decimals then.
        if self._format == "BinarySI" and abs(count) >= 1024 * _ONE and count % _ONE == 0:
            number, power = _without_factors(count // _ONE, 1024, len(_BINARY) - 1)
            return f"{number}{_BINARY[power]}"
        if self._format == "DecimalExponent":
            number, power = _without_factors(count, 1000)
            return f"{number}e{3 * power - 9}" if power != 3 else str(number)
        number, power = _without_factors(count, 1000, len(_DECIMAL) - 1)
        return f"{number}{_DECIMAL[power]}"


# The pods of a cluster request the same few dozen amounts, and a typed pod holds half a dozen of them.
# Quantities are immutable, so one object serves all.
_MAX_CACHED: Final = 4096
_cache: Final[dict[str, Quantity]] = {}
PARSED_VALUES[Quantity] = _cache


def _read(text: str) -> tuple[int, QuantityFormat]:
    """Return the count of 10**-9 and the family of `text`."""
    number = text.rstrip(_SUFFIX_LETTERS)
    unit, family = _UNITS.get(text[len(number) :], (0, "DecimalSI"))
    if not unit or len(text) > _MAX_TEXT:
        raise _invalid(text)
    divisor = 1
    if not (number.isdigit() and number.isascii()):
        number, unit, divisor, family = _read_number(text, number, unit, family)
    count = -(-int(number.lstrip("+-")) * unit // divisor)  # rounded up, away from zero
    if family == "BinarySI":
        count = min(count, _BINARY_LIMIT)
        if 0 < count < _ONE:
            family = "DecimalSI"
    return (-count if number[0] == "-" else count), family


def _read_number(
    text: str, number: str, unit: int, family: QuantityFormat
) -> tuple[str, int, int, QuantityFormat]:
    """Return a number with a sign, a fraction or an exponent, as signed digits, unit and divisor."""
    mantissa, marker, exponent = number.replace("E", "e").partition("e")
    divisor = 1
    if marker:
        power = exponent.removeprefix("-") if exponent[:1] == "-" else exponent.removeprefix("+")
        if number != text or not _are_digits(power) or len(power) > _MAX_EXPONENT:
            raise _invalid(text)
        family = "DecimalExponent"
        if exponent[0] == "-":
            divisor = 10 ** int(power)
        else:
            unit *= 10 ** int(power)
    sign = mantissa[:1] if mantissa[:1] in ("+", "-") else ""
    integer, _, fraction = mantissa[len(sign) :].partition(".")
    if not _are_digits(integer + fraction):
        raise _invalid(text)
    return sign + integer + fraction, unit, divisor * 10 ** len(fraction), family


def _are_digits(text: str) -> bool:
    return text.isdigit() and text.isascii()


def _without_factors(number: int, factor: int, max_power: int | None = None) -> tuple[int, int]:
    """Divide `number` by `factor` while there is no remainder, at most `max_power` times; return both."""
    power = 0
    while number % factor == 0 and power != max_power:
        number //= factor
        power += 1
    return number, power


def _divide_away_from_zero(count: int, unit: int) -> int:
    return -(-count // unit) if count > 0 else count // unit


def _invalid(text: str) -> ValueError:
    quoted = text if len(text) <= 64 else f"{text[:64]}…"
    return ValueError(
        f"{quoted!r} is not a quantity: write a number, then nothing, an exponent such as e3,"
        " or a suffix of n u m k M G T P E Ki Mi Gi Ti Pi Ei"
    )
