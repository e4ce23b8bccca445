"""CEL functions on IP addresses, networks and URLs; each of these is a map that contains a string."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from .._go_urls import check_url, parse_url
from ._list_functions import FunctionRow
from ._quantity_functions import is_valid


def _address(text: str) -> Any:
    import ipaddress

    if "%" in text:
        raise ValueError("an address must not have a zone")
    return ipaddress.ip_address(text)


def _network(text: str) -> Any:
    import ipaddress

    if "/" not in text:
        raise ValueError("a network must have a prefix length")
    return ipaddress.ip_interface(text)


def _is_ip(text: str) -> bool:
    return is_valid(_address, text)


def _is_cidr(text: str) -> bool:
    return is_valid(_network, text)


def _is_canonical(text: str) -> bool:
    return str(_address(text)) == text


def _family(ip: Any) -> Any:
    return _address(ip["ip"]).version


def _is_unspecified(ip: Any) -> Any:
    return _address(ip["ip"]).is_unspecified


def _is_loopback(ip: Any) -> Any:
    return _address(ip["ip"]).is_loopback


def _is_global_unicast(ip: Any) -> bool:
    # As in Go, private addresses are global unicast addresses.
    address = _address(ip["ip"])
    is_local = address.is_link_local or address.is_loopback or address.is_multicast or address.is_unspecified
    return not is_local and str(address) != "255.255.255.255"


def _is_link_local_unicast(ip: Any) -> Any:
    return _address(ip["ip"]).is_link_local


def _is_link_local_multicast(ip: Any) -> bool:
    address = _address(ip["ip"])
    return address in _network("224.0.0.0/24" if address.version == 4 else "ff02::/16").network


def _masked(cidr: Any) -> dict[str, str]:
    return {"cidr": str(_network(cidr["cidr"]).network)}


def _ip_of(cidr: Any) -> dict[str, str]:
    return {"ip": str(_network(cidr["cidr"]).ip)}


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


def _url(text: str) -> dict[str, str]:
    try:
        parse_url(text)
    except ValueError as error:
        raise ValueError(f'URL parse error during conversion from string: parse "{text}": {error}') from None
    return {"url": text}


def _is_url(text: str) -> bool:
    return is_valid(check_url, text)


def _url_part(name: str) -> Callable[[Any], Any]:
    return lambda url: getattr(parse_url(url["url"]), name)


_URL_PARTS: Final = {
    "getScheme": "scheme", "getHost": "host", "getHostname": "hostname", "getPort": "port",
    "getEscapedPath": "path",
}  # fmt: skip
FUNCTIONS: Final[tuple[FunctionRow, ...]] = (
    ("ip", False, ("STRING",), "MAP", _ip),
    ("isIP", False, ("STRING",), "BOOL", _is_ip),
    ("ip.isCanonical", False, ("STRING",), "BOOL", _is_canonical),
    ("family", True, ("MAP",), "INT", _family),
    ("isUnspecified", True, ("MAP",), "BOOL", _is_unspecified),
    ("isLoopback", True, ("MAP",), "BOOL", _is_loopback),
    ("isGlobalUnicast", True, ("MAP",), "BOOL", _is_global_unicast),
    ("isLinkLocalUnicast", True, ("MAP",), "BOOL", _is_link_local_unicast),
    ("isLinkLocalMulticast", True, ("MAP",), "BOOL", _is_link_local_multicast),
    ("masked", True, ("MAP",), "MAP", _masked),
    ("ip", True, ("MAP",), "MAP", _ip_of),
    ("cidr", False, ("STRING",), "MAP", _cidr),
    ("isCIDR", False, ("STRING",), "BOOL", _is_cidr),
    ("containsIP", True, ("MAP", "MAP"), "BOOL", _contains_ip),
    ("containsIP", True, ("MAP", "STRING"), "BOOL", _contains_ip),
    ("containsCIDR", True, ("MAP", "MAP"), "BOOL", _contains_cidr),
    ("containsCIDR", True, ("MAP", "STRING"), "BOOL", _contains_cidr),
    ("prefixLength", True, ("MAP",), "INT", _prefix_length),
    ("url", False, ("STRING",), "MAP", _url),
    ("isURL", False, ("STRING",), "BOOL", _is_url),
    *((name, True, ("MAP",), "STRING", _url_part(part)) for name, part in _URL_PARTS.items()),
    ("getQuery", True, ("MAP",), "MAP", _url_part("parameters")),
)
