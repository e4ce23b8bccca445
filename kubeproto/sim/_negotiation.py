"""In which form an answer is given: what the Accept header asks for, and what can be had.

The first entry that can be served wins; parameters that nobody knows are ignored. Errors follow the header
too: they are indented when it asked for anything but plain JSON.
"""

from __future__ import annotations

from typing import Final, Literal

from msgspec import Struct

from ._refusals import not_acceptable

View = Literal["object", "table", "metadata", "discovery"]

_BUILT_IN_OFFERS: Final = (
    "application/json, application/yaml, application/vnd.kubernetes.protobuf,"
    " application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"
)
_META: Final = "meta.k8s.io"
_BROWSERS: Final = ("curl", "Wget", "Mozilla/5.0")


class Accepted(Struct, frozen=True):
    """The form of an answer. `plain` is False where errors come indented."""

    view: View = "object"
    yaml: bool = False
    plain: bool = True


_JSON: Final = Accepted()


def negotiate(accept: str, verb: str, *, discovery: bool = False) -> Accepted:
    """The form for an answer to this verb; or 406."""
    if not accept or accept == "application/json" or accept == "*/*":
        return _JSON
    plain = True
    for entry in accept.split(","):
        media, *parameters = [part.strip() for part in entry.split(";")]
        asked: dict[str, str] = {}
        for parameter in parameters:
            name, _, value = parameter.partition("=")
            asked[name] = value
        if found := _served(media, asked, verb, discovery):
            return Accepted(
                found[0], found[1], plain and accept.startswith("application/json") and "as" not in asked
            )
        plain = False
    raise not_acceptable(_BUILT_IN_OFFERS)


def _served(media: str, asked: dict[str, str], verb: str, discovery: bool) -> tuple[View, bool] | None:
    if media not in ("application/json", "application/yaml", "*/*"):
        return None
    yaml = media == "application/yaml"
    if yaml and verb == "watch":
        return None
    kind = asked.get("as", "")
    if not kind:
        return "object", yaml
    if discovery:
        fits = kind == "APIGroupDiscoveryList" and asked.get("g") == "apidiscovery.k8s.io"
        return ("discovery", False) if fits and asked.get("v") == "v2" else None
    if verb in ("delete", "deletecollection"):
        return "object", yaml
    if asked.get("g") != _META or asked.get("v") != "v1":
        return None
    if kind == "Table":
        return "table", yaml
    wanted = "PartialObjectMetadataList" if verb == "list" else "PartialObjectMetadata"
    return ("metadata", yaml) if kind == wanted else None


def accepts_plainly(accept: str) -> bool:
    """Whether an error goes out on one line."""
    return not accept or accept.split(",")[0].strip() in ("application/json", "*/*")


def wants_indented(user_agent: str, pretty: str | None) -> bool:
    """Whether a body is made for a reader of flesh and blood."""
    if pretty is not None:
        return pretty.lower() not in ("0", "false")
    return any(browser in user_agent for browser in _BROWSERS)


def takes_gzip(accept_encoding: str) -> bool:
    """Whether the header names gzip as such: `*`, `GZIP` and `gzip;q=0` do not count."""
    return any(part.strip() == "gzip" for part in accept_encoding.split(","))


__all__ = ["Accepted", "View", "accepts_plainly", "negotiate", "takes_gzip", "wants_indented"]
