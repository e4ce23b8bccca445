"""`Children`: applies and prunes the objects that a controller creates for each of its objects.

::

    children = Children(ConfigMap, Deployment, field_manager="librarian")

    async def reconcile(book: Book, ctx: Context[None]) -> Action:
        await children.reconcile(ctx, book, [settings(book), *deployments(book)])
        return await_change()

    Controller(client, Book).owns(ConfigMap).owns(Deployment).run(reconcile)

A child has a controller reference to its owner, and a label. Only objects with both are deleted, so the
children of other controllers, and objects that a person has labelled, are never deleted.

No request is sent while nothing changes: the cached child is compared with the object that the server
returned when the same child was last applied. If they differ, a dry run follows, and a write only if the dry
run returns a different object.
"""

from __future__ import annotations

from collections import OrderedDict
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from kubeproto import (
    ALL,
    Dynamic,
    InvalidRequest,
    KubeObject,
    KubeprotoError,
    LocalProtocolError,
    ObjectRef,
    decode,
    encode,
)
from kubeproto.control import owner_reference

from .._documents import parse_document, to_builtins
from ..calls._object_reads import find_object
from ..sets._diffs import Fingerprint, differ, fingerprint
from ..sets._members import list_kind
from ..sets._membership import Membership
from ..sets._plan import PlanRefused
from ..sets._plan_decisions import (
    DryRunFailure,
    DryRunResult,
    DryRunSuccess,
    Listing,
    Observation,
    as_json,
    decide_plan,
)
from ..sets._plan_execution import perform
from ..sets._survey import dry_run
from ..writing._applying import to_dynamic
from ..writing._ranks import group_kind, rank

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kubeproto import Resource

    from ..caches._caches import Cache
    from ..calls._effects import Effects
    from ..reconciling._context import Context
    from ..sets._plan import Plan

LABEL: Final = "kubeproto/child-of"
# Beyond this many, a server dry run compares children. The least recently used are forgotten first.
_MAX_REMEMBERED: Final = 10_000


class Children:
    """Applies the children of a controller's objects. They have these kinds, and fields of this manager.

    With `force`, the default for controllers, fields of other managers are taken over. Kinds that the
    controller `owns` are read from its caches, and all other kinds from the server in each reconcile.
    """

    def __init__(self, *kinds: type[KubeObject], field_manager: str, force: bool = True) -> None:
        if not field_manager:
            raise InvalidRequest("Children need a field_manager, which owns their fields: pass a name")
        self.kinds = kinds
        self.field_manager = field_manager
        self.force = force
        self._remembered: OrderedDict[tuple[str, ObjectRef[Any]], tuple[str, Fingerprint]] = OrderedDict()

    async def reconcile(self, ctx: Context[Any], owner: KubeObject, objects: Iterable[KubeObject]) -> Plan:
        """Create, change and delete children so that the owner has exactly these; return the performed plan.

        Raise `PlanRefused` if an object cannot be applied. Then the other objects are applied, and nothing is
        deleted. An object without a namespace belongs to the namespace of the owner. An owner in a namespace
        cannot have children outside of it, because the garbage collector would delete them.
        """
        planner = _ChildrenPlanner(self, ctx, owner, [to_dynamic(obj) for obj in objects])
        plan = await ctx.client.run(planner.plan())
        result = await ctx.client.run(perform(ctx.client, plan, {"partial": True}))
        documents = {write.ref: write.document for write in plan.writes}
        for applied in result.applied:
            ref: ObjectRef[Any] = ObjectRef.of(applied.obj)
            if ref in documents:
                self.remember(owner, ref, documents[ref], fingerprint(as_json(applied.obj)))
        if not plan.complete:
            raise PlanRefused(plan)
        return plan

    def membership(self, owner: KubeObject) -> Membership:
        """Return the label and the owner reference of an owner's children."""
        reference = to_builtins(owner_reference(owner))
        value = sha256(f"{owner.metadata.uid}.{self.field_manager}".encode()).hexdigest()[:32]
        return Membership(LABEL, value, reference)

    # The objects that the server returned

    def remember(
        self, owner: KubeObject, ref: ObjectRef[Any], document: Dynamic, applied: Fingerprint
    ) -> None:
        """Remember the fingerprint of the object after this document was applied."""
        key = owner.metadata.uid, ref
        self._remembered[key] = _digest(document), applied
        self._remembered.move_to_end(key)
        while len(self._remembered) > _MAX_REMEMBERED:
            self._remembered.popitem(last=False)

    def is_unchanged(
        self, owner: KubeObject, ref: ObjectRef[Any], document: Dynamic, live: dict[str, Any]
    ) -> bool:
        """Return whether the object is unchanged since this document was last applied."""
        digest, applied = self._remembered.get((owner.metadata.uid, ref), ("", None))
        return digest == _digest(document) and applied is not None and applied.matches(fingerprint(live))


