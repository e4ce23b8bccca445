"""`Children`: the objects that a controller keeps for each of its own, applied and pruned in a reconcile.

::

    children = Children(ConfigMap, Deployment, field_manager="librarian")

    async def reconcile(book: Book, ctx: Context[None]) -> Action:
        await children.reconcile(ctx, book, [settings(book), *deployments(book)])
        return await_change()

    Controller(client, Book).owns(ConfigMap).owns(Deployment).run(reconcile)

A child has a reference to its owner as its controller, and a label. A child is only deleted if it has both,
so another controller's children and objects that were labelled by hand are never deleted.

Nothing is sent while nothing changes: what the caches show is compared with what the server returned when the
same child was last applied. Otherwise there is a dry run first, and a write only if it shows a difference.
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
from ..calls._reading import find_object
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
_MOST_REMEMBERED: Final = 10_000  # children; the least recently seen ones are compared by the server


class Children:
    """The children of one controller's objects: of these kinds, with fields that this manager owns.

    With `force`, as controllers should, fields of other managers are taken over. A kind that the controller
    `owns` is read from its cache; any other is read from the server in each run.
    """

    def __init__(self, *kinds: type[KubeObject], field_manager: str, force: bool = True) -> None:
        if not field_manager:
            raise InvalidRequest("Children need a field_manager: the name by which their fields are owned")
        self.kinds = kinds
        self.field_manager = field_manager
        self.force = force
        self._remembered: OrderedDict[tuple[str, ObjectRef[Any]], tuple[str, Fingerprint]] = OrderedDict()

    async def reconcile(self, ctx: Context[Any], owner: KubeObject, objects: Iterable[KubeObject]) -> Plan:
        """Let the owner have exactly these children, and return what was done for it.

        `PlanRefused` if something cannot be applied; the rest is applied then, and nothing is deleted. An
        object without a namespace belongs to that of the owner, and an owner in a namespace has no children
        outside of it, since the server would delete them.
        """
        run = _Run(self, ctx, owner, [to_dynamic(obj) for obj in objects])
        plan = await ctx.client.run(run.plan())
        done = await ctx.client.run(perform(ctx.client, plan, {"partial": True}))
        sent = {one.ref: one.document for one in plan.writes}
        for applied in done.applied:
            ref: ObjectRef[Any] = ObjectRef.of(applied.obj)
            if ref in sent:
                self.remember(owner, ref, sent[ref], fingerprint(as_json(applied.obj)))
        if not plan.complete:
            raise PlanRefused(plan)
        return plan

    def membership(self, owner: KubeObject) -> Membership:
        """Return how children of an owner are marked."""
        reference = to_builtins(owner_reference(owner))
        value = sha256(f"{owner.metadata.uid}.{self.field_manager}".encode()).hexdigest()[:32]
        return Membership(LABEL, value, reference)

    # What the server returned for a child

    def remember(self, owner: KubeObject, ref: ObjectRef[Any], sent: Dynamic, seen: Fingerprint) -> None:
        """Note what an object looks like when it is as it was sent."""
        key = owner.metadata.uid, ref
        self._remembered[key] = _text(sent), seen
        self._remembered.move_to_end(key)
        while len(self._remembered) > _MOST_REMEMBERED:
            self._remembered.popitem(last=False)

    def is_as_sent(self, owner: KubeObject, ref: ObjectRef[Any], sent: Dynamic, live: dict[str, Any]) -> bool:
        """Return whether an object looks as it did when the same was applied."""
        text, seen = self._remembered.get((owner.metadata.uid, ref), ("", None))
        return text == _text(sent) and seen is not None and seen.matches(fingerprint(live))


class _Run:
    """One reconcile of the children of one owner."""

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
            self.caches[pair] = _cache(ctx, kind)

    def plan(self) -> Effects[Plan]:
        listings: list[Listing] = []
        for kind, resource in self.resources.items():
            listings.append((yield from self._members(kind, resource)))
        observations: list[Observation] = []
        refs: set[ObjectRef[Any]] = set()
        for obj in self.objects:
            ref = self._ref(obj)
            if why := "it is wanted twice" if ref in refs else self._why_not(ref):
                observations.append(Observation(ref, obj, None, DryRunFailure(InvalidRequest(why))))
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

    def _members(self, kind: tuple[str, str], resource: Resource) -> Effects[Listing]:
        place = self.owner.metadata.namespace
        cache = self.caches[kind]
        if cache is None:
            namespace: Any = (place or ALL) if resource.namespaced else ""
            selector = self.membership.selector
            return (yield from list_kind(self.client, kind, resource, namespace, selector))
        uid = self.owner.metadata.uid.encode()
        members: list[dict[str, Any]] = []
        for key in cache.keys():  # noqa: SIM118 # a cache, not a dict
            entry = cache.entry(key) if not place or key.startswith(f"{place}/") else None
            # The reference has the owner's uid: an object that does not contain it need not be read.
            if entry is not None and uid in entry.raw:
                members.append(_whole(entry.raw, resource))
        return Listing(kind, place, resource, tuple(members))

    def _ref(self, obj: Dynamic) -> ObjectRef[Any]:
        kind = group_kind(obj)
        resource = self.resources.get(kind)
        namespaced = resource is not None and resource.namespaced
        place = (obj.metadata.namespace or self.owner.metadata.namespace) if namespaced else ""
        return ObjectRef(*kind, place, obj.metadata.name)

    def _why_not(self, ref: ObjectRef[Any]) -> str:
        """Return why an object cannot be a child; empty if it can."""
        resource, place = self.resources.get((ref.group, ref.kind)), self.owner.metadata.namespace
        if resource is None:
            return f"{ref.kind} is not among the kinds of these Children: add it to them"
        if resource.namespaced and not ref.namespace:
            return "it has no namespace, and neither has its owner: name one"
        if place and ref.namespace != place:
            # The garbage collector deletes it, because it looks for the owner where the child is.
            return f"its owner is in namespace {place}, and owns nothing outside of it"
        return ""

    def _observe(self, obj: Dynamic, ref: ObjectRef[Any]) -> Effects[Observation]:
        resource = self.resources[ref.group, ref.kind]
        document = self.membership.mark(as_json(obj))
        if ref.namespace:
            document["metadata"]["namespace"] = ref.namespace
        sent = decode(encode(document), Dynamic)
        try:
            live = yield from self._live(ref, resource)
            outcome = yield from self._compare(sent, ref, resource, live)
        except KubeprotoError as error:
            return Observation(ref, sent, None, DryRunFailure(error))
        return Observation(ref, sent, live, outcome)

    def _compare(
        self, sent: Dynamic, ref: ObjectRef[Any], resource: Resource, live: dict[str, Any] | None
    ) -> Effects[DryRunResult]:
        children = self.children
        if live is not None and children.is_as_sent(self.owner, ref, sent, live):
            return DryRunSuccess(live)
        api = self.client.requests(Dynamic, namespace=ref.namespace, resource=resource)
        outcome = yield from dry_run(self.client, api, sent, children.field_manager, force=children.force)
        if live is not None and isinstance(outcome, DryRunSuccess) and not differ(live, outcome.document):
            children.remember(self.owner, ref, sent, fingerprint(live))
        return outcome

    def _live(self, ref: ObjectRef[Any], resource: Resource) -> Effects[dict[str, Any] | None]:
        cache = self.caches[ref.group, ref.kind]
        if cache is not None:
            entry = cache.entry(f"{ref.namespace}/{ref.name}" if ref.namespace else ref.name)
            return None if entry is None else _whole(entry.raw, resource)
        api = self.client.requests(Dynamic, namespace=ref.namespace, resource=resource)
        found = yield from find_object(self.client, api, ref.name)
        return None if found is None else parse_document(found[1])


def _cache(ctx: Context[Any], kind: type[KubeObject]) -> Cache[Any] | None:
    try:
        cache = ctx.cache(kind)
    except LocalProtocolError:
        return None  # the controller does not follow it
    return cache


def _whole(text: bytes, resource: Resource) -> dict[str, Any]:
    # The items of a list do not name their kind.
    return parse_document(text) | {"apiVersion": resource.api_version, "kind": resource.kind}


def _text(document: Dynamic) -> str:
    return sha256(encode(document)).hexdigest()
