"""`Client`: sends the core's requests over a transport, on asyncio and on trio.

What a request is and what a response means is decided by the core; when to retry, by its policy; everything
else by the generators that `BlockingClient` runs too. This class performs their effects.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeVar, Unpack

import anyio

from kubeproto import KubeObject
from kubeproto.requests import health, openapi_index, version

from ..calls._discovery import discover, openapi_document, require
from ..calls._effects import Follow
from ..watching._resync_driver import ResyncDriver
from ..writing._applying import Applying, apply
from ..writing._draining import Draining, drain
from ..writing._migrating import Migrating, migrate
from ._object_verbs import ObjectVerbs
from ._verbs import BoundApi

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kubeproto import Discovery, Resource
    from kubeproto.requests import (
        AllNamespaces,
        Health,
        ServerVersion,
    )

    from ..sets._apply_set import ApplySet
    from ..sets._manifests import ManifestFiles
    from ..sets._performing import Performed, Performing
    from ..sets._plan import Plan
    from ..sets._surveying import Planning
    from ..writing._applying import Applied, Manifests
    from ..writing._draining import Drained
    from ..writing._migrating import Migration

K = TypeVar("K", bound=KubeObject)
T = TypeVar("T")
E = TypeVar("E")

_Endpoint = Literal["livez", "readyz", "healthz"]


class Client(ObjectVerbs):
    """One server, as one user sees it. `namespace` is the default where none is given.

    A request that fails is retried according to `retries`, for at most `timeout` seconds in all. `rate`
    limits what is sent, and is off by default: servers throttle by themselves. `limits` bound what is read of
    a response. `wall` returns the time that is written into objects, `rng` draws what several clients should
    not do at the same moment.
    """

    # The verbs

    def api(
        self,
        kind: type[K],
        *,
        namespace: str | AllNamespaces = "",
        resource: Resource | None = None,
    ) -> BoundApi[K]:
        """The verbs on one kind, awaitable: in one namespace, in all (`ALL`), or in that of this client."""
        return BoundApi(self, self.requests(kind, namespace=namespace, resource=resource))

    async def apply_manifests(self, manifests: Manifests, **options: Unpack[Applying]) -> list[Applied]:
        """Apply a whole file, or objects, in an order in which each finds what it needs; see `Applying`.

        Kinds are looked up on the server. It stops at the first object that is refused, with an
        `ApplyError` that names it; a text that cannot be read is an `InvalidManifest` that names the line.
        """
        return await self.run(apply(self, manifests, options))

    async def migrate_storage(self, kind: type[KubeObject] | str, **options: Unpack[Migrating]) -> Migration:
        """Rewrite all objects of a custom kind in the version that is stored now; see `Migrating`.

        `kind` is a class, or the name of a definition. Versions before it go from ``status.storedVersions``
        and can then be taken out of the definition. A `MigrationError` says what prevents that; then
        no version was removed, and it may be run again.
        """
        return await self.run(migrate(self, kind, options))

    async def drain(self, node: str, **options: Unpack[Draining]) -> Drained:
        """Cordon a node, and evict its pods as their disruption budgets allow; see `Draining`.

        Static pods and those of DaemonSets are left. A `DrainError` names the pods in the way, each with the
        reason: before anything is evicted those that would be lost, at the end of `timeout` those that stay.
        """
        return await self.run(drain(self, node, options))

    async def plan(
        self,
        manifests: Manifests | ManifestFiles,
        applyset: ApplySet | str | None = None,
        **options: Unpack[Planning],
    ) -> Plan:
        """Return what applying a set of objects would do, by dry runs on the server; see `Planning`.

        The members of an ApplySet that are not in `manifests` are deletions. Without one, nothing is deleted.
        Print the plan, and `perform` it.
        """
        from ..sets._surveying import plan  # sets of objects are for the few programs that apply them

        return await self.run(plan(self, manifests, applyset, options))

    async def perform(self, plan: Plan, **options: Unpack[Performing]) -> Performed:
        """Do what a plan says; see `Performing`.

        `PlanRefused`, before anything is written, if something in it is refused.
        """
        from ..sets._performing import perform

        return await self.run(perform(self, plan, options))

    # The server

    async def version(self) -> ServerVersion:
        """Return the version of the server."""
        return (await self.call(version())).value

    async def health(
        self, endpoint: _Endpoint = "readyz", *, check: str = "", verbose: bool = False,
        exclude: Sequence[str] = (),
    ) -> Health:  # fmt: skip
        """Return whether the server is live or ready, by all checks or by one."""
        return (await self.call(health(endpoint, check=check, verbose=verbose, exclude=exclude))).value

    async def openapi_index(self) -> dict[str, str]:
        """Return which OpenAPI v3 documents there are, each with its hash."""
        return (await self.call(openapi_index())).value

    async def openapi_document(self, path: str, *, hash: str = "") -> dict[str, Any]:  # noqa: A002 # as the core
        """Return one OpenAPI v3 document.

        With its hash, proxies may keep the response forever. If the document has changed since the index
        was read, this returns what it is now.
        """
        return await self.run(openapi_document(self, path, hash))

    async def discover(self) -> Discovery:
        """Return all kinds that the server serves. Asking again costs little while nothing changes."""
        return await self.run(discover(self))

    async def require(self, *kinds: type[KubeObject] | Resource, within: float = 0.0) -> None:
        """Check that the server serves these kinds, or `KindNotServed` names the first that it does not.

        With `within`, wait that many seconds for them to be installed.
        """
        await self.run(require(self, kinds, within=within))

    async def _follow(self, effect: Follow) -> None:
        following = ResyncDriver(
            self,
            effect.requests,
            effect.observer,
            settings=effect.settings,
            version=effect.version,
            selection=effect.selection,
        )
        with anyio.CancelScope(deadline=effect.until) as scope:
            effect.observer.finished = scope.cancel
            await following.run()
