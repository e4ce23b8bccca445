"""Subresources: parts of an object, or operations on it, that have an address below its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar, Unpack, overload

from .._errors import InvalidRequest
from ..objects import (
    Dynamic,
    HasApproval,
    HasScale,
    HasStatus,
    KubeObject,
    Metadata,
    Object,
    Resource,
    RunsContainers,
)
from ._bodies import as_json, whole
from ._headers import JSON, accept, content
from ._offers import PODS, check_subresource
from ._parameters import WriteOptions, write_query
from ._request import Request
from ._singles import Single
from ._targets import Target, written_as

if TYPE_CHECKING:
    from ..kinds.autoscaling_v1 import Scale

    # For whom the checkers allow it: the kinds that can, the metadata of these, and what may be any kind.
    Approved: TypeAlias = "Subresources[HasApproval | Metadata[HasApproval] | Dynamic]"
    RunningApi: TypeAlias = "Subresources[RunsContainers | Metadata[RunsContainers] | Dynamic]"
    Scaled: TypeAlias = (
        "Subresources[HasScale | Object[Any, Any] | Metadata[HasScale | Object[Any, Any]] | Dynamic]"
    )
    Reporting: TypeAlias = (
        "Subresources[HasStatus | Object[Any, Any] | Metadata[HasStatus | Object[Any, Any]] | Dynamic]"
    )

K = TypeVar("K", bound=KubeObject)
K_co = TypeVar("K_co", bound=KubeObject, covariant=True)
S = TypeVar("S", bound=KubeObject)


class Subresource(Single[K]):
    """One subresource of each object of a kind, read and written as a `K`."""

    def __init__(self, kind: type[K], place: Target, name: str, written: Resource) -> None:
        if not name:
            raise InvalidRequest("a subresource has a name")
        self.kind = kind
        self._place = place
        self._subresource = name
        self._written = written

    def create(self, name: str, obj: K, **options: Unpack[WriteOptions]) -> Request[K]:
        """Post to it: for the few that are operations, and not part of the object."""
        self._place.check_namespace_of(obj.metadata.namespace)
        return Request(
            "POST",
            self._place.member(name, self._subresource, write_query(**options)),
            (*accept(self.kind), *content(JSON)),
            as_json(whole(obj, self._written)),
            verb="create",
            reading=self._one(),
        )


class Subresources(Generic[K_co]):
    """The subresources of a kind; those that only some kinds have are refused to the others."""

    kind: type[K_co]
    resource: Resource
    _place: Target

    @overload
    def subresource(self, name: str) -> Subresource[K_co]: ...
    @overload
    def subresource(self, name: str, kind: type[S]) -> Subresource[S]: ...

    def subresource(self, name: str, kind: type[Any] | None = None) -> Subresource[Any]:
        """Return any subresource, which shows the object itself or, if a kind is given, that."""
        if kind is None:
            return Subresource(self.kind, self._place, name, self.resource)
        return Subresource(kind, self._place, name, written_as(kind))

    @property
    def status(self: Reporting) -> Subresource[K_co]:
        """The status, which a controller writes separately from the rest."""
        return self._known("status")

    @property
    def scale(self: Scaled) -> Subresource[Scale]:
        """How many replicas an object wants, whatever its kind. A server leaves 0 out: None means none."""
        from ..kinds.autoscaling_v1 import Scale

        check_subresource(self.kind, self.resource, "scale")
        return self.subresource("scale", Scale)

    @property
    def approval(self: Approved) -> Subresource[K_co]:
        """The conditions of a certificate signing request that say Approved or Denied."""
        return self._known("approval", ("certificates.k8s.io", "certificatesigningrequests"))

    @property
    def ephemeral_containers(self: RunningApi) -> Subresource[K_co]:
        """The containers that debug a pod that runs."""
        return self._known("ephemeralcontainers", PODS)

    @property
    def resize(self: RunningApi) -> Subresource[K_co]:
        """The resources of a pod that runs."""
        return self._known("resize", PODS)

    def _known(self, name: str, home: tuple[str, str] | None = None) -> Subresource[Any]:
        check_subresource(self.kind, self.resource, name, home)
        return self.subresource(name)
