"""`patch_status`: a status is written by its difference from the one that was read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from kubeproto import Dynamic, InvalidRequest, KubeObject
from kubeproto.objects import is_object, json_equal, make_json_patch, make_merge_patch

from .._documents import holds_elements, holds_list, merge_patch, parsed, plain
from .._edits import Original
from ..calls._core import call
from ..calls._reading import read_object
from ._shapes import shape_of

if TYPE_CHECKING:
    from kubeproto import Api

    from ..calls._core import ClientCore
    from ..calls._effects import Effects

K = TypeVar("K", bound=KubeObject)


def patch_status(
    client: ClientCore, api: Api[K], obj: K, status: Any, *, field_manager: str = ""
) -> Effects[K]:
    """Write a status, if it differs from that of the object.

    Only what differs is sent, so several writers of one status do not undo each other's fields. A list is
    sent whole, and then only for the version of `obj`: it is a Conflict if that has changed.
    """
    before: Any = obj.get("status") if isinstance(obj, Dynamic) else getattr(obj, "status", None)
    if status is before and status is not None:
        raise InvalidRequest(
            "this status is the object's own: change a copy, so that the difference can be seen"
        )
    was, to_be = plain(before), plain(status)
    if json_equal(was, to_be):
        return obj
    was, to_be = was or {}, to_be or {}
    if holds_elements(make_merge_patch(was, to_be)) and not isinstance(obj, Dynamic):
        text = yield from _status_text(client, api, obj)
        if text is not None:
            shape = shape_of(api.kind, api.resource).below("status")
            was, to_be = text, Original(before, text, was).edited(status, to_be, shape)
    below = api.subresource("status")
    name, version = obj.metadata.name, obj.metadata.resource_version
    patch = merge_patch({"status": was}, {"status": to_be})
    if patch is None:
        guard = {"op": "replace", "path": "/metadata/resourceVersion", "value": version}
        changes = [guard, *make_json_patch({"status": was}, {"status": to_be})]
        request = below.json_patch(name, changes, field_manager=field_manager)
    else:
        if holds_list(patch) and version:
            patch["metadata"] = {"resourceVersion": version}
        request = below.merge_patch(name, patch, field_manager=field_manager)
    return (yield from call(client, request)).value


def _status_text(client: ClientCore, api: Api[K], obj: K) -> Effects[dict[str, Any] | None]:
    """Return the status of this version as the server has it; None if there is another version by now."""
    fresh, text = yield from read_object(client, api, obj.metadata.name)
    if fresh.metadata.resource_version != obj.metadata.resource_version:
        return None
    status = parsed(text).get("status")
    return status if is_object(status) else None
