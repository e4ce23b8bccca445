"""`Client`: sends the core's requests over a transport, on asyncio and on trio.

The core builds requests and parses responses, and its policy decides about retries. All other decisions are
in generators, which `BlockingClient` shares. This class performs their effects.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeVar, Unpack

import anyio

from kubeproto import KubeObject
from kubeproto.requests import health, openapi_index, version

from ..calls._discovery import discover, openapi_document, require
from ..calls._effects import Follow
from ..watching._resync_driver import ResyncDriver
from ..writing._applying import ApplyManifestsOptions, apply
from ..writing._draining import DrainOptions, drain
from ..writing._migrating import MigrateOptions, migrate
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
    from ..sets._manifest_files import ManifestFiles
    from ..sets._plan import Plan
    from ..sets._plan_execution import PerformOptions, PerformResult
    from ..sets._survey import PlanOptions
    from ..writing._applying import ApplyResult, Manifests
    from ..writing._draining import DrainResult
    from ..writing._migrating import Migration

K = TypeVar("K", bound=KubeObject)
T = TypeVar("T")
E = TypeVar("E")

_Endpoint = Literal["livez", "readyz", "healthz"]


class Client(ObjectVerbs):
    """Sends requests to a server, as a user. `namespace` is the default namespace of requests.

    A request that fails is retried according to `retries`, for at most `timeout` seconds in all. `rate`
    limits the requests, and is off by default: servers throttle by themselves. `limits` bound the size of a
    response. `wall_clock` returns the time that is written into objects. `rng` varies delays, so that several
    clients do not send at the same moment.
    """

    # The verbs

    def api(
        self,
        kind: type[K],
        *,
        namespace: str | AllNamespaces = "",
        resource: Resource | None = None,
    ) -> BoundApi[K]:
        """Return the API of a kind: in this namespace, in all (`ALL`), or in that of the client."""
        return BoundApi(self, self.requests(kind, namespace=namespace, resource=resource))

    async def apply_manifests(
        self, manifests: Manifests, **options: Unpack[ApplyManifestsOptions]
    ) -> list[ApplyResult]:
        """Apply a file, or objects, in the order of their dependencies; see `ApplyManifestsOptions`.

        Kinds are discovered on the server. Raise `ApplyError` for the first object that cannot be applied;
        the objects after it are not applied. Raise `InvalidManifest` with the line of a syntax error.
        """
        return await self.run(apply(self, manifests, options))

    async def migrate_storage(
        self, kind: type[KubeObject] | str, **options: Unpack[MigrateOptions]
    ) -> Migration:
        """Rewrite all objects of a custom kind in the current storage version; see `MigrateOptions`.

        `kind` is a class, or the name of a definition. Other versions are removed from
        ``status.storedVersions``, and can then be removed from the definition. After a `MigrationError` no
        version was removed, and the migration can be repeated.
        """
        return await self.run(migrate(self, kind, options))

    async def drain(self, node: str, **options: Unpack[DrainOptions]) -> DrainResult:
        """Cordon a node, and evict its pods as their disruption budgets allow; see `DrainOptions`.

        Static pods and pods of DaemonSets are skipped. `DrainError` has the pods that prevent the drain, with
        the reasons. It is raised before the first eviction if pods or their data would be lost, and after
        `timeout` if pods remain.
        """
        return await self.run(drain(self, node, options))

    async def plan(
        self,
        manifests: Manifests | ManifestFiles,
        applyset: ApplySet | str | None = None,
        **options: Unpack[PlanOptions],
    ) -> Plan:
        """Return the changes that a set of objects would make, by dry runs on the server; see `PlanOptions`.

        The members of an ApplySet that are not in `manifests` are deletions. Without an ApplySet, nothing is
        deleted. Print the plan, and `perform` it.
        """
        from ..sets._survey import plan  # imported here, because few programs apply sets of objects

        return await self.run(plan(self, manifests, applyset, options))

    async def perform(self, plan: Plan, **options: Unpack[PerformOptions]) -> PerformResult:
        """Make the changes of a plan; see `PerformOptions`.

        Raise `PlanRefused` before the first write if the server refuses a change.
        """
        from ..sets._plan_execution import perform

        return await self.run(perform(self, plan, options))

    # The server

    async def version(self) -> ServerVersion:
        """Return the version of the server."""
        return (await self.call(version())).value

    async def health(
        self, endpoint: _Endpoint = "readyz", *, check: str = "", verbose: bool = False,
        exclude: Sequence[str] = (),
    ) -> Health:  # fmt: skip
        """Return whether the server is live or ready, by all checks or by the named check."""
        return (await self.call(health(endpoint, check=check, verbose=verbose, exclude=exclude))).value

    async def openapi_index(self) -> dict[str, str]:
        """Return the paths of the OpenAPI v3 documents, each with its hash."""
        return (await self.call(openapi_index())).value

    async def openapi_document(self, path: str, *, hash: str = "") -> dict[str, Any]:  # noqa: A002 # as the core
        """Return an OpenAPI v3 document.

        With `hash`, the URL contains the hash, so proxies may cache the response forever. If the document has
        changed since the index was read, the current document is returned.
        """
        return await self.run(openapi_document(self, path, hash))

    async def discover(self) -> Discovery:
        """Return all kinds of the server. A repetition is cheap while nothing changes."""
        return await self.run(discover(self))

    async def require(self, *kinds: type[KubeObject] | Resource, within: float = 0.0) -> None:
        """Raise `KindNotServed` if the server does not serve all of these kinds.

        Before that, wait up to `within` seconds until they are served.
        """
        await self.run(require(self, kinds, within=within))

    async def _follow(self, effect: Follow) -> None:
        driver = ResyncDriver(
            self,
            effect.requests,
            effect.observer,
            settings=effect.settings,
            version=effect.version,
            selection=effect.selection,
        )
        with anyio.CancelScope(deadline=effect.until) as scope:
            effect.observer.on_finish = scope.cancel
            await driver.run()
