"""Impersonation: the headers that ask a server to act as another user."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from ..wire import Headers
from ._errors import ConfigError

# RFC 9110's token, without the percent sign, which begins an escape here.
_PLAIN: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789!#$&'*+-.^_`|~")


class Impersonation(Struct, frozen=True, kw_only=True):
    """The user to impersonate. Everything else needs a user, so it is refused without one."""

    user: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def __post_init__(self) -> None:
        if not self.user and (self.uid or self.groups or self.extra):
            raise ConfigError("a uid, groups or extras are impersonated without a user: name one, too")

    @property
    def headers(self) -> Headers:
        """The headers for each request."""
        if not self.user:
            return ()
        return (
            ("Impersonate-User", self.user),
            *((("Impersonate-Uid", self.uid),) if self.uid else ()),
            *(("Impersonate-Group", group) for group in self.groups),
            *(
                (f"Impersonate-Extra-{_escaped(key)}", value)
                for key, values in self.extra
                for value in values
            ),
        )


def _escaped(key: str) -> str:
    """Return a key as it can be in a header's name. Servers read it in lower case."""
    return "".join(chr(byte) if byte in _PLAIN else f"%{byte:02X}" for byte in key.lower().encode())
