"""`Membership`: how an object shows that it belongs to a set, and to which.

A member of an ApplySet carries a label with the id of its parent (KEP-3659). A child of an object carries a
reference to it as its controller, and a label besides; see `Children`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from kubeproto.objects import is_object

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PART_OF: Final = "applyset.kubernetes.io/part-of"


class Membership(Struct, frozen=True):
    """The label of the members of one set; of children, also the reference to their owner."""

    label: str
    value: str
    owner: dict[str, Any] | None = None

    @property
    def selector(self) -> str:
        """The label selector of the members."""
        return f"{self.label}={self.value}"

    def marked(self, document: Mapping[str, Any]) -> dict[str, Any]:
        """Return a document as a member."""
        metadata: dict[str, Any] = dict(document.get("metadata") or {})
        metadata["labels"] = {**(metadata.get("labels") or {}), self.label: self.value}
        if self.owner is not None:
            others = [one for one in _owners(document) if one.get("uid") != self.owner["uid"]]
            metadata["ownerReferences"] = [*others, self.owner]
        return {**document, "metadata": metadata}

    def includes(self, document: Mapping[str, Any]) -> bool:
        """Return whether an object is a member."""
        if _label(document, self.label) != self.value:
            return False
        return self.owner is None or any(
            one.get("uid") == self.owner["uid"] and one.get("controller") for one in _owners(document)
        )

    def why_foreign(self, document: Mapping[str, Any]) -> str:
        """Return why an object cannot become a member; empty if it can."""
        found = _label(document, self.label)
        if found not in ("", self.value):
            if self.owner is not None:
                return f"it is another owner's: its label {self.label} is {found!r}"
            return (
                f"it belongs to another set: its label {self.label} is {found!r}."
                " Remove the label to hand the object over"
            )
        if self.owner is not None:
            for one in _owners(document):
                if one.get("controller") and one.get("uid") != self.owner["uid"]:
                    return f"{one.get('kind')} {one.get('name')} controls it"
        return ""


def _label(document: Mapping[str, Any], name: str) -> str:
    metadata: dict[str, Any] = document.get("metadata") or {}
    labels: Any = metadata.get("labels")
    return str(labels.get(name) or "") if is_object(labels) else ""


def _owners(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    metadata: dict[str, Any] = document.get("metadata") or {}
    for one in metadata.get("ownerReferences") or ():
        if is_object(one):
            yield one
