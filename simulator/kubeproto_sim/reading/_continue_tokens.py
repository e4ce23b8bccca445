"""Continue tokens: the key and the version at which a list continues, in a server's format.

A token is the unpadded base64url of `{"v":"meta.k8s.io/v1","rv":N,"start":"<key>\\u0000"}`. The key is
relative to the collection. It begins with a slash if the page came from a watch cache; both forms are read.
"""

from __future__ import annotations

import base64
import binascii
from typing import Final

import msgspec
from msgspec import Struct

from .._rejections import bad_request

_VERSION: Final = "meta.k8s.io/v1"
LATEST: Final = -1


class _Token(Struct):
    v: str = ""
    rv: int = 0
    start: str = ""


class PageStart(Struct, frozen=True):
    """The start of a page. `version` is -1 for the latest objects."""

    version: int
    start: str


def write_token(version: int, start: str) -> str:
    """Return the token for a page that begins after the key in `start`."""
    text = msgspec.json.encode(_Token(_VERSION, version, start)).replace(b"\x00", b"\\u0000")
    return base64.urlsafe_b64encode(text).rstrip(b"=").decode()


def read_token(token: str) -> PageStart:
    """Return the content of a token; refuse an invalid token with 400."""
    try:
        if "=" in token or not token.isascii():
            raise ValueError
        padded = token + "=" * (-len(token) % 4)
        data = base64.b64decode(padded, altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise _bad(f"illegal base64 data at input byte {len(token) - len(token.lstrip())}") from None
    try:
        read = msgspec.json.decode(data, type=_Token)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        char = data[:1].decode("latin-1")
        char = char if char.isprintable() else f"\\u{ord(char):04x}"
        raise _bad(f"invalid character '{char}' looking for beginning of value") from None
    if read.v != _VERSION:
        raise bad_request(
            f'invalid continue token: server does not recognize this encoded version "{read.v}"'
        )
    if read.rv == 0:
        raise _bad("incorrect encoded start resourceVersion (version meta.k8s.io/v1)")
    if not read.start:
        raise _bad("encoded start key is empty")
    key = read.start.removeprefix("/")
    if any(part in (".", "..") for part in key.rstrip("\x00").split("/")):
        raise _bad(f"{read.start!r}")
    return PageStart(read.rv, read.start)


def _bad(problem: str) -> Exception:
    return bad_request(f"invalid continue token: continue key is not valid: {problem}")
