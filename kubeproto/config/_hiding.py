"""Values that contain secrets and do not show them in any repr."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Final

from msgspec import Struct

HIDDEN: Final = "…"

# What must never reach a log or a traceback; compared in lower case.
_SECRET_HEADERS: Final = frozenset(("authorization", "proxy-authorization", "cookie", "set-cookie"))

# Fields with URLs, in which a user may have a password.
_URLS: Final = frozenset(("issuer", "proxy", "proxy_url", "server"))


class Hiding(Struct, frozen=True):
    """A value whose repr shows what differs from the defaults, except the fields in `hides`."""

    hides: ClassVar[frozenset[str]] = frozenset()

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self.__rich_repr__())
        return f"{type(self).__name__}({shown})"

    # msgspec writes one of its own, which debuggers and rich's tracebacks would print in full.
    def __rich_repr__(self) -> list[tuple[str, Any]]:
        defaults = dict(
            zip(reversed(self.__struct_fields__), reversed(self.__struct_defaults__), strict=False)
        )
        values = [(name, getattr(self, name)) for name in self.__struct_fields__]
        return [
            (name, self._shown(name, value)) for name, value in values if value != defaults.get(name, ...)
        ]

    def _shown(self, name: str, value: Any) -> object:
        if name in self.hides:
            return HIDDEN
        if name == "headers":
            return hide_headers(value)
        if name in _URLS:
            return hide_userinfo(value)
        return f"{len(value)} bytes" if isinstance(value, bytes) else value


class ConcealedUrl(str):
    """A URL in a variable, where tracebacks may print it: its repr shows no user and no password.

    Not for a field, which msgspec could not encode: there `Hiding` does the same.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return repr(hide_userinfo(self))


class ConcealedVariables(Mapping[str, str]):
    """The variables of an environment, none of which its repr shows: any of them may hold a secret."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self._variables = variables

    def __getitem__(self, name: str) -> str:
        return self._variables[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._variables)

    def __len__(self) -> int:
        return len(self._variables)

    def __repr__(self) -> str:
        return f"<{len(self)} variables>"


def hide_headers(headers: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """Return the headers as they may be shown."""
    return tuple((name, HIDDEN if name.lower() in _SECRET_HEADERS else value) for name, value in headers)


def hide_userinfo(url: str) -> str:
    """Return a URL as it may be shown, well formed or not: no user, no password, no query."""
    front, separator, rest = url.partition("://")
    if not separator:
        front, rest = "", url
    for mark in "?#":
        at = rest.find(mark, max(rest.rfind("@"), 0))
        rest = rest if at < 0 else f"{rest[:at]}{mark}{HIDDEN}"
    # Everything up to the last @, for a password that is not escaped may hold any character.
    cut = max(rest.rfind("@"), rest.find("%40"))
    return f"{front}{separator}{HIDDEN if cut >= 0 else ''}{rest[cut:] if cut >= 0 else rest}"
