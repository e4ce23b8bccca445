"""`Api[Book]`: every verb on one kind of object, each as a request."""

from __future__ import annotations

from typing import (
    TYPE_CHECKING,
    Any,
    Generic,
    Literal,
    TypeVar,
    Unpack,
    get_args,
    get_origin,
    overload,
)

from msgspec import Struct, structs

from .._errors import InvalidRequest
from ..objects import Dynamic, KubeObject, Metadata, Resource, Table
from ._bodies import as_json, whole
from ._collections import Collection
from ._headers import JSON, TABLE, accept, accept_media, content
from ._parameters import ListOptions, Timeout, WriteOptions, check_choice, write_query
from ._pods import PodVerbs
from ._readings import Plain
from ._request import Request
from ._singles import Single
from ._targets import ALL, AllNamespaces, Place

if TYPE_CHECKING:
    from ..kinds.autoscaling_v1 import Scale

K = TypeVar("K", bound=KubeObject)
S = TypeVar("S", bound=KubeObject)


class Api(Collection[K], PodVerbs[K]):
    """The verbs on one kind in one namespace, in all (`ALL`), or, for a cluster-scoped kind, in none.

    Without a namespace it is the one that a context without a namespace means: ``default``.
    """

    def __init__(
        self,
        kind: type[K],
        *,
        namespace: str | AllNamespaces = "",
        resource: Resource | None = None,
    ) -> None:
        self.kind = kind
        self.resource = resource if resource is not None else _resource_of(kind)
        self._place = Place.of(self.resource, namespace)
        self._written = self.resource

    @property
    def namespace(self) -> str | AllNamespaces:
        """The namespace, `ALL`, or nothing for a cluster-scoped kind."""
        return ALL if self._place.everywhere else self._place.namespace

    def __repr__(self) -> str:
        return f"Api({self.resource}, namespace={self.namespace!r})"

    @overload
    def subresource(self, name: str) -> Subresource[K]: ...
    @overload
    def subresource(self, name: str, kind: type[S]) -> Subresource[S]: ...

    def subresource(self, name: str, kind: type[Any] | None = None) -> Subresource[Any]:
        """Any subresource, which shows the object itself or, if a kind is given, that."""
        if kind is None:
            return Subresource(self.kind, self._place, name, self.resource)
        return Subresource(kind, self._place, name, _written_as(kind))

    @property
    def status(self) -> Subresource[K]:
        """The status, which a controller writes apart from the rest."""
        return self.subresource("status")

    @property
    def scale(self) -> Subresource[Scale]:
        """How many replicas an object wants, whatever its kind. A server leaves 0 out: None means none."""
        from ..kinds.autoscaling_v1 import Scale

        return self.subresource("scale", Scale)

    @property
    def approval(self) -> Subresource[K]:
        """The conditions of a certificate signing request that say Approved or Denied."""
        return self.subresource("approval")

    @property
    def ephemeral_containers(self) -> Subresource[K]:
        """The containers that debug a pod that runs."""
        return self.subresource("ephemeralcontainers")

    @property
    def resize(self) -> Subresource[K]:
        """The resources of a pod that runs."""
        return self.subresource("resize")

    def finalize(self, obj: K, **options: Unpack[WriteOptions]) -> Request[K]:
        """Write the finalizers in the spec of a namespace, the only way to change them."""
        return self.subresource("finalize").replace(obj, **options)

    def as_table(self, *, include_object: IncludeObject = "Metadata") -> Tables[K]:
        """Get and list as a server would print the objects; `include_object` is what each row carries."""
        check_choice("include_object", include_object, ("None", "Metadata", "Object"))
        return Tables(self, include_object)


class Subresource(Single[K]):
    """One subresource of each object of a kind, read and written as a `K`."""

    def __init__(self, kind: type[K], place: Place, name: str, written: Resource) -> None:
        if not name:
            raise InvalidRequest("a subresource has a name")
        self.kind = kind
        self._place = place
        self._subresource = name
        self._written = written

    def create(self, name: str, obj: K, **options: Unpack[WriteOptions]) -> Request[K]:
        """Post to it, for the few that are no part of the object but a thing to do."""
        self._place.check_namespace_of(obj.metadata.namespace)
        return Request(
            "POST",
            self._place.member(name, self._subresource, write_query(**options)),
            (*accept(self.kind), *content(JSON)),
            as_json(whole(obj, self._written)),
            verb="create",
            reading=self._one(),
        )


IncludeObject = Literal["None", "Metadata", "Object"]


class Tables(Struct, Generic[K], frozen=True):
    """The two reading verbs, answered by a table. Watches have no such form here: follow the objects."""

    api: Api[K]
    include_object: IncludeObject

    def get(self, name: str, *, resource_version: str = "", timeout: Timeout = None) -> Request[Table]:
        """Read one object as a table of one row."""
        return self._printed(self.api.get(name, resource_version=resource_version, timeout=timeout))

    def list(self, **options: Unpack[ListOptions]) -> Request[Table]:
        """Read the objects, or a page of them, as a table."""
        return self._printed(self.api.list(**options))

    def _printed(self, request: Request[Any]) -> Request[Table]:
        target = request.target
        if self.include_object != "Metadata":  # what a server does by itself
            target += f"{'&' if '?' in target else '?'}includeObject={self.include_object}"
        return Request(
            request.method,
            target,
            accept_media(TABLE),
            verb=request.verb,
            reading=Plain(Table, "Table"),
        )


def _resource_of(kind: type[KubeObject]) -> Resource:
    """What a class says of itself; `Metadata[Book]` stands for Book."""
    if get_origin(kind) is Metadata:
        return _resource_of(get_args(kind)[0])
    if issubclass(kind, Dynamic | Metadata) or kind.abstract:
        raise InvalidRequest(f"Api({kind.__name__}) needs to know its kind: say resource=…")
    return kind.resource


def _written_as(kind: type[KubeObject]) -> Resource:
    """The same for what is only ever written below another kind, such as a Scale: it has no address."""
    if not kind.abstract:
        return _resource_of(kind)
    own: dict[str, Any] = {field.name: field.default_factory for field in structs.fields(kind)}
    if not (callable(own["kind"]) and callable(own["api_version"])):
        raise InvalidRequest(f"{kind.__name__} does not say what kind it is")
    group, _, version = str(own["api_version"]()).rpartition("/")
    return Resource(group, version, str(own["kind"]()), "")
