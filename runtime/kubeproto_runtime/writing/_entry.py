"""`Entry`: an object of the server, which may not exist yet. `commit` sends the changes.

::

    entry = await books.entry("moby-dick")
    book = entry.or_insert(lambda: Book(spec=BookSpec(title="Moby-Dick")))
    book.spec.authors = ["Herman Melville"]
    await entry.commit()

A commit sends the difference between the object that was read and its current state, as a merge patch for the
version that was read. So fields that the class does not have are preserved, and changes of other writers are
not undone: if another writer has changed other fields meanwhile, the difference is computed again for the new
version; if it has changed the same field, the commit raises `Conflict`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Generic, TypedDict, TypeVar, Unpack

from kubeproto import AlreadyExists, Conflict, InvalidRequest, KubeObject, NotFound, to_plain
from kubeproto.objects import make_json_patch
from kubeproto.wire import ConflictPolicy

from .._documents import (
    add_server_metadata,
    dump_class_fields,
    make_exact_merge_patch,
    may_be_created_from,
    parse_document,
)
from .._edits import Original, are_equal, includes_change, rebase
from ..calls._core import read
from ..calls._object_reads import back_off, find_object, read_object
from ._shapes import shape_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

    from kubeproto import Api
    from kubeproto.requests import Request

    from ..calls._base_client import BaseClient
    from ..calls._blocking_base_client import BlockingBaseClient
    from ..calls._core import ClientCore
    from ..calls._effects import Effects

K = TypeVar("K", bound=KubeObject)

# Several controllers that write one object conflict a few times in a row, within two seconds. A conflict that
# lasts longer has another cause.
CONFLICTS: Final = ConflictPolicy(max_attempts=8, factor=2.0)
_ONCE: Final = ConflictPolicy(max_attempts=1)


class CommitOptions(TypedDict, total=False):
    """The options of a commit. With `dry_run` the server stores nothing."""

    dry_run: bool
    field_manager: str


class UpdateOptions(CommitOptions, Generic[K], total=False):
    """The options of an update. `create` returns a new object if the object does not exist."""

    create: Callable[[], K]
    conflicts: ConflictPolicy


class EntryCore(Generic[K]):
    """An object that was read, and its changes; without the I/O."""

    def __init__(
        self, client: ClientCore, requests: Api[K], name: str, object_and_text: tuple[K, bytes] | None
    ) -> None:
        self.requests = requests
        self.name = name
        self.obj: K | None = None
        self._core = client
        self._original: Original | None = None
        if object_and_text is not None:
            self._set(*object_and_text)

    def __repr__(self) -> str:
        kind = self.requests.resource.kind
        return f"<entry of {kind} {self.name!r}, which {'exists' if self.exists else 'does not exist'}>"

    @property
    def exists(self) -> bool:
        """Whether the object existed when it was last read or written."""
        return self._original is not None

    @property
    def changed(self) -> bool:
        """Whether a commit would send a request."""
        if self.obj is None:
            return False
        return self._original is None or not are_equal(
            self._original.json, self._merged(self._original, self.obj)
        )

    def or_insert(self, make: Callable[[], K]) -> K:
        """Return the object. If it does not exist, return the result of `make`, which `commit` creates."""
        if self.obj is None:
            self.obj = self._adopt(make())
        return self.obj

    def modify(self, change: Callable[[K], object]) -> Self:
        """Call `change` with the object, if it exists."""
        if self.obj is not None:
            change(self.obj)
        return self

    def commit_effects(self, conflicts: ConflictPolicy, options: CommitOptions) -> Effects[K]:
        """Send the changes."""
        obj = self._adopt(self._current())
        if self._original is None:
            return (yield from self._write(self.requests.create(obj, **options), options))
        old = self._original.json
        new = self._merged(self._original, obj)
        attempt = 0
        while not are_equal(old, new):
            attempt += 1
            try:
                return (yield from self._write(self._patch(old, new, options), options))
            except Conflict as error:
                # With a cause, the conflict may be with this write itself, whose response was lost.
                may_be_done = error.__cause__ is not None
                policy = CONFLICTS if may_be_done else conflicts
                yield from back_off(self._core, error, attempt, policy)
                fresh, text = yield from read_object(self._core, self.requests, self.name)
                current = parse_document(text)
                if current["metadata"]["uid"] != old["metadata"]["uid"]:
                    raise
                # Only then: otherwise another writer may have set the same value for another reason.
                if may_be_done and includes_change(old, new, current):
                    return fresh if options.get("dry_run") else self._set(fresh, text)
                new, is_clean = rebase(old, new, current)
                if attempt >= conflicts.max_attempts or not is_clean:
                    raise
                old = current
        return obj

    def replace_effects(self, options: CommitOptions) -> Effects[K]:
        """Write the whole object."""
        obj = self._adopt(self._current())
        verb = self.requests.create if self._original is None else self.requests.replace
        return (yield from self._write(verb(obj, **options), options))

    def _write(self, request: Request[K], options: CommitOptions) -> Effects[K]:
        """Write the object; the response replaces it, except after a dry run."""
        try:
            reply, text = yield from read(self._core, request)
        except (AlreadyExists, Conflict) as error:
            if error.__cause__ is None or request.method == "PATCH":
                raise
            # An earlier attempt may have been carried out, and then this error is about its object.
            object_and_text = yield from find_object(self._core, self.requests, self.name)
            if object_and_text is None:
                raise
            obj, text = object_and_text
            if not may_be_created_from(self._class_fields(obj), parse_document(request.body)):
                raise
        else:
            obj = reply.value
        return obj if options.get("dry_run") else self._set(obj, text)

    def _patch(self, old: dict[str, Any], new: dict[str, Any], options: CommitOptions) -> Request[K]:
        """Return the patch for one version. So it never changes a new object of the same name."""
        version = old["metadata"]["resourceVersion"]
        patch = make_exact_merge_patch(old, new)
        if patch is None:
            precondition = {"op": "replace", "path": "/metadata/resourceVersion", "value": version}
            return self.requests.json_patch(self.name, [precondition, *make_json_patch(old, new)], **options)
        patch["metadata"] = patch.get("metadata", {}) | {"resourceVersion": version}
        return self.requests.merge_patch(self.name, patch, **options)

    def _current(self) -> K:
        if self.obj is None:
            kind = self.requests.resource.kind
            raise InvalidRequest(f"there is no {kind} {self.name!r} to write: use or_insert")
        return self.obj

    def _adopt(self, obj: K) -> K:
        """Check the name and the namespace of an object, and set them if they are empty."""
        meta, namespace = obj.metadata, self.requests.namespace
        if meta.generate_name or (meta.name and meta.name != self.name):
            other = meta.name or meta.generate_name
            raise InvalidRequest(f"the entry of {self.name!r} cannot hold {other!r}: names do not change")
        meta.name = self.name
        if isinstance(namespace, str) and namespace:
            if meta.namespace and meta.namespace != namespace:
                raise InvalidRequest(
                    f"the entry of {self.name!r} in {namespace!r} cannot hold an object of {meta.namespace!r}"
                )
            meta.namespace = namespace
        return obj

    def _merged(self, original: Original, obj: K) -> dict[str, Any]:
        """Return the JSON of the object, with the fields that its class does not have."""
        shape = shape_of(self.requests.kind, self.requests.resource)
        merged: dict[str, Any] = original.merge(obj, self._class_fields(obj), shape)
        return add_server_metadata(merged, original.json)

    def _class_fields(self, obj: K) -> dict[str, Any]:
        return dump_class_fields(obj, self.requests.kind)

    def _set(self, obj: K, text: bytes) -> K:
        self.obj = to_plain(obj)
        self._original = Original(self.obj, parse_document(text), self._class_fields(self.obj))
        return self.obj


class Entry(EntryCore[K]):
    """An object to be changed: change `obj`, and `commit` sends the difference."""

    def __init__(
        self, client: BaseClient, requests: Api[K], name: str, object_and_text: tuple[K, bytes] | None
    ) -> None:
        super().__init__(client, requests, name, object_and_text)
        self._client = client

    async def commit(self, *, conflicts: ConflictPolicy = CONFLICTS, **options: Unpack[CommitOptions]) -> K:
        """Send the changes, if there are any, and return the object of the response.

        Raise `Conflict` if another writer changed the same fields, and `AlreadyExists` if the object was
        created meanwhile. After an error and after a dry run the entry is unchanged.
        """
        return await self._client.run(self.commit_effects(conflicts, options))

    async def replace(self, **options: Unpack[CommitOptions]) -> K:
        """Replace the whole object. Raise `Conflict` if it has changed on the server."""
        return await self._client.run(self.replace_effects(options))


class BlockingEntry(EntryCore[K]):
    """An `Entry` for threads."""

    def __init__(
        self, client: BlockingBaseClient, requests: Api[K], name: str, object_and_text: tuple[K, bytes] | None
    ) -> None:
        super().__init__(client, requests, name, object_and_text)
        self._client = client

    def commit(self, *, conflicts: ConflictPolicy = CONFLICTS, **options: Unpack[CommitOptions]) -> K:
        """Send the changes, if there are any, and return the object of the response.

        Raise `Conflict` if another writer changed the same fields, and `AlreadyExists` if the object was
        created meanwhile. After an error and after a dry run the entry is unchanged.
        """
        return self._client.run(self.commit_effects(conflicts, options))

    def replace(self, **options: Unpack[CommitOptions]) -> K:
        """Replace the whole object. Raise `Conflict` if it has changed on the server."""
        return self._client.run(self.replace_effects(options))


def update(
    client: ClientCore,
    api: Api[K],
    name: str,
    change: Callable[[K], object],
    *,
    create: Callable[[], K] | None = None,
    conflicts: ConflictPolicy = CONFLICTS,
    **options: Unpack[CommitOptions],
) -> Effects[K]:
    """Read, change and write an object, and repeat that after conflicts with other writers."""
    attempt = 0
    object_and_text: tuple[K, bytes] | None
    while True:
        attempt += 1
        if create is None:
            object_and_text = yield from read_object(client, api, name)
        else:
            object_and_text = yield from find_object(client, api, name)
        entry = EntryCore(client, api, name, object_and_text)
        if create is not None:
            entry.or_insert(create)
        entry.modify(change)
        try:
            return (yield from entry.commit_effects(_ONCE, options))
        except (Conflict, AlreadyExists, NotFound) as error:
            if not isinstance(error, Conflict) and create is None:
                raise
            yield from back_off(client, error, attempt, conflicts)
