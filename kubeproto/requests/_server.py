"""Requests about the server itself: its version, its health, its OpenAPI documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal

from msgspec import Struct

from .._errors import InvalidRequest
from ..wire import Headers
from ._headers import JSON, accept_anything, accept_media
from ._parameters import check_choice
from ._readings import Plain, read_json
from ._request import Request
from ._targets import given, segment, target

Endpoint = Literal["livez", "readyz", "healthz"]

_OPENAPI: Final = "/openapi/v3"
# The status of a failing check, which is not an error: the request was answered.
_UNHEALTHY: Final = (500, 503)


class ServerVersion(Struct, frozen=True, rename="camel"):
    """The version of a server. `minor` may end in a plus on a hosted one."""

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
        """Major and minor as numbers that compare; zeros where the server has no number."""
        return _number(self.major), _number(self.minor)


def _number(text: str) -> int:
    digits = text.rstrip("+")
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 10 else 0


def version() -> Request[ServerVersion]:
    """Ask for the version of the server."""
    return Request("GET", "/version", accept_media(JSON), verb="get", reading=Plain(ServerVersion))


class Health(Struct, frozen=True):
    """Whether the server reports that it is healthy, and its text: one line for each check if `verbose`."""

    healthy: bool
    report: str


class _HealthReading(Struct, frozen=True):
    def read(self, status: int, headers: Headers, body: bytes) -> Health:
        return Health(status == 200, body.decode("utf-8", "replace"))


def health(
    endpoint: Endpoint = "readyz", *, check: str = "", verbose: bool = False, exclude: Sequence[str] = ()
) -> Request[Health]:
    """Ask whether the server is live or ready, by all checks or by one."""
    check_choice("endpoint", endpoint, ("livez", "readyz", "healthz"))
    if check and exclude:
        raise InvalidRequest("one check alone leaves nothing to exclude")
    path = f"/{endpoint}" + (f"/{_path('check', check)}" if check else "")
    query = given(("verbose", verbose), *[("exclude", name) for name in exclude])
    return Request(
        "GET",
        target(path, query),
        accept_anything(),
        verb="get",
        reading=_HealthReading(),
        accepts=_UNHEALTHY,
    )


class _IndexEntry(Struct, rename={"url": "serverRelativeURL"}):
    url: str


class _Index(Struct):
    paths: dict[str, _IndexEntry]


class _IndexReading(Struct, frozen=True):
    def read(self, status: int, headers: Headers, body: bytes) -> dict[str, str]:
        index = read_json(_Index, headers, body)
        return {path: entry.url.partition("?hash=")[2] for path, entry in index.paths.items()}


def openapi_index() -> Request[dict[str, str]]:
    """Ask which OpenAPI v3 documents there are: ``apis/apps/v1`` and its like, each with its hash."""
    return Request("GET", _OPENAPI, accept_media(JSON), verb="get", reading=_IndexReading())


def openapi_document(path: str, *, hash: str = "") -> Request[dict[str, Any]]:  # noqa: A002 # the API's word
    """Ask for one OpenAPI v3 document; with its hash, the response may be kept forever.

    An old hash is answered with a redirect to the new one, so `parse` raises an `ApiError` of code 301.
    """
    return Request(
        "GET",
        target(f"{_OPENAPI}/{_path('document', path)}", given(("hash", hash))),
        accept_media(JSON),
        verb="get",
        reading=Plain(dict[str, Any]),
    )


def _path(what: str, path: str) -> str:
    """Return a path of several segments, none of which leads elsewhere."""
    return "/".join(segment(what, part) for part in path.split("/"))
