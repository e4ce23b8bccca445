"""Verbs on objects that know their API, and on kinds by name: ``await client.delete(obj)``."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar, Unpack, overload

from kubeproto import Dynamic, KubeObject, Status

from ..calls._base_client import BaseClient
from ..calls._kinds import api_of, call_on, find_api, find_apis
from ..watching._waiting import WAIT
from ._verbs import BoundApi

if TYPE_CHECKING:
    from collections.abc import Callable

    from kubeproto.requests import AllNamespaces, ApplyOptions, DeletionOptions, WriteOptions

    from ..conditions import Condition, Presence

K = TypeVar("K", bound=KubeObject)
T = TypeVar("T")


class ObjectVerbs(BaseClient):
    """Verbs on an object. The class of the object, or its apiVersion and kind, determines the API.

    For a `Dynamic`, for example from `parse_manifest`, each kind is discovered once. An object without a
    namespace belongs to the namespace of the client.
    """

    async def resource(self, name: str, *, namespace: str | AllNamespaces = "") -> BoundApi[Dynamic]:
        """Return the API of a kind by a name in kubectl's form: ``deploy``, ``pods``, ``Book``.

        ``plural.group`` selects a group. Raise `UnknownKind` with similar names if the server does not serve
        the name.
        """
        return BoundApi(self, await self.run(find_api(self, name, namespace)))

    async def resources(
        self, name: str, *, namespace: str | AllNamespaces = ""
    ) -> tuple[BoundApi[Dynamic], ...]:
        """Return the API of a kind by its name, or of each kind of a category, such as ``all``."""
        return tuple(BoundApi(self, api) for api in await self.run(find_apis(self, name, namespace)))

    async def of(self, obj: K) -> BoundApi[K]:
        """Return the verbs on the kind of an object, in its namespace."""
        return BoundApi(self, await self.run(api_of(self, obj)))

    async def create(self, obj: K, **options: Unpack[WriteOptions]) -> K:
        """Create this object."""
        return await self.run(call_on(self, obj, lambda api: api.create(obj, **options)))

    async def replace(self, obj: K, **options: Unpack[WriteOptions]) -> K:
        """Replace this object. Raise `Conflict` if it has changed since it was read."""
        return await self.run(call_on(self, obj, lambda api: api.replace(obj, **options)))

    async def apply(
        self, obj: K, *, field_manager: str, force: bool = False, **options: Unpack[ApplyOptions]
    ) -> K:
        """Apply the fields of this manager. The server merges them, or creates the object."""
        return await self.run(
            call_on(
                self, obj, lambda api: api.apply(obj, field_manager=field_manager, force=force, **options)
            )
        )

    async def delete(self, obj: K, **options: Unpack[DeletionOptions]) -> K | Status:
        """Delete the object of this name. Finalizers or a grace period may delay the deletion."""
        return await self.run(call_on(self, obj, lambda api: api.delete(obj.metadata.name, **options)))

    async def refresh(self, obj: K) -> K:
        """Read the current state of this object from the server."""
        return await self.run(call_on(self, obj, lambda api: api.get(obj.metadata.name)))

    @overload
    async def wait_for(
        self, obj: K, condition: Presence[K] | Callable[[K], bool], *, timeout: float = WAIT
    ) -> K: ...
    @overload
    async def wait_for(self, obj: K, condition: Condition[K], *, timeout: float = WAIT) -> K | None: ...

    async def wait_for(
        self, obj: K, condition: Condition[K] | Callable[[K], bool], *, timeout: float = WAIT
    ) -> K | None:
        """Wait until the object of this name meets a condition; see `BoundApi.wait_for`."""
        return await (await self.of(obj)).wait_for(obj.metadata.name, condition, timeout=timeout)
