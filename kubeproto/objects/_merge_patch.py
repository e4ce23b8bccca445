"""Merge patches (RFC 7386): the members of an object that change, with null for those that are removed.

A Kubernetes API server departs from the RFC in one point: it drops null members of objects inside lists too.
"""

from typing import Any

from ._json_patch import copy_json, json_equal
from ._pointers import format_pointer, is_object


def make_merge_patch(before: Any, after: Any) -> Any:
    """Return what turns `before` into `after`: {} if they are equal objects.

    A list is replaced as a whole. In a merge patch null means removal, so a null in `after` that `before`
    does not have at the same place is a ValueError; inside a list it is an ordinary value.
    """
    return _make(before, after, ())


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


def _make(before: Any, after: Any, path: tuple[str, ...]) -> Any:
    if not is_object(after):
        return copy_json(after)
    # A value that is not an object counts as an empty one, on both sides.
    old = before if is_object(before) else {}
    patch: dict[str, Any] = {key: None for key in old if key not in after}
    for key, value in after.items():
        if key in old and json_equal(old[key], value):
            continue
        if value is None:
            place = format_pointer((*path, key))
            raise ValueError(f"a merge patch cannot set {place} to null: to it, null means removal")
        patch[key] = _make(old.get(key), value, (*path, key))
    return patch
