"""`Membership`: the label and the owner reference of the members of a set.

A member of an ApplySet has a label with the id of its parent (KEP-3659). A child of an object has a label and
a controller reference to this object; see `Children`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from kubeproto.objects import is_object

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PART_OF: Final = "applyset.kubernetes.io/part-of"


class Membership(Struct, frozen=True):
    """The label of the members of a set; for children, also the reference to their owner."""

    label: str
    value: str
    owner: dict[str, Any] | None = None

    @property
    def selector(self) -> str:
        """The label selector of the members."""
        return f"{self.label}={self.value}"

    def add_to(self, document: Mapping[str, Any]) -> dict[str, Any]:
        """Return a copy of a document with the label and the owner reference."""
        metadata: dict[str, Any] = dict(document.get("metadata") or {})
        metadata["labels"] = {**(metadata.get("labels") or {}), self.label: self.value}
        if self.owner is not None:
            others = [owner for owner in _owners(document) if owner.get("uid") != self.owner["uid"]]
            metadata["ownerReferences"] = [*others, self.owner]
        return {**document, "metadata": metadata}

    def includes(self, document: Mapping[str, Any]) -> bool:
        """Return whether an object is a member."""
        if _label(document, self.label) != self.value:
            return False
        return self.owner is None or any(
            owner.get("uid") == self.owner["uid"] and owner.get("controller") for owner in _owners(document)
        )

    def find_obstacle(self, document: Mapping[str, Any]) -> str:
        """Return the reason why an object cannot become a member; empty if it can."""
        value = _label(document, self.label)
        if value not in ("", self.value):
            if self.owner is not None:
                return f"it belongs to another owner: its label {self.label} is {value!r}"
            return (
                f"it belongs to another set: its label {self.label} is {value!r}."
                " Remove the label to hand the object over"
            )
        if self.owner is not None:
            for owner in _owners(document):
                if owner.get("controller") and owner.get("uid") != self.owner["uid"]:
                    return f"{owner.get('kind')} {owner.get('name')} controls it"
        return ""


def _label(document: Mapping[str, Any], name: str) -> str:
    metadata: dict[str, Any] = document.get("metadata") or {}
    labels: Any = metadata.get("labels")
    return str(labels.get(name) or "") if is_object(labels) else ""


def _owners(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    metadata: dict[str, Any] = document.get("metadata") or {}
    for owner in metadata.get("ownerReferences") or ():
        if is_object(owner):
            yield owner
