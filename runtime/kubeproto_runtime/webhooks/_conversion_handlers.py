"""`Conversions`: the conversion of objects between versions, through the stored version."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from kubeproto import InvalidObject, KubeObject, to_plain
from kubeproto.objects import decode

from .._documents import to_builtins

# The fields of the metadata that a conversion may change.
_MUTABLE: Final = ("labels", "annotations")

Convert = Callable[[Any], KubeObject]


class Conversions:
    """The versions of a kind, converted through the storage version, the hub: `up` to it, `down` from it."""

    def __init__(self, hub: type[KubeObject]) -> None:
        self.hub = hub
        self._spokes: dict[str, tuple[type[KubeObject], Convert, Convert]] = {}

    def add(self, spoke: type[KubeObject], up: Convert, down: Convert) -> None:
        """Add a version."""
        stored, added = self.hub.resource, spoke.resource
        if (stored.group, stored.kind) != (added.group, added.kind) or stored.version == added.version:
            raise ValueError(f"{spoke.__name__} is not another version of {stored.kind}.{stored.group}")
        self._spokes[added.api_version] = (spoke, up, down)

    @property
    def classes(self) -> tuple[type[KubeObject], ...]:
        """The class of each version, the hub first."""
        return (self.hub, *(spoke for spoke, _, _ in self._spokes.values()))

    def __bool__(self) -> bool:
        return bool(self._spokes)

    def convert(self, document: dict[str, Any], version: str) -> dict[str, Any]:
        """Return an object in another version; raise ValueError if it cannot be converted."""
        hub = self.hub.resource.api_version
        try:
            obj = self._to_hub(document)
            if version != hub:
                _, _, down = self._spoke(version)
                obj = down(obj)
            converted: dict[str, Any] = to_builtins(obj)
        except InvalidObject as error:
            raise ValueError(f"it does not fit its class: {error}") from error
        old: dict[str, Any] = document.get("metadata") or {}
        new: dict[str, Any] = converted.get("metadata") or {}
        # A function need not copy the metadata: without a name they stay unchanged.
        if new.get("name"):
            fixed = {field: old[field] for field in old if field not in _MUTABLE}
            converted["metadata"] = fixed | {field: new[field] for field in _MUTABLE if field in new}
        else:
            converted["metadata"] = old
        return converted

    def _to_hub(self, document: dict[str, Any]) -> KubeObject:
        text = msgspec.json.encode(document)
        if document.get("apiVersion") == self.hub.resource.api_version:
            return to_plain(decode(text, self.hub))
        spoke, up, _ = self._spoke(document.get("apiVersion"))
        return up(to_plain(decode(text, spoke)))

    def _spoke(self, version: object) -> tuple[type[KubeObject], Convert, Convert]:
        if isinstance(version, str) and version in self._spokes:
            return self._spokes[version]
        versions = ", ".join((self.hub.resource.api_version, *self._spokes))
        raise ValueError(f"no conversion from or to {version}; the versions are {versions}")
