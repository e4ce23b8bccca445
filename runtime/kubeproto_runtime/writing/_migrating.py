"""`migrate_storage`: all objects of a custom kind are rewritten in the version in which they are now stored.

::

    definition: versions v1, v2 (stored) ── storedVersions [v1, v2]
        │  settle: every API server knows that v2 is stored
        │  list, page by page, metadata alone; an empty patch for each object
        │  the definition is still the same
        ▼
    status.storedVersions [v2]      only now a server lets v1 be taken out of the definition

An empty patch changes nothing, and yet a server writes the object, because what it would store, in the new
version, is not what is stored. An object that is stored in the new version is not written again, so a
migration that was cut short may simply be run once more.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final, TypedDict

from msgspec import Struct

from kubeproto import (
    ApiError,
    Conflict,
    Dynamic,
    InvalidRequest,
    KubeObject,
    KubeprotoError,
    Metadata,
    NotFound,
    ObjectRef,
    RemoteProtocolError,
    Resource,
    TransportError,
)
from kubeproto.objects import comparable, is_newer
from kubeproto.requests import ALL

from ..calls._core import call
from ..calls._effects import SleepUntil
from ..watching._pages import Paging, Selection

if TYPE_CHECKING:
    from typing import NoReturn

    from ..calls._core import ClientCore
    from ..calls._effects import Effects

_DEFINITIONS: Final = Resource(
    "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", namespaced=False
)
_PAGE: Final = 500
# After this many refusals the next objects would probably be refused too.
_MOST_REFUSED: Final = 20
# A server repeats a patch that met a conflict five times; a patch that loses so often competes with a fast
# writer.
_ATTEMPTS: Final = 5

_log: Final = logging.getLogger("kubeproto.migration")


class MigrateOptions(TypedDict, total=False):
    """How objects are migrated.

    `rate` is how many are written in a second, 20 by default. `settle` is how many seconds to wait first, 10
    by default: with several API servers, one may not have heard yet that another version is stored. `since`
    is the version of an earlier migration that was cut short: objects that are newer are left alone.
    """

    rate: float
    settle: float
    since: str


class Migration(Struct, frozen=True):
    """What a migration has done: `version` is stored now, and none of the objects is stored as `dropped`."""

    definition: str
    version: str
    rewritten: int = 0
    dropped: tuple[str, ...] = ()

    def __str__(self) -> str:
        dropped = f"; nothing is stored as {', '.join(self.dropped)} any more" if self.dropped else ""
        return f"{self.definition}: {self.rewritten} objects rewritten as {self.version}{dropped}"


class MigrationError(KubeprotoError):
    """A migration was not completed, and no version was removed from ``status.storedVersions``.

    `refused` are the objects that the server refused to write, with its reasons. Pass `since` to continue it.
    """

    def __init__(
        self, message: str, *, refused: tuple[tuple[ObjectRef[Any], ApiError], ...] = (), since: str = ""
    ) -> None:
        super().__init__(message)
        self.refused = refused
        self.since = since


def migrate(client: ClientCore, kind: type[KubeObject] | str, options: MigrateOptions) -> Effects[Migration]:
    """Rewrite all objects of a kind in the version that is stored, and forget the versions before it."""
    name = kind if isinstance(kind, str) else f"{kind.resource.plural}.{kind.resource.group}"
    if options.get("rate", 1.0) <= 0 or options.get("settle", 0.0) < 0:
        raise InvalidRequest("migrate_storage needs a rate above 0 and a settle of 0 or more seconds")
    if (since := options.get("since", "")) and not comparable(since):
        raise InvalidRequest(f"migrate_storage needs a resource version in since, and {since!r} is not one")
    return (yield from _Run(client, name, options).run())


class _Run:
    """One migration under way."""

    def __init__(self, client: ClientCore, name: str, options: MigrateOptions) -> None:
        self._client = client
        self._name = name
        self._pause = 1.0 / options.get("rate", 20.0)
        self._settle = options.get("settle", 10.0)
        self._since = options.get("since", "")
        self._definitions = client.requests(Dynamic, resource=_DEFINITIONS)
        self._next = 0.0  # when the next object may be written
        self._rewritten = 0
        self._begun = self._since
        self._refused: list[tuple[ObjectRef[Any], ApiError]] = []

    def run(self) -> Effects[Migration]:
        before = yield from self._read()
        version, old = _stored(before)
        if not old:
            return Migration(self._name, version)
        resource = _resource(before, version)
        if resource is None:
            self._fail("none of its versions is served, so its objects cannot be listed")
        yield SleepUntil(self._client.now() + self._settle)
        try:
            yield from self._rewrite_all(resource)
        except (ApiError, TransportError, RemoteProtocolError) as error:
            self._fail(f"a page of them could not be read: {error}", error)
        if self._refused:
            obj, refusal = self._refused[0]
            self._fail(f"{len(self._refused)} were refused, such as {obj}: {refusal}", refusal)
        yield from self._trim(before, version)
        made = Migration(self._name, version, self._rewritten, old)
        _log.info("%s", made)
        return made

    def _read(self) -> Effects[Dynamic]:
        return (yield from call(self._client, self._definitions.get(self._name))).value

    def _rewrite_all(self, resource: Resource) -> Effects[None]:
        namespace = ALL if resource.namespaced else ""
        everywhere = self._client.requests(Metadata, namespace=namespace, resource=resource)
        paging = Paging(self._client, everywhere, limit=_PAGE, on_expired="go on", selection=Selection())
        while (page := (yield from paging.next())) is not None:
            if not self._begun:
                self._begun = page.version
                _log.info("%s: objects newer than %s are stored in the new version", self._name, page.version)
            if page.malformed:
                # It could be stored in any version, and would be lost with that version.
                self._fail(f"one of them cannot be read: {page.malformed[0]}")
            for obj in page.items:
                if self._is_new(obj.metadata.resource_version):
                    continue
                yield from self._rewrite(resource, obj)
                if len(self._refused) >= _MOST_REFUSED:
                    return

    def _is_new(self, version: str) -> bool:
        return bool(self._since) and comparable(version) and is_newer(version, self._since)

    def _rewrite(self, resource: Resource, obj: KubeObject) -> Effects[None]:
        namespace = obj.metadata.namespace if resource.namespaced else ""
        api = self._client.requests(Metadata, namespace=namespace, resource=resource)
        for attempt in range(1, _ATTEMPTS + 1):
            yield SleepUntil(self._next)
            self._next = max(self._next, self._client.now()) + self._pause
            try:
                yield from call(self._client, api.merge_patch(obj.metadata.name, {}))
            except NotFound:
                return  # it was deleted meanwhile
            except ApiError as error:
                if not isinstance(error, Conflict) or attempt == _ATTEMPTS:
                    ref: ObjectRef[Any] = ObjectRef(
                        resource.group, resource.kind, namespace, obj.metadata.name
                    )
                    self._refused.append((ref, error))
                    return
            else:
                self._rewritten += 1
                return

    def _trim(self, before: Dynamic, version: str) -> Effects[None]:
        """Keep only the stored version in the status, unless the definition has changed meanwhile."""
        while True:
            now = yield from self._read()
            if _moment(now) != _moment(before):
                # Another version may have been stored for a time, and objects with it.
                self._fail("it was changed while its objects were rewritten: migrate once more")
            patch: dict[str, Any] = {
                "metadata": {"resourceVersion": now.metadata.resource_version},
                "status": {"storedVersions": [version]},
            }
            status = self._definitions.subresource("status")
            try:
                yield from call(self._client, status.merge_patch(self._name, patch))
            except Conflict:
                continue  # another client has written a condition
            return

    def _fail(self, why: str, cause: Exception | None = None) -> NoReturn:
        raise MigrationError(
            f"the objects of {self._name} were not migrated: {why}",
            refused=tuple(self._refused),
            since=self._begun,
        ) from cause


def _moment(definition: Dynamic) -> tuple[str, int | None]:
    """Return what changes with every change of a definition."""
    return definition.metadata.uid, definition.metadata.generation


def _stored(definition: Dynamic) -> tuple[str, tuple[str, ...]]:
    """Return the version that is stored, and the others that may be stored still."""
    version = next(one["name"] for one in definition["spec"]["versions"] if one["storage"])
    status: dict[str, Any] = definition.get("status") or {}
    return version, tuple(one for one in status.get("storedVersions") or () if one != version)


def _resource(definition: Dynamic, version: str) -> Resource | None:
    """Return how the objects are requested: in the version that is stored, or in another that is served."""
    spec = definition["spec"]
    served = [one["name"] for one in spec["versions"] if one["served"]]
    if not served:
        return None
    names = spec["names"]
    return Resource(
        spec["group"], version if version in served else served[0], names["kind"], names["plural"],
        namespaced=spec["scope"] == "Namespaced",
    )  # fmt: skip
