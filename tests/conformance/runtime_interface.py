"""The interface of the runtime's tests: clients of either server, on each event loop, in the server's time.

A simulated cluster is new for each test, and its time is virtual. A real cluster is shared, and its time is
real: each test has its own namespace there, and waits only until a deadline.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, TypeVar, overload

import anyio
import pytest
from anyio.to_thread import run_sync
from asked_release import RELEASE

import kubeproto as kp
import kubeproto_sim as sim
from conformance.conftest import PLUGIN
from kubeproto.crd import definition_of
from kubeproto.kinds.apps_v1 import Deployment, DeploymentStatus
from kubeproto.kinds.batch_v1 import Job
from kubeproto.kinds.core_v1 import Namespace, Pod
from kubeproto.kinds.meta_v1 import Condition
from kubeproto.kinds.rbac_authorization_v1 import RoleBinding
from kubeproto.wire import Headers
from kubeproto_runtime import Client, connect
from kubeproto_runtime.testing import BACKENDS, Backend, run, simulated

if TYPE_CHECKING:
    from realserver import RealServer

T = TypeVar("T")

Body: TypeAlias = Callable[[Client], Awaitable[None]]
Watched: TypeAlias = kp.Added[Any] | kp.Modified[Any] | kp.Deleted[Any] | kp.Bookmark | kp.Malformed

PATIENCE: Final = 240.0  # seconds until a test fails; a correct server never takes so long
POLL_INTERVAL: Final = 0.1  # seconds between two polls of state that no watch reports
_CHANGE_NAMES: Final = {kp.Added: "added", kp.Modified: "modified", kp.Deleted: "deleted"}
_JSON: Final[Headers] = (("Content-Type", "application/json"),)
_OBJECTS: Final = re.compile(
    r"/(?:api|apis/(?P<group>[^/]+))/[^/]+/(?:namespaces/(?P<namespace>[^/]+)/)?"
    r"(?P<plural>[^/]+)(?:/(?P<name>[^/]+))?"
)
_VERBS: Final = {
    ("GET", False): "list", ("GET", True): "get", ("POST", False): "create", ("PUT", True): "update",
    ("PATCH", True): "patch", ("DELETE", True): "delete", ("DELETE", False): "deletecollection",
}  # fmt: skip
_numbers = itertools.count(1)


class ShipSpec(kp.Fields):
    crew: int
    port: str = ""
    cargo: list[str] = []


class ShipStatus(kp.Fields):
    crew: int = 0
    conditions: list[Condition] = []


class Ship(kp.Object[ShipSpec, ShipStatus], group="runtime.example.com", version="v1"):
    """The kind of the tests' controllers."""


def ship(name: str = "pequod", *, crew: int = 30, port: str = "") -> Ship:
    return Ship(metadata=kp.ObjectMeta(name=name), spec=ShipSpec(crew=crew, port=port))


class Rig(Protocol):
    """A server for the tests of the runtime, and their event loop."""

    real: bool
    namespace: str

    def client(self, user: str = "admin") -> AbstractAsyncContextManager[Client]:
        """Connect as a user: "admin" has all permissions, "nobody" those of a RoleBinding."""
        ...

    def run(self, body: Body, *kinds: type[kp.KubeObject]) -> None:
        """Run a test with the client of an admin, after these kinds are served."""
        ...

    def compact(self) -> None:
        """Compact all history."""
        ...

    async def restart(self) -> None:
        """Kill the server, and start it again with the same objects."""
        ...

    async def pods(self, client: Client, deployment: str) -> int:
        """Return the number of pods of an `app`, or the number of requested pods if no controller creates
        pods.
        """
        ...

    async def nodes(self, client: Client) -> None:
        """Run pods until cancelled, so that deployments become available and jobs complete."""
        ...


