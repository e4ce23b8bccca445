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

from msgspec import Struct

from .._errors import DeadlineExceeded
from ..objects import KubeObject
from ..wire import Head
from ._direct import (
    Definition,
    edit_object,
    ensure_namespace,
    get_object,
    get_objects,
    put_definition,
    put_object,
    remove_object,
    served_kind,
)
from ._snapshots import Snapshot, StoredObject, change_of, load_snapshot, take_snapshot
from ._state import Modes, ServerState
from .access._access import Access
from .access._access import Mode as AuthorizationMode
from .access._rbac import GROUP as RBAC_GROUP
from .access._users import User
from .admission._calls import PendingCalls, Replies, Webhooks
from .controllers._bootstrap import populate
from .controllers._manager import ControllerManager
from .reading._watches import Watch
from .serving._messages import ServerResponse
from .serving._server import Server
from .storage._storage import WINDOW, ResourceStorage, StoredEvent

if TYPE_CHECKING:
    from ._transports import BlockingSimTransport, SimTransport

T = TypeVar("T")

_NAMESPACES: Final = ("default", "kube-node-lease", "kube-public", "kube-system")
_NEW: Final = Modes()
_NO_TOKENS: Final[Mapping[str, User]] = {}


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
        self._state = ServerState(seed=seed, window=window, modes=modes)
        self._state.tracks = managed_fields
        self._state.storage.version = version
        self._state.storage.compact()
        self._begin()
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

    def _begin(self) -> None:
        state = self._state
        self._server = Server(state, Access(state, self._authorization, self._tokens), self.webhooks)
        self._plans: list[tuple[float, int, Callable[[], object]]] = []
        self._planned = 0
        self._controllers = ControllerManager(state, populated=self._populated)
        state.on_event = [*self._controllers.callbacks, self._wake]

    # What comes in, and what goes out.

    def answer(
        self, head: Head, user: User | str | None = None, replies: Replies | None = None
    ) -> ServerResponse:
        """Answer a request; the body of the answer is bytes, or a watch that goes on.

        `user` is who makes the request. Without one its headers say so, as on a port. Whoever can send
        requests to webhooks gives `replies`, empty at first: `PendingCalls` then says what is to be sent, and
        the request is made again with the reply to each call under its `key`.
        """
        chance = self._state.chance.state
        try:
            answer = self._server.answer(head, User(user) if isinstance(user, str) else user, replies)
        except PendingCalls:
            self._state.chance.state = chance
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
        return self._state.clock.time

    @property
    def due(self) -> float | None:
        """When something happens by itself next; None if nothing will."""
        planned = self._plans[0][0] if self._plans else None
        times = (self._server.watches.due, self._controllers.due, planned)
        return min((time for time in times if time is not None), default=None)

    def advance(self, seconds: float) -> None:
        """Let time pass, and everything happen that is due."""
        self.advance_to(self.now + seconds)

    def advance_to(self, time: float) -> None:
        """Let time pass until then. A time that is past settles what has come up, and no more."""
        self.settle()
        while (due := self.due) is not None and due <= time:
            self._state.clock.time = max(self.now, due)
            while self._plans and self._plans[0][0] <= self.now:
                heapq.heappop(self._plans)[2]()
            self._server.watches.tick(self.now)
            self.settle()
        self._state.clock.time = max(self.now, time)

    def show_time(self, time: float) -> None:
        """Let the clock show a later time, and leave what is due by then to the next `advance_to`.

        A server on real time calls it before each request: objects carry the time at which they are written.
        """
        self._state.clock.time = max(self.now, time)

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
        self._controllers.settle()

    # What a test does behind the server's back.

    def define(self, *definitions: Definition) -> None:
        """Serve custom resources from now on, established and ready."""
        for definition in definitions:
            put_definition(self._state, definition)
        self._controllers.establish_at_once()

    def namespace(self, name: str) -> None:
        """Make a namespace, if it is not there."""
        ensure_namespace(self._state, name)

    def put(self, obj: KubeObject | dict[str, Any] | bytes, *, manager: str = "test") -> dict[str, Any]:
        """Create an object, or replace it whatever its version; its namespace is made if need be.

        What a server would refuse is refused here too, as the `Refused` that it would answer with.
        """
        return put_object(self._state, obj, manager)

    def get(
        self, kind: type[KubeObject] | str, name: str, namespace: str = "default"
    ) -> dict[str, Any] | None:
        """An object as it is stored; None if there is none.

        A kind in text is ``v1/Pod`` or ``apps/v1/Deployment``.
        """
        return get_object(self._state, kind, name, namespace)

    def objects(self, kind: type[KubeObject] | str) -> list[dict[str, Any]]:
        """All objects of a kind, in the order of a list."""
        return get_objects(self._state, kind)

    def remove(self, kind: type[KubeObject] | str, name: str, namespace: str = "default") -> None:
        """Take an object away at once, whatever its finalizers; KeyError if it is not there."""
        remove_object(self._state, kind, name, namespace)

    def edit(
        self, kind: type[KubeObject] | str, name: str, change: Callable[[dict[str, Any]], None],
        namespace: str = "default",
    ) -> None:  # fmt: skip
        """Change an object in place, as a controller of the cluster would; KeyError if it is not there."""
        edit_object(self._state, kind, name, change, namespace)

    def compact(self, version: int | None = None) -> None:
        """Forget the history up to a version, or all of it: older reads and watches get 410 from now on."""
        self._state.storage.compact(version)

    @property
    def version(self) -> int:
        """The global version: that of the latest write."""
        return self._state.storage.version

    @property
    def modes(self) -> Modes:
        """How this server differs from a new one; to be set at any time."""
        return self._state.modes

    @modes.setter
    def modes(self, modes: Modes) -> None:
        self._state.modes = modes

    @property
    def lag(self) -> int:
        """How many versions reads from the cache, and watches, are behind; to be set at any time."""
        return self._state.lag

    @lag.setter
    def lag(self, versions: int) -> None:
        self._state.lag = versions
        self._server.watches.wake_all()

    @property
    def watches(self) -> list[Watch]:
        """The watches that are open."""
        return list(self._server.watches)

    def end_watches(self, kind: type[KubeObject] | str | None = None) -> None:
        """End all watches cleanly, or those of one kind: what a restart or a new schema does."""
        storage = None if kind is None else served_kind(self._state, kind).storage
        for watch in self.watches:
            if storage is None or watch.storage is storage:
                watch.close()
                if watch.wake:
                    watch.wake()

    def fork(self) -> Cluster:
        """A cluster that goes on from here by itself. Watches, plans and the log stay with this one."""
        self.settle()
        twin = Cluster.__new__(Cluster)
        old = self._state
        state = twin._state = ServerState(seed=0, window=old.storage.window, modes=old.modes)
        state.storage = old.storage.copy()
        state.kinds = type(old.kinds)(state.storage)
        state.clock.time, state.chance = old.clock.time, old.chance.copy()
        state.tracks, state.lag = old.tracks, old.lag
        state.terminating, state.closing = set(old.terminating), set(old.closing)
        twin._populated = self._populated
        twin.webhooks = self.webhooks
        twin._authorization, twin._tokens = self._authorization, dict(self._tokens)
        state.signing_key = old.signing_key
        twin._begin()
        twin.on_due = twin.on_change = None
        twin.log, twin.keeps_log = [], self.keeps_log
        twin._controllers.adopt(self._controllers)
        return twin

    @property
    def seed(self) -> int:
        """What the next uid and generated name depend on."""
        return self._state.chance.state

    def snapshot(self) -> Snapshot:
        """Return all that is stored."""
        return take_snapshot(self._state)

    def restore(self, snapshot: Snapshot) -> None:
        """Replace all that is stored. Open watches end, and history begins anew, as after a restart."""
        self.end_watches()
        load_snapshot(self._state, snapshot)
        self._begin()
        self._controllers.resume()

    def _wake(self, storage: ResourceStorage, event: StoredEvent) -> None:
        if self.on_change is not None:
            self.on_change(change_of(storage, event))
        if self.on_due is not None:
            self.on_due()
        if self._state.lag:
            self._server.watches.wake_all()  # this write brings older ones of any resource into sight
        else:
            self._server.watches.wake(storage, event.stored.namespace)
