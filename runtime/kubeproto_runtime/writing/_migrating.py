"""`migrate_storage`: rewrites all objects of a custom kind in the current storage version.

::

    definition: versions v1, v2 (storage) ── storedVersions [v1, v2]
        │  wait `settle` seconds: every API server knows that v2 is the storage version
        │  list the metadata page by page; send an empty patch for each object
        │  check that the definition has not changed
        ▼
    status.storedVersions [v2]      only now v1 can be removed from the definition

An empty patch changes nothing, but the server writes an object whose stored bytes are in another version. An
object in the storage version is not written again, so an interrupted migration can be repeated.
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
from ..watching._list_pages import Paging, Selection

if TYPE_CHECKING:
    from typing import NoReturn

    from ..calls._core import ClientCore
    from ..calls._effects import Effects

_DEFINITIONS: Final = Resource(
    "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", namespaced=False
)
_PAGE_SIZE: Final = 500
# After this many refused objects the server would probably refuse the others too.
_MAX_REFUSED: Final = 20
# A server itself repeats a patch that conflicts five times, so a conflict means another, very active writer.
_MAX_ATTEMPTS: Final = 5

_log: Final = logging.getLogger("kubeproto.migration")


class MigrateOptions(TypedDict, total=False):
    """The options of a migration.

    `rate` is the number of objects that are written per second, 20 by default. `settle` is the number of
    seconds before the first write, 10 by default, in which every API server learns the new storage version.
    `since` continues an interrupted migration: pass the `since` of its error, and newer objects are skipped.
    """

    rate: float
    settle: float
    since: str


class Migration(Struct, frozen=True):
    """The result of a migration: all objects are stored in `version`, and none in the `dropped` versions."""

    definition: str
    version: str
    rewritten: int = 0
    dropped: tuple[str, ...] = ()

    def __str__(self) -> str:
        dropped = f"; nothing is stored as {', '.join(self.dropped)} any more" if self.dropped else ""
        return f"{self.definition}: {self.rewritten} objects rewritten as {self.version}{dropped}"


class MigrationError(KubeprotoError):
    """A migration was not completed, and no version was removed from ``status.storedVersions``.

    `refused` are the objects that the server refused to write, with its reasons. Pass `since` to
    `migrate_storage` to continue the migration.
    """

    def __init__(
        self, message: str, *, refused: tuple[tuple[ObjectRef[Any], ApiError], ...] = (), since: str = ""
    ) -> None:
        super().__init__(message)
        self.refused = refused
        self.since = since


def migrate(client: ClientCore, kind: type[KubeObject] | str, options: MigrateOptions) -> Effects[Migration]:
    """Rewrite all objects of a kind in the storage version, and remove other versions from its status."""
    name = kind if isinstance(kind, str) else f"{kind.resource.plural}.{kind.resource.group}"
    if options.get("rate", 1.0) <= 0 or options.get("settle", 0.0) < 0:
        raise InvalidRequest("migrate_storage needs a rate above 0 and a settle of 0 or more seconds")
    if (since := options.get("since", "")) and not comparable(since):
        raise InvalidRequest(f"migrate_storage needs a resource version in since, and {since!r} is not one")
    return (yield from _MigrationRun(client, name, options).run())


class _MigrationRun:
    """A migration in progress."""

    def __init__(self, client: ClientCore, name: str, options: MigrateOptions) -> None:
        self._client = client
        self._name = name
        self._interval = 1.0 / options.get("rate", 20.0)
        self._settle = options.get("settle", 10.0)
        self._since = options.get("since", "")
        self._definitions = client.requests(Dynamic, resource=_DEFINITIONS)
        self._next_write_at = 0.0
        self._rewritten = 0
        self._list_version = self._since  # objects that are newer are in the storage version
        self._refused: list[tuple[ObjectRef[Any], ApiError]] = []

    def run(self) -> Effects[Migration]:
        definition = yield from self._read_definition()
        version, old_versions = _stored_versions(definition)
        if not old_versions:
            return Migration(self._name, version)
        resource = _served_resource(definition, version)
        if resource is None:
            self._fail("none of its versions is served, so its objects cannot be listed")
        yield SleepUntil(self._client.now() + self._settle)
        try:
            yield from self._rewrite_all(resource)
        except (ApiError, TransportError, RemoteProtocolError) as error:
            self._fail(f"a page of them could not be read: {error}", error)
        if self._refused:
            ref, refusal = self._refused[0]
            self._fail(f"{len(self._refused)} were refused, such as {ref}: {refusal}", refusal)
        yield from self._remove_old_versions(definition, version)
        migration = Migration(self._name, version, self._rewritten, old_versions)
        _log.info("%s", migration)
        return migration

    def _read_definition(self) -> Effects[Dynamic]:
        return (yield from call(self._client, self._definitions.get(self._name))).value

    def _rewrite_all(self, resource: Resource) -> Effects[None]:
        namespace = ALL if resource.namespaced else ""
        api = self._client.requests(Metadata, namespace=namespace, resource=resource)
        paging = Paging(self._client, api, limit=_PAGE_SIZE, on_expired="go on", selection=Selection())
        while (page := (yield from paging.next())) is not None:
            if not self._list_version:
                self._list_version = page.version
                _log.info("%s: objects newer than %s are stored in the new version", self._name, page.version)
            if page.malformed:
                # It could be stored in any version, and would be lost with that version.
                self._fail(f"an object cannot be read: {page.malformed[0]}")
            for obj in page.items:
                if self._is_newer_than_start(obj.metadata.resource_version):
                    continue
                yield from self._rewrite(resource, obj)
                if len(self._refused) >= _MAX_REFUSED:
                    return

    def _is_newer_than_start(self, version: str) -> bool:
        return bool(self._since) and comparable(version) and is_newer(version, self._since)

    def _rewrite(self, resource: Resource, obj: KubeObject) -> Effects[None]:
        namespace = obj.metadata.namespace if resource.namespaced else ""
        api = self._client.requests(Metadata, namespace=namespace, resource=resource)
        for attempt in range(1, _MAX_ATTEMPTS + 1):
            yield SleepUntil(self._next_write_at)
            self._next_write_at = max(self._next_write_at, self._client.now()) + self._interval
            try:
                yield from call(self._client, api.merge_patch(obj.metadata.name, {}))
            except NotFound:
                return  # it was deleted meanwhile
            except ApiError as error:
                if not isinstance(error, Conflict) or attempt == _MAX_ATTEMPTS:
                    ref: ObjectRef[Any] = ObjectRef(
                        resource.group, resource.kind, namespace, obj.metadata.name
                    )
                    self._refused.append((ref, error))
                    return
            else:
                self._rewritten += 1
                return

    def _remove_old_versions(self, definition: Dynamic, version: str) -> Effects[None]:
        """Leave only this version in the status. Fail if the definition has changed meanwhile."""
        while True:
            current = yield from self._read_definition()
            if _uid_and_generation(current) != _uid_and_generation(definition):
                # Another version may have been the storage version for a time, and objects are stored in it.
                self._fail("it was changed while its objects were rewritten: migrate once more")
            patch: dict[str, Any] = {
                "metadata": {"resourceVersion": current.metadata.resource_version},
                "status": {"storedVersions": [version]},
            }
            status = self._definitions.subresource("status")
            try:
                yield from call(self._client, status.merge_patch(self._name, patch))
            except Conflict:
                continue  # another client has written a condition
            return

    def _fail(self, problem: str, cause: Exception | None = None) -> NoReturn:
        raise MigrationError(
            f"the objects of {self._name} were not migrated: {problem}",
            refused=tuple(self._refused),
            since=self._list_version,
        ) from cause


def _uid_and_generation(definition: Dynamic) -> tuple[str, int | None]:
    """Return two fields that differ after every change of the spec and after a new creation."""
    return definition.metadata.uid, definition.metadata.generation


def _stored_versions(definition: Dynamic) -> tuple[str, tuple[str, ...]]:
    """Return the storage version, and the other versions in which objects may be stored."""
    storage_version = next(
        version["name"] for version in definition["spec"]["versions"] if version["storage"]
    )
    status: dict[str, Any] = definition.get("status") or {}
    stored_versions: list[str] = status.get("storedVersions") or []
    return storage_version, tuple(version for version in stored_versions if version != storage_version)


def _served_resource(definition: Dynamic, version: str) -> Resource | None:
    """Return the resource in this version, or in another served version; None if no version is served."""
    spec = definition["spec"]
    served_versions = [version["name"] for version in spec["versions"] if version["served"]]
    if not served_versions:
        return None
    names = spec["names"]
    return Resource(
        spec["group"], version if version in served_versions else served_versions[0],
        names["kind"], names["plural"],
        namespaced=spec["scope"] == "Namespaced",
    )  # fmt: skip
