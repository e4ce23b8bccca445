"""Requests about the server itself: its version, its health and its OpenAPI documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal

from msgspec import Struct

from .._errors import InvalidRequest
from ..wire import Headers
from ._headers import JSON, accept_anything, accept_media
from ._parameters import check_choice
from ._request import Request
from ._response_parsers import JsonParser, read_json
from ._targets import encode_segment, make_query, make_target

Endpoint = Literal["livez", "readyz", "healthz"]

_OPENAPI: Final = "/openapi/v3"
# The statuses of a failed check, which is a successful request.
_UNHEALTHY: Final = (500, 503)


class ServerVersion(Struct, frozen=True, rename="camel"):
    """The version of a server. `minor` may end in a plus sign on a hosted server."""

    major: str
    minor: str
    git_version: str
    git_commit: str = ""
    platform: str = ""
    go_version: str = ""
    build_date: str = ""
    emulation_major: str = ""
    emulation_minor: str = ""

    @property
    def release(self) -> tuple[int, int]:
        """Major and minor as comparable numbers; 0 for a text that is not a number."""
        return _parse_number(self.major), _parse_number(self.minor)


def _parse_number(text: str) -> int:
    digits = text.rstrip("+")
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 10 else 0


def version() -> Request[ServerVersion]:
    """Request the version of the server."""
    return Request("GET", "/version", accept_media(JSON), verb="get", parser=JsonParser(ServerVersion))


class Health(Struct, frozen=True):
    """Whether the server reports itself healthy, and its text: a line for each check if `verbose`."""

    healthy: bool
    report: str


class _HealthParser(Struct, frozen=True):
    def parse(self, status: int, headers: Headers, body: bytes) -> Health:
        return Health(status == 200, body.decode("utf-8", "replace"))


def health(
    endpoint: Endpoint = "readyz", *, check: str = "", verbose: bool = False, exclude: Sequence[str] = ()
) -> Request[Health]:
    """Request whether the server is live or ready, by all checks or by a single check."""
    check_choice("endpoint", endpoint, ("livez", "readyz", "healthz"))
    if check and exclude:
        raise InvalidRequest(f"health: exclude cannot be combined with the single check {check!r}")
    path = f"/{endpoint}" + (f"/{_encode_path('check', check)}" if check else "")
    query = make_query(("verbose", verbose), *[("exclude", name) for name in exclude])
    return Request(
        "GET",
        make_target(path, query),
        accept_anything(),
        verb="get",
        parser=_HealthParser(),
        accepts=_UNHEALTHY,
    )


class _IndexEntry(Struct, rename={"url": "serverRelativeURL"}):
    url: str


class _Index(Struct):
    paths: dict[str, _IndexEntry]


class _IndexParser(Struct, frozen=True):
    def parse(self, status: int, headers: Headers, body: bytes) -> dict[str, str]:
        index = read_json(_Index, headers, body)
        return {path: entry.url.partition("?hash=")[2] for path, entry in index.paths.items()}


def openapi_index() -> Request[dict[str, str]]:
    """Request the OpenAPI v3 documents: their paths, such as ``apis/apps/v1``, and their hashes."""
    return Request("GET", _OPENAPI, accept_media(JSON), verb="get", parser=_IndexParser())


def openapi_document(path: str, *, hash: str = "") -> Request[dict[str, Any]]:  # noqa: A002 # the API's word
    """Request an OpenAPI v3 document; with its hash, the response may be cached forever.

    For an outdated hash a server redirects to the present one, so `parse` raises an `ApiError` of code 301.
    """
    return Request(
        "GET",
        make_target(f"{_OPENAPI}/{_encode_path('document', path)}", make_query(("hash", hash))),
        accept_media(JSON),
        verb="get",
        parser=JsonParser(dict[str, Any]),
    )


def _encode_path(name: str, path: str) -> str:
    """Return a path of several segments."""
    return "/".join(encode_segment(name, part) for part in path.split("/"))
