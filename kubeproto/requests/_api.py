"""`Api[Book]`: every verb on one kind of object, each as a request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, TypeVar, Unpack, get_origin

from msgspec import Struct

from ..objects import Dynamic, HasFinalize, KubeObject, Metadata, Resource
from ._collections import Collection
from ._headers import TABLE, accept_media
from ._parameters import ListOptions, Timeout, WriteOptions, check_choice
from ._pods import PodVerbs
from ._readings import Plain
from ._request import Request
from ._subresources import Subresources
from ._targets import ALL, AllNamespaces, Target, check_kind, resource_of

if TYPE_CHECKING:
    from ..objects import Table

    Finalized: TypeAlias = "Subresources[HasFinalize | Metadata[HasFinalize] | Dynamic]"

K = TypeVar("K", bound=KubeObject)


class Api(Collection[K], Subresources[K], PodVerbs[K]):
    """The verbs on one kind in one namespace, in all (`ALL`), or, for a cluster-scoped kind, in none.

    Without a namespace it is ``default``, as in a context without a namespace.
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
        self._place = Target.of(self.resource, namespace)
        self._written = self.resource

    @property
    def namespace(self) -> str | AllNamespaces:
        """The namespace, `ALL`, or nothing for a cluster-scoped kind."""
        return ALL if self._place.everywhere else self._place.namespace

    def __repr__(self) -> str:
        return f"Api({self.resource}, namespace={self.namespace!r})"

    def finalize(self: Finalized, obj: K, **options: Unpack[WriteOptions]) -> Request[K]:
        """Write the finalizers in the spec of a namespace, the only way to change them."""
        return self._known("finalize", ("", "namespaces")).replace(obj, **options)

    def as_table(self, *, include_object: IncludeObject = "Metadata") -> Tables[K]:
        """Get and list as a server would print the objects.

        `include_object` is the part of it in each row.
        """
        check_choice("include_object", include_object, ("None", "Metadata", "Object"))
        return Tables(self, include_object)


IncludeObject = Literal["None", "Metadata", "Object"]


class Tables(Struct, Generic[K], frozen=True):
    """The two reading verbs, with a table in the response. A watch has no such form: follow the objects."""

    api: Api[K]
    include_object: IncludeObject

    def get(self, name: str, *, resource_version: str = "", timeout: Timeout = None) -> Request[Table]:
        """Read one object as a table of one row."""
        return self._printed(self.api.get(name, resource_version=resource_version, timeout=timeout))

    def list(self, **options: Unpack[ListOptions]) -> Request[Table]:
        """Read the objects, or a page of them, as a table."""
        return self._printed(self.api.list(**options))

    def _printed(self, request: Request[Any]) -> Request[Table]:
        from ..objects import Table  # when one is asked for

        target = request.target
        if self.include_object != "Metadata":  # the default of a server
            target += f"{'&' if '?' in target else '?'}includeObject={self.include_object}"
        return Request(
            request.method,
            target,
            accept_media(TABLE),
            verb=request.verb,
            reading=Plain(Table, "Table"),
        )
