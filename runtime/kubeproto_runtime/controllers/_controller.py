"""`Controller`: reconciles the objects of one kind, by a function that is called with one of them.

    await Controller(client, Book, state=State()).owns(Deployment).run(reconcile)

The function is called with an object when it, or what belongs to it, has changed: never twice at once for one
object, side by side for several, and again after a while if it raises. What it returns says when to call it
again: `requeue(after=...)`, or `await_change()`.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Awaitable, Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final, Generic, TypeAlias, TypedDict, TypeVar, overload

from kubeproto import ALL, InvalidObject, KubeObject
from kubeproto.control import Action, Change, ExponentialBackoff
from kubeproto.requests import AllNamespaces
from kubeproto.watching import resync

from ..operator._operator import ControllerRun
from ..reconciling._context import Context
from ..reconciling._plans import ControllerPlan, Result
from ..reconciling._sources import KindSource, mapped, owners

if TYPE_CHECKING:
    from typing import Self, Unpack

    from kubeproto import Resource
    from kubeproto.control import QueueBackoff, Rate
    from kubeproto.objects import FieldSelector, Selector

    from ..client._client import Client
    from ..operator._election import Election

K = TypeVar("K", bound=KubeObject)
K2 = TypeVar("K2", bound=KubeObject)
State = TypeVar("State")

NamespaceArgument: TypeAlias = str | AllNamespaces | Iterable[str]

_BACKOFF: Final = ExponentialBackoff()
_SYNC_TIMEOUT: Final = 120.0  # seconds; a cache that has not synced lacks a permission or a definition


class Options(TypedDict, total=False):
    """The options of a `Controller` besides its kind.

    `namespace`: one, several, or all (the default). `resource`: where a `Dynamic` kind lives.
    `label_selector`, `field_selector`: which objects. `when`: which changes of them; see `predicates`.
    `name`: for logs and metrics, by default the kind. `concurrency`: how many objects at a time, 10.
    `timeout`: seconds for one run, none by default. `sync_timeout`: seconds for the first lists, 120.
    `wait_for_definition`: wait for kinds that the server does not know yet, instead of an error.
    `backoff`, `rate`, `debounce`, `max_wait`: those of the `WorkQueue`.
    `transform`: changes the JSON of each object before it is kept; see `Caches.cache`.
    `page_size`: of the first lists of all sources, chosen automatically by default.
    `watch_timeout`: the minimum number of seconds for which watches are requested, 300.
    """

    namespace: NamespaceArgument
    resource: Resource
    label_selector: str | Selector
    field_selector: str | FieldSelector
    when: Callable[[Change[Any]], bool]
    name: str
    concurrency: int
    timeout: float | None
    sync_timeout: float | None
    wait_for_definition: bool
    backoff: QueueBackoff
    rate: Rate | None
    debounce: float
    max_wait: float | None
    transform: Callable[[bytes], bytes] | None
    page_size: int
    watch_timeout: int


class Controller(Generic[K, State]):
    """What to follow, and how. Nothing happens until `run` is awaited, or given to an `Operator`."""

    @overload
    def __init__(
        self: Controller[K2, None], client: Client, kind: type[K2], **options: Unpack[Options]
    ) -> None: ...
    @overload
    def __init__(
        self, client: Client, kind: type[K], *, state: State, **options: Unpack[Options]
    ) -> None: ...
    def __init__(
        self: Controller[Any, Any],
        client: Client,
        kind: type[Any],
        *,
        state: Any = None,
        **options: Unpack[Options],
    ) -> None:
        """`state` is passed to each run in its context; the other options are those of `Options`."""
        _check_options(options)
        self._client = client
        self._kind = kind
        self._state = state
        self._options = options
        self._resource = _resource(client, kind, options.get("resource"))
        self._namespaces = _namespaces(options.get("namespace", ALL), self._resource)
        self._triggers: tuple[AsyncIterable[str], ...] = ()
        self._sources: tuple[KindSource, ...] = (
            KindSource(
                kind,
                self._resource,
                self._namespaces,
                None,
                options.get("when"),
                options.get("label_selector", ""),
                options.get("field_selector", ""),
                options.get("transform"),
            ),
        )
        self.name = options.get("name", "") or self._resource.kind.lower()
        if (concurrency := options.get("concurrency", 1)) < 1:
            raise ValueError(f"controller {self.name}: {concurrency} workers would do nothing")

    def __repr__(self) -> str:
        return f"Controller({self.name})"

    def owns(
        self,
        kind: type[K2],
        *,
        controllers_only: bool = True,
        resource: Resource | None = None,
        when: Callable[[Change[K2]], bool] | None = None,
        label_selector: str | Selector = "",
        field_selector: str | FieldSelector = "",
    ) -> Self:
        """Follow this kind as well: a change is about the owner that controls the object.

        With `controllers_only=False`, about every owner of the controller's kind. ``Metadata[Pod]`` follows
        without the content, where a run does not read it.
        """
        keys = owners(self._resource, controllers_only=controllers_only)
        found = _resource(self._client, kind, resource)
        places = self._places(found)
        return self._follow(KindSource(kind, found, places, keys, when, label_selector, field_selector))

    def watches(
        self,
        kind: type[K2],
        to_keys: Callable[[K2], Iterable[str]],
        *,
        namespace: NamespaceArgument | None = None,
        resource: Resource | None = None,
        when: Callable[[Change[K2]], bool] | None = None,
        label_selector: str | Selector = "",
        field_selector: str | FieldSelector = "",
    ) -> Self:
        """Follow this kind as well: a change is about the keys, ``namespace/name``, that `to_keys` returns.

        It is called with the object as it is and as it was. `namespace` is by default the controller's.
        """
        found = _resource(self._client, kind, resource)
        places = self._places(found) if namespace is None else _namespaces(namespace, found)
        keys = mapped(kind, to_keys, self.name)
        return self._follow(KindSource(kind, found, places, keys, when, label_selector, field_selector))

    def triggered_by(self, keys: AsyncIterable[str]) -> Self:
        """Reconcile these keys as well, each when it comes: events from outside of the cluster.

        If the iteration fails, that is logged, and it begins again after a while; a generator has ended then.
        """
        self._triggers += (keys,)
        return self

    def run(
        self,
        reconcile: Callable[[K, Context[State]], Awaitable[Action | None]],
        *,
        on_error: Callable[[Exception, Context[State]], Action | None] | None = None,
        on_invalid: Callable[[InvalidObject, Context[State]], object] | None = None,
        observe: Callable[[Result], None] | None = None,
        election: Election | None = None,
    ) -> ControllerRun:
        """Reconcile each object until cancelled: await the result, or give it to an `Operator`.

        A run that raises is logged and retried after the backoff; after a `Terminal`, when something
        changes. `on_error` may decide otherwise by returning an action. `on_invalid`, a function or a
        coroutine function, is called once for each version of an object that does not fit its type.
        `observe` is called with every result. What these raise is logged and stops nothing. With an
        `election`, runs happen only while this process leads.
        """
        return ControllerRun(self._plan(reconcile, on_error, on_invalid, observe, by_key=False), election)

    def run_keys(
        self,
        reconcile: Callable[[str, Context[State]], Awaitable[Action | None]],
        *,
        on_error: Callable[[Exception, Context[State]], Action | None] | None = None,
        observe: Callable[[Result], None] | None = None,
        election: Election | None = None,
    ) -> ControllerRun:
        """The same for a function that gets ``namespace/name``, also of an object that was deleted."""
        return ControllerRun(self._plan(reconcile, on_error, None, observe, by_key=True), election)

    def _follow(self, source: KindSource) -> Self:
        self._sources += (source,)
        return self

    def _places(self, resource: Resource) -> tuple[str | AllNamespaces, ...]:
        return self._namespaces if resource.namespaced else (ALL,)

    def _plan(
        self,
        reconcile: Callable[[Any, Context[State]], Awaitable[Action | None]],
        on_error: Callable[[Exception, Context[State]], Action | None] | None,
        on_invalid: Callable[[InvalidObject, Context[State]], object] | None,
        observe: Callable[[Result], None] | None,
        *,
        by_key: bool,
    ) -> ControllerPlan:
        options = self._options
        return ControllerPlan(
            client=self._client,
            kind=self._kind,
            resource=self._resource,
            state=self._state,
            name=self.name,
            sources=self._sources,
            triggers=self._triggers,
            reconcile=reconcile,
            by_key=by_key,
            on_error=on_error,
            on_invalid=on_invalid,
            observe=observe,
            concurrency=options.get("concurrency", 10),
            timeout=options.get("timeout"),
            sync_timeout=options.get("sync_timeout", _SYNC_TIMEOUT),
            wait_for_definition=options.get("wait_for_definition", False),
            backoff=options.get("backoff", _BACKOFF),
            rate=options.get("rate"),
            debounce=options.get("debounce", 0.0),
            max_wait=options.get("max_wait"),
            settings=resync.Settings(
                page_size=options.get("page_size", 0),
                watch_seconds=options.get("watch_timeout", resync.Settings().watch_seconds),
            ),
        )


def _check_options(options: Mapping[str, object]) -> None:
    """A misspelled option would mean its default, and a misspelled namespace the whole cluster."""
    known = list(Options.__annotations__)
    for name in options:
        if name not in known:
            alike = get_close_matches(name, [*known, "state"], n=1)
            hint = f"did you mean {alike[0]!r}?" if alike else f"there are {', '.join(known)} and state"
            raise TypeError(f"Controller has no option {name!r}: {hint}")


def _resource(client: Client, kind: type[KubeObject], resource: Resource | None) -> Resource:
    return client.requests(kind, namespace=ALL, resource=resource).resource


def _namespaces(given: NamespaceArgument, resource: Resource) -> tuple[str | AllNamespaces, ...]:
    if isinstance(given, AllNamespaces) or not resource.namespaced:
        return (ALL,)
    names = (given,) if isinstance(given, str) else tuple(dict.fromkeys(given))
    if not names or not all(names):
        raise ValueError(f"{resource.kind} in {names!r}: name at least one namespace, or say ALL")
    return names
