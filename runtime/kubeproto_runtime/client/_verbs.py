"""`BoundApi[Book]`: the verbs of `kubeproto.Api` as methods that send the request and await the response.

Their parameters and checks are those of the core. Verbs of several requests are in separate modules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, Unpack, overload

from anyio import move_on_after

from kubeproto import Api, KubeObject
from kubeproto.requests import Subresource
from kubeproto.watching import pager, resync

from ..calls._object_reads import find_object, get_or_none
from ..watching._follow_stream import FollowStream, FollowStreamWithFailures
from ..watching._list_pages import Items, ListPages, Paging, TablePages
from ..watching._waiting import WAIT, Waiting
from ..writing._entry import Entry, update
from ..writing._statuses import patch_status
from ._binding import (
    BoundApiBase,
    BoundSubresourceBase,
    for_accounts,
    for_pods,
    forward_ports,
    run_process,
    send_subresource_verb,
    send_verb,
    stream_lines,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import timedelta
    from typing import TypeAlias

    from kubeproto import Duration, Dynamic, Metadata, Object, Resource
    from kubeproto.kinds.autoscaling_v1 import Scale
    from kubeproto.objects import HasApproval, HasFinalize, HasScale, HasStatus, RunsContainers, Table
    from kubeproto.requests import AllNamespaces, ListOptions, Tables, WriteOptions

    from ..calls._base_client import BaseClient
    from ..conditions import Condition, Presence
    from ..watching._list_pages import OnExpired, Selection
    from ..writing._entry import UpdateOptions

    IncludeObject: TypeAlias = Literal["None", "Metadata", "Object"]
    Timeout: TypeAlias = float | timedelta | Duration | None

    # The types that have the verb: the kinds with the capability, their metadata, and `Dynamic`.
    _Approved: TypeAlias = "KindVerbs[HasApproval | Metadata[HasApproval] | Dynamic]"
    _Finalized: TypeAlias = "KindVerbs[HasFinalize | Metadata[HasFinalize] | Dynamic]"
    _Running: TypeAlias = "KindVerbs[RunsContainers | Metadata[RunsContainers] | Dynamic]"
    _Scaled: TypeAlias = (
        "KindVerbs[HasScale | Object[Any, Any] | Metadata[HasScale | Object[Any, Any]] | Dynamic]"
    )
    _Reporting: TypeAlias = (
        "KindVerbs[HasStatus | Object[Any, Any] | Metadata[HasStatus | Object[Any, Any]] | Dynamic]"
    )

K = TypeVar("K", bound=KubeObject)
K_co = TypeVar("K_co", bound=KubeObject, covariant=True)
S = TypeVar("S", bound=KubeObject)


class KindVerbs(BoundApiBase[K_co]):
    """Verbs that only some kinds have. Their use on other kinds is an error, also for type checkers."""

    log = for_pods(Api.log)
    follow_log = stream_lines(Api.follow_log)
    exec = run_process(Api.exec)
    attach = run_process(Api.attach)
    port_forward = forward_ports(Api.port_forward)
    evict = for_pods(Api.evict)
    bind = for_pods(Api.bind)
    create_token = for_accounts(Api.create_token)

    @overload
    def subresource(self, name: str) -> BoundSubresource[K_co]: ...
    @overload
    def subresource(self, name: str, kind: type[S]) -> BoundSubresource[S]: ...

    def subresource(self, name: str, kind: type[Any] | None = None) -> BoundSubresource[Any]:
        """Return a subresource by its name. `kind` is the kind of its body, if that is not the object's."""
        requests = self.requests.subresource(name) if kind is None else self.requests.subresource(name, kind)
        return BoundSubresource(self.client, requests)

    @property
    def status(self: _Reporting) -> BoundSubresource[K_co]:
        """The status, which controllers write separately from the spec."""
        return BoundSubresource(self.client, self.requests.status)

    @property
    def scale(self: _Scaled) -> BoundSubresource[Scale]:
        """The desired number of replicas. A server omits 0, so None means no replicas."""
        return BoundSubresource(self.client, self.requests.scale)

    @property
    def approval(self: _Approved) -> BoundSubresource[K_co]:
        """The conditions Approved and Denied of a certificate signing request."""
        return BoundSubresource(self.client, self.requests.approval)

    @property
    def ephemeral_containers(self: _Running) -> BoundSubresource[K_co]:
        """The ephemeral containers that debug a running pod."""
        return BoundSubresource(self.client, self.requests.ephemeral_containers)

    @property
    def resize(self: _Running) -> BoundSubresource[K_co]:
        """The resources of a running pod."""
        return BoundSubresource(self.client, self.requests.resize)


