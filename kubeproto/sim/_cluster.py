"""A simulated cluster: the server, its controllers and its clock, in one value that a test holds.

::

    cluster = sim.Cluster(crds=[Book])
    answer = cluster.answer(request.head)          # a Head in, an Answer out
    cluster.advance(60)                            # bookmarks, timeouts, grace periods, garbage
    cluster.put({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}})

Nothing happens by itself: time moves when `advance` is called, or when somebody reads from a watch that has
nothing to say, through a transport. The same calls give the same answers, down to uids and times.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec
from msgspec import Struct

from .._errors import DeadlineExceeded, LocalProtocolError
from ..crd import CustomResourceDefinition, definition_of
from ..objects import KubeObject, encode
from ..wire import Head
from ._snapshots import (
    ClusterController,
    Snapshot,
    StoredObject,
    change_of,
    load_snapshot,
    resume,
    take_snapshot,
)
from ._state import Modes, ServerState
from .access._access import Access
from .access._access import Mode as AuthorizationMode
from .access._rbac import GROUP as RBAC_GROUP
from .access._users import User
from .admission._calls import PendingCalls, Replies, Webhooks
from .controllers._aggregation import RoleAggregation
from .controllers._bootstrap import Defaults, populate
from .controllers._definitions import Definitions
from .controllers._garbage import Garbage
from .controllers._namespaces import NamespaceController, Pods
from .controllers._protection import Protection
from .kinds._kinds import Served
from .reading._watches import Watch
from .serving._messages import ServerResponse
from .serving._server import Server
from .storage._storage import WINDOW, ResourceStorage, StoredEvent
from .writing._edits import put, remove
from .writing._writes import Writer

if TYPE_CHECKING:
    from ._transports import BlockingSimTransport, SimTransport

T = TypeVar("T")

_NAMESPACES: Final = ("default", "kube-node-lease", "kube-public", "kube-system")
_ROUNDS: Final = 1000
_NEW: Final = Modes()
_NO_TOKENS: Final[Mapping[str, User]] = {}
_decode: Final = msgspec.json.Decoder().decode
Definition = type[KubeObject] | CustomResourceDefinition | dict[str, Any] | bytes


class RecordedExchange(Struct, frozen=True):
    """One request that was made: when, what it was, and the status of its answer."""

    at: float
    head: Head
    status: int

    def __str__(self) -> str:
        return f"{self.at:10.3f}  {self.head.method} {self.head.target} -> {self.status}"


class Cluster:
    """A Kubernetes API server and what belongs to it, on a virtual clock.

    `crds` are custom resources that are there from the beginning: classes, definitions or their JSON. `seed`
    decides uids and generated names. `window` is how many events of a kind can be watched again.
    `populated` begins with what a new cluster has, such as roles, priority classes and service accounts.
    `authorization="RBAC"` lets a request do what the roles and bindings of the cluster allow its user, who is
    named by its transport, by a bearer token among `tokens`, or by the token of a service account; the roles
    of a new cluster are there from the beginning. Otherwise everybody may do everything.
    `managed_fields=False` leaves the book on fields out, which makes writes faster. Who drives the clock may
    set `on_due`: it is called when something is due that was not before. Who keeps a journal sets
    `on_change`: it is called with each object as it is stored or deleted.
    """

    def __init__(
        self,
        *,
        crds: Iterable[Definition] = (),
        seed: int = 0,
        window: int = WINDOW,
        modes: Modes = _NEW,
        managed_fields: bool = True,
        version: int = 0,
        populated: bool = False,
        authorization: AuthorizationMode = "AlwaysAllow",
        tokens: Mapping[str, User] = _NO_TOKENS,
    ) -> None:
        self._populated = populated
        self._authorization: AuthorizationMode = authorization
        self._tokens = dict(tokens)
        self.webhooks = Webhooks()
        self._world = ServerState(seed=seed, window=window, modes=modes)
        self._world.tracks = managed_fields
        self._world.storage.version = version
        self._world.storage.compact()
        self._begin()
        self.on_due: Callable[[], None] | None = None
        self.on_change: Callable[[StoredObject], object] | None = None
        self.log: list[RecordedExchange] = []
        self.keeps_log = True
        for name in _NAMESPACES:
            self.namespace(name)
        if populated:
            populate(self._world)
        elif authorization == "RBAC":
            populate(self._world, RBAC_GROUP)
        self.define(*crds)

    def _begin(self) -> None:
        world = self._world
        self._server = Server(world, Access(world, self._authorization, self._tokens), self.webhooks)
        self._plans: list[tuple[float, int, Callable[[], object]]] = []
        self._planned = 0
        self._definitions = Definitions(world)
        self._garbage = Garbage(world)
        self._namespaces = NamespaceController(world)
        self._pods = Pods(world)
        self._protection = Protection(world)
        self._aggregation = RoleAggregation(world)
        self._controllers: tuple[ClusterController, ...] = (
            self._definitions, self._garbage, self._namespaces, self._pods, self._protection,
            self._aggregation,
        )  # fmt: skip
        if self._populated:
            self._controllers += (Defaults(world),)
        world.on_event = [*(one.told for one in self._controllers), self._wake]

    # What comes in, and what goes out.

    def answer(
        self, head: Head, user: User | str | None = None, replies: Replies | None = None
    ) -> ServerResponse:
        """Answer a request; the body of the answer is bytes, or a watch that goes on.

        `user` is who makes the request. Without one its headers say so, as on a port. Whoever can send
        requests to webhooks gives `replies`, empty at first: `PendingCalls` then says what is to be sent, and
        the request is made again with the reply to each call under its `key`.
        """
        chance = self._world.chance.state
        try:
            answer = self._server.answer(head, User(user) if isinstance(user, str) else user, replies)
        except PendingCalls:
            self._world.chance.state = chance
            raise
        if self.keeps_log:
            self.log.append(RecordedExchange(self.now, head, answer.status))
        return answer

    def transport(self, user: User | str | None = None) -> SimTransport:
        """The core's transport to this cluster. It needs no event loop and never waits: time jumps.

        With a `user`, whatever goes over it is that user's: ``cluster.transport("alice")``.
        """
        from ._transports import SimTransport

        return SimTransport(self, partial(self.answer, user=user))

    def blocking_transport(self, user: User | str | None = None) -> BlockingSimTransport:
        """The same for synchronous use."""
        from ._transports import BlockingSimTransport

        return BlockingSimTransport(self, partial(self.answer, user=user))

    @property
    def authorization(self) -> AuthorizationMode:
        """Whether roles decide what a request may do, or everybody may do everything."""
        return self._authorization

    def user_of(self, token: str) -> User | None:
        """Return who bears a token: one of `tokens`, or one of a service account; None for any other."""
        return self._server.access.user_of(token)

    # Time.

    @property
    def now(self) -> float:
        """The virtual time, in seconds since 1970."""
        return self._world.clock.time

    @property
    def due(self) -> float | None:
        """When something happens by itself next; None if nothing will."""
        self._server.watches = watches = [watch for watch in self._server.watches if not watch.ended]
        times = [watch.due for watch in watches]
        times += [self._definitions.due, self._pods.due, self._plans[0][0] if self._plans else None]
        return min((time for time in times if time is not None), default=None)

    def advance(self, seconds: float) -> None:
        """Let time pass, and everything happen that is due."""
        self.advance_to(self.now + seconds)

    def advance_to(self, time: float) -> None:
        """Let time pass until then. A time that is past settles what has come up, and no more."""
        self.settle()
        while (due := self.due) is not None and due <= time:
            self._world.clock.time = max(self.now, due)
            while self._plans and self._plans[0][0] <= self.now:
                heapq.heappop(self._plans)[2]()
            for watch in self._server.watches:
                if watch.due is not None and watch.due <= self.now:
                    watch.tick()
                    if watch.wake:
                        watch.wake()
            self.settle()
        self._world.clock.time = max(self.now, time)

    def show_time(self, time: float) -> None:
        """Let the clock show a later time, and leave what is due by then to the next `advance_to`.

        A server on real time calls it before each request: objects carry the time at which they are written.
        """
        self._world.clock.time = max(self.now, time)

    def wait(self, condition: Callable[[], T], seconds: float = 60.0) -> T:
        """Let time pass until a condition holds, and return what it gave; or `DeadlineExceeded`.

        Time goes from one moment at which something happens to the next, so the answer is the first true one.
        """
        end = self.now + seconds
        self.settle()
        while not (found := condition()):
            due = self.due
            if due is None or due > end:
                self.advance_to(end)
                if found := condition():
                    break
                raise DeadlineExceeded(f"the condition did not hold within {seconds:g} s")
            self.advance_to(due)
        return found

    def later(self, seconds: float, action: Callable[[], object]) -> None:
        """Do something when so much time has passed: a write of somebody else, a fault, the end of a test."""
        heapq.heappush(self._plans, (self.now + seconds, self._planned, action))
        self._planned += 1
        if self.on_due is not None:
            self.on_due()

    def settle(self) -> None:
        """Let the controllers do what has come up, until they have nothing left to do."""
        for _ in range(_ROUNDS):
            worked = [controller.work() for controller in self._controllers]
            if not any(worked):
                return
        raise LocalProtocolError(f"the controllers of the cluster did not come to rest in {_ROUNDS} rounds")

    # What a test does behind the server's back.

    def define(self, *definitions: Definition) -> None:
        """Serve custom resources from now on, established and ready."""
        for definition in definitions:
            self.put(_definition(definition))
        self._definitions.hurried = True
        self.settle()
        self._definitions.hurried = False

    def namespace(self, name: str) -> None:
        """Make a namespace, if it is not there."""
        served = self._served("v1", "Namespace")
        if name not in served.shelf.objects:
            self.put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})

    def put(self, obj: KubeObject | dict[str, Any] | bytes, *, manager: str = "test") -> dict[str, Any]:
        """Create an object, or replace it whatever its version; its namespace is made if need be.

        What a server would refuse is refused here too, as the `Refused` that it would answer with.
        """
        found = _plain(obj)
        served = self._served(found.get("apiVersion", ""), found.get("kind", ""))
        meta: dict[str, Any] = found.setdefault("metadata", {})
        namespace = meta.setdefault("namespace", "default") if served.namespaced else ""
        if namespace:
            self.namespace(namespace)
        from .reading._routes import Route

        name: str = meta.get("name", "")
        stored = served.shelf.objects.get(served.key(namespace, name))
        writer = Writer(self._world, Route(served, "create", namespace, ""), {}, manager)
        status = found.get("status")
        if stored is None:
            written = writer.create(found, [])
        else:
            meta["resourceVersion"] = str(stored.version)
            writer = Writer(self._world, Route(served, "update", namespace, name), {}, manager)
            written = writer.replace(found, [])
        made: dict[str, Any] = _decode(written.data)
        if status is not None and served.has_status:
            made["status"] = status
            route = Route(served, "update", namespace, made["metadata"]["name"], "status")
            made = _decode(Writer(self._world, route, {}, manager).replace(made, []).data)
        return made

    def get(
        self, kind: type[KubeObject] | str, name: str, namespace: str = "default"
    ) -> dict[str, Any] | None:
        """An object as it is stored; None if there is none.

        A kind in text is ``v1/Pod`` or ``apps/v1/Deployment``.
        """
        served = self._kind(kind)
        stored = served.shelf.objects.get(served.key(namespace, name))
        return None if stored is None else _decode(served.shown(stored.data))

    def objects(self, kind: type[KubeObject] | str) -> list[dict[str, Any]]:
        """All objects of a kind, in the order of a list."""
        served = self._kind(kind)
        found = [served.shelf.objects[key] for key in served.shelf.in_order()]
        return [_decode(served.shown(stored.data)) for stored in found]

    def remove(self, kind: type[KubeObject] | str, name: str, namespace: str = "default") -> None:
        """Take an object away at once, whatever its finalizers; KeyError if it is not there."""
        served = self._kind(kind)
        remove(self._world, served, served.shelf.objects[served.key(namespace, name)])

    def edit(
        self, kind: type[KubeObject] | str, name: str, change: Callable[[dict[str, Any]], None],
        namespace: str = "default",
    ) -> None:  # fmt: skip
        """Change an object in place, as a controller of the cluster would; KeyError if it is not there."""
        served = self._kind(kind)
        obj = served.read(served.shelf.objects[served.key(namespace, name)].data)
        change(obj)
        obj = _decode(served.kept(obj))
        put(self._world, served, served.key(namespace, name), obj)

    def compact(self, version: int | None = None) -> None:
        """Forget the history up to a version, or all of it: older reads and watches get 410 from now on."""
        self._world.storage.compact(version)

    @property
    def version(self) -> int:
        """The global version: that of the latest write."""
        return self._world.storage.version

    @property
    def modes(self) -> Modes:
        """How this server differs from a new one; to be set at any time."""
        return self._world.modes

    @modes.setter
    def modes(self, modes: Modes) -> None:
        self._world.modes = modes

    @property
    def lag(self) -> int:
        """How many versions reads from the cache, and watches, are behind; to be set at any time."""
        return self._world.lag

    @lag.setter
    def lag(self, versions: int) -> None:
        self._world.lag = versions
        for watch in self._server.watches:
            if watch.wake:
                watch.wake()

    @property
    def watches(self) -> list[Watch]:
        """The watches that are open."""
        return [watch for watch in self._server.watches if not watch.ended]

    def end_watches(self, kind: type[KubeObject] | str | None = None) -> None:
        """End all watches cleanly, or those of one kind: what a restart or a new schema does."""
        shelf = None if kind is None else self._kind(kind).shelf
        for watch in self.watches:
            if shelf is None or watch.shelf is shelf:
                watch.close()
                if watch.wake:
                    watch.wake()

    def fork(self) -> Cluster:
        """A cluster that goes on from here by itself. Watches, plans and the log stay with this one."""
        self.settle()
        twin = Cluster.__new__(Cluster)
        old = self._world
        world = twin._world = ServerState(seed=0, window=old.storage.window, modes=old.modes)
        world.storage = old.storage.copy()
        world.kinds = type(old.kinds)(world.storage)
        world.clock.time, world.chance = old.clock.time, old.chance.copy()
        world.tracks, world.lag = old.tracks, old.lag
        world.terminating, world.closing = set(old.terminating), set(old.closing)
        twin._populated = self._populated
        twin.webhooks = self.webhooks
        twin._authorization, twin._tokens = self._authorization, dict(self._tokens)
        world.signing_key = old.signing_key
        twin._begin()
        twin.on_due = twin.on_change = None
        twin.log, twin.keeps_log = [], self.keeps_log
        twin._definitions.adopt(self._definitions)
        twin._garbage.adopt(self._garbage)
        twin._pods.adopt(self._pods)
        twin._protection.adopt(self._protection)
        twin._aggregation.adopt(self._aggregation)
        return twin

    @property
    def seed(self) -> int:
        """What the next uid and generated name depend on."""
        return self._world.chance.state

    def snapshot(self) -> Snapshot:
        """Return all that is stored."""
        return take_snapshot(self._world)

    def restore(self, snapshot: Snapshot) -> None:
        """Replace all that is stored. Open watches end, and history begins anew, as after a restart."""
        self.end_watches()
        load_snapshot(self._world, snapshot)
        self._begin()
        resume(
            self._world, self._definitions, [one for one in self._controllers if one is not self._definitions]
        )

    def _wake(self, shelf: ResourceStorage, event: StoredEvent) -> None:
        if self.on_change is not None:
            self.on_change(change_of(shelf, event))
        if self.on_due is not None:
            self.on_due()
        for watch in self._server.watches:
            if watch.wake and watch.shelf is shelf:
                watch.wake()

    def _served(self, api_version: str, kind: str) -> Served:
        served = self._world.kinds.of_kind(api_version, kind)
        if served is None:
            raise LocalProtocolError(
                f"the cluster does not serve {kind!r} of {api_version!r}: give its definition in crds="
            )
        return served

    def _kind(self, kind: type[KubeObject] | str) -> Served:
        if isinstance(kind, str):
            api_version, _, name = kind.rpartition("/")
            return self._served(api_version, name)
        return self._served(kind.resource.api_version, kind.resource.kind)


def _plain(obj: KubeObject | dict[str, Any] | bytes) -> dict[str, Any]:
    if isinstance(obj, KubeObject):
        obj = encode(obj)
    found: dict[str, Any] = _decode(obj if isinstance(obj, bytes) else msgspec.json.encode(obj))
    return found


def _definition(definition: Definition) -> dict[str, Any]:
    if isinstance(definition, type):
        definition = definition_of(definition)
    return _plain(definition)
