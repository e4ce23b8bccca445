"""CEL functions on quantities and semantic versions, which have functions of the same names.

The library has no types for them, so each is a map that contains its canonical form. Quantities are exact to
nine decimal places.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ...objects import Quantity
from ._list_functions import FunctionRow
from ._semantic_versions import canonical_version, compare_versions, version_numbers

_NANO: Final = 10**9


def is_valid(parse: Callable[[str], object], text: str) -> bool:
    """Return whether a function can parse a string."""
    try:
        parse(text)
    except ValueError:
        return False
    return True


def _quantity(text: str) -> dict[str, Any]:
    # A number of nanos, so that equal quantities are equal strings whatever their suffix.
    try:
        return {"quantity": str(_count(Quantity.parse(text)))}
    except ValueError:
        raise ValueError(
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
        ) from None


def _is_quantity(text: str) -> bool:
    return is_valid(_quantity, text)


def _count(quantity: Quantity) -> int:
    return int(quantity * _NANO)


def _nanos(quantity: Any) -> int:
    return int(quantity["quantity"])


def _plus(a: Any, b: Any) -> dict[str, str]:
    return {"quantity": str(_nanos(a) + (b * _NANO if isinstance(b, int) else _nanos(b)))}


def _minus(a: Any, b: Any) -> dict[str, str]:
    return {"quantity": str(_nanos(a) - (b * _NANO if isinstance(b, int) else _nanos(b)))}


def _compare(a: Any, b: Any) -> int:
    if "semver" in a and "semver" in b:
        return compare_versions(a["semver"], b["semver"])
    return (_nanos(a) > _nanos(b)) - (_nanos(a) < _nanos(b))


def _sign(quantity: Any) -> int:
    return _compare(quantity, {"quantity": "0"})


def _is_less(a: Any, b: Any) -> bool:
    return _compare(a, b) < 0


def _is_greater(a: Any, b: Any) -> bool:
    return _compare(a, b) > 0


def _is_integer(quantity: Any) -> bool:
    return _nanos(quantity) % _NANO == 0


def _as_float(quantity: Any) -> float:
    return _nanos(quantity) / _NANO


def _as_integer(quantity: Any) -> int:
    integer, fraction = divmod(_nanos(quantity), _NANO)
    if fraction:
        raise ValueError("cannot convert value to integer")
    return integer


def _semver(text: str, tolerant: bool = False) -> dict[str, str]:
    return {"semver": canonical_version(text, tolerant=tolerant)}


def _is_semver(text: str, tolerant: bool = False) -> bool:
    return is_valid(lambda version: _semver(version, tolerant), text)


def _major(version: Any) -> int:
    return version_numbers(version["semver"])[0]


def _minor(version: Any) -> int:
    return version_numbers(version["semver"])[1]


def _patch(version: Any) -> int:
    return version_numbers(version["semver"])[2]


FUNCTIONS: Final[tuple[FunctionRow, ...]] = (
    ("quantity", False, ("STRING",), "MAP", _quantity),
    ("isQuantity", False, ("STRING",), "BOOL", _is_quantity),
    ("sign", False, ("MAP",), "INT", _sign),
    ("isInteger", True, ("MAP",), "BOOL", _is_integer),
    ("asInteger", True, ("MAP",), "INT", _as_integer),
    ("asApproximateFloat", True, ("MAP",), "DOUBLE", _as_float),
    ("add", True, ("MAP", "MAP"), "MAP", _plus),
    ("add", True, ("MAP", "INT"), "MAP", _plus),
    ("sub", True, ("MAP", "MAP"), "MAP", _minus),
    ("sub", True, ("MAP", "INT"), "MAP", _minus),
    ("isLessThan", True, ("MAP", "MAP"), "BOOL", _is_less),
    ("isGreaterThan", True, ("MAP", "MAP"), "BOOL", _is_greater),
    ("compareTo", True, ("MAP", "MAP"), "INT", _compare),
    ("semver", False, ("STRING",), "MAP", _semver),
    ("semver", False, ("STRING", "BOOL"), "MAP", _semver),
    ("isSemver", False, ("STRING",), "BOOL", _is_semver),
    ("isSemver", False, ("STRING", "BOOL"), "BOOL", _is_semver),
    ("major", True, ("MAP",), "INT", _major),
    ("minor", True, ("MAP",), "INT", _minor),
    ("patch", True, ("MAP",), "INT", _patch),
)
