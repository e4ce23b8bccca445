"""Objects as plain JSON, for printing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from kubeproto import encode

if TYPE_CHECKING:
    from kubeproto import KubeObject


def as_plain(obj: KubeObject) -> dict[str, Any]:
    """Return an object as plain JSON, without managedFields, which people rarely read."""
    plain: dict[str, Any] = msgspec.json.decode(encode(obj))
    plain.get("metadata", {}).pop("managedFields", None)
    return plain
