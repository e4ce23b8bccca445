"""What nobody owns: the identity of an object, and what the server sets itself."""

from __future__ import annotations

from typing import Any, Final

from ..storage._values import members
from .fieldsets import field_step, fieldset

Object = dict[str, Any]

# Identity, and what the server sets itself.
_UNOWNED_METADATA: Final = frozenset(
    {
        "clusterName",
        "creationTimestamp",
        "generation",
        "managedFields",
        "name",
        "namespace",
        "resourceVersion",
        "selfLink",
        "uid",
    }
)
UNOWNED: Final = fieldset(
    [("f:apiVersion",), ("f:kind",), ("f:metadata",)]
    + [("f:metadata", field_step(name)) for name in sorted(_UNOWNED_METADATA)]
)


def tracked(object_: Object) -> Object:
    """Return the object without what nobody owns: less to compare."""
    rest = {name: value for name, value in object_.items() if name not in ("apiVersion", "kind")}
    if metadata := members(rest.pop("metadata", None)):
        metadata = {name: value for name, value in metadata.items() if name not in _UNOWNED_METADATA}
    return {"metadata": metadata, **rest} if metadata else rest
