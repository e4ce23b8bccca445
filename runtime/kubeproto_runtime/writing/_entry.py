"""`Entry`: an object of the server to be changed, or the place for one. `commit` sends what was changed.

::

    entry = await books.entry("moby-dick")
    book = entry.or_insert(lambda: Book(spec=BookSpec(title="Moby-Dick")))
    book.spec.authors = ["Herman Melville"]
    await entry.commit()

What is sent is the difference between what was read and what is held, as a merge patch for the version that
was read. So a field that this program does not know is never lost, and what another writer changed meanwhile
is not undone: if it is another field, the difference is computed again for the new version; if it is the same
one, the commit is a Conflict.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Generic, TypedDict, TypeVar, Unpack

from kubeproto import AlreadyExists, Conflict, InvalidRequest, KubeObject, NotFound, settle
from kubeproto.objects import make_json_patch
from kubeproto.wire import ConflictPolicy

from .._documents import created_as, known, merge_patch, parsed, with_servers_metadata
from .._edits import Original, holds, rebased, same
from ..calls._core import read
from ..calls._reading import back_off, find_object, read_object
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

# Several controllers that write one object conflict a few times in a row; after two seconds the cause is
# another one.
CONFLICTS: Final = ConflictPolicy(max_attempts=8, factor=2.0)
_ONCE: Final = ConflictPolicy(max_attempts=1)


class Writing(TypedDict, total=False):
    """The parameters of a write."""

    dry_run: bool
    field_manager: str


class Updating(Writing, Generic[K], total=False):
    """The parameters of an update: `create` makes the object that it begins with if there is none."""

    create: Callable[[], K]
    conflicts: ConflictPolicy


class Held(Generic[K]):
    """An object as it was read and as it is held, without the I/O."""

    def __init__(
        self, client: ClientCore, requests: Api[K], name: str, found: tuple[K, bytes] | None
    ) -> None:
        self.requests = requests
        self.name = name
        self.obj: K | None = None
        self._core = client
        self._original: Original | None = None
        if found is not None:
            self._keep(*found)

    def __repr__(self) -> str:
        kind = self.requests.resource.kind
        return f"<entry of {kind} {self.name!r}, {'there' if self.exists else 'not there'} when it was read>"

    @property
    def exists(self) -> bool:
        """Whether there was such an object when it was last read or written."""
        return self._original is not None

    @property
    def changed(self) -> bool:
        """Whether a commit would send anything."""
        if self.obj is None:
            return False
        return self._original is None or not same(self._original.text, self._edited(self._original, self.obj))

    def or_insert(self, make: Callable[[], K]) -> K:
        """Return the object; if there is none, the one that `make` returns. A commit will create it."""
        if self.obj is None:
            self.obj = self._place(make())
        return self.obj

    def modify(self, change: Callable[[K], object]) -> Self:
        """Change the object, if there is one."""
        if self.obj is not None:
            change(self.obj)
        return self

    def committed(self, conflicts: ConflictPolicy, options: Writing) -> Effects[K]:
        """Send what was changed."""
        obj = self._place(self._held())
        if self._original is None:
            return (yield from self._written(self.requests.create(obj, **options), options))
        before = self._original.text
        after = self._edited(self._original, obj)
        attempt = 0
        while not same(before, after):
            attempt += 1
            try:
                return (yield from self._written(self._patch(before, after, options), options))
            except Conflict as error:
                # With a cause, the conflict may be with this very write, the response to which was lost.
                unsure = error.__cause__ is not None
                policy = CONFLICTS if unsure else conflicts
                yield from back_off(self._core, error, attempt, policy)
                fresh, text = yield from read_object(self._core, self.requests, self.name)
                found = parsed(text)
                if found["metadata"]["uid"] != before["metadata"]["uid"]:
                    raise
                # Only then: another writer may have set the same value for another reason.
                if unsure and holds(before, after, found):
                    return fresh if options.get("dry_run") else self._keep(fresh, text)
                after, alone = rebased(before, after, found)
                if attempt >= conflicts.max_attempts or not alone:
                    raise
                before = found
        return obj

    def replaced(self, options: Writing) -> Effects[K]:
        """Write the object as it is held."""
        obj = self._place(self._held())
        verb = self.requests.create if self._original is None else self.requests.replace
        return (yield from self._written(verb(obj, **options), options))

    def _written(self, request: Request[K], options: Writing) -> Effects[K]:
        """Write the object; the response replaces it, unless nothing was written."""
        try:
            reply, text = yield from read(self._core, request)
        except (AlreadyExists, Conflict) as error:
            if error.__cause__ is None or request.method == "PATCH":
                raise
            # An earlier attempt may have been carried out, and this error be about its object.
            found = yield from find_object(self._core, self.requests, self.name)
            if found is None or not created_as(self._known(found[0]), parsed(request.body)):
                raise
            obj, text = found
        else:
            obj = reply.value
        return obj if options.get("dry_run") else self._keep(obj, text)

    def _patch(self, before: dict[str, Any], after: dict[str, Any], options: Writing) -> Request[K]:
        """Return the patch for one version, which no other object has, even a new one of the same name."""
        version = before["metadata"]["resourceVersion"]
        patch = merge_patch(before, after)
        if patch is None:
            guard = {"op": "replace", "path": "/metadata/resourceVersion", "value": version}
            return self.requests.json_patch(self.name, [guard, *make_json_patch(before, after)], **options)
        patch["metadata"] = patch.get("metadata", {}) | {"resourceVersion": version}
        return self.requests.merge_patch(self.name, patch, **options)

    def _held(self) -> K:
        if self.obj is None:
            kind = self.requests.resource.kind
            raise InvalidRequest(f"there is no {kind} {self.name!r} to write: or_insert makes one")
        return self.obj

    def _place(self, obj: K) -> K:
        """Check that the object belongs here."""
        meta, namespace = obj.metadata, self.requests.namespace
        if meta.generate_name or (meta.name and meta.name != self.name):
            other = meta.name or meta.generate_name
            raise InvalidRequest(f"the entry of {self.name!r} cannot hold {other!r}: names do not change")
        meta.name = self.name
        if isinstance(namespace, str) and namespace:
            if meta.namespace and meta.namespace != namespace:
                raise InvalidRequest(
                    f"the entry of {self.name!r} in {namespace!r} cannot hold one of {meta.namespace!r}"
                )
            meta.namespace = namespace
        return obj

    def _edited(self, original: Original, obj: K) -> dict[str, Any]:
        """Return the text of the object with what was changed."""
        shape = shape_of(self.requests.kind, self.requests.resource)
        edited: dict[str, Any] = original.edited(obj, self._known(obj), shape)
        return with_servers_metadata(edited, original.text)

    def _known(self, obj: K) -> dict[str, Any]:
        return known(obj, self.requests.kind)

    def _keep(self, obj: K, text: bytes) -> K:
        held = self.obj = settle(obj)
        self._original = Original(held, parsed(text), self._known(held))
        return held


class Entry(Held[K]):
    """An object as it was read and as it is held: `obj` may be changed, `commit` sends the difference."""

    def __init__(
        self, client: BaseClient, requests: Api[K], name: str, found: tuple[K, bytes] | None
    ) -> None:
        super().__init__(client, requests, name, found)
        self._client = client

    async def commit(self, *, conflicts: ConflictPolicy = CONFLICTS, **options: Unpack[Writing]) -> K:
        """Send what was changed, if anything was, and return the object as the server has it now.

        A Conflict means that another writer changed the same fields, an AlreadyExists that the object exists
        by now; the entry is as it was, as it is after a dry run.
        """
        return await self._client.run(self.committed(conflicts, options))

    async def replace(self, **options: Unpack[Writing]) -> K:
        """Replace the object by exactly what is held; a Conflict if it has changed."""
        return await self._client.run(self.replaced(options))


class BlockingEntry(Held[K]):
    """The same for threads; see `Entry`."""

    def __init__(
        self, client: BlockingBaseClient, requests: Api[K], name: str, found: tuple[K, bytes] | None
    ) -> None:
        super().__init__(client, requests, name, found)
        self._client = client

    def commit(self, *, conflicts: ConflictPolicy = CONFLICTS, **options: Unpack[Writing]) -> K:
        """Send what was changed, if anything was, and return the object as the server has it now.

        A Conflict means that another writer changed the same fields, an AlreadyExists that the object exists
        by now; the entry is as it was, as it is after a dry run.
        """
        return self._client.run(self.committed(conflicts, options))

    def replace(self, **options: Unpack[Writing]) -> K:
        """Replace the object by exactly what is held; a Conflict if it has changed."""
        return self._client.run(self.replaced(options))


def update(
    client: ClientCore,
    api: Api[K],
    name: str,
    change: Callable[[K], object],
    *,
    create: Callable[[], K] | None = None,
    conflicts: ConflictPolicy = CONFLICTS,
    **options: Unpack[Writing],
) -> Effects[K]:
    """Read, change and write an object, and repeat that while other writers interfere."""
    attempt = 0
    found: tuple[K, bytes] | None
    while True:
        attempt += 1
        if create is None:
            found = yield from read_object(client, api, name)
        else:
            found = yield from find_object(client, api, name)
        held = Held(client, api, name, found)
        if create is not None:
            held.or_insert(create)
        held.modify(change)
        try:
            return (yield from held.committed(_ONCE, options))
        except (Conflict, AlreadyExists, NotFound) as error:
            if not isinstance(error, Conflict) and create is None:
                raise
            yield from back_off(client, error, attempt, conflicts)
