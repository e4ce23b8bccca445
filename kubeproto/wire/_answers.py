"""Reading the frame of an answer: its headers, and the Status in a body that may be anything at all."""

from __future__ import annotations

from typing import Final

import msgspec

from .._errors import ApiError, api_error
from ..objects import Status
from ._seam import Head, Headers

# Go's client keeps as much of a foreign body; enough to recognise a proxy's page.
_QUOTED: Final = 2048


def header(headers: Headers, name: str) -> str:
    """The first value of a header, whatever the case of its name; empty if absent."""
    name = name.lower()
    return next((value for key, value in headers if key.lower() == name), "")


def warnings(headers: Headers) -> tuple[str, ...]:
    """The texts of the `Warning` headers. One that breaks the syntax is given as it stands, not dropped."""
    return tuple(_warning(value) for key, value in headers if key.lower() == "warning")


def _warning(value: str) -> str:
    code, _, rest = value.partition(" ")
    agent, _, text = rest.partition(" ")
    if not (code.isdigit() and agent and len(text) >= 2 and text[0] == '"'):
        return value
    said: list[str] = []
    escaped = False
    for letter in text[1:]:
        if escaped or letter not in '"\\':
            said.append(letter)
            escaped = False
        elif letter == "\\":
            escaped = True
        else:
            return "".join(said)
    return value


def read_status(code: int, headers: Headers, body: bytes) -> Status:
    """The Status that a refusal carries; made from the code and the body where it carries none."""
    try:
        status = msgspec.json.decode(body, type=Status)
    except (msgspec.MsgspecError, RecursionError):
        pass
    else:
        if status.status == "Failure" or status.reason or (status.message and status.code):
            return status if status.code else msgspec.structs.replace(status, code=code)
    return Status(status="Failure", message=_quote(body), code=code)


def _quote(body: bytes) -> str:
    text = body[:_QUOTED].decode("utf-8", "replace").strip()
    return text + "…" if len(body) > _QUOTED else text


def retry_after(headers: Headers, status: Status) -> float | None:
    """The seconds that the server asks to wait: of its header, else of its Status."""
    value = header(headers, "retry-after")
    if value.isascii() and value.isdigit():
        return float(value)
    return float(status.details.retry_after_seconds) if status.details.retry_after_seconds > 0 else None


def refusal(request: Head, code: int, headers: Headers, body: bytes) -> ApiError:
    """The error that an answer outside 2xx is. It names the path, never the query or a header."""
    status = read_status(code, headers, body)
    path, _, _ = request.target.partition("?")
    return api_error(status, request=f"{request.method} {path}", retry_after=retry_after(headers, status))
