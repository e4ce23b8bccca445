"""`Url`: the URLs of servers and proxies, parsed by a single set of rules."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import unquote, urlsplit

from .._errors import ConfigError
from ..wire import ConcealedUrl, ConcealingStruct

DEFAULT_PORTS: Final = {"http": 80, "https": 443, "socks5": 1080, "socks5h": 1080}
SERVER_SCHEMES: Final = ("https", "http")
PROXY_SCHEMES: Final = ("http", "https", "socks5", "socks5h")

# Stricter than urlsplit, which accepts hosts that no resolver and no proxy would.
_AUTHORITY: Final = re.compile(
    r"(?:.*@)?(?:\[[0-9a-fA-F:.]+(?:%25[\w.~-]+)?\]|[\w](?:[\w.-]*[\w.])?)(?::[0-9]*)?", re.ASCII
)


class Url(ConcealingStruct, frozen=True, kw_only=True):
    """A URL in parts. `host` is for the resolver: without brackets, and with the zone of an IPv6 address."""

    secret_fields = frozenset(("user", "password"))

    scheme: str
    host: str
    port: int
    path: str = ""  # without a slash at its end
    user: str = ""
    password: str = ""

    @property
    def name(self) -> str:
        """The host without its IPv6 zone, which has a meaning on this machine only."""
        return self.host.partition("%")[0]

    @property
    def authority(self) -> str:
        """``host:port``, always with the port: the target of a tunnel."""
        return f"{self._bracketed_name}:{self.port}"

    @property
    def host_header(self) -> str:
        """``host`` or ``host:port``, without the default port of the scheme."""
        return self._bracketed_name if self.port == DEFAULT_PORTS[self.scheme] else self.authority

    @property
    def _bracketed_name(self) -> str:
        return f"[{self.name}]" if ":" in self.name else self.name


def parse_server_url(url: str) -> Url:
    """Return the parts of a server's URL, which may have a path, and no query or fragment."""
    url = ConcealedUrl(url)
    parts = _parse(url, f"the server {url!r}", SERVER_SCHEMES)
    if "@" in urlsplit(url).netloc:
        raise ConfigError(f"the server {url!r} has credentials in its URL: set them in the user instead")
    return parts


def complete_server_url(server: str) -> str:
    """Return the URL of a server, which may be ``host:port``: kubectl adds http:// to that."""
    if not server or "://" in server:
        return server
    server = ConcealedUrl(server)
    if "/" in server.rstrip("/"):
        raise ConfigError(f"the server {server!r} has a path and no scheme: write https://…")
    return f"http://{server}"


def parse_proxy_url(url: str) -> Url:
    """Return the parts of a proxy's URL, which may contain a user and a password."""
    url = ConcealedUrl(url)
    parts = _parse(url, f"the proxy {url!r}", PROXY_SCHEMES)
    if parts.path:
        # Most likely a password with a slash, a part of which would be quoted here.
        raise ConfigError("the proxy has a path in its URL: write a slash in a password as %2F")
    return parts


def is_host_name(host: str) -> bool:
    """Return whether the resolver and TLS accept a name; Python raises `UnicodeError` for other names."""
    if ":" in host:
        return True  # an IPv6 address, which is checked elsewhere
    return len(host) <= 253 and all(0 < len(label) < 64 for label in host.removesuffix(".").split("."))


def _parse(url: ConcealedUrl, name: str, schemes: tuple[str, ...]) -> Url:
    if problem := _find_problem(url, schemes):
        raise ConfigError(f"{name} {problem}")
    split = urlsplit(url)
    return Url(
        scheme=split.scheme,
        host=(split.hostname or "").replace("%25", "%", 1),
        port=split.port or DEFAULT_PORTS[split.scheme],
        path=split.path.rstrip("/"),
        user=unquote(split.username or ""),
        password=unquote(split.password or ""),
    )


def _find_problem(url: str, schemes: tuple[str, ...]) -> str:
    """Return what is wrong with a URL, or "". Does not raise: tracebacks would show the variables."""
    # urlsplit drops line breaks and accepts spaces, so that a URL could have two meanings.
    if not url.isascii() or not url.isprintable() or " " in url:
        return "has a space, a control character or a character beyond ASCII: escape it"
    scheme, separator, _ = url.partition("://")
    if not separator:
        return f"has no scheme: write {' or '.join(f'{name}://' for name in schemes[:2])}"
    if scheme.lower() not in schemes:
        return f"must have one of the schemes {', '.join(schemes)}"
    try:
        split = urlsplit(url)
        host, port = split.hostname or "", split.port
    except ValueError:  # its message may quote a password
        return "has no valid host and port"
    if not _AUTHORITY.fullmatch(split.netloc) or port == 0:
        return "has no valid host and port"
    if not is_host_name(host.partition("%")[0]):
        return "has a host with a label that is empty or longer than 63 characters"
    if "?" in url or "#" in url:
        return "has a query or a fragment, which would be ignored: remove it"
    return ""
