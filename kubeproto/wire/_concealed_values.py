"""Values that contain secrets and do not show them in any repr."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Final

from msgspec import Struct

CONCEALED: Final = "…"

# Headers that must never appear in a log or a traceback, in lower case.
_SECRET_HEADERS: Final = frozenset(("authorization", "proxy-authorization", "cookie", "set-cookie"))

# Fields with URLs, in which a user may write a password.
_URL_FIELDS: Final = frozenset(("issuer", "proxy", "proxy_url", "server"))


class ConcealedBytes(bytes):
    """Secret bytes, which no repr shows: some tools print tracebacks with their variables."""

    def __repr__(self) -> str:
        return f"<{len(self)} bytes>"


class ConcealingStruct(Struct, frozen=True):
    """A value whose repr shows the fields that differ from their defaults, without the `secret_fields`."""

    secret_fields: ClassVar[frozenset[str]] = frozenset()

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in self.__rich_repr__())
        return f"{type(self).__name__}({fields})"

    # msgspec's own `__rich_repr__`, which debuggers and rich's tracebacks use, would show everything.
    def __rich_repr__(self) -> list[tuple[str, Any]]:
        defaults = dict(
            zip(reversed(self.__struct_fields__), reversed(self.__struct_defaults__), strict=False)
        )
        values = [(name, getattr(self, name)) for name in self.__struct_fields__]
        return [
            (name, self._conceal_field(name, value))
            for name, value in values
            if value != defaults.get(name, ...)
        ]

    def _conceal_field(self, name: str, value: Any) -> object:
        if name in self.secret_fields:
            return CONCEALED
        if name == "headers":
            return conceal_headers(value)
        if name in _URL_FIELDS:
            return conceal_userinfo(value)
        return f"{len(value)} bytes" if isinstance(value, bytes) else value


class ConcealedUrl(str):
    """A URL in a variable, which tracebacks may show: its repr has no user and no password.

    Not for a field, because msgspec could not encode it: `ConcealingStruct` conceals the URLs in fields.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return repr(conceal_userinfo(self))


class ConcealedVariables(Mapping[str, str]):
    """The variables of an environment. Its repr shows none of them: each may contain a secret."""

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


def conceal_headers(headers: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """Return the headers without secret values."""
    return tuple((name, CONCEALED if name.lower() in _SECRET_HEADERS else value) for name, value in headers)


def conceal_userinfo(url: str) -> str:
    """Return a URL, valid or not, without its user, password and query."""
    prefix, separator, suffix = url.partition("://")
    if not separator:
        prefix, suffix = "", url
    for delimiter in "?#":
        index = suffix.find(delimiter, max(suffix.rfind("@"), 0))
        suffix = suffix if index < 0 else f"{suffix[:index]}{delimiter}{CONCEALED}"
    # Everything up to the last @, because a password that is not escaped may contain any character.
    userinfo_end = max(suffix.rfind("@"), suffix.find("%40"))
    if userinfo_end >= 0:
        suffix = f"{CONCEALED}{suffix[userinfo_end:]}"
    return f"{prefix}{separator}{suffix}"
