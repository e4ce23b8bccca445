"""Verbs on objects that know their API, and on kinds by name: ``client.delete(obj)``."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar, Unpack, overload

from kubeproto import Dynamic, KubeObject, Status

from ..calls._blocking_base_client import BlockingBaseClient
from ..calls._kinds import api_of, call_on, find_api, find_apis
from ..watching._waiting import WAIT
from ._blocking_verbs import BlockingApi

if TYPE_CHECKING:
    from collections.abc import Callable

    from kubeproto.requests import AllNamespaces, ApplyOptions, DeletionOptions, WriteOptions

    from ..conditions import Condition, Presence

K = TypeVar("K", bound=KubeObject)
T = TypeVar("T")


class BlockingObjectVerbs(BlockingBaseClient):
    """Verbs on an object, whose API follows from its class, or from its apiVersion and kind.

    The API of a `Dynamic`, such as `parse_manifest` returns, is discovered once for each kind. An object
    without a namespace belongs to the namespace of the client.
    """

    def resource(self, name: str, *, namespace: str | AllNamespaces = "") -> BlockingApi[Dynamic]:
        """Return the API of a kind by a name that kubectl accepts: ``deploy``, ``pods``, ``Book``.

        ``plural.group`` chooses among groups. `UnknownKind` lists similar names if the server does not know
        the name.
        """
        return BlockingApi(self, self.run(find_api(self, name, namespace)))

    def resources(
        self, name: str, *, namespace: str | AllNamespaces = ""
    ) -> tuple[BlockingApi[Dynamic], ...]:
        """Return the API of a kind by its name, or of each kind of a category, such as ``all``."""
        return tuple(BlockingApi(self, api) for api in self.run(find_apis(self, name, namespace)))

    def of(self, obj: K) -> BlockingApi[K]:
        """Return the API for the kind and the namespace of this object."""
        return BlockingApi(self, self.run(api_of(self, obj)))

    def create(self, obj: K, **options: Unpack[WriteOptions]) -> K:
        """Create this object."""
        return self.run(call_on(self, obj, lambda api: api.create(obj, **options)))

    def replace(self, obj: K, **options: Unpack[WriteOptions]) -> K:
        """Replace this object; raise `Conflict` if it has changed since it was read."""
        return self.run(call_on(self, obj, lambda api: api.replace(obj, **options)))

    def apply(self, obj: K, *, field_manager: str, force: bool = False, **options: Unpack[ApplyOptions]) -> K:
        """Apply the fields of this manager; the server merges them, or creates the object."""
        return self.run(
            call_on(
                self, obj, lambda api: api.apply(obj, field_manager=field_manager, force=force, **options)
            )
        )

    def delete(self, obj: K, **options: Unpack[DeletionOptions]) -> K | Status:
        """Delete the object of this name; finalizers or a grace period delay that."""
        return self.run(call_on(self, obj, lambda api: api.delete(obj.metadata.name, **options)))

    def refresh(self, obj: K) -> K:
        """Read the current state of this object from the server."""
        return self.run(call_on(self, obj, lambda api: api.get(obj.metadata.name)))

    @overload
    def wait_for(
        self, obj: K, condition: Presence[K] | Callable[[K], bool], *, timeout: float = WAIT
    ) -> K: ...
    @overload
    def wait_for(self, obj: K, condition: Condition[K], *, timeout: float = WAIT) -> K | None: ...

    def wait_for(
        self, obj: K, condition: Condition[K] | Callable[[K], bool], *, timeout: float = WAIT
    ) -> K | None:
        """Wait until the object of this name meets a condition; see `BlockingApi.wait_for`."""
        return self.of(obj).wait_for(obj.metadata.name, condition, timeout=timeout)
