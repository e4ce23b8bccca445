"""The proxy for a server: read from the environment exactly as Go's programs read it.

``HTTPS_PROXY`` is for https servers, ``HTTP_PROXY`` for http, ``NO_PROXY`` lists what is reached directly;
names in capitals are asked first. There is no ``ALL_PROXY``. What works for users of kubectl and helm must
work here, so the oddities are Go's:

- ``localhost`` and loopback addresses never go through a proxy, whatever is listed.
- ``x.org`` lists that name and all below it, ``.x.org`` and ``*.x.org`` only those below; ``*`` everything.
- An address matches an address or a network (``10.0.0.0/8``), never the end of a name.
- A port restricts a name or an address (``x.org:8080``); networks have none.
- Entries are separated by commas, not by blanks, and malformed ones are ignored.
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TypeAlias

from ._errors import ConfigError
from ._hiding import ConcealedUrl, ConcealedVariables
from ._urls import PROXY_SCHEMES, read_proxy, read_server

Address: TypeAlias = IPv4Address | IPv6Address


def proxy_for(server: str, environ: Mapping[str, str]) -> str:
    """The URL of the proxy for this server, or "" for the direct way."""
    server, environ = ConcealedUrl(server), ConcealedVariables(environ)
    url = read_server(server)
    name, proxy = _first(environ, f"{url.scheme.upper()}_PROXY", f"{url.scheme}_proxy")
    if not proxy:
        return ""
    if name == "HTTP_PROXY" and environ.get("REQUEST_METHOD"):
        # A CGI program gets the header `Proxy:` of its caller under that very name.
        raise ConfigError("HTTP_PROXY is not used in a CGI program, because its callers could set it")
    if bypasses_proxy(_first(environ, "NO_PROXY", "no_proxy")[1], url.name, url.port):
        return ""
    if proxy.partition("://")[0].lower() not in PROXY_SCHEMES:
        proxy = ConcealedUrl(f"http://{proxy}")
    try:
        read_proxy(proxy)
    except ConfigError as error:
        # Go ignores such a proxy, and connects directly without a warning.
        problem = f"{name} is {proxy!r}: {error}"
    else:
        return str(proxy)
    raise ConfigError(problem)


def bypasses_proxy(no_proxy: str, host: str, port: int) -> bool:
    """True if a ``NO_PROXY`` of this value has this host and port reached directly."""
    host = host.lower()
    address = _address(host)
    if host == "localhost" or (address is not None and address.is_loopback):
        return True
    return any(_matches(entry.strip().lower(), host, port, address) for entry in no_proxy.split(","))


def _first(environ: Mapping[str, str], *names: str) -> tuple[str, ConcealedUrl]:
    name = next((name for name in names if environ.get(name)), "")
    return name, ConcealedUrl(environ[name] if name else "")


def _matches(entry: str, host: str, port: int, address: Address | None) -> bool:
    if entry in ("", "*"):
        return entry == "*"
    if "/" in entry and _is_network(entry):
        return address is not None and _contains(entry, address)
    name, only_port = _split(entry)
    if not name or (only_port and only_port != str(port)):
        return False
    listed = _address(name) if "%" not in name else None
    if listed is not None:
        return listed == address
    if address is not None:
        return False
    name = name[1:] if name.startswith("*.") else name
    below = name if name.startswith(".") else f".{name}"
    return host.endswith(_ascii(below)) or (below != name and host == _ascii(name))


def _split(entry: str) -> tuple[str, str]:
    """Host and port of ``host:port`` or ``[v6]:port``; anything else is all host."""
    host, colon, port = entry.rpartition(":")
    if host.startswith("["):
        bracketed = host.endswith("]") and not set("[]") & {*host[1:-1], *port}
        return (host[1:-1], port) if bracketed else (entry, "")
    if not colon or set("[]:") & {*host} or set("[]") & {*port}:
        return entry, ""
    return host, port


def _address(host: str) -> Address | None:
    """An IP address without its zone; one that is IPv4 inside IPv6 is IPv4."""
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def _is_network(entry: str) -> bool:
    front, _, length = entry.partition("/")
    if "%" in front or not (length.isascii() and length.isdigit()):
        return False
    try:
        ip_network(entry, strict=False)
    except ValueError:
        return False
    return True


def _contains(entry: str, address: Address) -> bool:
    network = ip_network(entry, strict=False)
    if isinstance(network, IPv6Network) and network.network_address.ipv4_mapped and network.prefixlen >= 96:
        mapped = network.network_address.ipv4_mapped
        network = ip_network(f"{mapped}/{network.prefixlen - 96}", strict=False)
    return address in network


def _ascii(name: str) -> str:
    """A name as it is written in a URL."""
    if name.isascii():
        return name
    try:
        dot = "." if name.startswith(".") else ""
        return dot + name.removeprefix(".").encode("idna").decode()
    except UnicodeError:
        return name
