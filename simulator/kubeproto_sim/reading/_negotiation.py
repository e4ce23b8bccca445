"""Content negotiation: the format of a response, chosen by the Accept header.

The first entry that can be served wins; unknown parameters are ignored. Errors follow the header too: they
are indented unless it requests plain JSON.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, Literal

from msgspec import Struct

from .._rejections import Rejection, not_acceptable, only_accepted, unexplained
from ..kinds._served_kinds import ServedKind

View = Literal["object", "table", "metadata", "discovery"]

_BUILT_IN_OFFERS: Final = (
    "application/json, application/yaml, application/vnd.kubernetes.protobuf,"
    " application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"
)
_OFFERS: Final = "application/json, application/yaml, application/vnd.kubernetes.protobuf"
_WATCH_OFFERS: Final = "application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"
_META: Final = "meta.k8s.io"
_BROWSERS: Final = ("curl", "Wget", "Mozilla/5.0")


class ResponseFormat(Struct, frozen=True):
    """The format of a response. `plain` is False if errors are indented."""

    view: View = "object"
    yaml: bool = False
    plain: bool = True
    as_list: bool = False  # a list of metadata was requested, even for a single object


_JSON: Final = ResponseFormat()


def negotiate(accept: str, verb: str, served: ServedKind | None = None) -> ResponseFormat:
    """Return the format for a response to this verb on a kind, or of discovery without a kind.

    Refuse with 406 if there is none.
    """
    if not accept or accept == "application/json" or accept == "*/*":
        return _JSON
    plain = True
    for entry in accept.split(","):
        media, *parameters = [part.strip() for part in entry.split(";")]
        parameter_values: dict[str, str] = {}
        for parameter in parameters:
            name, _, value = parameter.partition("=")
            parameter_values[name] = value
        if view_and_format := _served(media, parameter_values, verb, served):
            return ResponseFormat(
                view_and_format[0],
                view_and_format[1],
                plain and accept.startswith("application/json") and "as" not in parameter_values,
                parameter_values.get("as") == "PartialObjectMetadataList",
            )
        plain = False
    if served is None or not (served.custom or "as=" in accept or verb == "watch"):
        raise not_acceptable(_OFFERS if verb == "get" and served is not None else _BUILT_IN_OFFERS)
    raise only_accepted(_WATCH_OFFERS if verb == "watch" else _OFFERS)


def _served(
    media: str, parameters: dict[str, str], verb: str, served: ServedKind | None
) -> tuple[View, bool] | None:
    if media not in ("application/json", "application/yaml", "*/*"):
        return None
    yaml = media == "application/yaml"
    if yaml and verb == "watch":
        return None
    kind = parameters.get("as", "")
    if not kind:
        return "object", yaml
    if served is None:
        fits = kind == "APIGroupDiscoveryList" and parameters.get("g") == "apidiscovery.k8s.io"
        return ("discovery", False) if fits and parameters.get("v") == "v2" else None
    if verb in ("delete", "deletecollection"):
        return "object", yaml
    if parameters.get("g") != _META or parameters.get("v") != "v1":
        return None
    if kind == "Table":
        return "table", yaml
    if kind not in ("PartialObjectMetadata", "PartialObjectMetadataList"):
        return None
    return "metadata", yaml


def check_arity(response_format: ResponseFormat, served: ServedKind, *, as_list: bool) -> None:
    """Refuse to show a list as one object, or one object as a list, once the content is known."""
    if response_format.view != "metadata" or response_format.as_list == as_list:
        return
    kind = "PartialObjectMetadataList" if response_format.as_list else "PartialObjectMetadata"
    raise _other_arity(served, kind, as_list=as_list)


def _other_arity(served: ServedKind, kind: str, *, as_list: bool) -> Rejection:
    if served.custom and not as_list:
        return unexplained("content is not a list")
    if served.custom:
        go_type = "unstructured.UnstructuredList"
    else:
        package = served.group.partition(".")[0] or "core"
        go_type = f"{package}.{served.kind}{'List' if as_list else ''}"
    problem = "is a list" if as_list else "is not a list"
    return only_accepted(
        f"you requested {kind}, but the requested object {problem} (*{go_type})", verbatim=True
    )


def accepts_plainly(accept: str) -> bool:
    """Return whether an error is sent as one line."""
    return not accept or accept.split(",")[0].strip() in ("application/json", "*/*")


def accepts_yaml(accept: str) -> bool:
    """Return whether an error is sent as YAML."""
    return accept.split(",")[0].partition(";")[0].strip() == "application/yaml"


def wants_indented(user_agent: str, pretty: str | None) -> bool:
    """Return whether a body is indented for a human reader."""
    if pretty is not None:
        return pretty.lower() not in ("0", "false")
    return _is_browser(user_agent)


@lru_cache(maxsize=256)
def _is_browser(user_agent: str) -> bool:
    return any(browser in user_agent for browser in _BROWSERS)


def takes_gzip(accept_encoding: str) -> bool:
    """Return whether the header names gzip itself: `*`, `GZIP` and `gzip;q=0` do not count."""
    return any(part.strip() == "gzip" for part in accept_encoding.split(","))
