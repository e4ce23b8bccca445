"""`ApplySet`: a set of objects with a parent object that keeps account of it, as KEP-3659 defines.

The parent is a Secret, a ConfigMap or a custom resource whose definition permits it. Its label is the id of
the set, which is also the label of every member; its annotations name the managing tool, and the
kinds and namespaces of its possible members. ``kubectl apply --prune --applyset`` reads and writes the
same.

The annotations always cover every member: they grow before an object is applied, and shrink after the last
was pruned. So an interruption leaves a set that the next run can complete.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from kubeproto import InvalidRequest, KubeprotoError, ObjectRef

from ._membership import PART_OF, Membership

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kubeproto import Discovery, Resource

    from ..writing._ranks import GroupKind

TOOLING: Final = "kubeproto/v0.1.0"

ID: Final = "applyset.kubernetes.io/id"
PARENT_TYPE: Final = "applyset.kubernetes.io/is-parent-type"
_TOOLING: Final = "applyset.kubernetes.io/tooling"
_KINDS: Final = "applyset.kubernetes.io/contains-group-kinds"
_RESOURCES: Final = "applyset.kubernetes.io/contains-group-resources"  # written by kubectl before 1.29
_NAMESPACES: Final = "applyset.kubernetes.io/additional-namespaces"

_BUILT_IN: Final = (("", "secrets"), ("", "configmaps"))


class ApplySetError(KubeprotoError):
    """The parent of a set cannot be used: it belongs to another tool, or is not a parent."""


class ApplySet(Struct, frozen=True):
    """A set by its parent, in kubectl's notation: ``shop``, ``configmaps/shop``.

    A name alone means a Secret. `namespace` is the parent's, by default that of the client. Members may
    be in any namespace. `tooling` is the name and version of the tool that manages the set: another tool's
    set is refused, so ``ApplySet("shop", tooling="kubectl/v1.32.0")`` takes turns with kubectl.
    """

    parent: str
    namespace: str = ""
    tooling: str = TOOLING

    @property
    def tool(self) -> str:
        """The name of the tool, without its version."""
        name, slash, _ = self.tooling.rpartition("/")
        return name if slash else self.tooling

    @property
    def type_and_name(self) -> tuple[str, str]:
        """The type of the parent in the user's spelling, and its name."""
        kind, slash, name = self.parent.rpartition("/")
        if not name or (slash and not kind):
            raise InvalidRequest(f"the parent of a set is named as in configmaps/shop, not {self.parent!r}")
        return kind or "secrets", name


class Extent(Struct, frozen=True):
    """The kinds and namespaces of the possible members."""

    kinds: frozenset[tuple[str, str]] = frozenset()
    namespaces: frozenset[str] = frozenset()

    def __or__(self, other: Extent) -> Extent:
        return Extent(self.kinds | other.kinds, self.namespaces | other.namespaces)


class Parent(Struct, frozen=True):
    """The parent of a set; `version` is empty if it does not exist yet."""

    applyset: ApplySet
    resource: Any  # a `Resource`
    name: str
    namespace: str
    version: str = ""
    extent: Extent = Extent()

    @property
    def id(self) -> str:
        """The id of the set."""
        return applyset_id(self.name, self.namespace, self.resource.kind, self.resource.group)

    @property
    def ref(self) -> ObjectRef[Any]:
        """The reference of the parent."""
        return ObjectRef(self.resource.group, self.resource.kind, self.namespace, self.name)

    @property
    def membership(self) -> Membership:
        """The label of its members."""
        return Membership(PART_OF, self.id)

    @property
    def field_manager(self) -> str:
        """The owner of the label and the annotations of the parent, by kubectl's naming rule."""
        return f"{self.applyset.tool}-applyset"

    def __str__(self) -> str:
        return str(self.ref)

    def document(self, extent: Extent, version: str) -> dict[str, Any]:
        """Return the document that is applied to this version of the parent."""
        metadata: dict[str, Any] = {"name": self.name}
        if self.namespace:
            metadata["namespace"] = self.namespace
        if version:
            metadata["resourceVersion"] = version
        metadata["labels"] = {ID: self.id}
        metadata["annotations"] = {
            _TOOLING: self.applyset.tooling,
            _KINDS: ",".join(sorted(map(kind_text, extent.kinds))),
            _NAMESPACES: ",".join(sorted(extent.namespaces - {self.namespace, ""})),
        }
        return {"apiVersion": self.resource.api_version, "kind": self.resource.kind, "metadata": metadata}


