"""`patch_status`: writes the difference of a status from the status that was read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from kubeproto import Dynamic, InvalidRequest, KubeObject
from kubeproto.objects import is_object, json_equal, make_json_patch, make_merge_patch

from .._documents import (
    contains_element_list,
    contains_list,
    make_exact_merge_patch,
    parse_document,
    to_builtins,
)
from .._edits import Original
from ..calls._core import call
from ..calls._object_reads import read_object
from ._shapes import shape_of

if TYPE_CHECKING:
    from kubeproto import Api

    from ..calls._core import ClientCore
    from ..calls._effects import Effects

K = TypeVar("K", bound=KubeObject)


def patch_status(
    client: ClientCore, api: Api[K], obj: K, status: Any, *, field_manager: str = ""
) -> Effects[K]:
    """Write a status if it differs from the status of the object.

    Only changed fields are sent, so several writers of a status do not undo each other's fields. A changed
    list is sent as a whole, with the version of `obj`. Raise `Conflict` if `obj` has changed since then.
    """
    old_status: Any = obj.get("status") if isinstance(obj, Dynamic) else getattr(obj, "status", None)
    if status is old_status and status is not None:
        raise InvalidRequest(
            "patch_status received obj.status itself, so it sees no difference: pass a changed copy of it"
        )
    old, new = to_builtins(old_status), to_builtins(status)
    if json_equal(old, new):
        return obj
    old, new = old or dict[str, Any](), new or dict[str, Any]()
    if contains_element_list(make_merge_patch(old, new)) and not isinstance(obj, Dynamic):
        text = yield from _status_text(client, api, obj)
        if text is not None:
            shape = shape_of(api.kind, api.resource).member("status")
            old, new = text, Original(old_status, text, old).merge(status, new, shape)
    subresource = api.subresource("status")
    name, version = obj.metadata.name, obj.metadata.resource_version
    patch = make_exact_merge_patch({"status": old}, {"status": new})
    if patch is None:
        precondition = {"op": "replace", "path": "/metadata/resourceVersion", "value": version}
        changes = [precondition, *make_json_patch({"status": old}, {"status": new})]
        request = subresource.json_patch(name, changes, field_manager=field_manager)
    else:
        if contains_list(patch) and version:
            patch["metadata"] = {"resourceVersion": version}
        request = subresource.merge_patch(name, patch, field_manager=field_manager)
    return (yield from call(client, request)).value


def _status_text(client: ClientCore, api: Api[K], obj: K) -> Effects[dict[str, Any] | None]:
    """Return the server's JSON of the status at the version of the object; None if it has changed."""
    fresh, text = yield from read_object(client, api, obj.metadata.name)
    if fresh.metadata.resource_version != obj.metadata.resource_version:
        return None
    status = parse_document(text).get("status")
    return status if is_object(status) else None
