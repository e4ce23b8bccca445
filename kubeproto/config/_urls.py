"""The addresses of servers and proxies, taken apart once, by one set of rules."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import unquote, urlsplit

from ._errors import ConfigError
from ._hiding import ConcealedUrl, Hiding

PORTS: Final = {"http": 80, "https": 443, "socks5": 1080, "socks5h": 1080}
SERVER_SCHEMES: Final = ("https", "http")
PROXY_SCHEMES: Final = ("http", "https", "socks5", "socks5h")

# Stricter than urlsplit, which accepts hosts that no resolver and no proxy would.
_AUTHORITY: Final = re.compile(
    r"(?:.*@)?(?:\[[0-9a-fA-F:.]+(?:%25[\w.~-]+)?\]|[\w](?:[\w.-]*[\w.])?)(?::[0-9]*)?", re.ASCII
)


class Url(Hiding, frozen=True, kw_only=True):
    """A URL in parts. `host` is what to dial: no brackets, and an IPv6 zone as the system writes it."""

    hides = frozenset(("user", "password"))

    scheme: str
    host: str
    port: int
    path: str = ""  # without a slash at its end
    user: str = ""
    password: str = ""

    @property
    def name(self) -> str:
        """The host as others know it, because a zone means something on this machine only."""
        return self.host.partition("%")[0]

    @property
    def authority(self) -> str:
        """``host:port``, always with the port: the target of a tunnel."""
        return f"{self._bracketed}:{self.port}"

    @property
    def host_header(self) -> str:
        """``host`` or ``host:port``: the port only where it is not the scheme's own."""
        return self._bracketed if self.port == PORTS[self.scheme] else self.authority

    @property
    def _bracketed(self) -> str:
        return f"[{self.name}]" if ":" in self.name else self.name


def read_server(url: str) -> Url:
    """Return the parts of a server's URL; it may have a path, and nothing after it."""
    url = ConcealedUrl(url)
    parts = _read(url, f"the server {url!r}", SERVER_SCHEMES)
    if "@" in urlsplit(url).netloc:
        raise ConfigError(f"the server {url!r} has credentials in its URL; they go elsewhere")
    return parts


def complete_server(server: str) -> str:
    """Return the URL of a server that may be ``host:port`` alone, which kubectl reads as http in any case."""
    if not server or "://" in server:
        return server
    server = ConcealedUrl(server)
    if "/" in server.rstrip("/"):
        raise ConfigError(f"the server {server!r} has a path but no scheme; write https://…")
    return f"http://{server}"


def read_proxy(url: str) -> Url:
    """Return the parts of a proxy's URL, which may contain a user and a password."""
    url = ConcealedUrl(url)
    parts = _read(url, f"the proxy {url!r}", PROXY_SCHEMES)
    if parts.path:
        # Most often a password with a slash in it, which this would quote in part.
        raise ConfigError("the proxy has a path in its URL; a slash in a password is written as %2F")
    return parts


def is_name(host: str) -> bool:
    """Return whether a resolver and TLS accept this as a name: Python raises `UnicodeError` for others."""
    if ":" in host:
        return True  # an IPv6 address, which is checked elsewhere
    return len(host) <= 253 and all(0 < len(label) < 64 for label in host.removesuffix(".").split("."))


def _read(url: ConcealedUrl, what: str, schemes: tuple[str, ...]) -> Url:
    if problem := _problem(url, schemes):
        raise ConfigError(f"{what} {problem}")
    split = urlsplit(url)
    return Url(
        scheme=split.scheme,
        host=(split.hostname or "").replace("%25", "%", 1),
        port=split.port or PORTS[split.scheme],
        path=split.path.rstrip("/"),
        user=unquote(split.username or ""),
        password=unquote(split.password or ""),
    )


def _problem(url: str, schemes: tuple[str, ...]) -> str:
    """Return what is wrong with a URL, or "": an error that left this function would show its variables."""
    # urlsplit drops line ends and takes blanks, so that a URL could mean two things.
    if not url.isascii() or not url.isprintable() or " " in url:
        return "holds a blank, a control character or one beyond ASCII; escape it"
    scheme, separator, _ = url.partition("://")
    if not separator:
        return f"has no scheme; write {' or '.join(f'{name}://' for name in schemes[:2])}"
    if scheme.lower() not in schemes:
        return f"must have one of the schemes {', '.join(schemes)}"
    try:
        split = urlsplit(url)
        host, port = split.hostname or "", split.port
    except ValueError:  # says no more than this, and may quote a password
        return "has no valid host and port"
    if not _AUTHORITY.fullmatch(split.netloc) or port == 0:
        return "has no valid host and port"
    if not is_name(host.partition("%")[0]):
        return "has a host of which a part is empty or longer than 63 characters"
    if "?" in url or "#" in url:
        return "has a query or a fragment, which would be ignored"
    return ""