def applyset_id(name: str, namespace: str, kind: str, group: str) -> str:
    """Return the id of the set with this parent."""
    hashed = sha256(f"{name}.{namespace}.{kind}.{group}".encode()).digest()
    # A label's value begins and ends with a letter or digit, which base64 alone does not promise.
    return f"applyset-{urlsafe_b64encode(hashed).decode().rstrip('=')}-v1"


def read_parent(parent: Parent, document: dict[str, Any] | None, served: Discovery) -> Parent:
    """Return the parent with the content of its object; `ApplySetError` if another tool owns it."""
    if document is None:
        if not is_built_in(parent.resource):
            raise ApplySetError(f"{parent} does not exist: a custom resource is made a parent by its owner")
        return parent
    metadata: dict[str, Any] = document["metadata"]
    labels: dict[str, str] = metadata.get("labels") or {}
    annotations: dict[str, str] = metadata.get("annotations") or {}
    tooling = annotations.get(_TOOLING)
    if tooling is None:
        raise ApplySetError(f"{parent} exists and is not the parent of a set: it lacks {_TOOLING}")
    manager = ApplySet("", tooling=tooling).tool
    if manager != parent.applyset.tool:
        raise ApplySetError(
            f"{parent} is managed by {manager!r}, and not by {parent.applyset.tool!r}:"
            " pass this tool as tooling"
        )
    if labels.get(ID) != parent.id:
        raise ApplySetError(
            f"{parent} has the label {ID}={labels.get(ID)!r} instead of {parent.id!r}: correct it"
        )
    return Parent(
        parent.applyset,
        parent.resource,
        parent.name,
        parent.namespace,
        metadata["resourceVersion"],
        _extent(parent, annotations, served),
    )


def _extent(parent: Parent, annotations: dict[str, str], served: Discovery) -> Extent:
    namespaces = _split(annotations.get(_NAMESPACES, ""), str)
    if parent.namespace:
        namespaces |= {parent.namespace}
    if _KINDS in annotations:
        return Extent(_split(annotations[_KINDS], _parse_kind), namespaces)
    if _RESOURCES in annotations:
        return Extent(_split(annotations[_RESOURCES], lambda name: _find_kind(name, served)), namespaces)
    raise ApplySetError(
        f"{parent} does not list the kinds of its set: set the annotation {_KINDS}"
        " to them (Kind.group, divided by commas)"
    )


def _split(text: str, read: Callable[[str], Any]) -> frozenset[Any]:
    return frozenset(read(item.strip()) for item in text.split(",") if item.strip())


def _parse_kind(text: str) -> GroupKind:
    kind, _, group = text.partition(".")
    return group, kind


def _find_kind(text: str, served: Discovery) -> GroupKind:
    plural, _, group = text.partition(".")
    for resource in served:
        if (resource.plural, resource.group) == (plural, group):
            return group, resource.kind
    raise ApplySetError(f"the server serves no {text}, which the annotation {_RESOURCES} lists")


def is_built_in(resource: Resource) -> bool:
    """Return whether any object of this kind may be a parent."""
    return (resource.group, resource.plural) in _BUILT_IN


def kind_text(kind: GroupKind) -> str:
    """Return a kind in the form of the annotation: ``Deployment.apps``."""
    return f"{kind[1]}.{kind[0]}" if kind[0] else kind[1]


def extent_of(objects: Iterable[tuple[GroupKind, str]], parent: Parent) -> Extent:
    """Return the extent of these objects, given by kind and namespace."""
    pairs = list(objects)
    namespaces = {namespace for _, namespace in pairs if namespace}
    if parent.namespace:
        namespaces.add(parent.namespace)
    return Extent(frozenset(kind for kind, _ in pairs), frozenset(namespaces))
