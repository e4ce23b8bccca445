"""The Scale that a request wants: the body of an update, or the present one after a patch."""

from __future__ import annotations

from typing import Any, Final

from .._refusals import bad_request, quoted, rejected_patch
from .._state import ServerState
from ..kinds._typed import Misfit, TypedCodec
from ..reading._routes import Route
from ..storage._values import copied, go_kind, is_map
from ..writing._bodies import read_object
from ..writing._mistakes import mistyped
from ..writing._patches import changed, check_media, read_change, unfit
from ._messages import ServerRequest

CODEC: Final = TypedCodec("autoscaling_v1.Scale", "Scale")
_OWN: Final = ("Scale", "autoscaling/v1")


def updated_scale(state: ServerState, route: Route, request: ServerRequest) -> dict[str, Any]:
    """Return the body of an update; or a refusal."""
    body, _ = read_object(request.head.body, request.headers.get("content-type", ""), "Scale")
    try:
        _check(state, route, body)
    except Misfit as error:
        if route.served.custom:
            why = 'no kind is registered for the type v1.Scale in scheme "pkg/runtime/scheme.go:111"'
            raise bad_request(why) from None
        kind, version = body.get("kind") or "Scale", body.get("apiVersion") or "v1"
        shown = f"{kind} in version {quoted(version.rpartition('/')[2])}"
        raise bad_request(f"{shown} cannot be handled as a Scale: {error}") from None
    return body


def patched_scale(
    state: ServerState, route: Route, request: ServerRequest, present: dict[str, Any]
) -> dict[str, Any]:
    """Return the Scale after a patch; or a refusal."""
    content_type = request.headers.get("content-type", "")
    check_media(route.served, content_type)
    media = content_type.partition(";")[0].strip()
    change = read_change(media, request.head.body)
    result: Any = changed(media, copied(present), change)
    if not is_map(result):
        raise rejected_patch()
    wanted: dict[str, Any] = copied(result)
    try:
        _check_texts(wanted)
        _check(state, route, wanted)
    except Misfit as error:
        raise unfit(media, change, result, error) from None
    return wanted


def _check_texts(scale: dict[str, Any]) -> None:
    for name in ("kind", "apiVersion"):
        if not isinstance(value := scale.get(name) or "", str):
            why = f"json: cannot unmarshal {go_kind(value)} into Go struct field .{name} of type string"
            raise Misfit(f"couldn't get version/kind; json parse error: {why}")


def _check(state: ServerState, route: Route, scale: dict[str, Any]) -> None:
    """Bring a Scale into the form of its type; or `Misfit`."""
    # What scales custom resources knows no other kind.
    kinds = None if route.served.custom else state.kinds
    if why := mistyped(kinds, _OWN, scale.get("kind") or "", scale.get("apiVersion") or ""):
        raise Misfit(why)
    CODEC.tidy(scale)
    CODEC.write(scale)
