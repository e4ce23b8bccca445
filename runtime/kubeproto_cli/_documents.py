"""Objects as plain JSON, for printing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from kubeproto import encode

if TYPE_CHECKING:
    from kubeproto import KubeObject


def as_plain(obj: KubeObject, *, managed_fields: bool = False) -> dict[str, Any]:
    """Return an object as plain JSON, by default without managedFields, which people rarely read."""
    plain: dict[str, Any] = msgspec.json.decode(encode(obj))
    if not managed_fields:
        plain.get("metadata", {}).pop("managedFields", None)
    return plain