class BoundApi(KindVerbs[K]):
    """The verbs on a kind, in one namespace or in all, sent by a client."""

    def __init__(self, client: BaseClient, requests: Api[K]) -> None:
        self.client = client
        self.requests: Api[K] = requests

    def __repr__(self) -> str:
        return f"BoundApi({self.requests!r})"

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

    get = send_verb(Api[K].get)
    list = send_verb(Api[K].list)
    create = send_verb(Api[K].create)
    replace = send_verb(Api[K].replace)
    json_patch = send_verb(Api[K].json_patch)
    merge_patch = send_verb(Api[K].merge_patch)
    strategic_patch = send_verb(Api[K].strategic_patch)
    apply = send_verb(Api[K].apply)
    delete = send_verb(Api[K].delete)
    delete_collection = send_verb(Api[K].delete_collection)

    async def finalize(self: _Finalized, obj: K, **options: Unpack[WriteOptions]) -> K:
        """Write the finalizers in the spec of a namespace, the only way to change them."""
        requests: Api[Any] = self.requests
        written: K = (await self.client.call(requests.finalize(obj, **options))).value
        return written

    def as_table(self, *, include_object: IncludeObject = "Metadata") -> BoundTables[K]:
        """Return the verbs get and list whose results are tables with the server's columns.

        `include_object` is the part of the object that each row includes.
        """
        return BoundTables(self.client, self.requests.as_table(include_object=include_object))

    # Verbs of several requests

    async def get_or_none(self, name: str, *, resource_version: str = "") -> K | None:
        """Read an object; None if it does not exist."""
        return await self.client.run(get_or_none(self.client, self.requests, name, resource_version))

    def pages(
        self, *, limit: int = pager.PAGE, on_expired: OnExpired = "go on", **selection: Unpack[Selection]
    ) -> ListPages[K]:
        """Iterate over a long list page by page: ``async for page in books.pages()``; see `ListPages`."""
        paging = Paging(self.client, self.requests, limit=limit, on_expired=on_expired, selection=selection)
        return ListPages(self.client, paging)

    def items(
        self, *, limit: int = pager.PAGE, on_expired: OnExpired = "go on", **selection: Unpack[Selection]
    ) -> Items[K]:
        """Iterate over the objects of a long list, which is read page by page."""
        return Items(self.pages(limit=limit, on_expired=on_expired, **selection))

    @overload
    def follow(
        self,
        *,
        strict: bool = False,
        failures: Literal[False] = False,
        wait_for_definition: bool = False,
        settings: resync.Settings | None = None,
        **selection: Unpack[Selection],
    ) -> FollowStream[K]: ...
    @overload
    def follow(
        self,
        *,
        strict: bool = False,
        failures: Literal[True],
        wait_for_definition: bool = False,
        settings: resync.Settings | None = None,
        **selection: Unpack[Selection],
    ) -> FollowStreamWithFailures[K]: ...

    def follow(
        self,
        *,
        strict: bool = False,
        failures: bool = False,
        wait_for_definition: bool = False,
        settings: resync.Settings | None = None,
        **selection: Unpack[Selection],
    ) -> FollowStream[K] | FollowStreamWithFailures[K]:
        """Follow the objects forever, through all failures of server and network; see `FollowStream`.

        With `strict`, an object that does not fit its class is reported as `Malformed` when it arrives. With
        `failures`, each failure is reported as a `resync.SyncFailure`, besides being logged.
        """
        followed_type = FollowStreamWithFailures[K] if failures else FollowStream[K]
        return followed_type(
            self.client,
            self.requests,
            waits_for_kind=wait_for_definition,
            settings=settings or resync.Settings(),
            selection=dict(**selection),
            strict=strict,
            failures=failures,
        )

    @overload
    async def wait_for(
        self, name: str, condition: Presence[K] | Callable[[K], bool], *, timeout: float = WAIT
    ) -> K: ...
    @overload
    async def wait_for(self, name: str, condition: Condition[K], *, timeout: float = WAIT) -> K | None: ...

    async def wait_for(
        self, name: str, condition: Condition[K] | Callable[[K], bool], *, timeout: float = WAIT
    ) -> K | None:
        """Wait until the object of this name meets a condition, and return it.

        Raise `WaitTimeout` (a TimeoutError) with the reason if the condition is not met in time, and
        `ConditionUnreachable` if it cannot be met any more.
        """
        waiting = Waiting(self.client, self.requests, name, condition, timeout)
        with move_on_after(timeout):  # obtaining the credentials for the first request may take a while
            await self.client.run(waiting.observe())
        return waiting.result()

    async def entry(self, name: str) -> Entry[K]:
        """Return an `Entry` for the object of this name, whether it exists or not. Change it, and
        `commit`."""
        object_and_text = await self.client.run(find_object(self.client, self.requests, name))
        return Entry(self.client, self.requests, name, object_and_text)

    async def update(
        self, name: str, change: Callable[[K], object], **options: Unpack[UpdateOptions[K]]
    ) -> K:
        """Change an object. Retry if other clients change it at the same time.

        `change` edits its argument. If the object does not exist, `create` returns a new object.
        """
        return await self.client.run(update(self.client, self.requests, name, change, **options))

    async def patch_status(self, obj: K, status: Any, *, field_manager: str = "") -> K:
        """Write a status if it differs from the current one.

        Only changed fields are sent, so several writers of a status do not undo each other's fields. A
        changed list is sent as a whole, with the version of `obj`. Raise `Conflict` if it has changed since.
        """
        return await self.client.run(
            patch_status(self.client, self.requests, obj, status, field_manager=field_manager)
        )


