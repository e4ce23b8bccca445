"""`ApplySet`: a set of objects whose parent object records its members, as KEP-3659 defines.

The parent is a Secret, a ConfigMap or a custom resource whose definition permits it. A label of the parent
contains the id of the set, and so does a label of every member. Annotations of the parent name the managing
tool, and the kinds and namespaces of the possible members. ``kubectl apply --prune --applyset`` reads and
writes the same labels and annotations.

The annotations always include the kinds and namespaces of all members: kinds are added before the first
object is applied, and removed after the last object was pruned. So the next run can complete an interrupted
run.
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
    """A set, identified by its parent in kubectl's notation: ``shop``, ``configmaps/shop``.

    A name alone means a Secret. `namespace` is the namespace of the parent, by default that of the client.
    Members may be in any namespace. `tooling` is the name and version of the tool that manages the set. A set
    of another tool is refused: to manage a set both with kubectl and with this library, pass the tooling of
    kubectl, ``ApplySet("shop", tooling="kubectl/v1.32.0")``.
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
            raise InvalidRequest(f"{self.parent!r} is not a parent: write TYPE/NAME, such as configmaps/shop")
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
        """The field manager of the parent, by the naming rule of kubectl."""
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
            _KINDS: ",".join(sorted(map(format_kind, extent.kinds))),
            _NAMESPACES: ",".join(sorted(extent.namespaces - {self.namespace, ""})),
        }
        return {"apiVersion": self.resource.api_version, "kind": self.resource.kind, "metadata": metadata}


def applyset_id(name: str, namespace: str, kind: str, group: str) -> str:
    """Return the id of the set with this parent."""
    hashed = sha256(f"{name}.{namespace}.{kind}.{group}".encode()).digest()
    # The prefix and the suffix are letters and digits, which must begin and end the value of a label.
    return f"applyset-{urlsafe_b64encode(hashed).decode().rstrip('=')}-v1"


def read_parent(parent: Parent, document: dict[str, Any] | None, served: Discovery) -> Parent:
    """Return the parent with the content of its object. Raise `ApplySetError` if another tool manages it."""
    if document is None:
        if not is_built_in(parent.resource):
            raise ApplySetError(f"{parent} does not exist: create it, or use a ConfigMap or Secret")
        return parent
    metadata: dict[str, Any] = document["metadata"]
    labels: dict[str, str] = metadata.get("labels") or {}
    annotations: dict[str, str] = metadata.get("annotations") or {}
    tooling = annotations.get(_TOOLING)
    if tooling is None:
        raise ApplySetError(f"{parent} is not the parent of a set: it has no annotation {_TOOLING}")
    manager = ApplySet("", tooling=tooling).tool
    if manager != parent.applyset.tool:
        raise ApplySetError(
            f"{parent} is managed by {manager!r}, and not by {parent.applyset.tool!r}:"
            f" pass tooling={tooling!r} to change it"
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
        " to them (Kind.group, separated by commas)"
    )


def _split(text: str, parse: Callable[[str], Any]) -> frozenset[Any]:
    return frozenset(parse(item.strip()) for item in text.split(",") if item.strip())


def _parse_kind(text: str) -> GroupKind:
    kind, _, group = text.partition(".")
    return group, kind


def _find_kind(text: str, served: Discovery) -> GroupKind:
    plural, _, group = text.partition(".")
    for resource in served:
        if (resource.plural, resource.group) == (plural, group):
            return group, resource.kind
    raise ApplySetError(f"the server does not serve {text}, which the annotation {_RESOURCES} lists")


def is_built_in(resource: Resource) -> bool:
    """Return whether any object of this kind may be a parent."""
    return (resource.group, resource.plural) in _BUILT_IN


def format_kind(kind: GroupKind) -> str:
    """Return a kind in the form of the annotation: ``Deployment.apps``."""
    return f"{kind[1]}.{kind[0]}" if kind[0] else kind[1]


def extent_of(objects: Iterable[tuple[GroupKind, str]], parent: Parent) -> Extent:
    """Return the extent of objects, from the kind and the namespace of each."""
    pairs = list(objects)
    namespaces = {namespace for _, namespace in pairs if namespace}
    if parent.namespace:
        namespaces.add(parent.namespace)
    return Extent(frozenset(kind for kind, _ in pairs), frozenset(namespaces))
