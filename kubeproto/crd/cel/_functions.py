"""Kubernetes' own CEL functions, as far as they are cheap to know: lists, patterns, quantities, addresses.

https://kubernetes.io/docs/reference/using-api/cel/#cel-options-language-features-and-libraries

Their values have no type of their own in the library, so a quantity is a map with its canonical form, and an
address one with its text. What is not here (url, semver, format, two-variable macros,
indexOf and reverse of lists) is an undeclared name,
and the rule that uses it is not evaluated.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, Final

from ...objects import Quantity
from .._patterns import find_matches

BAD_ARGUMENT: Final = "bad argument: "
_NANO: Final = 10**9


def declarations(cel: Any) -> list[Any]:
    """The declarations of all functions, for an environment of the library."""
    type_ = cel.Type
    by_name: dict[str, list[Any]] = {}
    for name, member, parameters, result, implementation in _TABLE:
        overload = cel.Overload(
            f"{name}_{'_'.join(parameters)}",
            return_type=getattr(type_, result),
            parameters=[getattr(type_, parameter) for parameter in parameters],
            is_member=member,
            impl=_blaming(implementation),
        )
        by_name.setdefault(name, []).append(overload)
    return [cel.FunctionDecl(name, overloads) for name, overloads in by_name.items()]


def _blaming(implementation: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, whose errors say that an argument was wrong, so that a rule fails as on a server."""

    def call(*arguments: Any) -> Any:
        try:
            return implementation(*arguments)
        except (ValueError, TypeError, KeyError) as error:
            raise ValueError(f"{BAD_ARGUMENT}{error}") from None

    return call


def _is_sorted(values: list[Any]) -> bool:
    return all(a <= b for a, b in itertools.pairwise(values))


def _sum(values: list[Any]) -> Any:
    return sum(values)


def _min(values: list[Any]) -> Any:
    return min(values)


def _max(values: list[Any]) -> Any:
    return max(values)


def _distinct(values: list[Any]) -> list[Any]:
    return [one for at, one in enumerate(values) if one not in values[:at]]


def _sorted(values: list[Any]) -> list[Any]:
    return sorted(values)


def _contains_all(values: list[Any], others: list[Any]) -> bool:
    return all(one in values for one in others)


def _equivalent(values: list[Any], others: list[Any]) -> bool:
    return _contains_all(values, others) and _contains_all(others, values)


def _intersects(values: list[Any], others: list[Any]) -> bool:
    return any(one in others for one in values)


def _find(text: str, pattern: str) -> str:
    found = next(find_matches(pattern, text), None)
    return found[0] if found else ""


def _find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    found = [match[0] for match in find_matches(pattern, text)]
    return found if limit < 0 else found[:limit]


def _quantity(text: str) -> dict[str, Any]:
    # Nine digits behind the point are exact, and equal quantities have equal text whatever their suffix.
    return {"quantity": str(_count(Quantity.parse(text)))}


def _is_quantity(text: str) -> bool:
    return _succeeds(_quantity, text)


def _count(quantity: Quantity) -> int:
    return int(quantity * _NANO)


def _nanos(quantity: Any) -> int:
    return int(quantity["quantity"])


def _plus(a: Any, b: Any) -> dict[str, str]:
    return {"quantity": str(_nanos(a) + (b * _NANO if isinstance(b, int) else _nanos(b)))}


def _minus(a: Any, b: Any) -> dict[str, str]:
    return {"quantity": str(_nanos(a) - (b * _NANO if isinstance(b, int) else _nanos(b)))}


def _compare(a: Any, b: Any) -> int:
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
    whole, fraction = divmod(_nanos(quantity), _NANO)
    if fraction:
        raise ValueError("the quantity is no whole number")
    return whole


def _address(text: str) -> Any:
    import ipaddress

    if "%" in text:
        raise ValueError("an address with a zone")
    return ipaddress.ip_address(text)


def _network(text: str) -> Any:
    import ipaddress

    if "/" not in text:
        raise ValueError("a network without a prefix length")
    return ipaddress.ip_interface(text)


def _is_ip(text: str) -> bool:
    return _succeeds(_address, text)


def _is_cidr(text: str) -> bool:
    return _succeeds(_network, text)


def _is_canonical(text: str) -> bool:
    return str(_address(text)) == text


def _family(ip: Any) -> Any:
    return _address(ip["ip"]).version


def _is_unspecified(ip: Any) -> Any:
    return _address(ip["ip"]).is_unspecified


def _is_loopback(ip: Any) -> Any:
    return _address(ip["ip"]).is_loopback


def _prefix_length(cidr: Any) -> Any:
    return _network(cidr["cidr"]).network.prefixlen


def _ip(text: str) -> dict[str, str]:
    return {"ip": str(_address(text))}


def _cidr(text: str) -> dict[str, str]:
    return {"cidr": str(_network(text))}


def _contains_ip(cidr: Any, ip: Any) -> bool:
    return _address(ip if isinstance(ip, str) else ip["ip"]) in _network(cidr["cidr"]).network


def _contains_cidr(cidr: Any, other: Any) -> bool:
    outer = _network(cidr["cidr"]).network
    inner = _network(other if isinstance(other, str) else other["cidr"]).network
    return outer.version == inner.version and bool(inner.subnet_of(outer))


def _succeeds(read: Callable[[str], Any], text: str) -> bool:
    try:
        read(text)
    except ValueError:
        return False
    return True


# Name, whether it is called on a value, the types of its parameters and of its result, and what it does.
_TABLE: Final[tuple[tuple[str, bool, tuple[str, ...], str, Callable[..., Any]], ...]] = (
    ("isSorted", True, ("LIST",), "BOOL", _is_sorted),
    ("sum", True, ("LIST",), "DYN", _sum),
    ("min", True, ("LIST",), "DYN", _min),
    ("max", True, ("LIST",), "DYN", _max),
    ("distinct", True, ("LIST",), "LIST", _distinct),
    ("sort", True, ("LIST",), "LIST", _sorted),
    ("sets.contains", False, ("LIST", "LIST"), "BOOL", _contains_all),
    ("sets.equivalent", False, ("LIST", "LIST"), "BOOL", _equivalent),
    ("sets.intersects", False, ("LIST", "LIST"), "BOOL", _intersects),
    ("find", True, ("STRING", "STRING"), "STRING", _find),
    ("findAll", True, ("STRING", "STRING"), "LIST", _find_all),
    ("findAll", True, ("STRING", "STRING", "INT"), "LIST", _find_all),
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
    ("ip", False, ("STRING",), "MAP", _ip),
    ("isIP", False, ("STRING",), "BOOL", _is_ip),
    ("ip.isCanonical", False, ("STRING",), "BOOL", _is_canonical),
    ("family", True, ("MAP",), "INT", _family),
    ("isUnspecified", True, ("MAP",), "BOOL", _is_unspecified),
    ("isLoopback", True, ("MAP",), "BOOL", _is_loopback),
    ("cidr", False, ("STRING",), "MAP", _cidr),
    ("isCIDR", False, ("STRING",), "BOOL", _is_cidr),
    ("containsIP", True, ("MAP", "MAP"), "BOOL", _contains_ip),
    ("containsIP", True, ("MAP", "STRING"), "BOOL", _contains_ip),
    ("containsCIDR", True, ("MAP", "MAP"), "BOOL", _contains_cidr),
    ("containsCIDR", True, ("MAP", "STRING"), "BOOL", _contains_cidr),
    ("prefixLength", True, ("MAP",), "INT", _prefix_length),
)