class Simulated:
    """A new cluster without pods. Only namespaces with a RoleBinding are accessible to "nobody"."""

    real = False

    def __init__(self, backend: Backend, *, watch_cache: bool) -> None:
        self.namespace = f"runtime-{next(_numbers)}"
        self._backend: Backend = backend
        self._cluster = sim.Cluster(version=100, kubernetes=RELEASE, modes=sim.Modes(watch_cache=watch_cache))
        self._paths = {user: _Path(self._cluster, user) for user in ("admin", "nobody")}

    def client(self, user: str = "admin") -> AbstractAsyncContextManager[Client]:
        return simulated(self._cluster, faults=self._paths[user], namespace=self.namespace)

    def run(self, body: Body, *kinds: type[kp.KubeObject]) -> None:
        run(_test, self, body, kinds, backend=self._backend)

    def compact(self) -> None:
        self._cluster.compact()

    async def restart(self) -> None:
        for path in self._paths.values():
            path.script.append(sim.RefuseConnection())
        self._cluster.end_watches()

    async def pods(self, client: Client, deployment: str) -> int:
        existing = await client.api(Deployment).get_or_none(deployment)
        return 0 if existing is None else existing.spec.replicas or 0

    async def nodes(self, client: Client) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_play_deployments, client)
            tasks.start_soon(_play_jobs, client)


class Real:
    """The control plane of `make real`, accessed by its kubeconfig. It has no nodes."""

    real = True

    def __init__(self, backend: Backend, server: RealServer) -> None:
        self.namespace = f"runtime-{next(_numbers)}"
        self._backend = backend
        self._server = server

    def client(self, user: str = "admin") -> AbstractAsyncContextManager[Client]:
        return connect(kubeconfig=self._server.kubeconfig, context=user, namespace=self.namespace)

    def run(self, body: Body, *kinds: type[kp.KubeObject]) -> None:
        anyio.run(_test, self, body, kinds, backend=self._backend)

    def compact(self) -> None:
        self._server.compact()

    async def restart(self) -> None:
        await run_sync(self._server.restart)

    async def pods(self, client: Client, deployment: str) -> int:
        return len((await client.api(Pod).list(label_selector=f"app={deployment}")).items)

    async def nodes(self, client: Client) -> None:
        pods = client.api(Pod)
        async with pods.follow() as events:
            async for event in events:
                if not isinstance(event, kp.Added):
                    continue
                phase = "Succeeded" if event.object.spec.restart_policy == "Never" else "Running"
                ready = [{"type": "Ready", "status": "True"}]
                await pods.status.merge_patch(
                    event.object.metadata.name, {"status": {"phase": phase, "conditions": ready}}
                )


@pytest.fixture(params=BACKENDS)
def rig(request: pytest.FixtureRequest) -> Rig:
    """Return a server of each type, on each event loop."""
    return _rig(request, "real_server", watch_cache=True)


@pytest.fixture(params=BACKENDS)
def bare_rig(request: pytest.FixtureRequest) -> Rig:
    """Return servers without a watch cache, where history expires as soon as it is compacted."""
    return _rig(request, "uncached_server", watch_cache=False)


def _rig(request: pytest.FixtureRequest, name: str, *, watch_cache: bool) -> Rig:
    if request.config.pluginmanager.hasplugin(PLUGIN):
        return Real(request.param, request.getfixturevalue(name))
    return Simulated(request.param, watch_cache=watch_cache)


async def _test(rig: Rig, body: Body, kinds: tuple[type[kp.KubeObject], ...]) -> None:
    with anyio.fail_after(PATIENCE):
        async with rig.client() as client:
            await client.api(Namespace).create(Namespace(metadata=kp.ObjectMeta(name=rig.namespace)))
            definitions = [definition_of(kind) for kind in kinds]
            await client.apply_manifests(definitions, field_manager="suite", force=True)
            for kind in kinds:
                await poll_until(partial(_is_served, client, kind))
            await body(client)


async def _is_served(client: Client, kind: type[kp.KubeObject]) -> bool:
    try:
        await client.api(kind).list(limit=1)
    except kp.NotFound:
        return False
    return True


@asynccontextmanager
async def running_beside(*works: Callable[[], Awaitable[object]]) -> AsyncGenerator[None]:
    """Run these functions concurrently with the block, until it exits."""
    async with anyio.create_task_group() as tasks:
        for work in works:
            tasks.start_soon(_perform, work)
        yield
        tasks.cancel_scope.cancel()


