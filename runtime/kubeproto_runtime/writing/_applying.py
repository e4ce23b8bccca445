"""`apply_manifests`: a whole file is applied in an order in which each object finds what it needs.

The order is that of `_ranks`, and within a rank that of the file. It waits for definitions of custom
resources if the file has objects of theirs. Nothing is deleted.
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
from ._ranks import NAMESPACE, group_kind, kinds_defined, rank

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kubeproto import Discovery

    from ..calls._base_client import BaseClient
    from ..calls._core import ClientCore
    from ..calls._effects import Effects

Manifests: TypeAlias = "str | bytes | Iterable[KubeObject]"

_SERVED_WITHIN: Final = 30.0  # seconds from the definition to its kind; usually it takes one or two
_AGAIN: Final = 0.5


class ApplyManifestsOptions(TypedDict, total=False):
    """How a file is applied: `field_manager` has to be given.

    `force` takes over fields of other managers. `namespace` is for objects without one. `dry_run` does all
    but keep the result; what then lacks a namespace or a kind of the same file is not sent. `timeout` bounds
    the wait for definitions.
    """

    field_manager: str
    force: bool
    namespace: str
    dry_run: bool
    timeout: float


class ApplyResult(Struct, frozen=True):
    """The outcome for an object: as the server has it now, or as it was given if it was not sent."""

    obj: Dynamic
    outcome: Literal["created", "configured", "not sent"]

    def __repr__(self) -> str:
        return f"<{self}>"  # it may be a Secret

    def __str__(self) -> str:
        return f"{ObjectRef.of(self.obj)} {self.outcome}"


class ApplyError(KubeprotoError):
    """An object was refused. `obj` is that object, `applied` the earlier ones; the cause says why."""

    def __init__(self, obj: KubeObject, place: int, why: object, applied: list[ApplyResult]) -> None:
        super().__init__(f"object {place} of the manifests, {ObjectRef.of(obj)}: {why}")
        self.obj = obj
        self.place = place
        self.applied = applied


async def apply_manifests(
    client: BaseClient, manifests: Manifests, **options: Unpack[ApplyManifestsOptions]
) -> list[ApplyResult]:
    """Apply every object of a file, or of several objects, in order of rank."""
    return await client.run(apply(client, manifests, options))


def apply(
    client: ClientCore, manifests: Manifests, options: ApplyManifestsOptions
) -> Effects[list[ApplyResult]]:
    """Apply every object of a file, or of several objects, in order of rank."""
    given = parse_manifest(manifests) if isinstance(manifests, str | bytes) else manifests
    return (yield from _Application(client, [dynamic(obj) for obj in given], options).run())


class _Application:
    """One file under way."""

    def __init__(self, client: ClientCore, objects: list[Dynamic], options: ApplyManifestsOptions) -> None:
        self.manager = options.get("field_manager", "")
        if not self.manager:
            raise InvalidRequest("apply_manifests needs a field_manager: the name by which fields are owned")
        self.client = client
        self.places = {id(obj): place for place, obj in enumerate(objects, start=1)}
        self.objects = sorted(objects, key=lambda obj: rank(group_kind(obj)))
        self.options = options
        self.dry = options.get("dry_run", False)
        self.defined = kinds_defined(objects)
        self.namespaces = {obj.metadata.name for obj in objects if group_kind(obj) == NAMESPACE}
        self.applied: list[ApplyResult] = []
        self.found: Discovery | None = None

    def run(self) -> Effects[list[ApplyResult]]:
        for obj in self.objects:
            try:
                self.applied.append((yield from self._apply(obj)))
            except (KubeprotoError, ValueError) as error:
                raise ApplyError(obj, self.places[id(obj)], error, self.applied) from error
        return self.applied

    def _apply(self, obj: Dynamic) -> Effects[ApplyResult]:
        resource = yield from self._resource(obj)
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
            dry_run=self.dry,
        )
        try:
            reply = yield from call(self.client, request)
        except NotFound:
            if self.dry and resource.namespaced and str(api.namespace) in self.namespaces:
                return ApplyResult(obj, "not sent")
            raise
        return ApplyResult(reply.value, "created" if reply.status == 201 else "configured")

    def _resource(self, obj: Dynamic) -> Effects[Resource | None]:
        """Return how the server names the kind; None for one that this file defines."""
        gvk = GroupVersionKind.of(obj.api_version, obj.kind)
        if self.found is None:
            self.found = yield from discover(self.client)
        definition = self.defined.get(gvk)
        if definition is None or self.dry:
            found = self.found.get(gvk)
            if found is None and definition is None:
                raise KindNotServed(Resource(gvk.group, gvk.version, gvk.kind, ""))
            return found
        return (yield from self._served(gvk, definition))

    def _served(self, gvk: GroupVersionKind, definition: Dynamic) -> Effects[Resource]:
        """Return the kind of a definition in this file, once the server serves it."""
        end = self.client.now() + self.options.get("timeout", _SERVED_WITHIN)
        resource = yield from self._resource(definition)
        crds = self.client.requests(Dynamic, resource=resource)
        name, seconds = definition.metadata.name, end - self.client.now()
        waiting = Waiting(self.client, crds, name, established(), seconds)
        yield from waiting.observe()
        waiting.result()
        # Established is set a moment before the kind is served, and discovery shows it after that.
        while (found := (yield from discover(self.client)).get(gvk)) is None:
            if self.client.now() >= end:
                raise KindNotServed(Resource(gvk.group, gvk.version, gvk.kind, ""))
            yield SleepUntil(self.client.now() + _AGAIN)
        del self.defined[gvk]
        self.found = self.client.discovery
        return found


def dynamic(obj: KubeObject) -> Dynamic:
    """Return an object of any class as one without a class."""
    return obj if isinstance(obj, Dynamic) else decode(encode(obj), Dynamic)
