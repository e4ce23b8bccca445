"""`BlockingClient`: the client for threads and scripts, over a blocking transport.

It has the methods and parameters of `Client`, and runs the same generators, which make all decisions. Threads
may share a client. `clock` and `sleep` are arguments, so that tests run without waiting.
"""

from __future__ import annotations

from contextlib import closing
from threading import Event
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Unpack

from kubeproto import KubeObject
from kubeproto.requests import health, openapi_index, version

from ..calls._discovery import discover, openapi_document, require
from ..calls._effects import Follow
from ..writing._applying import ApplyManifestsOptions, apply
from ..writing._draining import DrainOptions, drain
from ..writing._migrating import MigrateOptions, migrate
from ._blocking_object_verbs import BlockingObjectVerbs
from ._blocking_resync_driver import BlockingResyncDriver
from ._blocking_verbs import BlockingApi

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kubeproto import Discovery, Resource
    from kubeproto.requests import AllNamespaces, Health, ServerVersion

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


class BlockingClient(BlockingObjectVerbs):
    """Sends requests to a server, as a user. `namespace` is the default of requests without one.

    It has no methods that need a WebSocket: `upgrade`, and the verbs `exec`, `attach` and `port_forward`. For
    threads, `kubeproto_runtime.pods.connect_pods_blocking` has these verbs.

    A request that fails is retried according to `retries`, for at most `timeout` seconds in all. `rate`
    limits the requests, and is off by default: servers throttle by themselves. `limits` bound the size of a
    response. `clock` and `sleep` belong to a monotonic clock. `rng` spreads delays, so that several clients
    do not act at the same moment.
    """

    def api(
        self,
        kind: type[K],
        *,
        namespace: str | AllNamespaces = "",
        resource: Resource | None = None,
    ) -> BlockingApi[K]:
        """Return the API of a kind: in a namespace, in all (`ALL`), or in the namespace of this client."""
        return BlockingApi(self, self.requests(kind, namespace=namespace, resource=resource))

    def apply_manifests(
        self, manifests: Manifests, **options: Unpack[ApplyManifestsOptions]
    ) -> list[ApplyResult]:
        """Apply a file, or objects, in the order of their dependencies; see `ApplyManifestsOptions`.

        Kinds are discovered on the server. An `ApplyError` names the first object that is refused, and the
        rest is not applied. `InvalidManifest` names the line of a syntax error.
        """
        return self.run(apply(self, manifests, options))

    def migrate_storage(self, kind: type[KubeObject] | str, **options: Unpack[MigrateOptions]) -> Migration:
        """Rewrite all objects of a custom kind in the current storage version; see `MigrateOptions`.

        `kind` is a class, or the name of a definition. Other versions are removed from
        ``status.storedVersions``, and can then be removed from the definition. A `MigrationError` names the
        obstacle; then no version was removed, and the migration can be repeated.
        """
        return self.run(migrate(self, kind, options))

    def drain(self, node: str, **options: Unpack[DrainOptions]) -> DrainResult:
        """Cordon a node, and evict its pods as their disruption budgets allow; see `DrainOptions`.

        Static pods and pods of DaemonSets stay. A `DrainError` names the pods that prevent it, each with the
        reason. Before the first eviction these are the pods that no controller would create again, and after
        `timeout` the pods that remain.
        """
        return self.run(drain(self, node, options))

    def plan(
        self,
        manifests: Manifests | ManifestFiles,
        applyset: ApplySet | str | None = None,
        **options: Unpack[PlanOptions],
    ) -> Plan:
        """Return the changes that a set of objects would make, by dry runs on the server; see `PlanOptions`.

        The members of an ApplySet that are not in `manifests` are deletions. Without an ApplySet, nothing is
        deleted. Print the plan, and `perform` it.
        """
        from ..sets._survey import plan  # imported late: few programs apply sets of objects

        return self.run(plan(self, manifests, applyset, options))

    def perform(self, plan: Plan, **options: Unpack[PerformOptions]) -> PerformResult:
        """Make the changes of a plan; see `PerformOptions`.

        Raise `PlanRefused` before the first write if the plan contains a refused object.
        """
        from ..sets._plan_execution import perform

        return self.run(perform(self, plan, options))

    def version(self) -> ServerVersion:
        """Return the version of the server."""
        return self.call(version()).value

    def health(
        self, endpoint: _Endpoint = "readyz", *, check: str = "", verbose: bool = False,
        exclude: Sequence[str] = (),
    ) -> Health:  # fmt: skip
        """Return whether the server is live or ready, by all checks or by the check of this name."""
        return self.call(health(endpoint, check=check, verbose=verbose, exclude=exclude)).value

    def openapi_index(self) -> dict[str, str]:
        """Return the paths of the OpenAPI v3 documents, each with its hash."""
        return self.call(openapi_index()).value

    def openapi_document(self, path: str, *, hash: str = "") -> dict[str, Any]:  # noqa: A002 # as the core
        """Return an OpenAPI v3 document.

        With its hash, proxies may cache the response forever. If the document has changed since the index
        was read, this returns the current document.
        """
        return self.run(openapi_document(self, path, hash))

    def discover(self) -> Discovery:
        """Return all kinds of the server. Calling it again is cheap while nothing changes."""
        return self.run(discover(self))

    def require(self, *kinds: type[KubeObject] | Resource, within: float = 0.0) -> None:
        """Check that the server serves these kinds; `KindNotServed` names the first missing kind.

        With `within`, wait that many seconds for them to be installed.
        """
        self.run(require(self, kinds, within=within))

    def _follow(self, effect: Follow) -> None:
        finished = Event()
        effect.observer.on_finish = finished.set
        driver = BlockingResyncDriver(
            self,
            effect.requests,
            effect.observer,
            settings=effect.settings,
            version=effect.version,
            selection=effect.selection,
            until=effect.until,
            is_finished=finished.is_set,
        )
        with closing(driver.drive()) as steps:
            for _ in steps:
                if finished.is_set():
                    break
