"""`BlockingClient`: the client for threads and scripts, over a blocking transport.

It has the names and parameters of `Client`, and shares all decisions with it.
Threads may share one. `clock` and `sleep` are arguments, so that a test need not wait.
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
from ._object_verbs import BlockingObjectVerbs
from ._resync_driver import BlockingResyncDriver
from ._verbs import BlockingApi

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kubeproto import Discovery, Resource
    from kubeproto.requests import AllNamespaces, Health, ServerVersion

    from ..sets._apply_set import ApplySet
    from ..sets._manifests import ManifestFiles
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
    """One server, as one user sees it. `namespace` is the default where none is given.

    It lacks what needs a WebSocket: `upgrade`, and of the verbs `exec`, `attach` and `port_forward`;
    `kubeproto_runtime.pods.connect_pods_blocking` has these for threads.

    A request that fails is retried according to `retries`, for at most `timeout` seconds in all. `rate`
    limits what is sent, and is off by default: servers throttle by themselves. `limits` bound what is read of
    a response. `clock` and `sleep` are those of a monotonic clock, `rng` draws what several clients should
    not do at the same moment.
    """

    def api(
        self,
        kind: type[K],
        *,
        namespace: str | AllNamespaces = "",
        resource: Resource | None = None,
    ) -> BlockingApi[K]:
        """The verbs on one kind: in one namespace, in all (`ALL`), or in that of this client."""
        return BlockingApi(self, self.requests(kind, namespace=namespace, resource=resource))

    def apply_manifests(
        self, manifests: Manifests, **options: Unpack[ApplyManifestsOptions]
    ) -> list[ApplyResult]:
        """Apply a file, or objects, in the order of their dependencies; see `ApplyManifestsOptions`.

        Kinds are looked up on the server. It stops at the first object that is refused, with an
        `ApplyError` that names it; a text that cannot be read is an `InvalidManifest` that names the line.
        """
        return self.run(apply(self, manifests, options))

    def migrate_storage(self, kind: type[KubeObject] | str, **options: Unpack[MigrateOptions]) -> Migration:
        """Rewrite all objects of a custom kind in the version that is stored now; see `MigrateOptions`.

        `kind` is a class, or the name of a definition. Versions before it go from ``status.storedVersions``
        and can then be taken out of the definition. A `MigrationError` says what prevents that; then
        no version was removed, and it may be run again.
        """
        return self.run(migrate(self, kind, options))

    def drain(self, node: str, **options: Unpack[DrainOptions]) -> DrainResult:
        """Cordon a node, and evict its pods as their disruption budgets allow; see `DrainOptions`.

        Static pods and those of DaemonSets are left. A `DrainError` names the pods in the way, each with the
        reason: before anything is evicted those that would be lost, at the end of `timeout` those that stay.
        """
        return self.run(drain(self, node, options))

    def plan(
        self,
        manifests: Manifests | ManifestFiles,
        applyset: ApplySet | str | None = None,
        **options: Unpack[PlanOptions],
    ) -> Plan:
        """Return what applying a set of objects would do, by dry runs on the server; see `PlanOptions`.

        The members of an ApplySet that are not in `manifests` are deletions. Without one, nothing is deleted.
        Print the plan, and `perform` it.
        """
        from ..sets._survey import plan  # sets of objects are for the few programs that apply them

        return self.run(plan(self, manifests, applyset, options))

    def perform(self, plan: Plan, **options: Unpack[PerformOptions]) -> PerformResult:
        """Do what a plan says; see `PerformOptions`.

        `PlanRefused`, before anything is written, if something in it is refused.
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
        """Return whether the server is live or ready, by all checks or by one."""
        return self.call(health(endpoint, check=check, verbose=verbose, exclude=exclude)).value

    def openapi_index(self) -> dict[str, str]:
        """Return which OpenAPI v3 documents there are, each with its hash."""
        return self.call(openapi_index()).value

    def openapi_document(self, path: str, *, hash: str = "") -> dict[str, Any]:  # noqa: A002 # as the core
        """Return one OpenAPI v3 document.

        With its hash, proxies may keep the response forever. If the document has changed since the index
        was read, this returns what it is now.
        """
        return self.run(openapi_document(self, path, hash))

    def discover(self) -> Discovery:
        """Return all kinds that the server serves. Asking again costs little while nothing changes."""
        return self.run(discover(self))

    def require(self, *kinds: type[KubeObject] | Resource, within: float = 0.0) -> None:
        """Check that the server serves these kinds, or `KindNotServed` names the first that it does not.

        With `within`, wait that many seconds for them to be installed.
        """
        self.run(require(self, kinds, within=within))

    def _follow(self, effect: Follow) -> None:
        finished = Event()
        effect.observer.finished = finished.set
        following = BlockingResyncDriver(
            self,
            effect.requests,
            effect.observer,
            settings=effect.settings,
            version=effect.version,
            selection=effect.selection,
            until=effect.until,
            enough=finished.is_set,
        )
        with closing(following.attend()) as attending:
            for _ in attending:
                if finished.is_set():
                    break
