"""`BlockingApi[Book]`: every verb of `kubeproto.Api`, sent by a thread that waits for the response.

The verbs, their parameters and their errors are those of the core, as in `BoundApi`. Exec, attach and
port-forward are missing, because a blocking transport cannot send and receive at the same time.
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

from ..calls._object_reads import find_object, get_or_none
from ..client._binding import KindVerb, copy_verb_signature
from ..watching._list_pages import BlockingItems, BlockingPages, BlockingTablePages, Paging
from ..watching._waiting import WAIT, Waiting
from ..writing._entry import BlockingEntry, update
from ..writing._statuses import patch_status
from ._blocking_follow_stream import BlockingFollowStream, BlockingFollowStreamWithFailures
from ._blocking_reflector import BlockingReflector

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
    from ..watching._list_pages import OnExpired, Selection
    from ..writing._entry import UpdateOptions

    IncludeObject: TypeAlias = Literal["None", "Metadata", "Object"]
    Timeout: TypeAlias = float | timedelta | Duration | None

    # The types that have the verb: the kinds with the capability, their metadata, and `Dynamic`.
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


# Methods that send a verb of the core


def _send(
    verb: Callable[Concatenate[Api[K], P], Request[T]],
) -> Callable[Concatenate[BlockingApi[K], P], T]:
    """Return a method that sends a verb, and returns the value of the response."""

    def send(self: BlockingApi[K], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self.client.call(verb(self.requests, *args, **kwargs)).value

    return copy_verb_signature(send, verb, "BlockingApi")


def _send_subresource_verb(
    verb: Callable[Concatenate[Subresource[K], P], Request[T]],
) -> Callable[Concatenate[BlockingSubresource[K], P], T]:
    """Return the same for a verb of a subresource."""

    def send(self: BlockingSubresource[K], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self.client.call(verb(self.requests, *args, **kwargs)).value

    return copy_verb_signature(send, verb, "BlockingSubresource")


def _for_pods(verb: Callable[Concatenate[Any, P], Request[T]]) -> KindVerb[_Running, P, T]:
    return KindVerb(verb, _send_any(verb), "BlockingApi")


def _for_accounts(verb: Callable[Concatenate[Any, P], Request[T]]) -> KindVerb[_Tokened, P, T]:
    return KindVerb(verb, _send_any(verb), "BlockingApi")


def _send_any(verb: Callable[..., Request[T]]) -> Callable[..., T]:
    def send(self: BlockingBound[Any], /, *args: Any, **kwargs: Any) -> T:
        return self.client.call(verb(self.requests, *args, **kwargs)).value

    return send


def _stream_lines(
    verb: Callable[Concatenate[Any, P], StreamRequest[E]],
) -> KindVerb[_Running, P, AbstractContextManager[Iterator[E]]]:
    @contextmanager
    def follow(self: BlockingBound[Any], /, *args: Any, **kwargs: Any) -> Generator[Iterator[E]]:
        with self.client.open(verb(self.requests, *args, **kwargs)) as streamed:
            yield (event for batch in streamed for event in batch)

    return KindVerb(verb, follow, "BlockingApi")


# The verbs


class BlockingBound(Generic[K_co]):
    """Verbs that only some kinds have; other kinds are refused, by type checkers too."""

    client: BlockingBaseClient
    requests: Api[Any]

    log = _for_pods(Api.log)
    follow_log = _stream_lines(Api.follow_log)
    evict = _for_pods(Api.evict)
    bind = _for_pods(Api.bind)
    create_token = _for_accounts(Api.create_token)

    @overload
    def subresource(self, name: str) -> BlockingSubresource[K_co]: ...
    @overload
    def subresource(self, name: str, kind: type[S]) -> BlockingSubresource[S]: ...

    def subresource(self, name: str, kind: type[Any] | None = None) -> BlockingSubresource[Any]:
        """Return a subresource by its name, with its own kind if that is not the kind of the object."""
        requests = self.requests.subresource(name) if kind is None else self.requests.subresource(name, kind)
        return BlockingSubresource(self.client, requests)

    @property
    def status(self: _Reporting) -> BlockingSubresource[K_co]:
        """The status, which a controller writes separately from the rest."""
        return BlockingSubresource(self.client, self.requests.status)

    @property
    def scale(self: _Scaled) -> BlockingSubresource[Scale]:
        """The desired number of replicas, of any kind. A server omits 0: None means no replicas."""
        return BlockingSubresource(self.client, self.requests.scale)

    @property
    def approval(self: _Approved) -> BlockingSubresource[K_co]:
        """The conditions Approved and Denied of a certificate signing request."""
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
    """The verbs on a kind of object, in a namespace or in all, sent by a client."""

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
        """The group, version and names of the kind."""
        return self.requests.resource

    @property
    def namespace(self) -> str | AllNamespaces:
        """The namespace, or `ALL`; "" for a cluster-scoped kind."""
        return self.requests.namespace

    get = _send(Api[K].get)
    list = _send(Api[K].list)
    create = _send(Api[K].create)
    replace = _send(Api[K].replace)
    json_patch = _send(Api[K].json_patch)
    merge_patch = _send(Api[K].merge_patch)
    strategic_patch = _send(Api[K].strategic_patch)
    apply = _send(Api[K].apply)
    delete = _send(Api[K].delete)
    delete_collection = _send(Api[K].delete_collection)

    def finalize(self: _Finalized, obj: K, **options: Unpack[WriteOptions]) -> K:
        """Write the finalizers in the spec of a namespace, the only way to change them."""
        requests: Api[Any] = self.requests
        written: K = self.client.call(requests.finalize(obj, **options)).value
        return written

    def as_table(self, *, include_object: IncludeObject = "Metadata") -> BlockingTables[K]:
        """Return the verbs get and list with tables as responses, in the server's columns.

        `include_object` is the part of the object in each row.
        """
        return BlockingTables(self.client, self.requests.as_table(include_object=include_object))

    # Verbs of several requests

    def get_or_none(self, name: str, *, resource_version: str = "") -> K | None:
        """Read an object; None if it does not exist."""
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
    ) -> BlockingFollowStream[K]: ...
    @overload
    def follow(
        self,
        *,
        strict: bool = False,
        failures: Literal[True],
        wait_for_definition: bool = False,
        settings: resync.Settings | None = None,
        **selection: Unpack[Selection],
    ) -> BlockingFollowStreamWithFailures[K]: ...

    def follow(
        self,
        *,
        strict: bool = False,
        failures: bool = False,
        wait_for_definition: bool = False,
        settings: resync.Settings | None = None,
        **selection: Unpack[Selection],
    ) -> BlockingFollowStream[K] | BlockingFollowStreamWithFailures[K]:
        """Follow the objects forever: ``for event in books.follow()``; see `BlockingFollowStream`.

        With `strict`, an object that does not fit its class is reported as `Malformed` when it arrives. With
        `failures`, each failure is reported as a `resync.SyncFailure`, besides being logged.
        """
        stream_type = BlockingFollowStreamWithFailures[K] if failures else BlockingFollowStream[K]
        return stream_type(
            self.client,
            self.requests,
            wait_for_definition=wait_for_definition,
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
        """Cache the objects in a separate thread.

        ::

            with books.reflect() as reflector:
                reflector.synced(timeout=30)
                reflector.get("moby")
        """
        return BlockingReflector(
            self.client,
            self.requests,
            settings=settings or _SETTINGS,
            selection=dict(**selection),
            wait_for_definition=wait_for_definition,
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
        """Wait until the object of this name meets a condition, and return it.

        `WaitTimeout`, a TimeoutError, names the missing state. `ConditionUnreachable` is raised if the
        condition will never be met.
        """
        waiting = Waiting(self.client, self.requests, name, condition, timeout)
        self.client.run(waiting.observe())
        return waiting.result()

    def entry(self, name: str) -> BlockingEntry[K]:
        """Return a `BlockingEntry` of this name, whose object exists or not. Change it, and `commit`."""
        object_and_text = self.client.run(find_object(self.client, self.requests, name))
        return BlockingEntry(self.client, self.requests, name, object_and_text)

    def update(self, name: str, change: Callable[[K], object], **options: Unpack[UpdateOptions[K]]) -> K:
        """Change an object, and repeat that while other clients change it at the same time.

        `change` edits its argument. If the object does not exist, `create` returns a new object.
        """
        return self.client.run(update(self.client, self.requests, name, change, **options))

    def patch_status(self, obj: K, status: Any, *, field_manager: str = "") -> K:
        """Write a status if it differs from the current status.

        Only changed fields are sent, so several writers of a status do not undo each other's fields. A
        changed list is sent as a whole, with the version of `obj`: it is a `Conflict` if that has changed.
        """
        return self.client.run(
            patch_status(self.client, self.requests, obj, status, field_manager=field_manager)
        )


class BlockingSubresource(Generic[K]):
    """A subresource of each object of a kind, read and written as a `K`."""

    def __init__(self, client: BlockingBaseClient, requests: Subresource[K]) -> None:
        self.client = client
        self.requests = requests

    get = _send_subresource_verb(Subresource[K].get)
    create = _send_subresource_verb(Subresource[K].create)
    replace = _send_subresource_verb(Subresource[K].replace)
    json_patch = _send_subresource_verb(Subresource[K].json_patch)
    merge_patch = _send_subresource_verb(Subresource[K].merge_patch)
    strategic_patch = _send_subresource_verb(Subresource[K].strategic_patch)
    apply = _send_subresource_verb(Subresource[K].apply)


class BlockingTables(Generic[K]):
    """The verbs get and list, with a table as the response."""

    def __init__(self, client: BlockingBaseClient, requests: Tables[K]) -> None:
        self.client = client
        self.requests = requests

    def get(self, name: str, *, resource_version: str = "", timeout: Timeout = None) -> Table:
        """Read an object as a table with a single row."""
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
