"""URLs as Go reads them (net/url): what a server accepts as one, and the parts that rules use."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import unquote_to_bytes

from msgspec import Struct

_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(.*)", re.DOTALL)
_PORT: Final = re.compile(r":[0-9]*|")
_USER: Final = re.compile(r"(?:[A-Za-z0-9._:~!$&'()*+,;=@-]|%[0-9A-Fa-f]{2})*")
# A host is escaped where it is not ASCII; `%25` begins the zone of an address.
_HOST: Final = re.compile(r"(?:[^\x00-\x7f]|[A-Za-z0-9._~!$&'()*+,;=:<>\"\[\]-]|%25|%[89A-Fa-f][0-9A-Fa-f])*")
_BAD_ESCAPE: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_PLAIN_PATH: Final = re.compile(r"[A-Za-z0-9._~!$&'()*+,;=:@/%\[\]-]*")
_IN_PATH: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~$&+,/:;=@")
_MOST_PARAMETERS: Final = 10_000  # Go reads no more


class GoUrl(Struct, frozen=True):
    """The parts of a URL as Go splits it; `path` is escaped."""

    scheme: str
    host: str
    path: str
    query: str

    @property
    def hostname(self) -> str:
        """The host without its port, and an address without its brackets."""
        return self._divided[0]

    @property
    def port(self) -> str:
        """The port; empty if there is none."""
        return self._divided[1]

    @property
    def parameters(self) -> dict[str, list[str]]:
        """The query as names with their values; what Go cannot read is left out."""
        found: dict[str, list[str]] = {}
        if self.query.count("&") >= _MOST_PARAMETERS:
            return found
        for part in self.query.split("&"):
            name, _, value = part.partition("=")
            if part and ";" not in part and not _BAD_ESCAPE.search(part):
                found.setdefault(_unescaped(name.replace("+", " ")), []).append(
                    _unescaped(value.replace("+", " "))
                )
        return found

    @property
    def _divided(self) -> tuple[str, str]:
        name, colon, port = self.host.rpartition(":")
        if not (colon and _PORT.fullmatch(colon + port)):
            name, port = self.host, ""
        if name.startswith("[") and name.endswith("]"):
            name = name[1:-1]
        return name, port


def check_url(text: str) -> None:
    """Raise ValueError for what is not an absolute URL or path to a server."""
    # Go reads no fragment here: what follows a # belongs to the part before it.
    _split(text, fragment_in_path=True)


def parse_url(text: str) -> GoUrl:
    """Return the parts of an absolute URL or path; ValueError for anything else."""
    check_url(text)
    plain, _, fragment = text.partition("#")
    if _BAD_ESCAPE.search(fragment):
        raise ValueError("invalid URL escape")
    return _split(plain, fragment_in_path=False)


def _split(text: str, *, fragment_in_path: bool) -> GoUrl:
    if _CONTROL.search(text):
        raise ValueError("invalid control character in URL")
    if text == "*":
        return GoUrl("", "", "*", "")
    if text.startswith(":"):
        raise ValueError("missing protocol scheme")
    found = _SCHEME.fullmatch(text)
    scheme, rest = (found[1].lower(), found[2]) if found else ("", text)
    rest, _, query = rest.partition("?")
    if not rest.startswith("/"):
        if scheme:
            return GoUrl(scheme, "", "", query)
        raise ValueError("invalid URI for request" if text else "empty url")
    host = ""
    # Without a scheme Go reads "//a" as a path when it checks whether a string is a URL, then as a host.
    if rest.startswith("//") and (scheme or not (fragment_in_path or rest.startswith("///"))):
        authority, slash, rest = rest[2:].partition("/")
        host, rest = _host(scheme, authority), slash + rest
    if _BAD_ESCAPE.search(rest):
        raise ValueError("invalid URL escape")
    return GoUrl(scheme, host, rest if _PLAIN_PATH.fullmatch(rest) else _escaped(rest), query)


def _host(scheme: str, authority: str) -> str:
    user, at, host = authority.rpartition("@")
    if at and not _USER.fullmatch(user):
        raise ValueError("invalid userinfo")
    if "[" in host:
        return _literal_address(host)
    _, colon, port = host.partition(":")
    # Database schemes allow lists of hosts with ports; `http` allows one host.
    if ":" in port and scheme not in ("http", "https"):
        _, colon, port = host.rpartition(":")
    if not _PORT.fullmatch(colon + port):
        raise ValueError(f"invalid port {colon + port!r} after host")
    if not _HOST.fullmatch(host):
        raise ValueError(f"invalid character in host name {host!r}")
    return _unescaped(host)


def _literal_address(host: str) -> str:
    import ipaddress

    address, bracket, port = host[1:].rpartition("]")
    if not (host.startswith("[") and "[" not in address and bracket and _PORT.fullmatch(port)):
        raise ValueError(f"invalid host {host!r}")
    plain, zoned, zone = address.partition("%25")
    if (zoned and not zone) or _BAD_ESCAPE.search(zone):
        raise ValueError(f"invalid zone in host {host!r}")
    ipaddress.IPv6Address(plain)
    return f"[{plain}{'%' if zoned else ''}{_unescaped(zone)}]{port}"


def _unescaped(text: str) -> str:
    return unquote_to_bytes(text).decode(errors="replace")


def _escaped(path: str) -> str:
    return "".join(chr(one) if one in _IN_PATH else f"%{one:02X}" for one in unquote_to_bytes(path))
