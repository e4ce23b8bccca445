"""Merge patches (RFC 7386): the changed members of an object, with null for the removed members.

A Kubernetes API server departs from the RFC in a single point: it drops null members of objects in lists too.
"""

from typing import Any

from ._json_values import copy_json, is_object, json_equal
from ._pointers import format_pointer


def make_merge_patch(old: Any, new: Any) -> Any:
    """Return the patch that turns `old` into `new`: {} if they are equal objects.

    A list is replaced as a whole. In a merge patch null means removal, so a null in `new` that `old` lacks is
    a ValueError; inside a list it is an ordinary value.
    """
    return _make(old, new, ())


def apply_merge_patch(document: Any, patch: Any) -> Any:
    """Return the document after the patch; neither argument is changed."""
    if not is_object(patch):
        return copy_json(patch)
    result: dict[str, Any] = copy_json(document) if is_object(document) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = apply_merge_patch(result.get(key), value)
    return result


def _make(old: Any, new: Any, path: tuple[str, ...]) -> Any:
    if not is_object(new):
        return copy_json(new)
    # A value that is not an object counts as an empty one, on both sides.
    old_members = old if is_object(old) else {}
    patch: dict[str, Any] = {key: None for key in old_members if key not in new}
    for key, value in new.items():
        if key in old_members and json_equal(old_members[key], value):
            continue
        if value is None:
            pointer = format_pointer((*path, key))
            raise ValueError(f"a merge patch cannot set {pointer} to null: to it, null means removal")
        patch[key] = _make(old_members.get(key), value, (*path, key))
    return patch
