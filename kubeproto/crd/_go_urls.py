"""URLs as Go reads them (net/url): the syntax that a server accepts, and the parts that rules use."""

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
_ESCAPED_PATH: Final = re.compile(r"[A-Za-z0-9._~!$&'()*+,;=:@/%\[\]-]*")
_PATH_BYTES: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~$&+,/:;=@")
_MAX_PARAMETERS: Final = 10_000  # Go ignores the query of a URL with more


class GoUrl(Struct, frozen=True):
    """The parts of a URL as Go splits it; `path` is escaped."""

    scheme: str
    host: str
    path: str
    query: str

    @property
    def hostname(self) -> str:
        """The host without its port, and an address without its brackets."""
        return self._host_and_port[0]

    @property
    def port(self) -> str:
        """The port; empty if there is none."""
        return self._host_and_port[1]

    @property
    def parameters(self) -> dict[str, list[str]]:
        """The query as names with their values; without the parts that Go cannot read."""
        parameters: dict[str, list[str]] = {}
        if self.query.count("&") >= _MAX_PARAMETERS:
            return parameters
        for part in self.query.split("&"):
            name, _, value = part.partition("=")
            if part and ";" not in part and not _BAD_ESCAPE.search(part):
                decoded_name, decoded_value = (_unescape(text.replace("+", " ")) for text in (name, value))
                parameters.setdefault(decoded_name, []).append(decoded_value)
        return parameters

    @property
    def _host_and_port(self) -> tuple[str, str]:
        name, colon, port = self.host.rpartition(":")
        if not (colon and _PORT.fullmatch(colon + port)):
            name, port = self.host, ""
        if name.startswith("[") and name.endswith("]"):
            name = name[1:-1]
        return name, port


def check_url(text: str) -> None:
    """Raise ValueError for a text that a server does not accept as an absolute URL or path."""
    # Go reads no fragment here: the # and the text after it belong to the part before it.
    _split(text, fragment_in_path=True)


def parse_url(text: str) -> GoUrl:
    """Return the parts of an absolute URL or path; a ValueError for any other text."""
    check_url(text)
    without_fragment, _, fragment = text.partition("#")
    if _BAD_ESCAPE.search(fragment):
        raise ValueError("invalid URL escape")
    return _split(without_fragment, fragment_in_path=False)


def _split(text: str, *, fragment_in_path: bool) -> GoUrl:
    if _CONTROL.search(text):
        raise ValueError("invalid control character in URL")
    if text == "*":
        return GoUrl("", "", "*", "")
    if text.startswith(":"):
        raise ValueError("missing protocol scheme")
    match = _SCHEME.fullmatch(text)
    scheme, remainder = (match[1].lower(), match[2]) if match else ("", text)
    path, _, query = remainder.partition("?")
    if not path.startswith("/"):
        if scheme:
            return GoUrl(scheme, "", "", query)
        raise ValueError("invalid URI for request" if text else "empty url")
    host = ""
    # Without a scheme Go reads "//a" as a path when it checks whether a string is a URL, then as a host.
    if path.startswith("//") and (scheme or not (fragment_in_path or path.startswith("///"))):
        authority, slash, path = path[2:].partition("/")
        host, path = _parse_host(scheme, authority), slash + path
    if _BAD_ESCAPE.search(path):
        raise ValueError("invalid URL escape")
    return GoUrl(scheme, host, path if _ESCAPED_PATH.fullmatch(path) else _escape(path), query)


def _parse_host(scheme: str, authority: str) -> str:
    user, separator, host = authority.rpartition("@")
    if separator and not _USER.fullmatch(user):
        raise ValueError("invalid userinfo")
    if "[" in host:
        return _parse_ipv6_host(host)
    _, colon, port = host.partition(":")
    # Database schemes allow lists of hosts with ports; `http` allows one host.
    if ":" in port and scheme not in ("http", "https"):
        _, colon, port = host.rpartition(":")
    if not _PORT.fullmatch(colon + port):
        raise ValueError(f"invalid port {colon + port!r} after host")
    if not _HOST.fullmatch(host):
        raise ValueError(f"invalid character in host name {host!r}")
    return _unescape(host)


def _parse_ipv6_host(host: str) -> str:
    import ipaddress

    address, bracket, port = host[1:].rpartition("]")
    if not (host.startswith("[") and "[" not in address and bracket and _PORT.fullmatch(port)):
        raise ValueError(f"invalid host {host!r}")
    address, percent, zone = address.partition("%25")
    if (percent and not zone) or _BAD_ESCAPE.search(zone):
        raise ValueError(f"invalid zone in host {host!r}")
    ipaddress.IPv6Address(address)
    return f"[{address}{'%' if percent else ''}{_unescape(zone)}]{port}"


def _unescape(text: str) -> str:
    return unquote_to_bytes(text).decode(errors="replace")


def _escape(path: str) -> str:
    return "".join(chr(byte) if byte in _PATH_BYTES else f"%{byte:02X}" for byte in unquote_to_bytes(path))
