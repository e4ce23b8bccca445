"""`SecretScrubber`: removes the values of Secrets and reviewed tokens from errors and warnings.

A server quotes refused values (``expected string, got &{1234}``), and so do its webhooks and policies. Errors
and warnings appear in logs, in Events and on screens, so the values are replaced when the program receives
the text: in each Status and each warning about such a request.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import msgspec

from .._patterns import Pattern
from ..objects import is_list, is_object

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..objects import Status
    from ._transport import RawRequest

_HIDDEN: Final = "***"

_SECRETS: Final = Pattern(r"/api/v1/(?:namespaces/[^/]+/)?secrets(?:/|$)")
_REVIEWS: Final = "/apis/authentication.k8s.io/v1/tokenreviews"
_OF_SECRETS: Final = ("data", "stringData")
_OF_REVIEWS: Final = ("spec",)

# Shorter values are replaced only as whole words: a message without any s would be unreadable.
_MIN_SUBSTRING_LENGTH: Final = 4


class SecretScrubber:
    """Removes the secret values of a request from messages of the server."""

    def __init__(self, request: RawRequest) -> None:
        self._fields = _confidential_fields(request.target.partition("?")[0])
        self._body = request.body if self._fields else b""
        self._values: list[str] | None = None
        self._unreadable = False

    def scrub(self, text: str) -> str:
        """Return a text without the secret values."""
        if not self._body or not text:
            return text
        if self._values is None:
            self._values = self._read()
        if self._unreadable:
            return _HIDDEN
        for value in self._values:
            text = _hide(text, value)
        return text

    def scrub_status(self, status: Status) -> Status:
        """Return a Status without the secret values."""
        if not self._body:
            return status
        causes = tuple(
            msgspec.structs.replace(cause, message=self.scrub(cause.message))
            for cause in status.details.causes
        )
        details = msgspec.structs.replace(status.details, causes=causes)
        return msgspec.structs.replace(status, message=self.scrub(status.message), details=details)

    def _read(self) -> list[str]:
        try:
            body = msgspec.json.decode(self._body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            self._unreadable = True
            return []
        forms = {form for value in _secret_values(body, self._fields) for form in _quoted_forms(value)}
        return sorted(forms, key=len, reverse=True)  # a form that contains another form comes first


def _confidential_fields(path: str) -> tuple[str, ...]:
    if _SECRETS.search(path):
        return _OF_SECRETS
    return _OF_REVIEWS if path.endswith(_REVIEWS) else ()


def _secret_values(body: object, fields: tuple[str, ...]) -> Iterator[str]:
    """Yield the values in an object, a merge patch, or the operations of a JSON patch."""
    if is_object(body):
        for field in fields:
            yield from _iterate_scalars(body.get(field))
    elif is_list(body):
        for operation in body:
            match operation:
                case {"path": "", "value": value}:
                    yield from _secret_values(value, fields)
                case {"path": str(path), "value": value} if path.startswith(_field_pointers(fields)):
                    yield from _iterate_scalars(value)
                case _:
                    pass


def _field_pointers(fields: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"/{field}" for field in fields)


def _iterate_scalars(value: object) -> Iterator[str]:
    if is_object(value):
        for member in value.values():
            yield from _iterate_scalars(member)
    elif is_list(value):
        for element in value:
            yield from _iterate_scalars(element)
    elif isinstance(value, bool):
        yield "true" if value else "false"
    elif value is not None and value != "":
        yield str(value)


def _quoted_forms(value: str) -> Iterator[str]:
    """Yield the forms in which a server may quote a value: plain, in the other encoding, escaped, by line."""
    plain = [value, b64encode(value.encode(errors="replace")).decode()]
    with suppress(ValueError):  # it is not base64, or not UTF-8
        plain.append(b64decode(value, validate=True).decode())
    for text in plain:
        yield text
        yield msgspec.json.encode(text).decode()[1:-1]
        yield from (line for line in text.splitlines() if len(line) >= _MIN_SUBSTRING_LENGTH)


def _hide(text: str, value: str) -> str:
    if len(value) >= _MIN_SUBSTRING_LENGTH:
        return text.replace(value, _HIDDEN)
    return re.sub(rf"(?<!\w){re.escape(value)}(?!\w)", _HIDDEN, text) if value else text
