"""`Entry`: an object of the server in one's hand, or the place for one. `commit` sends what was changed.

::

    entry = await books.entry("moby-dick")
    book = entry.or_insert(lambda: Book(spec=BookSpec(title="Moby-Dick")))
    book.spec.authors = ["Herman Melville"]
    await entry.commit()

What is sent is the difference between what was read and what is held, as a merge patch for the version that
was read. So a field that this program does not know is never lost, and what somebody else wrote meanwhile is
not undone: if it is another field, the difference is made again for the new version; if it is the same one,
the commit is a Conflict.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Generic, TypedDict, TypeVar, Unpack

import anyio
import msgspec

from kubeproto import (
    AlreadyExists,
    Conflict,
    Dynamic,
    InvalidRequest,
    KubeObject,
    NotFound,
    decode,
    encode,
    settle,
)
from kubeproto.control import status_differs
from kubeproto.objects import apply_merge_patch, is_object, json_equal, make_merge_patch
from kubeproto.wire import Conflicted, ConflictPolicy, Retry

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

    from kubeproto import ApiError

    from ._verbs import BoundApi

K = TypeVar("K", bound=KubeObject)

# Several controllers that write one object meet a few times in a row; after two seconds it is something else.
CONFLICTS: Final = ConflictPolicy(tries=8, factor=2.0)

_NOTHING: Final = object()


class Writing(TypedDict, total=False):
    """What a write takes."""

    dry_run: bool
    field_manager: str


class Updating(Writing, Generic[K], total=False):
    """What an update takes: `create` makes the object that it begins with if there is none."""

    create: Callable[[], K]
    conflicts: ConflictPolicy


class Entry(Generic[K]):
    """An object as it was read and as it is held: `obj` may be changed, `commit` sends the difference."""

    def __init__(self, api: BoundApi[K], name: str, found: K | None) -> None:
        self.api = api
        self.name = name
        self.obj = found
        self._before: dict[str, Any] | None = None if found is None else self._read(found)

    def __repr__(self) -> str:
        kind = self.api.resource.kind
        return f"<entry of {kind} {self.name!r}, {'there' if self.exists else 'not there'} when it was read>"

    @property
    def exists(self) -> bool:
        """Whether there was such an object when it was last read or written."""
        return self._before is not None

    @property
    def changed(self) -> bool:
        """Whether a commit would send anything."""
        return self.obj is not None and (
            self._before is None or bool(self._difference(self.obj, self._before))
        )

    def or_insert(self, make: Callable[[], K]) -> K:
        """The object; if there is none, the one that `make` gives. A commit will create it."""
        if self.obj is None:
            self.obj = self._place(make())
        return self.obj

    def modify(self, change: Callable[[K], object]) -> Self:
        """Change the object, if there is one."""
        if self.obj is not None:
            change(self.obj)
        return self

    async def commit(self, *, conflicts: ConflictPolicy = CONFLICTS, **options: Unpack[Writing]) -> K:
        """Send what was changed, if anything was, and give the object as the server has it now.

        A Conflict means that somebody else has changed the same fields, an AlreadyExists that there is such
        an object by now; the entry is as it was.
        """
        obj = self._held()
        if self._before is None:
            return self._keep(await self.api.create(self._place(obj), **options))
        self._place(obj)
        before, attempt = self._before, 0
        patch = self._difference(obj, before)
        while patch:
            attempt += 1
            try:
                written = await self.api.merge_patch(self.name, _guarded(patch, before), **options)
            except Conflict as error:
                # With a cause, the conflict may be with this very write, the answer to which was lost.
                unsure = error.__cause__ is not None
                fresh = await _again(self.api, self.name, error, attempt, CONFLICTS if unsure else conflicts)
                found = self._read(fresh)
                if fresh.metadata.uid != obj.metadata.uid:
                    raise
                if json_equal(found, apply_merge_patch(found, patch)):
                    return self._keep(fresh)
                if attempt >= conflicts.tries or not _is_free(patch, before, found):
                    raise
                before = found
            else:
                return self._keep(written)
        return obj

    async def replace(self, **options: Unpack[Writing]) -> K:
        """Write exactly what is held, and nothing else; a Conflict if the object has changed."""
        obj = self._place(self._held())
        verb = self.api.create if self._before is None else self.api.replace
        return self._keep(await verb(obj, **options))

    def _held(self) -> K:
        if self.obj is None:
            raise InvalidRequest(f"there is no {self.api.resource.kind} {self.name!r}: or_insert makes one")
        return self.obj

    def _place(self, obj: K) -> K:
        """See that the object belongs here."""
        meta, namespace = obj.metadata, self.api.namespace
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

    def _difference(self, obj: K, before: dict[str, Any]) -> dict[str, Any]:
        patch: dict[str, Any] = make_merge_patch(before, self._read(obj))
        return patch

    def _keep(self, obj: K) -> K:
        self.obj, self._before = obj, self._read(obj)
        return obj

    def _read(self, obj: K) -> dict[str, Any]:
        """What this program knows of an object, by its type: on both sides of a difference the same."""
        read: dict[str, Any] = plain(settle(decode(encode(obj), self.api.kind)))
        return read


async def entry(api: BoundApi[K], name: str) -> Entry[K]:
    """Read the object of this name, or find that there is none."""
    return Entry(api, name, await api.get_or_none(name))


async def update(
    api: BoundApi[K],
    name: str,
    change: Callable[[K], object],
    *,
    create: Callable[[], K] | None = None,
    conflicts: ConflictPolicy = CONFLICTS,
    **options: Unpack[Writing],
) -> K:
    """Read, change and write an object, again and again while others come between."""
    found = await (api.get(name) if create is None else api.get_or_none(name))
    attempt = 0
    while True:
        attempt += 1
        held = Entry(api, name, found)
        if create is not None:
            held.or_insert(create)
        held.modify(change)
        try:
            return await held.commit(conflicts=_ONCE, **options)
        except (Conflict, AlreadyExists, NotFound) as error:
            if not isinstance(error, Conflict) and create is None:
                raise
            found = await _again(api, name, error, attempt, conflicts, created=create is not None)


async def patch_status(api: BoundApi[K], obj: K, status: Any, *, field_manager: str = "") -> K:
    """Write a status, if it says anything else than the object's.

    Only what differs is sent, so several who report in one status do not undo each other's fields. A list is
    sent whole, and then only for the version of `obj`: it is a Conflict if that has changed.
    """
    before: Any = obj.get("status") if isinstance(obj, Dynamic) else getattr(obj, "status", None)
    if status is before and status is not None:
        raise InvalidRequest(
            "this status is the object's own: change a copy, so that the difference can be seen"
        )
    if not status_differs(before, status):
        return obj
    patch = make_merge_patch(plain(before) or {}, plain(status) or {})
    body: dict[str, Any] = {"status": patch}
    if _holds_list(patch) and obj.metadata.resource_version:
        body["metadata"] = {"resourceVersion": obj.metadata.resource_version}
    below = api.subresource("status")
    return await below.merge_patch(obj.metadata.name, body, field_manager=field_manager)


def is_missing(error: NotFound, name: str) -> bool:
    """Whether it is the object that is not there, rather than its kind."""
    return error.status.details.name == name


def plain(value: Any) -> Any:
    """What is sent for a value, as JSON has it."""
    return None if value is None else msgspec.json.decode(encode(value))


_ONCE: Final = ConflictPolicy(tries=1)


async def _again(
    api: BoundApi[K],
    name: str,
    error: ApiError,
    attempt: int,
    conflicts: ConflictPolicy,
    *,
    created: bool = False,
) -> Any:
    """The object as it is now, after a wait; or the error, if it was met often enough."""
    now = anyio.current_time()
    outcome = Conflicted(str(error))  # a name that is taken, or free again, is met like one
    decision = conflicts.decide(outcome, attempt, now, jitter=api.client.random.random())
    if not isinstance(decision, Retry):
        raise error
    await anyio.sleep_until(decision.at)
    return await (api.get_or_none(name) if created else api.get(name))


def _guarded(patch: dict[str, Any], before: dict[str, Any]) -> dict[str, Any]:
    """The patch for one version. No other object has that one, also if it is new under the name."""
    version = {"resourceVersion": before["metadata"]["resourceVersion"]}
    return patch | {"metadata": patch.get("metadata", {}) | version}


def _is_free(patch: dict[str, Any], before: dict[str, Any], found: dict[str, Any]) -> bool:
    """Whether nobody else has touched what a patch changes, or all have wanted the same."""
    for key, value in patch.items():
        was, now = before.get(key, _NOTHING), found.get(key, _NOTHING)
        if is_object(value) and is_object(was) and is_object(now):
            if not _is_free(value, was, now):
                return False
        elif not (_same(was, now) or _same(now, _NOTHING if value is None else value)):
            return False
    return True


def _same(one: Any, other: Any) -> bool:
    if one is _NOTHING or other is _NOTHING:
        return one is other
    return json_equal(one, other)


def _holds_list(patch: Any) -> bool:
    if is_object(patch):
        return any(_holds_list(value) for value in patch.values())
    return isinstance(patch, list)
