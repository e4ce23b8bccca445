"""`Api[Book]`: every verb on one kind of object, each as a request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, TypeVar, Unpack, get_origin

from msgspec import Struct

from ..objects import Dynamic, HasFinalize, KubeObject, Metadata, Resource
from ._collection_requests import CollectionVerbs
from ._headers import TABLE, accept_media
from ._kind_checks import check_kind, resource_of
from ._parameters import ListOptions, Timeout, WriteOptions, check_choice
from ._pod_requests import PodVerbs
from ._request import Request
from ._response_parsers import JsonParser
from ._subresource_requests import SubresourceVerbs
from ._targets import ALL, AllNamespaces, Target

if TYPE_CHECKING:
    from ..objects import Table

    Finalized: TypeAlias = "SubresourceVerbs[HasFinalize | Metadata[HasFinalize] | Dynamic]"

K = TypeVar("K", bound=KubeObject)


class Api(CollectionVerbs[K], SubresourceVerbs[K], PodVerbs[K]):
    """The requests for a kind in a namespace, in all namespaces (`ALL`), or for a cluster-scoped kind.

    The default namespace is ``default``.
    """

    def __init__(
        self,
        kind: type[K],
        *,
        namespace: str | AllNamespaces = "",
        resource: Resource | None = None,
    ) -> None:
        check_kind(get_origin(kind) or kind)
        self.kind = kind
        self.resource = resource if resource is not None else resource_of(kind)
        self._target = Target.of(self.resource, namespace)
        self._body_resource = self.resource

    @property
    def namespace(self) -> str | AllNamespaces:
        """The namespace, `ALL`, or "" for a cluster-scoped kind."""
        return ALL if self._target.all_namespaces else self._target.namespace

    def __repr__(self) -> str:
        return f"Api({self.resource}, namespace={self.namespace!r})"

    def finalize(self: Finalized, obj: K, **options: Unpack[WriteOptions]) -> Request[K]:
        """Write the finalizers in the spec of a namespace, the only way to change them."""
        return self._subresource_of("finalize", ("", "namespaces")).replace(obj, **options)

    def as_table(self, *, include_object: IncludeObject = "Metadata") -> Tables[K]:
        """Return the requests that read objects as a table, as kubectl prints them.

        `include_object` is the part of the object in each row.
        """
        check_choice("include_object", include_object, ("None", "Metadata", "Object"))
        return Tables(self, include_object)


IncludeObject = Literal["None", "Metadata", "Object"]


class Tables(Struct, Generic[K], frozen=True):
    """The requests that read objects as a table. A watch has no such form: follow the objects."""

    api: Api[K]
    include_object: IncludeObject

    def get(self, name: str, *, resource_version: str = "", timeout: Timeout = None) -> Request[Table]:
        """Read an object as a table with one row."""
        return self._as_table(self.api.get(name, resource_version=resource_version, timeout=timeout))

    def list(self, **options: Unpack[ListOptions]) -> Request[Table]:
        """Read the objects, or a page of them, as a table."""
        return self._as_table(self.api.list(**options))

    def _as_table(self, request: Request[Any]) -> Request[Table]:
        from ..objects import Table  # imported by the programs that use tables

        target = request.target
        if self.include_object != "Metadata":  # the default of a server
            target += f"{'&' if '?' in target else '?'}includeObject={self.include_object}"
        return Request(
            request.method,
            target,
            accept_media(TABLE),
            verb=request.verb,
            parser=JsonParser(Table, "Table"),
        )
