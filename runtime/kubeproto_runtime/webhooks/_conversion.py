"""`Conversions`: objects of one version are converted into another, through the stored version."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from kubeproto import InvalidObject, KubeObject, settle
from kubeproto.crd import read_conversion, respond_to_conversion
from kubeproto.objects import decode

from .._documents import plain
from ._reviews import review_in

# What a conversion may change of the metadata.
_MUTABLE: Final = ("labels", "annotations")

Convert = Callable[[Any], KubeObject]


class Conversions:
    """The versions of one kind around its hub; `up` makes an object of the hub, `down` one of the spoke."""

    def __init__(self, hub: type[KubeObject]) -> None:
        self.hub = hub
        self._spokes: dict[str, tuple[type[KubeObject], Convert, Convert]] = {}

    def add(self, spoke: type[KubeObject], up: Convert, down: Convert) -> None:
        """Add a version."""
        mine, other = self.hub.resource, spoke.resource
        if (mine.group, mine.kind) != (other.group, other.kind) or mine.version == other.version:
            raise ValueError(f"{spoke.__name__} is not another version of {mine.kind}.{mine.group}")
        self._spokes[other.api_version] = (spoke, up, down)

    @property
    def classes(self) -> tuple[type[KubeObject], ...]:
        """The class of each version, the hub first."""
        return (self.hub, *(spoke for spoke, _, _ in self._spokes.values()))

    def __bool__(self) -> bool:
        return bool(self._spokes)

    def answer(self, body: bytes) -> bytes:
        """Answer a ConversionReview."""
        return respond_to_conversion(review_in(body, read_conversion), self.convert)

    def convert(self, document: dict[str, Any], version: str) -> dict[str, Any]:
        """Return an object in another version; ValueError if it cannot be converted."""
        hub = self.hub.resource.api_version
        try:
            obj = self._upgraded(document)
            if version != hub:
                _, _, down = self._known(version)
                obj = down(obj)
            made: dict[str, Any] = plain(obj)
        except InvalidObject as error:
            raise ValueError(f"it does not fit its class: {error}") from error
        given: dict[str, Any] = document.get("metadata") or {}
        changed: dict[str, Any] = made.get("metadata") or {}
        # A function that passes no metadata on has nothing to say of it.
        if changed.get("name"):
            fixed = {name: given[name] for name in given if name not in _MUTABLE}
            made["metadata"] = fixed | {name: changed[name] for name in _MUTABLE if name in changed}
        else:
            made["metadata"] = given
        return made

    def _upgraded(self, document: dict[str, Any]) -> KubeObject:
        text = msgspec.json.encode(document)
        if document.get("apiVersion") == self.hub.resource.api_version:
            return settle(decode(text, self.hub))
        spoke, up, _ = self._known(document.get("apiVersion"))
        return up(settle(decode(text, spoke)))

    def _known(self, version: object) -> tuple[type[KubeObject], Convert, Convert]:
        if isinstance(version, str) and version in self._spokes:
            return self._spokes[version]
        known = ", ".join((self.hub.resource.api_version, *self._spokes))
        raise ValueError(f"no conversion from or to {version}; there are {known}")
