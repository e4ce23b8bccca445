"""Read the headers of a response, and the Status in a body of any content.

A refusal comes from the API server as a Status, and from a proxy in front of it as HTML, plain text, nothing,
or an incomplete body. Each becomes a Status here, and no body may raise: the caller must learn that the
request was refused, not that the refusal was malformed.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, Final, cast

import msgspec

from .._api_errors import ApiError, api_error
from .._errors import RemoteProtocolError
from .._reasons import reason_of
from ..objects import Status, StatusCause, StatusDetails
from ._inflate import inflate
from ._secret_scrubber import SecretScrubber
from ._transport import Headers, RawRequest

# Go's client keeps this much of a non-Kubernetes response; enough to recognise a proxy's page.
_MAX_QUOTED_CHARS: Final = 2048

# The limit for the inflated body of a refusal.
_MAX_REFUSAL: Final = 4 << 20

# The limits for reading a refusal, in bytes and seconds: the received part contains the reason.
MAX_REFUSAL: Final = 1 << 20
REFUSAL_TIME: Final = 10.0

# A longer wait than a day must be a mistake of the server, and a clock must not overflow because of it.
_MAX_WAIT: Final = 86_400.0

# RFC 7234, 5.5: code, agent, text in quotes with escapes, perhaps a date in quotes; then a comma or the end.
_WARNING: Final = r'\s*(?:,\s*)*\d{3} [^\s,"]+ "((?:[^"\\]|\\.)*)"(?: "[^"]*")?\s*(?:,|$)'


def header(headers: Headers, name: str) -> str:
    """Return the first value of a header, in any case of letters; empty if there is none."""
    name = name.lower()
    return next((value for key, value in headers if key.lower() == name), "")


def warnings(headers: Headers, request: RawRequest | None = None) -> tuple[str, ...]:
    """Return the messages of the `Warning` headers. A value with invalid syntax is returned unchanged.

    With the request, no value of a sent Secret is quoted.
    """
    messages = tuple(
        message for key, value in headers if key.lower() == "warning" for message in _parse_warnings(value)
    )
    if not messages or request is None:
        return messages
    scrubber = SecretScrubber(request)
    return tuple(scrubber.scrub(message) for message in messages)


def _parse_warnings(value: str) -> list[str]:
    pattern = re.compile(_WARNING)
    messages: list[str] = []
    offset = 0
    while match := pattern.match(value, offset):
        messages.append(re.sub(r"\\(.)", r"\1", match[1]))
        offset = match.end()
    invalid = value[offset:].strip(" \t,")
    return [*messages, invalid] if invalid else messages


def retry_after(headers: Headers, status: Status) -> float | None:
    """Return the seconds of the Retry-After header, else of the Status; at most a day.

    Only whole seconds count. A date is ignored, as by Go's client: no Kubernetes server sends it, and it
    would need a wall clock.
    """
    value = header(headers, "retry-after").strip()
    if value.isascii() and value.isdigit():
        return min(float(value), _MAX_WAIT)
    seconds = status.details.retry_after_seconds
    return float(min(seconds, int(_MAX_WAIT))) if seconds > 0 else None


def read_status(code: int, headers: Headers, body: bytes, *, method: str = "") -> Status:
    """Return the Status in a refusal, or create a Status of its code and the text of its body.

    The body is passed as it was received, compressed or not. A created Status has the cause
    ``UnexpectedServerResponse``, and a reason unless its code has none. Both have the `Retry-After` of the
    headers in their details. `method` distinguishes the two meanings of a bare 409.
    """
    try:
        body = _inflate_once(headers, body)
        status = _find_status(body, code)
    except RemoteProtocolError as error:
        return _create_status(code, headers, str(error), method)
    if status:
        return _with_retry_after(headers, status)
    return _create_status(code, headers, _quote(body), method)


def is_enough(status: int, size: int, seconds: float) -> bool:
    """Return whether to stop reading a refusal's body: it is too long, or does not end.

    `size` bytes have arrived in `seconds`. Any other response is read completely.
    """
    return not 200 <= status < 300 and (size >= MAX_REFUSAL or seconds >= REFUSAL_TIME)


def refusal(request: RawRequest, code: int, headers: Headers, body: bytes) -> ApiError:
    """Return the error of a response outside 2xx.

    It names the path, never the query or a header, and quotes no value of a sent Secret.
    """
    status = SecretScrubber(request).scrub_status(read_status(code, headers, body, method=request.method))
    return api_error(status, request=request.label, retry_after=retry_after(headers, status))


def _inflate_once(headers: Headers, body: bytes) -> bytes:
    # Some HTTP libraries inflate a body and do not remove the Content-Encoding.
    inflated = "gzip" in header(headers, "content-encoding").lower() and not body.startswith(b"\x1f\x8b")
    return body if inflated else inflate(headers, body, max_size=_MAX_REFUSAL)


def _find_status(body: bytes, code: int) -> Status | None:
    """Return the Status in a body. An object of another kind must not be read as an empty one."""
    try:
        value = msgspec.json.decode(body, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    match value.get("kind"), value.get("status"):
        case ("Status", result) if result != "Success":
            pass
        case (None, "Failure"):  # the Status of a passed deadline has no kind
            pass
        case _:
            return None
    status = _convert_status(value)
    return status if 400 <= status.code < 600 else msgspec.structs.replace(status, code=code)


def _convert_status(value: dict[str, Any]) -> Status:
    """Return a Status of the valid fields: a null or a wrong type loses only its field."""
    valid: dict[str, Any] = {}
    for field in _status_fields():
        if value.get(field.encode_name) is None:
            continue
        try:
            content = _without_nulls(value[field.encode_name])
            valid[field.name] = msgspec.convert(content, field.type, strict=False)
        except (msgspec.ValidationError, UnicodeDecodeError, RecursionError):
            continue
    return Status(**valid)


@cache
def _status_fields() -> tuple[msgspec.structs.FieldInfo, ...]:
    return msgspec.structs.fields(Status)  # reading the annotations takes half a millisecond


def _without_nulls(value: object) -> object:
    # Unlike the function of the objects, this one drops the nulls of lists too: a cause may be null.
    if isinstance(value, dict):
        items = cast("dict[str, object]", value).items()
        return {key: _without_nulls(item) for key, item in items if item is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in cast("list[object]", value) if item is not None]
    return value


def _create_status(code: int, headers: Headers, message: str, method: str) -> Status:
    # Without a Status, the meaning of a 409 depends on the verb, and any other 5xx is a server that failed.
    reason = reason_of(code) or ("InternalError" if code >= 500 else "")
    if code == 409 and method == "POST":
        reason = "AlreadyExists"
    details = StatusDetails(causes=(StatusCause(reason="UnexpectedServerResponse"),))
    status = Status(status="Failure", message=message, reason=reason, details=details, code=code)
    return _with_retry_after(headers, status)


def _with_retry_after(headers: Headers, status: Status) -> Status:
    seconds = int(retry_after(headers, status) or 0)
    if seconds == status.details.retry_after_seconds:
        return status
    details = msgspec.structs.replace(status.details, retry_after_seconds=seconds)
    return msgspec.structs.replace(status, details=details)


def _quote(body: bytes) -> str:
    """Return the beginning of a foreign body on one line, without control characters."""
    text = " ".join(body[:_MAX_QUOTED_CHARS].decode("utf-8", "replace").split())
    text = "".join(character if character.isprintable() else "\ufffd" for character in text)
    return text + "…" if len(body) > _MAX_QUOTED_CHARS else text
