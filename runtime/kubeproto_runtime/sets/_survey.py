"""`plan`: plans the changes of a set from reads and dry runs, without a write."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

from kubeproto import (
    ApiError,
    Dynamic,
    InvalidRequest,
    KubeprotoError,
    ObjectRef,
    Resource,
    decode,
    encode,
    parse_manifest,
)
from kubeproto.objects import GroupVersionKind

from .._documents import parse_document, to_builtins
from ..calls._core import call
from ..calls._discovery import KindNotServed, discover
from ..calls._object_reads import find_object
from ..writing._applying import to_dynamic
from ..writing._ranks import NAMESPACE, defined_kinds, group_kind, rank
from ._apply_set import ApplySet, ApplySetError
from ._diffs import differ
from ._manifest_files import ManifestFiles
from ._members import list_members
from ._parents import find_parent
from ._plan import Plan, PlannedRefusal
from ._plan_decisions import (
    DryRunFailure,
    DryRunResult,
    DryRunSuccess,
    Listing,
    NoDryRun,
    Observation,
    as_json,
    decide_plan,
    refuses_dry_runs,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kubeproto import Api, Discovery, KubeObject

    from ..calls._core import ClientCore
    from ..calls._effects import Effects
    from ..writing._applying import Manifests
    from ._apply_set import Parent


class PlanOptions(TypedDict, total=False):
    """The options of `plan`.

    `field_manager` owns the fields; its default is the name of the tool. `force` takes over the fields of
    other managers. `namespace` is the namespace of objects without one.
    """

    field_manager: str
    force: bool
    namespace: str


def plan(
    client: ClientCore,
    manifests: Manifests | ManifestFiles,
    applyset: ApplySet | str | None,
    options: PlanOptions,
) -> Effects[Plan]:
    """Return the plan of applying a set; without an ApplySet, the plan of independent objects."""
    parent_set = ApplySet(applyset) if isinstance(applyset, str) else applyset
    objects, unreadable = _read(manifests)
    return (yield from _Survey(client, objects, unreadable, parent_set, options).run())


def _read(manifests: Manifests | ManifestFiles) -> tuple[list[Dynamic], tuple[str, ...]]:
    if isinstance(manifests, ManifestFiles):
        return list(manifests.objects), manifests.failures
    listed: Iterable[KubeObject]
    listed = parse_manifest(manifests) if isinstance(manifests, str | bytes) else manifests
    return [to_dynamic(obj) for obj in listed], ()


class _Survey:
    """Collects the observations from which a plan is decided."""

    def __init__(
        self,
        client: ClientCore,
        objects: list[Dynamic],
        unreadable: tuple[str, ...],
        applyset: ApplySet | None,
        options: PlanOptions,
    ) -> None:
        self.client = client
        self.objects = sorted(objects, key=lambda obj: rank(group_kind(obj)))
        self.unreadable = unreadable
        self.applyset = applyset
        self.namespace = options.get("namespace", "") or client.namespace
        self.force = options.get("force", False)
        tool = applyset.tool if applyset is not None else "kubeproto"
        self.manager = options.get("field_manager", "") or tool
        self.defined_kinds = defined_kinds(objects)
        self.members: dict[tuple[GroupVersionKind, str, str], dict[str, Any]] = {}
        self.new_namespaces: set[str] = set()  # namespaces that the set creates
        # The definitions, by id, of kinds of the set that are not served yet.
        self.awaited: set[int] = set()

    def run(self) -> Effects[Plan]:
        self.served: Discovery = yield from discover(self.client)
        self.awaited = {
            id(self.defined_kinds[gvk])
            for gvk in map(_gvk, self.objects)
            if gvk in self.defined_kinds and self.served.get(gvk) is None
        }
        parent = None
        try:
            if self.applyset is not None:
                parent = yield from find_parent(self.client, self.applyset, self.served)
        except (ApplySetError, KindNotServed, ApiError) as error:
            return self._refused(error)
        listings: list[Listing] = []
        if parent is not None:
            listings = yield from list_members(self.client, parent, self.served)
        self._index_members(listings)
        observations: list[Observation] = []
        refs: set[ObjectRef[Any]] = set()
        for obj in self.objects:
            resource, ref = self._identify(obj)
            if ref in refs:
                twice = InvalidRequest("it is in the set twice: remove one of the two manifests")
                observations.append(Observation(ref, obj, None, DryRunFailure(twice)))
            else:
                refs.add(ref)
                observations.append((yield from self._observe(obj, ref, resource, parent)))
        return decide_plan(
            observations,
            listings,
            membership=None if parent is None else parent.membership,
            parent=parent,
            unreadable=self.unreadable,
            field_manager=self.manager,
            force=self.force,
            namespace=self.namespace,
        )

    def _refused(self, error: KubeprotoError) -> Plan:
        assert self.applyset is not None
        type_name, name = self.applyset.type_and_name
        ref: ObjectRef[Any] = ObjectRef("", type_name, self.applyset.namespace or self.client.namespace, name)
        return Plan(
            refusals=(PlannedRefusal(ref, str(error), final=True),),
            withheld_because="the parent of the set cannot be used",
            field_manager=self.manager,
        )

    def _index_members(self, listings: list[Listing]) -> None:
        for listing in listings:
            for member in listing.members:
                metadata = member["metadata"]
                key = listing.resource.gvk, metadata.get("namespace", ""), metadata["name"]
                self.members[key] = member

    # The documents

    def _identify(self, obj: Dynamic) -> tuple[Resource | None, ObjectRef[Any]]:
        """Return the resource of the kind, if the server serves it yet, and the reference of the object."""
        gvk = _gvk(obj)
        resource = self.served.get(gvk)
        if resource is not None:
            namespaced = resource.namespaced
        elif gvk in self.defined_kinds:
            spec: dict[str, Any] = self.defined_kinds[gvk].get("spec") or {}
            namespaced = spec.get("scope") == "Namespaced"
        else:
            namespaced = bool(obj.metadata.namespace)
        namespace = (obj.metadata.namespace or self.namespace) if namespaced else ""
        return resource, ObjectRef(gvk.group, gvk.kind, namespace, obj.metadata.name)

    def _observe(
        self, obj: Dynamic, ref: ObjectRef[Any], resource: Resource | None, parent: Parent | None
    ) -> Effects[Observation]:
        awaited = id(obj) in self.awaited
        if (error := self._find_obstacle(obj, ref, resource, parent)) is not None:
            return Observation(ref, obj, None, DryRunFailure(error))
        document = as_json(obj)  # a copy, because the object belongs to the caller
        if parent is not None:
            document = parent.membership.add_to(document)
        if ref.namespace:
            document["metadata"]["namespace"] = ref.namespace
        obj = decode(encode(document), Dynamic)
        live, outcome = yield from self._dry_run(obj, ref, resource)
        unchanged = (
            live is not None and isinstance(outcome, DryRunSuccess) and not differ(live, outcome.document)
        )
        if awaited and unchanged:
            # An earlier run applied the definition and was interrupted. It is applied again, because
            # `perform` then waits until the kind is served.
            outcome = NoDryRun("its kind is not served yet")
        return Observation(ref, obj, live, outcome)

    def _find_obstacle(
        self, obj: Dynamic, ref: ObjectRef[Any], resource: Resource | None, parent: Parent | None
    ) -> KubeprotoError | None:
        """Return the reason why an object cannot be applied, as far as the server is not needed for it."""
        gvk = _gvk(obj)
        if not ref.name:
            return InvalidRequest("it has no name, but a member of a set needs a name: set metadata.name")
        if resource is None and gvk not in self.defined_kinds:
            return KindNotServed(Resource(gvk.group, gvk.version, gvk.kind, ""))
        if parent is None:
            return None
        if ref == parent.ref:
            return InvalidRequest(
                "it is the parent of the set, which cannot be a member: remove it from the manifests"
            )
        obstacle = parent.membership.find_obstacle(as_json(obj))
        return InvalidRequest(obstacle) if obstacle else None

    def _dry_run(
        self, obj: Dynamic, ref: ObjectRef[Any], resource: Resource | None
    ) -> Effects[tuple[dict[str, Any] | None, DryRunResult]]:
        if resource is None:
            return None, NoDryRun("the set creates its definition")
        if ref.namespace in self.new_namespaces:
            return None, NoDryRun("the set creates its namespace")
        api = self.client.requests(Dynamic, namespace=ref.namespace, resource=resource)
        try:
            live = yield from self._read_live(api, ref, resource)
            if live is None and (ref.group, ref.kind) == NAMESPACE:
                self.new_namespaces.add(ref.name)
            return live, (yield from dry_run(self.client, api, obj, self.manager, force=self.force))
        except KubeprotoError as error:
            return None, DryRunFailure(error)

    def _read_live(
        self, api: Api[Dynamic], ref: ObjectRef[Any], resource: Resource
    ) -> Effects[dict[str, Any] | None]:
        member = self.members.get((resource.gvk, ref.namespace, ref.name))
        if member is not None:
            return member
        existing = yield from find_object(self.client, api, ref.name)
        return None if existing is None else parse_document(existing[1])


def dry_run(
    client: ClientCore, api: Api[Dynamic], obj: Dynamic, field_manager: str, *, force: bool
) -> Effects[DryRunResult]:
    """Return the result of applying an object as a dry run."""
    request = api.apply(obj, field_manager=field_manager, force=force, dry_run=True)
    try:
        reply = yield from call(client, request)
    except ApiError as error:
        if refuses_dry_runs(error):
            return NoDryRun("an admission webhook with side effects refuses dry runs")
        return DryRunFailure(error)
    return DryRunSuccess(to_builtins(reply.value))


def _gvk(obj: Dynamic) -> GroupVersionKind:
    return GroupVersionKind.of(obj.api_version, obj.kind)
