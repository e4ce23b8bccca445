"""`Cluster`: a simulated cluster with its server, its controllers and its clock.

::

    cluster = sim.Cluster(crds=[Book])
    response = cluster.respond(request.raw)        # a RawRequest in, a ServerResponse out
    cluster.advance(60)                            # bookmarks, timeouts, grace periods, garbage
    cluster.put({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}})

Nothing happens by itself: time passes when `advance` is called, or when a client of a transport reads from a
watch that has no events. The same calls give the same responses, including uids and times.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar, Unpack

from msgspec import Struct

from kubeproto import DeadlineExceeded, LocalProtocolError
from kubeproto.objects import KubeObject
from kubeproto.wire import RawRequest

from ._clocks import TimeZones, only_utc
from ._direct_objects import (
    Definition,
    edit_object,
    ensure_namespace,
    get_object,
    get_objects,
    put_definition,
    put_object,
    remove_object,
    served_kind,
    store_object,
)
from ._snapshots import Snapshot, StoredObject, change_of, load_snapshot, take_snapshot
from ._state import Modes, ServerState
from .access._authorizer import Authorizer, Mode as AuthorizationMode
from .access._rbac import GROUP as RBAC_GROUP
from .access._users import User
from .admission._webhook_calls import PendingCalls, Replies, WebhookCall, WebhookHandlers, WebhookReply
from .controllers._cluster_bootstrap import populate
from .controllers._controller_manager import ControllerManager, ControllerSwitches
from .kinds._kubernetes_releases import NEWEST, release_of
from .reading._watch_streams import Watch
from .serving._api_server import Server
from .serving._server_responses import ServerResponse
from .storage._storage import WINDOW, ResourceStorage, StoredEvent

if TYPE_CHECKING:
    from ._transports import BlockingSimTransport, SimTransport
    from .nodes._simulated_nodes import NodeOptions, Nodes
    from .nodes._stages import Stage

T = TypeVar("T")

_NAMESPACES: Final = ("default", "kube-node-lease", "kube-public", "kube-system")
_DEFAULT_MODES: Final = Modes()
_NO_TOKENS: Final[Mapping[str, User]] = {}


class RecordedExchange(Struct, frozen=True):
    """A request with its time, and the status of its response."""

    time: float
    request: RawRequest
    status: int

    def __str__(self) -> str:
        return f"{self.time:10.3f}  {self.request.method} {self.request.target} -> {self.status}"


class Cluster:
    """A Kubernetes API server with its controllers, on a virtual clock.

    - `crds`: custom resources that exist from the beginning: classes, definitions or their JSON.
    - `seed`: determines uids and generated names.
    - `window`: the number of events of each kind that watches can still read.
    - `kubernetes`: the release, such as ``"1.30"``. An older server lacks later kinds and fields, refuses
      streaming lists and ignores shards.
    - `populated`: the cluster begins with the objects of a new cluster: roles, priority classes, accounts.
    - `authorization`: with ``"RBAC"``, the roles and bindings of the cluster decide which requests a user may
      make. The transport, a bearer token in `tokens` or the token of a service account determines the user,
      and the roles of a new cluster exist. Otherwise every request is allowed.
    - `controllers`: True runs the controllers of a real cluster, such as the Deployment controller. Names
      like ``("*", "-job-controller")`` select some of them, and `Cluster.controllers` stops, slows and fails
      them. With False only garbage is collected and namespaces are emptied.
    - `time_zones`: finds the `timeZone` of a CronJob, such as `zoneinfo.ZoneInfo`; by default only UTC.
    - `managed_fields`: False records no managedFields, which makes writes faster.

    A driver of the clock can set `on_due`, which is called when something has become due earlier than before.
    A journal can set `on_change`, which is called with each stored or deleted object.
    """

    def __init__(
        self,
        *,
        crds: Iterable[Definition] = (),
        seed: int = 0,
        window: int = WINDOW,
        kubernetes: str = NEWEST.number,
        modes: Modes = _DEFAULT_MODES,
        managed_fields: bool = True,
        version: int = 0,
        populated: bool = False,
        authorization: AuthorizationMode = "AlwaysAllow",
        tokens: Mapping[str, User] = _NO_TOKENS,
        controllers: Iterable[str] | bool = False,
        time_zones: TimeZones = only_utc,
    ) -> None:
        release = release_of(kubernetes)
        self._populated = populated
        self._controller_names = controllers if isinstance(controllers, bool) else tuple(controllers)
        self._authorization: AuthorizationMode = authorization
        self._tokens = dict(tokens)
        self.webhooks = WebhookHandlers()
        self._state = ServerState(
            seed=seed, window=window, modes=modes, release=release,
        )  # fmt: skip
        self._state.tracks = managed_fields
        self._state.time_zone = time_zones
        self._state.storage.version = version
        self._state.storage.compact()
        self._start_server()
        self.on_due: Callable[[], None] | None = None
        self.on_change: Callable[[StoredObject], object] | None = None
        self.log: list[RecordedExchange] = []
        self.keeps_log = True
        for name in _NAMESPACES:
            self.namespace(name)
        if populated:
            populate(self._state)
        elif authorization == "RBAC":
            populate(self._state, RBAC_GROUP)
        self.define(*crds)

    def _start_server(self) -> None:
        state = self._state
        self._server = Server(state, Authorizer(state, self._authorization, self._tokens), self.webhooks)
        self._server.conversions.on_pending = self._notify_due
        self._planned_calls: list[tuple[float, int, Callable[[], object]]] = []
        self._plan_count = 0
        self._controllers = ControllerManager(
            state, populated=self._populated, gates=self._server.gate_of_controller,
            names=self._controller_names,
            notify=self._notify_due,
        )  # fmt: skip
        state.on_event = [self._controllers.on_event, self._wake]

    # Requests and responses.

    def respond(
        self, request: RawRequest, user: User | str | None = None, replies: Replies | None = None
    ) -> ServerResponse:
        """Respond to a request; the body of the response is bytes, or a watch that stays open.

        `user` is the user who makes the request. Without it the headers of the request determine the user, as
        on a port. A caller that can send requests to webhooks passes `replies`, at first empty, and gets a
        `PendingCalls` with the calls to send. It repeats the request with the reply to each call under its
        `key`.
        """
        random_state, faults = self._state.rng.state, self.webhooks.save()
        try:
            response = self._server.respond(request, User(user) if isinstance(user, str) else user, replies)
        except PendingCalls:
            # The request is repeated from its beginning. A name that is generated from `generateName` is part
            # of the object in each webhook call: another name would make every call a new call, and the
            # request would be repeated without end. Restoring the generator also makes uids independent of
            # the number of repetitions. Faults of webhooks that this attempt used up are restored, too.
            self._state.rng.state = random_state
            self.webhooks.restore(faults)
            raise
        if self.keeps_log:
            self.log.append(RecordedExchange(self.now, request, response.status))
        if not isinstance(response.body, bytes):
            self._notify_due()  # the driver sleeps, and the new watch may have an earlier deadline
        return response

    def background_calls(self) -> tuple[WebhookCall, ...]:
        """Return the new webhook calls of open watches, whose replies `take_reply` takes.

        The calls convert objects. `on_due` is called when there are new calls.
        """
        return self._server.conversions.take_calls()

    def take_reply(self, call: WebhookCall, reply: WebhookReply) -> None:
        """Take the reply to a call of `background_calls`; the watches that wait for it continue."""
        self._server.conversions.take_reply(call, reply)
        self._server.watches.wake_all()

    def transport(self, user: User | str | None = None) -> SimTransport:
        """Return an async transport to this cluster. It needs no event loop and never waits: time jumps.

        With a `user`, every request over it is made by that user: ``cluster.transport("alice")``.
        """
        from ._transports import SimTransport

        return SimTransport(self, partial(self.respond, user=user))

    def blocking_transport(self, user: User | str | None = None) -> BlockingSimTransport:
        """Return a blocking transport to this cluster."""
        from ._transports import BlockingSimTransport

        return BlockingSimTransport(self, partial(self.respond, user=user))

    @property
    def authorization(self) -> AuthorizationMode:
        """The mode of authorization: RBAC, or every request is allowed."""
        return self._authorization

    def user_of(self, token: str) -> User | None:
        """Return the user of a token in `tokens` or of a service account; None if it is invalid."""
        return self._server.access.user_of(token)

    # Time.

    @property
    def now(self) -> float:
        """The virtual time, in seconds since 1970."""
        return self._state.clock.time

    @property
    def next_due(self) -> float | None:
        """The next time at which something happens without a request; None if there is none."""
        planned = self._planned_calls[0][0] if self._planned_calls else None
        times = (self._server.watches.next_due, self._controllers.next_due, planned)
        return min((time for time in times if time is not None), default=None)

    def advance(self, seconds: float) -> None:
        """Advance the clock, and run everything that becomes due."""
        self.advance_to(self.now + seconds)

    def advance_to(self, time: float) -> None:
        """Advance the clock to `time`. If that is in the past, only the controllers work."""
        self.settle()
        while (next_due := self.next_due) is not None and next_due <= time:
            self._state.clock.time = max(self.now, next_due)
            while self._planned_calls and self._planned_calls[0][0] <= self.now:
                heapq.heappop(self._planned_calls)[2]()
            self._server.watches.tick(self.now)
            self.settle()
        self._state.clock.time = max(self.now, time)

    def show_time(self, time: float) -> None:
        """Set the clock to a later time, without running what becomes due; the next `advance_to` runs it.

        A server on real time calls it before each request, because objects carry the time of their writes.
        """
        self._state.clock.time = max(self.now, time)

    def wait(self, condition: Callable[[], T], seconds: float = 60.0) -> T:
        """Advance the clock until a condition holds, and return its value, or raise `DeadlineExceeded`.

        The condition is checked after each event, so the value is the first true value.
        """
        deadline = self.now + seconds
        self.settle()
        while not (value := condition()):
            next_due = self.next_due
            if next_due is None or next_due > deadline:
                self.advance_to(deadline)
                if value := condition():
                    break
                raise DeadlineExceeded(f"the condition did not hold within {seconds:g} s")
            self.advance_to(next_due)
        return value

    def later(self, seconds: float, action: Callable[[], object]) -> None:
        """Call a function after a delay in seconds, such as another client's write or a fault."""
        heapq.heappush(self._planned_calls, (self.now + seconds, self._plan_count, action))
        self._plan_count += 1
        self._notify_due()

    def settle(self) -> None:
        """Run the controllers until they have nothing more to do."""
        self._controllers.settle()

    @property
    def controllers(self) -> ControllerSwitches:
        """The controllers that run, by name: ``cluster.controllers["deployment-controller"].stop()``."""
        return self._controllers.switches

    def nodes(self, count: int | None = None, **options: Unpack[NodeOptions]) -> Nodes:
        """Return the nodes of the cluster. The first call adds `count` of them, by default one.

        From then on pods are scheduled, run and end in virtual time::

            nodes = cluster.nodes(ready_after=2, programs={"app": sim.Program(log="started\\n")})

        The options are those of `Behaviour`. Later calls return the same nodes, with `count` more.
        """
        from .nodes._container_programs import Behaviour
        from .nodes._simulated_nodes import Nodes

        nodes = self._state.extension(Nodes)
        if nodes is None:
            nodes = Nodes(self._state, Behaviour(**options))
            nodes.register()
            count = 1 if count is None else count
        elif options:
            raise LocalProtocolError(
                "the cluster already has nodes: change their options in `Nodes.behaviour`"
            )
        for _ in range(count or 0):
            nodes.add()
        return nodes

    def stages(self, *stages: Stage) -> None:
        """Add stages, which change matching objects of any kind as time passes."""
        from .nodes._stages import Stages

        engine = self._state.extension(Stages)
        if engine is None:
            engine = Stages(self._state)
            self._state.extensions.append(engine)
        for stage in stages:
            engine.add(served_kind(self._state, stage.kind), stage)
        if self.on_due is not None:
            self.on_due()

    # Access without requests, for tests.

    def define(self, *definitions: Definition) -> None:
        """Serve custom resources from now on, established and ready."""
        for definition in definitions:
            put_definition(self._state, definition)
        self._controllers.establish_at_once()

    def namespace(self, name: str) -> None:
        """Create a namespace, unless it exists."""
        ensure_namespace(self._state, name)

    def put(self, obj: KubeObject | dict[str, Any] | bytes, *, manager: str = "test") -> dict[str, Any]:
        """Create an object, or replace it regardless of its version; create its namespace if necessary.

        Raises the `Rejection` with which a server would refuse the object.
        """
        return put_object(self._state, obj, manager)

    def store(self, obj: KubeObject | dict[str, Any] | bytes) -> None:
        """Store an object without the checks, defaults and times of a write.

        It gets the next resource version, and a uid if it has none. Everything else is stored unchanged.
        """
        store_object(self._state, obj)

    def get(
        self, kind: type[KubeObject] | str, name: str, namespace: str = "default"
    ) -> dict[str, Any] | None:
        """Return a stored object; None if it does not exist.

        A kind can also be a string: ``v1/Pod`` or ``apps/v1/Deployment``.
        """
        return get_object(self._state, kind, name, namespace)

    def objects(self, kind: type[KubeObject] | str) -> list[dict[str, Any]]:
        """Return all objects of a kind, in the order of a list."""
        return get_objects(self._state, kind)

    def remove(self, kind: type[KubeObject] | str, name: str, namespace: str = "default") -> None:
        """Delete an object immediately, despite its finalizers; raise KeyError if it does not exist."""
        remove_object(self._state, kind, name, namespace)

    def edit(
        self, kind: type[KubeObject] | str, name: str, change: Callable[[dict[str, Any]], None],
        namespace: str = "default",
    ) -> None:  # fmt: skip
        """Change an object in place, without checks; raise KeyError if it does not exist."""
        edit_object(self._state, kind, name, change, namespace)

    def compact(self, version: int | None = None) -> None:
        """Forget the history up to a version, or all of it: reads and watches of older versions get 410."""
        self._state.storage.compact(version)

    @property
    def version(self) -> int:
        """The global resource version, which is that of the latest write."""
        return self._state.storage.version

    @property
    def kubernetes(self) -> str:
        """The simulated release of Kubernetes, such as 1.36."""
        return self._state.release.number

    @property
    def modes(self) -> Modes:
        """The differences of this server from the default; can be set at any time."""
        return self._state.modes

    @modes.setter
    def modes(self, modes: Modes) -> None:
        self._state.modes = modes

    @property
    def lag(self) -> int:
        """The number of versions by which the watch cache lags; can be set at any time."""
        return self._state.lag

    @lag.setter
    def lag(self, versions: int) -> None:
        self._state.lag = versions
        self._server.watches.wake_all()

    @property
    def watches(self) -> list[Watch]:
        """The open watches."""
        return list(self._server.watches)

    def end_watches(self, kind: type[KubeObject] | str | None = None) -> None:
        """End all watches, or the watches of a kind, without an error, as a restart or a new schema does."""
        storage = None if kind is None else served_kind(self._state, kind).storage
        for watch in self.watches:
            if storage is None or watch.storage is storage:
                watch.close()
                if watch.wake:
                    watch.wake()

    def fork(self) -> Cluster:
        """Return an independent copy of the cluster, without its watches, its log and its planned calls."""
        self.settle()
        twin = Cluster.__new__(Cluster)
        old = self._state
        state = twin._state = ServerState(
            seed=0, window=old.storage.window, modes=old.modes, release=old.release
        )
        state.storage = old.storage.copy()
        state.kinds = type(old.kinds)(state.storage, old.release)
        state.clock.time, state.rng = old.clock.time, old.rng.copy()
        state.tracks, state.lag = old.tracks, old.lag
        state.terminating, state.closing = set(old.terminating), set(old.closing)
        twin._populated, twin._controller_names = self._populated, self._controller_names
        twin.webhooks = self.webhooks
        twin._authorization, twin._tokens = self._authorization, dict(self._tokens)
        state.signing_key, state.time_zone = old.signing_key, old.time_zone
        state.quotas = {namespace: set(keys) for namespace, keys in old.quotas.items()}
        twin._start_server()
        twin.on_due = twin.on_change = None
        twin.log, twin.keeps_log = [], self.keeps_log
        twin._controllers.adopt(self._controllers)
        return twin

    @property
    def seed(self) -> int:
        """The state of the generator of uids and names."""
        return self._state.rng.state

    def snapshot(self) -> Snapshot:
        """Return everything that the cluster stores."""
        return take_snapshot(self._state)

    def restore(self, snapshot: Snapshot) -> None:
        """Replace all stored objects. Open watches end and history is empty, as after a restart.

        Calls that were planned with `later` still happen, and controllers keep the state of their switches.
        """
        self.end_watches()
        load_snapshot(self._state, snapshot)
        controllers, plans, count = self._controllers, self._planned_calls, self._plan_count
        self._start_server()
        self._planned_calls, self._plan_count = plans, count
        self._controllers.set_switches(controllers)
        self._controllers.resume()

    def _wake(self, storage: ResourceStorage, event: StoredEvent) -> None:
        if self.on_change is not None:
            self.on_change(change_of(storage, event))
        self._notify_due()
        if self._state.lag:
            self._server.watches.wake_all()  # this write makes an older write of any resource visible
        else:
            self._server.watches.wake(storage, event.stored.namespace)

    def _notify_due(self) -> None:
        if self.on_due is not None:
            self.on_due()
