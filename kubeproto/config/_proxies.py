"""`proxy_for`: the proxy for a server, read from the environment exactly as Go programs read it.

``HTTPS_PROXY`` is for https servers, ``HTTP_PROXY`` for http servers, and ``NO_PROXY`` lists the servers with
a direct connection. Names in capitals take precedence. There is no ``ALL_PROXY``. The settings of users of
kubectl and helm must work here, so the peculiarities are Go's:

- ``localhost`` and loopback addresses are always reached directly.
- ``x.org`` matches that name and all names below it, ``.x.org`` and ``*.x.org`` only those below; ``*`` all.
- An address matches an address or a network (``10.0.0.0/8``), never the end of a name.
- A port restricts a name or an address (``x.org:8080``); networks have none.
- Entries are separated by commas, not by spaces, and malformed entries are ignored.
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TypeAlias

from .._errors import ConfigError
from ..wire import ConcealedUrl, ConcealedVariables
from ._server_urls import PROXY_SCHEMES, parse_proxy_url, parse_server_url

Address: TypeAlias = IPv4Address | IPv6Address


def proxy_for(server: str, environ: Mapping[str, str]) -> str:
    """Return the URL of the proxy for this server, or "" for a direct connection."""
    server, environ = ConcealedUrl(server), ConcealedVariables(environ)
    url = parse_server_url(server)
    name, proxy = _first_variable(environ, f"{url.scheme.upper()}_PROXY", f"{url.scheme}_proxy")
    if not proxy:
        return ""
    if name == "HTTP_PROXY" and environ.get("REQUEST_METHOD"):
        # A CGI program gets its caller's header `Proxy:` in this variable.
        raise ConfigError(
            "HTTP_PROXY is ignored in a CGI program, whose callers could set it: use http_proxy"
        )
    if _bypasses_proxy(_first_variable(environ, "NO_PROXY", "no_proxy")[1], url.name, url.port):
        return ""
    if proxy.partition("://")[0].lower() not in PROXY_SCHEMES:
        proxy = ConcealedUrl(f"http://{proxy}")
    try:
        parse_proxy_url(proxy)
    except ConfigError as error:
        # Go ignores such a proxy, and connects directly without a warning.
        problem = f"{name} is {proxy!r}: {error}"
    else:
        return str(proxy)
    raise ConfigError(problem)


def _bypasses_proxy(no_proxy: str, host: str, port: int) -> bool:
    """Return whether this value of ``NO_PROXY`` requires a direct connection to a host and port."""
    host = host.lower()
    address = _parse_address(host)
    if host == "localhost" or (address is not None and address.is_loopback):
        return True
    return any(_matches(entry.strip().lower(), host, port, address) for entry in no_proxy.split(","))


def _first_variable(environ: Mapping[str, str], *names: str) -> tuple[str, ConcealedUrl]:
    name = next((name for name in names if environ.get(name)), "")
    return name, ConcealedUrl(environ[name] if name else "")


def _matches(entry: str, host: str, port: int, address: Address | None) -> bool:
    if entry in ("", "*"):
        return entry == "*"
    if "/" in entry and _is_network(entry):
        return address is not None and _contains(entry, address)
    name, entry_port = _split_port(entry)
    if not name or (entry_port and entry_port != str(port)):
        return False
    entry_address = _parse_address(name) if "%" not in name else None
    if entry_address is not None:
        return entry_address == address
    if address is not None:
        return False
    name = name[1:] if name.startswith("*.") else name
    suffix = name if name.startswith(".") else f".{name}"
    return host.endswith(_encode_idna(suffix)) or (suffix != name and host == _encode_idna(name))


def _split_port(entry: str) -> tuple[str, str]:
    """Return the host and port of ``host:port`` or ``[v6]:port``; any other entry is a host."""
    host, colon, port = entry.rpartition(":")
    if host.startswith("["):
        bracketed = host.endswith("]") and not set("[]") & {*host[1:-1], *port}
        return (host[1:-1], port) if bracketed else (entry, "")
    if not colon or set("[]:") & {*host} or set("[]") & {*port}:
        return entry, ""
    return host, port


def _parse_address(host: str) -> Address | None:
    """Return an IP address without its zone; IPv4 mapped into IPv6 becomes IPv4."""
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def _is_network(entry: str) -> bool:
    prefix, _, length = entry.partition("/")
    if "%" in prefix or not (length.isascii() and length.isdigit()):
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


def _encode_idna(name: str) -> str:
    """Return a name as it is written in a URL."""
    if name.isascii():
        return name
    try:
        dot = "." if name.startswith(".") else ""
        return dot + name.removeprefix(".").encode("idna").decode()
    except UnicodeError:
        return name