async def _perform(work: Callable[[], Awaitable[object]]) -> None:
    await work()


@overload
async def poll_until(poll: Callable[[], Awaitable[T]], *, within: float = 60.0) -> T: ...
@overload
async def poll_until(poll: Callable[[], T], *, within: float = 60.0) -> T: ...
async def poll_until(poll: Callable[[], Any], *, within: float = 60.0) -> Any:
    """Poll until the value is true, and return it."""
    with anyio.fail_after(within):
        while True:
            value = poll()
            result: Any = (await value) if isawaitable(value) else value
            if result:
                return result
            await anyio.sleep(POLL_INTERVAL)


def describe_event(event: Watched) -> str:
    """Return a short description of an event."""
    if isinstance(event, kp.Added | kp.Modified | kp.Deleted):
        return f"{_CHANGE_NAMES[type(event)]} {event.object.metadata.name}"
    return type(event).__name__


# Features that the simulated server lacks


class _Path(sim.Faults):
    """The connection of a user to a simulated cluster; every user except the admin needs a RoleBinding in a
    namespace.
    """

    def __init__(self, cluster: sim.Cluster, user: str) -> None:
        super().__init__(cluster)
        self._user = user

    def respond(
        self, request: kp.RawRequest, user: sim.User | str | None = None, replies: Any = None
    ) -> sim.ServerResponse:
        path, _, query = request.target.partition("?")
        requested_object = _OBJECTS.match(path)
        if self._user == "admin" or requested_object is None or self._is_bound(requested_object["namespace"]):
            return super().respond(request, user, replies)
        group, plural, name = (
            requested_object["group"] or "",
            requested_object["plural"],
            requested_object["name"],
        )
        verb = "watch" if "watch=" in query else _VERBS[request.method, name is not None]
        scope = (
            f'in the namespace "{requested_object["namespace"]}"'
            if requested_object["namespace"]
            else "at the cluster scope"
        )
        quoted_name = f' "{name}"' if name else ""
        message = (
            f"{plural}{group and '.'}{group}{quoted_name} is forbidden: User"
            f' "{self._user}" cannot {verb} resource "{plural}" in API group "{group}" {scope}'
        )
        status: dict[str, Any] = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
        status |= {"message": message, "reason": "Forbidden", "code": 403}
        details = {"name": name, "group": group, "kind": plural}
        present_details = {key: value for key, value in details.items() if value}
        return sim.ServerResponse(403, _JSON, json.dumps(status | {"details": present_details}).encode())

    def _is_bound(self, namespace: str | None) -> bool:
        bindings = self.cluster.objects(RoleBinding)
        return any(
            binding["metadata"]["namespace"] == namespace and subject["name"] == self._user
            for binding in bindings
            for subject in binding.get("subjects", ())
        )


async def _play_deployments(client: Client) -> None:
    """Act as a controller manager and nodes: a deployment gets its pods, which are available a little
    later.
    """
    deployments = client.api(Deployment)
    async with deployments.follow() as events:
        async for event in events:
            if isinstance(event, kp.Added | kp.Modified):
                meta, desired = event.object.metadata, event.object.spec.replicas
                status = {"observedGeneration": meta.generation, "replicas": desired}
                status |= {"updatedReplicas": desired, "availableReplicas": 0}
                await anyio.sleep(1)
                if (event.object.status or DeploymentStatus()).observed_generation != meta.generation:
                    await deployments.status.merge_patch(meta.name, {"status": status})
                else:
                    await deployments.status.merge_patch(
                        meta.name, {"status": {"availableReplicas": desired}}
                    )


async def _play_jobs(client: Client) -> None:
    """Act as a controller manager and nodes: each job is complete immediately."""
    jobs = client.api(Job)
    async with jobs.follow() as events:
        async for event in events:
            if isinstance(event, kp.Added):
                complete = [{"type": "Complete", "status": "True"}]
                status = {"succeeded": 1, "conditions": complete}
                await jobs.status.merge_patch(event.object.metadata.name, {"status": status})
