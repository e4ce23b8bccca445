"""`Controller`: reconciles the objects of a kind with a function that is called for each of them.

    await Controller(client, Book, state=State()).owns(Deployment).run(reconcile)

The function is called with an object when the object or a related object has changed. Several objects are
reconciled concurrently, but an object is never reconciled twice at the same time. If the function raises, it
is called again after a backoff. Its result determines the next call: `requeue(after=...)`, or
`await_change()`.
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
_SYNC_TIMEOUT: Final = 120.0  # seconds; if still unsynced after this, RBAC or the CRD is usually missing


class ControllerOptions(TypedDict, total=False):
    """The options of a `Controller` besides its kind.

    `namespace`: a namespace, several, or `ALL` (the default). `resource`: the resource of a `Dynamic` kind.
    `label_selector`, `field_selector`: select the objects. `when`: selects their changes; see `predicates`.
    `name`: for logs and metrics, by default the kind. `concurrency`: the number of concurrent reconciles, 10.
    `timeout`: the time limit of a reconcile in seconds, none by default.
    `sync_timeout`: the time limit of the first lists in seconds, 120.
    `wait_for_definition`: wait for kinds that the server does not serve yet, instead of raising.
    `backoff`, `rate`, `debounce`, `max_wait`: the parameters of the `WorkQueue`.
    `transform`: changes the JSON of each object before it is cached; see `Caches.cache`.
    `page_size`: the page size of the first lists of all sources, chosen automatically by default.
    `watch_timeout`: the minimum of the requested duration of watches in seconds, 300.
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
    """Defines a controller. It starts when the result of `run` is awaited, or runs in an `Operator`."""

    @overload
    def __init__(
        self: Controller[K2, None], client: Client, kind: type[K2], **options: Unpack[ControllerOptions]
    ) -> None: ...
    @overload
    def __init__(
        self, client: Client, kind: type[K], *, state: State, **options: Unpack[ControllerOptions]
    ) -> None: ...
    def __init__(
        self: Controller[Any, Any],
        client: Client,
        kind: type[Any],
        *,
        state: Any = None,
        **options: Unpack[ControllerOptions],
    ) -> None:
        """`state` is part of the context of each reconcile; for the options see `ControllerOptions`."""
        _check_options(options)
        self._client = client
        self._kind = kind
        self._state = state
        self._options = options
        self._resource = _resource_of(client, kind, options.get("resource"))
        self._namespaces = _check_namespaces(options.get("namespace", ALL), self._resource)
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
            raise ValueError(f"controller {self.name}: concurrency is {concurrency}, and must be at least 1")

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
        """Follow this kind as well: a change of an object enqueues its owner, if that is its controller.

        With `controllers_only=False`, a change enqueues every owner of the controller's kind. If the
        reconcile does not read the content of the objects, follow their metadata alone: ``Metadata[Pod]``.
        """
        to_keys = owners(self._resource, controllers_only=controllers_only)
        owned = _resource_of(self._client, kind, resource)
        namespaces = self._namespaces_of(owned)
        return self._follow(
            KindSource(kind, owned, namespaces, to_keys, when, label_selector, field_selector)
        )

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
        """Follow this kind as well: a change enqueues the keys that `to_keys` returns, ``namespace/name``.

        `to_keys` is called with the new and with the old object. `namespace` is by default the controller's.
        """
        watched = _resource_of(self._client, kind, resource)
        if namespace is None:
            namespaces = self._namespaces_of(watched)
        else:
            namespaces = _check_namespaces(namespace, watched)
        return self._follow(
            KindSource(
                kind,
                watched,
                namespaces,
                mapped(kind, to_keys, self.name),
                when,
                label_selector,
                field_selector,
            )
        )

    def triggered_by(self, keys: AsyncIterable[str]) -> Self:
        """Reconcile the keys of an iterable as well, such as events from outside of the cluster.

        If the iteration fails, the error is logged, and the iteration begins again after a backoff. A
        generator cannot begin again: after a failure it has ended.
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
        """Reconcile each object until cancelled. Await the result, or pass it to an `Operator`.

        If a reconcile raises, the error is logged, and the reconcile is retried after the backoff; after a
        `Terminal` error it is retried when the object changes. `on_error` may return a different action.
        `on_invalid`, a function or a coroutine function, is called once for each version of an object that
        does not fit its type. `observe` is called with every result. Errors of these functions are logged and
        ignored. With an `election`, objects are reconciled only while this process leads.
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
        """Call `reconcile` with the key of each object, also of deleted objects; see `run`.

        The key is ``namespace/name``, or ``name`` for a cluster-scoped kind.
        """
        return ControllerRun(self._plan(reconcile, on_error, None, observe, by_key=True), election)

    def _follow(self, source: KindSource) -> Self:
        self._sources += (source,)
        return self

    def _namespaces_of(self, resource: Resource) -> tuple[str | AllNamespaces, ...]:
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
    """Raise for an unknown option: a misspelled `namespace=` would silently mean the whole cluster."""
    option_names = list(ControllerOptions.__annotations__)
    for name in options:
        if name not in option_names:
            alike = get_close_matches(name, [*option_names, "state"], n=1)
            hint = (
                f"did you mean {alike[0]!r}?"
                if alike
                else f"the options are {', '.join(option_names)} and state"
            )
            raise TypeError(f"Controller has no option {name!r}: {hint}")


def _resource_of(client: Client, kind: type[KubeObject], resource: Resource | None) -> Resource:
    return client.requests(kind, namespace=ALL, resource=resource).resource


def _check_namespaces(argument: NamespaceArgument, resource: Resource) -> tuple[str | AllNamespaces, ...]:
    if isinstance(argument, AllNamespaces) or not resource.namespaced:
        return (ALL,)
    names = (argument,) if isinstance(argument, str) else tuple(dict.fromkeys(argument))
    if not names or not all(names):
        raise ValueError(f"{resource.kind} in {names!r}: pass at least one namespace, or ALL")
    return names