class BoundSubresource(BoundSubresourceBase[K]):
    """A subresource of the objects of a kind, which is read and written as a `K`."""

    def __init__(self, client: BaseClient, requests: Subresource[K]) -> None:
        self.client = client
        self.requests = requests

    get = send_subresource_verb(Subresource[K].get)
    create = send_subresource_verb(Subresource[K].create)
    replace = send_subresource_verb(Subresource[K].replace)
    json_patch = send_subresource_verb(Subresource[K].json_patch)
    merge_patch = send_subresource_verb(Subresource[K].merge_patch)
    strategic_patch = send_subresource_verb(Subresource[K].strategic_patch)
    apply = send_subresource_verb(Subresource[K].apply)


class BoundTables(Generic[K]):
    """The verbs get and list, whose results are tables."""

    def __init__(self, client: BaseClient, requests: Tables[K]) -> None:
        self.client = client
        self.requests = requests

    async def get(self, name: str, *, resource_version: str = "", timeout: Timeout = None) -> Table:
        """Read an object as a table with a single row."""
        request = self.requests.get(name, resource_version=resource_version, timeout=timeout)
        return (await self.client.call(request)).value

    async def list(self, **options: Unpack[ListOptions]) -> Table:
        """Read the objects, or a page of them, as a table."""
        return (await self.client.call(self.requests.list(**options))).value

    def pages(
        self, *, limit: int = pager.PAGE, on_expired: OnExpired = "go on", **selection: Unpack[Selection]
    ) -> TablePages:
        """Iterate over the pages of a long list, which are tables; see `TablePages`."""
        paging = Paging(self.client, self.requests, limit=limit, on_expired=on_expired, selection=selection)
        return TablePages(self.client, paging)
