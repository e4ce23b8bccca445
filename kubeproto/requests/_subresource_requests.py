"""`Subresource`: a part of an object, or an operation on it, with a path below that of the object."""

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
from ._headers import JSON, accept, content_type
from ._kind_checks import PODS, body_resource_of, check_subresource
from ._member_requests import MemberVerbs
from ._parameters import WriteOptions, write_query
from ._request import Request
from ._request_bodies import complete_object, encode_body
from ._targets import Target

if TYPE_CHECKING:
    from ..kinds.autoscaling_v1 import Scale

    # Type checkers allow these subresources for kinds with the capability, for their metadata, and for
    # `Dynamic`.
    ApprovalApi: TypeAlias = "SubresourceVerbs[HasApproval | Metadata[HasApproval] | Dynamic]"
    PodSubresourceApi: TypeAlias = "SubresourceVerbs[RunsContainers | Metadata[RunsContainers] | Dynamic]"
    ScaleApi: TypeAlias = (
        "SubresourceVerbs[HasScale | Object[Any, Any] | Metadata[HasScale | Object[Any, Any]] | Dynamic]"
    )
    StatusApi: TypeAlias = (
        "SubresourceVerbs[HasStatus | Object[Any, Any] | Metadata[HasStatus | Object[Any, Any]] | Dynamic]"
    )

K = TypeVar("K", bound=KubeObject)
K_co = TypeVar("K_co", bound=KubeObject, covariant=True)
S = TypeVar("S", bound=KubeObject)


class Subresource(MemberVerbs[K]):
    """The requests for a subresource of the objects of a kind, as a `K`."""

    def __init__(self, kind: type[K], target: Target, name: str, body_resource: Resource) -> None:
        if not name:
            raise InvalidRequest("the name of the subresource is empty")
        self.kind = kind
        self._target = target
        self._subresource = name
        self._body_resource = body_resource

    def create(self, name: str, obj: K, **options: Unpack[WriteOptions]) -> Request[K]:
        """Post to it, for the few subresources that are operations."""
        self._target.check_namespace_of(obj.metadata.namespace)
        return Request(
            "POST",
            self._target.member(name, self._subresource, write_query(**options)),
            (*accept(self.kind), *content_type(JSON)),
            encode_body(complete_object(obj, self._body_resource)),
            verb="create",
            parser=self._object_parser(),
        )


class SubresourceVerbs(Generic[K_co]):
    """The subresources of a kind, except those that belong to other kinds."""

    kind: type[K_co]
    resource: Resource
    _target: Target

    @overload
    def subresource(self, name: str) -> Subresource[K_co]: ...
    @overload
    def subresource(self, name: str, kind: type[S]) -> Subresource[S]: ...

    def subresource(self, name: str, kind: type[Any] | None = None) -> Subresource[Any]:
        """Return a subresource by name, which is read as the object itself or as `kind`."""
        if kind is None:
            return Subresource(self.kind, self._target, name, self.resource)
        return Subresource(kind, self._target, name, body_resource_of(kind))

    @property
    def status(self: StatusApi) -> Subresource[K_co]:
        """The status, which a controller writes separately."""
        return self._subresource_of("status")

    @property
    def scale(self: ScaleApi) -> Subresource[Scale]:
        """The desired number of replicas, for any kind. A server omits 0, so None means 0."""
        from ..kinds.autoscaling_v1 import Scale

        check_subresource(self.kind, self.resource, "scale")
        return self.subresource("scale", Scale)

    @property
    def approval(self: ApprovalApi) -> Subresource[K_co]:
        """The Approved or Denied conditions of a certificate signing request."""
        return self._subresource_of("approval", ("certificates.k8s.io", "certificatesigningrequests"))

    @property
    def ephemeral_containers(self: PodSubresourceApi) -> Subresource[K_co]:
        """The ephemeral containers that debug a running pod."""
        return self._subresource_of("ephemeralcontainers", PODS)

    @property
    def resize(self: PodSubresourceApi) -> Subresource[K_co]:
        """The resources of a running pod."""
        return self._subresource_of("resize", PODS)

    def _subresource_of(self, name: str, owner: tuple[str, str] | None = None) -> Subresource[Any]:
        check_subresource(self.kind, self.resource, name, owner)
        return self.subresource(name)