class _ChildrenPlanner:
    """Plans a reconcile of the children of an owner."""

    def __init__(
        self, children: Children, ctx: Context[Any], owner: KubeObject, objects: list[Dynamic]
    ) -> None:
        self.children = children
        self.ctx = ctx
        self.client = ctx.client
        self.owner = owner
        self.objects = sorted(objects, key=lambda obj: rank(group_kind(obj)))
        self.membership = children.membership(owner)
        self.resources: dict[tuple[str, str], Resource] = {}
        self.caches: dict[tuple[str, str], Cache[Any] | None] = {}
        for kind in children.kinds:
            resource = ctx.client.requests(kind, namespace=ALL).resource
            pair = resource.group, resource.kind
            self.resources[pair] = resource
            self.caches[pair] = _find_cache(ctx, kind)

    def plan(self) -> Effects[Plan]:
        listings: list[Listing] = []
        for kind, resource in self.resources.items():
            listings.append((yield from self._list_members(kind, resource)))
        observations: list[Observation] = []
        refs: set[ObjectRef[Any]] = set()
        for obj in self.objects:
            ref = self._ref(obj)
            obstacle = "it is in the objects twice" if ref in refs else self._find_obstacle(ref)
            if obstacle:
                observations.append(Observation(ref, obj, None, DryRunFailure(InvalidRequest(obstacle))))
            else:
                observations.append((yield from self._observe(obj, ref)))
            refs.add(ref)
        return decide_plan(
            observations,
            listings,
            membership=self.membership,
            field_manager=self.children.field_manager,
            force=self.children.force,
            namespace=self.owner.metadata.namespace,
        )

    def _list_members(self, kind: tuple[str, str], resource: Resource) -> Effects[Listing]:
        owner_namespace = self.owner.metadata.namespace
        cache = self.caches[kind]
        if cache is None:
            namespace: Any = (owner_namespace or ALL) if resource.namespaced else ""
            selector = self.membership.selector
            return (yield from list_kind(self.client, kind, resource, namespace, selector))
        uid = self.owner.metadata.uid.encode()
        members: list[dict[str, Any]] = []
        for key in cache.keys():  # noqa: SIM118 # a cache, not a dict
            if owner_namespace and not key.startswith(f"{owner_namespace}/"):
                continue
            entry = cache.entry(key)
            # Only objects with the uid of the owner are parsed: the owner reference of a child contains it.
            if entry is not None and uid in entry.raw:
                members.append(_parse_cached(entry.raw, resource))
        return Listing(kind, owner_namespace, resource, tuple(members))

    def _ref(self, obj: Dynamic) -> ObjectRef[Any]:
        kind = group_kind(obj)
        resource = self.resources.get(kind)
        namespaced = resource is not None and resource.namespaced
        namespace = (obj.metadata.namespace or self.owner.metadata.namespace) if namespaced else ""
        return ObjectRef(*kind, namespace, obj.metadata.name)

    def _find_obstacle(self, ref: ObjectRef[Any]) -> str:
        """Return the reason why an object cannot be a child; empty if it can."""
        resource, owner_namespace = self.resources.get((ref.group, ref.kind)), self.owner.metadata.namespace
        if resource is None:
            return f"{ref.kind} is not a kind of these Children: add the kind to them"
        if resource.namespaced and not ref.namespace:
            return "neither it nor its owner has a namespace: set metadata.namespace"
        if owner_namespace and ref.namespace != owner_namespace:
            # The garbage collector looks for the owner in the namespace of the child, and would delete the
            # child.
            return f"its owner is in namespace {owner_namespace}, and cannot own objects outside of it"
        return ""

    def _observe(self, obj: Dynamic, ref: ObjectRef[Any]) -> Effects[Observation]:
        resource = self.resources[ref.group, ref.kind]
        content = self.membership.add_to(as_json(obj))
        if ref.namespace:
            content["metadata"]["namespace"] = ref.namespace
        document = decode(encode(content), Dynamic)
        try:
            live = yield from self._read_live(ref, resource)
            outcome = yield from self._compare(document, ref, resource, live)
        except KubeprotoError as error:
            return Observation(ref, document, None, DryRunFailure(error))
        return Observation(ref, document, live, outcome)

    def _compare(
        self, document: Dynamic, ref: ObjectRef[Any], resource: Resource, live: dict[str, Any] | None
    ) -> Effects[DryRunResult]:
        children = self.children
        if live is not None and children.is_unchanged(self.owner, ref, document, live):
            return DryRunSuccess(live)
        api = self.client.requests(Dynamic, namespace=ref.namespace, resource=resource)
        manager = children.field_manager
        outcome = yield from dry_run(self.client, api, document, manager, force=children.force)
        if live is not None and isinstance(outcome, DryRunSuccess) and not differ(live, outcome.document):
            children.remember(self.owner, ref, document, fingerprint(live))
        return outcome

    def _read_live(self, ref: ObjectRef[Any], resource: Resource) -> Effects[dict[str, Any] | None]:
        cache = self.caches[ref.group, ref.kind]
        if cache is not None:
            entry = cache.entry(f"{ref.namespace}/{ref.name}" if ref.namespace else ref.name)
            return None if entry is None else _parse_cached(entry.raw, resource)
        api = self.client.requests(Dynamic, namespace=ref.namespace, resource=resource)
        object_and_text = yield from find_object(self.client, api, ref.name)
        return None if object_and_text is None else parse_document(object_and_text[1])


def _find_cache(ctx: Context[Any], kind: type[KubeObject]) -> Cache[Any] | None:
    try:
        cache = ctx.cache(kind)
    except LocalProtocolError:
        return None  # the controller does not follow this kind
    return cache


def _parse_cached(text: bytes, resource: Resource) -> dict[str, Any]:
    # The items of a list have no apiVersion and kind.
    return parse_document(text) | {"apiVersion": resource.api_version, "kind": resource.kind}


def _digest(document: Dynamic) -> str:
    return sha256(encode(document)).hexdigest()
