"""`BlockingApi[Book]`: every verb of `kubeproto.Api`, sent by a thread that waits for the response.

The verbs are those of the core, with its parameters and its refusals, and have the names that they have on
`BoundApi`. Exec, attach and port-forward are not among them: they send in both directions at once.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Final,
    Generic,
    Literal,
    ParamSpec,
    TypeAlias,
    TypeVar,
    Unpack,
    overload,
)

from kubeproto import Api, Dynamic, KubeObject, Metadata, Object
from kubeproto.objects import HasApproval, HasFinalize, HasScale, HasStatus, HasToken, RunsContainers
from kubeproto.requests import ListOptions, Request, Subresource, Tables, WriteOptions
from kubeproto.watching import pager, resync

from ..calls._reading import find_object, get_or_none
from ..client._binding import Only, named
from ..watching._pages import BlockingItems, BlockingPages, BlockingTablePages, Paging
from ..watching._waiting import WAIT, Waiting
from ..writing._entry import BlockingEntry, update
from ..writing._statuses import patch_status
from ._reflector import BlockingReflector
from ._watch import BlockingFollowed, BlockingFollowedWithFailures

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator
    from contextlib import AbstractContextManager
    from datetime import timedelta

    from kubeproto import Duration, Resource
    from kubeproto.kinds.autoscaling_v1 import Scale
    from kubeproto.objects import Table
    from kubeproto.requests import AllNamespaces, StreamRequest

    from ..calls._blocking_base_client import BlockingBaseClient
    from ..conditions import Condition, Presence
    from ..watching._pages import OnExpired, Selection
    from ..writing._entry import UpdateOptions

    IncludeObject: TypeAlias = Literal["None", "Metadata", "Object"]
    Timeout: TypeAlias = float | timedelta | Duration | None

    # The types for which checkers allow it: the kinds that can, their metadata, and what may be any kind.
    _Approved: TypeAlias = "BlockingBound[HasApproval | Metadata[HasApproval] | Dynamic]"
    _Finalized: TypeAlias = "BlockingBound[HasFinalize | Metadata[HasFinalize] | Dynamic]"
    _Running: TypeAlias = "BlockingBound[RunsContainers | Metadata[RunsContainers] | Dynamic]"
    _Tokened: TypeAlias = "BlockingBound[HasToken | Metadata[HasToken] | Dynamic]"
    _Scaled: TypeAlias = (
        "BlockingBound[HasScale | Object[Any, Any] | Metadata[HasScale | Object[Any, Any]] | Dynamic]"
    )
    _Reporting: TypeAlias = (
        "BlockingBound[HasStatus | Object[Any, Any] | Metadata[HasStatus | Object[Any, Any]] | Dynamic]"
    )

K = TypeVar("K", bound=KubeObject)
K_co = TypeVar("K_co", bound=KubeObject, covariant=True)
S = TypeVar("S", bound=KubeObject)
B_contra = TypeVar("B_contra", contravariant=True)
E = TypeVar("E")
T = TypeVar("T")
R_co = TypeVar("R_co", covariant=True)
F = TypeVar("F")
P = ParamSpec("P")


_SETTINGS: Final = resync.Settings()


# How a verb of the core becomes one that is sent


def _sent(
    verb: Callable[Concatenate[Api[K], P], Request[T]],
) -> Callable[Concatenate[BlockingApi[K], P], T]:
    """A verb of the core that is sent, and returns the value of its response."""

    def send(self: BlockingApi[K], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self.client.call(verb(self.requests, *args, **kwargs)).value

    return named(send, verb, "BlockingApi")


def _sent_below(
    verb: Callable[Concatenate[Subresource[K], P], Request[T]],
) -> Callable[Concatenate[BlockingSubresource[K], P], T]:
    """The same below an object."""

    def send(self: BlockingSubresource[K], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self.client.call(verb(self.requests, *args, **kwargs)).value

    return named(send, verb, "BlockingSubresource")


def _of_pods(verb: Callable[Concatenate[Any, P], Request[T]]) -> Only[_Running, P, T]:
    return Only(verb, _sending(verb), "BlockingApi")


def _of_accounts(verb: Callable[Concatenate[Any, P], Request[T]]) -> Only[_Tokened, P, T]:
    return Only(verb, _sending(verb), "BlockingApi")


def _sending(verb: Callable[..., Request[T]]) -> Callable[..., T]:
    def send(self: BlockingBound[Any], /, *args: Any, **kwargs: Any) -> T:
        return self.client.call(verb(self.requests, *args, **kwargs)).value

    return send


def _lines(
    verb: Callable[Concatenate[Any, P], StreamRequest[E]],
) -> Only[_Running, P, AbstractContextManager[Iterator[E]]]:
    @contextmanager
    def follow(self: BlockingBound[Any], /, *args: Any, **kwargs: Any) -> Generator[Iterator[E]]:
        with self.client.open(verb(self.requests, *args, **kwargs)) as streamed:
            yield (one for several in streamed for one in several)

    return Only(verb, follow, "BlockingApi")


# The verbs


class BlockingBound(Generic[K_co]):
    """Verbs that only some kinds have; the others are refused, by type checkers too."""

    client: BlockingBaseClient
    requests: Api[Any]

    log = _of_pods(Api.log)
    follow_log = _lines(Api.follow_log)
    evict = _of_pods(Api.evict)
    bind = _of_pods(Api.bind)
    create_token = _of_accounts(Api.create_token)

    @overload
    def subresource(self, name: str) -> BlockingSubresource[K_co]: ...
    @overload
    def subresource(self, name: str, kind: type[S]) -> BlockingSubresource[S]: ...

    def subresource(self, name: str, kind: type[Any] | None = None) -> BlockingSubresource[Any]:
        """Return any subresource, which shows the object itself or, if a kind is given, that."""
        requests = self.requests.subresource(name) if kind is None else self.requests.subresource(name, kind)
        return BlockingSubresource(self.client, requests)

    @property
    def status(self: _Reporting) -> BlockingSubresource[K_co]:
        """The status, which a controller writes separately from the rest."""
        return BlockingSubresource(self.client, self.requests.status)

    @property
    def scale(self: _Scaled) -> BlockingSubresource[Scale]:
        """How many replicas an object wants, whatever its kind. A server leaves 0 out: None means none."""
        return BlockingSubresource(self.client, self.requests.scale)

    @property
    def approval(self: _Approved) -> BlockingSubresource[K_co]:
        """The conditions of a certificate signing request that say Approved or Denied."""
        return BlockingSubresource(self.client, self.requests.approval)

    @property
    def ephemeral_containers(self: _Running) -> BlockingSubresource[K_co]:
        """The ephemeral containers that debug a running pod."""
        return BlockingSubresource(self.client, self.requests.ephemeral_containers)

    @property
    def resize(self: _Running) -> BlockingSubresource[K_co]:
        """The resources of a running pod."""
        return BlockingSubresource(self.client, self.requests.resize)


class BlockingApi(BlockingBound[K]):
    """The verbs on one kind of object, in one namespace or in all, sent by a client."""

    def __init__(self, client: BlockingBaseClient, requests: Api[K]) -> None:
        self.client = client
        self.requests: Api[K] = requests

    def __repr__(self) -> str:
        return f"BlockingApi({self.requests!r})"

    @property
    def kind(self) -> type[K]:
        """The class of the objects."""
        return self.requests.kind

    @property
    def resource(self) -> Resource:
        """How the server names the kind."""
        return self.requests.resource

    @property
    def namespace(self) -> str | AllNamespaces:
        """The namespace, `ALL`, or nothing for a cluster-scoped kind."""
        return self.requests.namespace

    get = _sent(Api[K].get)
    list = _sent(Api[K].list)
    create = _sent(Api[K].create)
    replace = _sent(Api[K].replace)
    json_patch = _sent(Api[K].json_patch)
    merge_patch = _sent(Api[K].merge_patch)
    strategic_patch = _sent(Api[K].strategic_patch)
    apply = _sent(Api[K].apply)
    delete = _sent(Api[K].delete)
    delete_collection = _sent(Api[K].delete_collection)

    def finalize(self: _Finalized, obj: K, **options: Unpack[WriteOptions]) -> K:
        """Write the finalizers in the spec of a namespace, the only way to change them."""
        requests: Api[Any] = self.requests
        written: K = self.client.call(requests.finalize(obj, **options)).value
        return written

    def as_table(self, *, include_object: IncludeObject = "Metadata") -> BlockingTables[K]:
        """Get and list as a server would print the objects.

        `include_object` is the part of it in each row.
        """
        return BlockingTables(self.client, self.requests.as_table(include_object=include_object))

    # Verbs that take more than one request

    def get_or_none(self, name: str, *, resource_version: str = "") -> K | None:
        """Read it, or None if there is none."""
        return self.client.run(get_or_none(self.client, self.requests, name, resource_version))

    def pages(
        self, *, limit: int = pager.PAGE, on_expired: OnExpired = "go on", **selection: Unpack[Selection]
    ) -> BlockingPages[K]:
        """Iterate over a long list page by page: ``for page in books.pages()``; see `BlockingPages`."""
        paging = Paging(self.client, self.requests, limit=limit, on_expired=on_expired, selection=selection)
        return BlockingPages(self.client, paging)

    def items(
        self, *, limit: int = pager.PAGE, on_expired: OnExpired = "go on", **selection: Unpack[Selection]
    ) -> BlockingItems[K]:
        """Iterate over a long list object by object; it is read page by page."""
        return BlockingItems(self.pages(limit=limit, on_expired=on_expired, **selection))

    @overload
    def follow(
        self,
        *,
        strict: bool = False,
        failures: Literal[False] = False,
        wait_for_definition: bool = False,
        settings: resync.Settings | None = None,
        **selection: Unpack[Selection],
    ) -> BlockingFollowed[K]: ...
    @overload
    def follow(
        self,
        *,
        strict: bool = False,
        failures: Literal[True],
        wait_for_definition: bool = False,
        settings: resync.Settings | None = None,
        **selection: Unpack[Selection],
    ) -> BlockingFollowedWithFailures[K]: ...

    def follow(
        self,
        *,
        strict: bool = False,
        failures: bool = False,
        wait_for_definition: bool = False,
        settings: resync.Settings | None = None,
        **selection: Unpack[Selection],
    ) -> BlockingFollowed[K] | BlockingFollowedWithFailures[K]:
        """Follow the objects forever: ``for event in books.follow()``; see `BlockingFollowed`.

        With `strict`, an object that does not fit its class comes as `Malformed`, before it is used.
        With `failures`, what goes wrong on the way comes as a `resync.SyncFailure`, beside being logged.
        """
        made = BlockingFollowedWithFailures[K] if failures else BlockingFollowed[K]
        return made(
            self.client,
            self.requests,
            patient=wait_for_definition,
            settings=settings or resync.Settings(),
            selection=dict(**selection),
            strict=strict,
            failures=failures,
        )

    def reflect(
        self,
        *,
        wait_for_definition: bool = False,
        settings: resync.Settings | None = None,
        **selection: Unpack[Selection],
    ) -> BlockingReflector[K]:
        """Cache the objects in a thread of its own.

        with books.reflect() as reflector:
            reflector.synced(timeout=30)
            reflector.get("moby")
        """
        return BlockingReflector(
            self.client,
            self.requests,
            settings=settings or _SETTINGS,
            selection=dict(**selection),
            patient=wait_for_definition,
        )

    @overload
    def wait_for(
        self, name: str, condition: Presence[K] | Callable[[K], bool], *, timeout: float = WAIT
    ) -> K: ...
    @overload
    def wait_for(self, name: str, condition: Condition[K], *, timeout: float = WAIT) -> K | None: ...

    def wait_for(
        self, name: str, condition: Condition[K] | Callable[[K], bool], *, timeout: float = WAIT
    ) -> K | None:
        """Wait until the object of this name is as it should be, and return it as it is then.

        `WaitTimeout`, a TimeoutError, says what was still missing; `ConditionUnreachable` that it will never
        hold.
        """
        waiting = Waiting(self.client, self.requests, name, condition, timeout)
        self.client.run(waiting.observe())
        return waiting.result()

    def entry(self, name: str) -> BlockingEntry[K]:
        """Return the object of this name, or the place for it: read it, change it, `commit` it."""
        found = self.client.run(find_object(self.client, self.requests, name))
        return BlockingEntry(self.client, self.requests, name, found)

    def update(self, name: str, change: Callable[[K], object], **options: Unpack[UpdateOptions[K]]) -> K:
        """Change an object, and repeat that as long as others change it meanwhile.

        `change` edits the object that it gets. With `create`, that makes the object first if it does not
        exist.
        """
        return self.client.run(update(self.client, self.requests, name, change, **options))

    def patch_status(self, obj: K, status: Any, *, field_manager: str = "") -> K:
        """Write a status, if it differs from that of the object.

        Only what differs is sent, so several writers of one status do not undo each other's fields. A list
        is sent whole, and then only for the version of `obj`: it is a Conflict if that has changed.
        """
        return self.client.run(
            patch_status(self.client, self.requests, obj, status, field_manager=field_manager)
        )


class BlockingSubresource(Generic[K]):
    """One subresource of each object of a kind, read and written as a `K`."""

    def __init__(self, client: BlockingBaseClient, requests: Subresource[K]) -> None:
        self.client = client
        self.requests = requests

    get = _sent_below(Subresource[K].get)
    create = _sent_below(Subresource[K].create)
    replace = _sent_below(Subresource[K].replace)
    json_patch = _sent_below(Subresource[K].json_patch)
    merge_patch = _sent_below(Subresource[K].merge_patch)
    strategic_patch = _sent_below(Subresource[K].strategic_patch)
    apply = _sent_below(Subresource[K].apply)


class BlockingTables(Generic[K]):
    """The two reading verbs, with a table in the response."""

    def __init__(self, client: BlockingBaseClient, requests: Tables[K]) -> None:
        self.client = client
        self.requests = requests

    def get(self, name: str, *, resource_version: str = "", timeout: Timeout = None) -> Table:
        """Read one object as a table of one row."""
        request = self.requests.get(name, resource_version=resource_version, timeout=timeout)
        return self.client.call(request).value

    def list(self, **options: Unpack[ListOptions]) -> Table:
        """Read the objects, or a page of them, as a table."""
        return self.client.call(self.requests.list(**options)).value

    def pages(
        self, *, limit: int = pager.PAGE, on_expired: OnExpired = "go on", **selection: Unpack[Selection]
    ) -> BlockingTablePages:
        """Iterate over a long list table by table; see `TablePages`."""
        paging = Paging(self.client, self.requests, limit=limit, on_expired=on_expired, selection=selection)
        return BlockingTablePages(self.client, paging)
