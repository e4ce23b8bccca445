"""`apply_manifests`: applies the objects of a file in the order of their dependencies.

The order is that of `_ranks`, and within a rank that of the file. After a CustomResourceDefinition it waits
until the server serves the kind, if the file has objects of the kind. Nothing is deleted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias, TypedDict, Unpack

from msgspec import Struct

from kubeproto import (
    Dynamic,
    InvalidRequest,
    KubeObject,
    KubeprotoError,
    NotFound,
    ObjectRef,
    Resource,
    decode,
    encode,
    parse_manifest,
)
from kubeproto.objects import GroupVersionKind

from ..calls._core import call
from ..calls._discovery import KindNotServed, discover
from ..calls._effects import SleepUntil
from ..conditions import established
from ..watching._waiting import Waiting
from ._ranks import NAMESPACE, defined_kinds, group_kind, rank

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kubeproto import Discovery

    from ..calls._base_client import BaseClient
    from ..calls._core import ClientCore
    from ..calls._effects import Effects

Manifests: TypeAlias = "str | bytes | Iterable[KubeObject]"

_SERVING_TIMEOUT: Final = 30.0  # seconds until the kind of a new definition is served; it usually takes two
_POLL_PERIOD: Final = 0.5


class ApplyManifestsOptions(TypedDict, total=False):
    """The options of `apply_manifests`; `field_manager` is required.

    `force` takes over fields of other managers. `namespace` is the namespace of objects that name none. With
    `dry_run` the server stores nothing; objects whose namespace or kind is created by the same file are then
    not sent. `timeout` limits the wait for each kind that the file defines, in seconds.
    """

    field_manager: str
    force: bool
    namespace: str
    dry_run: bool
    timeout: float


class ApplyResult(Struct, frozen=True):
    """The outcome for an object. `obj` is the object of the response, or of the file if it was not sent."""

    obj: Dynamic
    outcome: Literal["created", "configured", "not sent"]

    def __repr__(self) -> str:
        return f"<{self}>"  # without the contents: the object may be a Secret

    def __str__(self) -> str:
        return f"{ObjectRef.of(self.obj)} {self.outcome}"


class ApplyError(KubeprotoError):
    """An object could not be applied: `obj`, at `position` in the file, counted from 1.

    `applied` are the results of the objects before it. The cause is the error of the server.
    """

    def __init__(self, obj: KubeObject, position: int, problem: object, applied: list[ApplyResult]) -> None:
        super().__init__(f"object {position} of the manifests, {ObjectRef.of(obj)}: {problem}")
        self.obj = obj
        self.position = position
        self.applied = applied


async def apply_manifests(
    client: BaseClient, manifests: Manifests, **options: Unpack[ApplyManifestsOptions]
) -> list[ApplyResult]:
    """Apply a file, or objects, in the order of their dependencies; see `Client.apply_manifests`."""
    return await client.run(apply(client, manifests, options))


def apply(
    client: ClientCore, manifests: Manifests, options: ApplyManifestsOptions
) -> Effects[list[ApplyResult]]:
    """Apply the objects of a file or an iterable, in order of rank."""
    objects = parse_manifest(manifests) if isinstance(manifests, str | bytes) else manifests
    return (yield from _Application(client, [to_dynamic(obj) for obj in objects], options).run())


class _Application:
    """The objects of a file, some of them applied."""

    def __init__(self, client: ClientCore, objects: list[Dynamic], options: ApplyManifestsOptions) -> None:
        self.manager = options.get("field_manager", "")
        if not self.manager:
            raise InvalidRequest("apply_manifests needs a field_manager, the name of the owner of the fields")
        self.client = client
        self.positions = {id(obj): position for position, obj in enumerate(objects, start=1)}
        self.objects = sorted(objects, key=lambda obj: rank(group_kind(obj)))
        self.options = options
        self.dry_run = options.get("dry_run", False)
        self.definitions = defined_kinds(objects)  # of kinds that may not be served yet
        self.namespaces = {obj.metadata.name for obj in objects if group_kind(obj) == NAMESPACE}
        self.applied: list[ApplyResult] = []
        self.discovery: Discovery | None = None

    def run(self) -> Effects[list[ApplyResult]]:
        for obj in self.objects:
            try:
                self.applied.append((yield from self._apply(obj)))
            except (KubeprotoError, ValueError) as error:
                raise ApplyError(obj, self.positions[id(obj)], error, self.applied) from error
        return self.applied

    def _apply(self, obj: Dynamic) -> Effects[ApplyResult]:
        resource = yield from self._find_resource(obj)
        if resource is None:
            return ApplyResult(obj, "not sent")
        namespace = obj.metadata.namespace or self.options.get("namespace", "")
        api = self.client.requests(
            Dynamic, namespace=namespace if resource.namespaced else "", resource=resource
        )
        request = api.apply(
            obj,
            field_manager=self.manager,
            force=self.options.get("force", False),
            dry_run=self.dry_run,
        )
        try:
            reply = yield from call(self.client, request)
        except NotFound:
            if self.dry_run and resource.namespaced and str(api.namespace) in self.namespaces:
                return ApplyResult(obj, "not sent")
            raise
        return ApplyResult(reply.value, "created" if reply.status == 201 else "configured")

    def _find_resource(self, obj: Dynamic) -> Effects[Resource | None]:
        """Return the resource of an object; in a dry run, None if this file defines it."""
        gvk = GroupVersionKind.of(obj.api_version, obj.kind)
        if self.discovery is None:
            self.discovery = yield from discover(self.client)
        definition = self.definitions.get(gvk)
        if definition is None or self.dry_run:
            resource = self.discovery.get(gvk)
            if resource is None and definition is None:
                raise KindNotServed(Resource(gvk.group, gvk.version, gvk.kind, ""))
            return resource
        return (yield from self._wait_served(gvk, definition))

    def _wait_served(self, gvk: GroupVersionKind, definition: Dynamic) -> Effects[Resource]:
        """Wait until the server serves a kind that this file defines, and return its resource."""
        deadline = self.client.now() + self.options.get("timeout", _SERVING_TIMEOUT)
        definitions = self.client.requests(Dynamic, resource=(yield from self._find_resource(definition)))
        name, seconds = definition.metadata.name, deadline - self.client.now()
        waiting = Waiting(self.client, definitions, name, established(), seconds)
        yield from waiting.observe()
        waiting.result()
        # The condition Established is set before the kind is served, and discovery shows the kind later.
        while (resource := (yield from discover(self.client)).get(gvk)) is None:
            if self.client.now() >= deadline:
                raise KindNotServed(Resource(gvk.group, gvk.version, gvk.kind, ""))
            yield SleepUntil(self.client.now() + _POLL_PERIOD)
        del self.definitions[gvk]
        self.discovery = self.client.discovery
        return resource


def to_dynamic(obj: KubeObject) -> Dynamic:
    """Return a copy of an object of any class as a `Dynamic`; a `Dynamic` is returned unchanged."""
    return obj if isinstance(obj, Dynamic) else decode(encode(obj), Dynamic)
