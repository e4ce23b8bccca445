"""The kinds that a server serves: how they are addressed, how writes are treated, how their JSON is made.

A kind is one entry for each of its versions; the versions of a custom resource share one storage, and their
objects are kept in the version that the definition stores. The webhook of the definition converts them;
without one only the apiVersion differs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final

import msgspec

from kubeproto.crd import (
    DefinedKind,
    DefinedVersion,
    KindConversion,
    NotEvaluated,
    Violation,
    apply_defaults,
    prune,
    validate,
)
from kubeproto.kinds import ResourceFacts, SubresourceFacts, table
from kubeproto.objects import GroupVersionKind, Resource

from ..apply._merge_schemas import MergeSchema
from ..storage._storage import ResourceStorage, Storage
from ._builtin_conversion import STORED_WITH, convert
from ._converter import Converter
from ._quick import quick_check
from ._releases import NEWEST, Release
from ._selectable import BUILT_IN, META_FIELDS, SelectableField
from ._stored_form import stored_form
from ._typed import Misfit, TypedCodec, escaped

_ALL_VERBS: Final = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
# As the discovery of custom resources lists them.
_CUSTOM_VERBS: Final = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
_SCALE: Final = GroupVersionKind("autoscaling", "v1", "Scale")

# Kinds whose metadata.generation counts changes of the spec; the others keep what the client sends.
_COUNTED: Final = frozenset((
    "pods",
    "podtemplates",
    "replicationcontrollers",
    "daemonsets.apps",
    "deployments.apps",
    "replicasets.apps",
    "statefulsets.apps",
    "cronjobs.batch",
    "jobs.batch",
    "ingressclasses.networking.k8s.io",
    "ingresses.networking.k8s.io",
    "networkpolicies.networking.k8s.io",
    "poddisruptionbudgets.policy",
    "mutatingadmissionpolicies.admissionregistration.k8s.io",
    "mutatingadmissionpolicybindings.admissionregistration.k8s.io",
    "mutatingwebhookconfigurations.admissionregistration.k8s.io",
    "validatingadmissionpolicies.admissionregistration.k8s.io",
    "validatingadmissionpolicybindings.admissionregistration.k8s.io",
    "validatingwebhookconfigurations.admissionregistration.k8s.io",
    "customresourcedefinitions.apiextensions.k8s.io",
    "priorityclasses.scheduling.k8s.io",
    "endpointslices.discovery.k8s.io",
    "deviceclasses.resource.k8s.io",
    "resourceslices.resource.k8s.io",
    "flowschemas.flowcontrol.apiserver.k8s.io",
    "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io",
))  # fmt: skip
# A PUT to a missing object creates it (tried on a 1.36 server; other kinds get 404).
_MADE_BY_UPDATE: Final = frozenset((
    "leases.coordination.k8s.io", "endpoints", "events", "events.events.k8s.io", "limitranges", "services",
    "roles.rbac.authorization.k8s.io", "rolebindings.rbac.authorization.k8s.io",
    "clusterroles.rbac.authorization.k8s.io", "clusterrolebindings.rbac.authorization.k8s.io",
    "runtimeclasses.node.k8s.io", "leasecandidates.coordination.k8s.io",
))  # fmt: skip
# A PUT to one of these has to name the version that it replaces (tried on a 1.36 server).
_AT_A_VERSION: Final = frozenset((
    "leases.coordination.k8s.io", "poddisruptionbudgets.policy", "csidrivers.storage.k8s.io",
    "runtimeclasses.node.k8s.io", "customresourcedefinitions.apiextensions.k8s.io",
    "validatingwebhookconfigurations.admissionregistration.k8s.io",
    "mutatingwebhookconfigurations.admissionregistration.k8s.io",
))  # fmt: skip
# A DELETE that is done at once responds with the object instead of a Status.
_ANSWERS_WITH_OBJECT: Final = frozenset((
    "services", "serviceaccounts", "pods", "persistentvolumeclaims", "persistentvolumes", "jobs.batch",
    "replicationcontrollers",
))  # fmt: skip
_sorted_json: Final = msgspec.json.Encoder(order="sorted").encode
_OBJECT_META: Final = "meta_v1.ObjectMeta"
_META_CODEC: Final = TypedCodec(_OBJECT_META, "ObjectMeta")


class SchemaCodec:
    """Reads and writes the objects of a custom resource: pruned and defaulted by schema, keys sorted."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self.schema = schema
        self._fits = quick_check(schema)
        self.rules = b'"x-kubernetes-validations"' in _sorted_json(schema)
        self.merge_schema: MergeSchema | None = None

    def tidy(self, obj: dict[str, Any]) -> list[str]:
        """Prune and default an object in place; return the paths of what its schema does not declare."""
        unknown: list[str] = []
        if not self._fits(obj):
            unknown = prune(self.schema, obj)
            apply_defaults(self.schema, obj)
        meta: dict[str, Any] = obj["metadata"]
        if not stored_form(_OBJECT_META, NEWEST)(meta):
            _META_CODEC.write(meta)
            _META_CODEC.plan.tidy(meta, "metadata.", unknown)
        return sorted(unknown)

    def write(self, obj: dict[str, Any]) -> bytes:
        """Return the JSON as a server writes it."""
        return escaped(_sorted_json(obj))

    def conform(self, obj: dict[str, Any]) -> None:
        """Prune an object in place, without reporting what was pruned."""
        if not self._fits(obj):
            prune(self.schema, obj)

    def violations(
        self,
        obj: dict[str, Any],
        old: dict[str, Any] | None,
        unknown: list[NotEvaluated],
        *,
        rules: bool = True,
    ) -> list[Violation]:
        """Return what the schema and its rules refuse; `unknown` gets rules that cannot be evaluated."""
        return [] if self._fits(obj) else validate(self.schema, obj, old, rules=rules, not_evaluated=unknown)


class Served:
    """One version of a kind as it is served."""

    def __init__(
        self, resource: Resource, storage: ResourceStorage, codec: TypedCodec | SchemaCodec,
        subresources: tuple[SubresourceFacts, ...] = (), defined: DefinedVersion | None = None,
        list_kind: str = "", type_: str = "",
    ) -> None:  # fmt: skip
        self.resource = resource
        self.group, self.version, self.kind = resource.group, resource.version, resource.kind
        self.plural, self.namespaced = resource.plural, resource.namespaced
        self.api_version = resource.api_version
        self.list_kind = list_kind or f"{resource.kind}List"
        self.storage = storage
        self.codec = codec
        self.custom = defined is not None
        self.defined = defined
        self.type = type_
        self.verbs = frozenset(resource.verbs)
        self.subresources = {facts.name: facts for facts in subresources}
        self.full_name = f"{self.plural}.{self.group}" if self.group else self.plural
        self.counts_generation = self.custom or self.full_name in _COUNTED
        self.made_by_update = self.full_name in _MADE_BY_UPDATE
        self.replaced_at_a_version = self.custom or self.full_name in _AT_A_VERSION
        self.answers_with_object = self.full_name in _ANSWERS_WITH_OBJECT
        self.warning = defined.deprecation if defined else ""
        self.ready_at = 0.0  # before that, its storage is initializing
        self.stored_as = ""  # the apiVersion of stored objects, where it is another
        # The codecs of all versions of a custom resource, whether they are served or not, by apiVersion.
        self.codecs: dict[str, SchemaCodec] = {}
        # Whether stored objects may have been written under another schema, so that reads prune them again.
        self.outdated = False
        self.storage_kind: Served | None = None  # the built-in kind in whose form objects are stored
        self.webhook: KindConversion | None = None  # that converts between versions
        self.converter: Converter | None = None
        self.merge_schema: MergeSchema | None = None
        self.owned: dict[Any, list[dict[str, Any]]] = {}  # the managedFields of new objects, by their shape
        self.passed: set[bytes] = set()  # specs that the rules of a built-in kind have found good
        self.fields: dict[str, SelectableField] = BUILT_IN.get(self.full_name, {})
        if defined:
            paths = (path.removeprefix(".") for path in defined.selectable_fields)
            self.fields = {path: SelectableField((path,)) for path in paths}
        # What precedes the metadata of a built-in object; items of its lists leave it out.
        self.prefix = (
            b"" if self.custom else b'{"kind":"%s","apiVersion":"%s",' % (
                self.kind.encode(), self.api_version.encode())
        )  # fmt: skip

    @property
    def has_status(self) -> bool:
        """Whether status is written by a subresource of its own."""
        return "status" in self.subresources

    def key(self, namespace: str, name: str) -> str:
        """Return the key of an object in the storage of its kind."""
        return f"{namespace}/{name}" if self.namespaced else name

    def write(self, obj: dict[str, Any]) -> bytes:
        """Return the JSON of an object as this version shows it; or `Misfit`."""
        return self.codec.write(obj)

    def kept(self, obj: dict[str, Any]) -> bytes:
        """Return the JSON of an object of this version as it is stored; or `Misfit`."""
        if self.storage_kind is not None:
            return self.storage_kind.write(convert(obj, self, self.storage_kind))
        if self.stored_as in ("", self.api_version):
            return self.codec.write(obj)
        stored = self.converted(msgspec.json.decode(self.codec.write(obj)), self.stored_as)
        codec = self.codecs[self.stored_as]
        codec.conform(stored)
        return codec.write(stored)

    def again(self, obj: dict[str, Any]) -> bytes:
        """Return the JSON of an object that is in its stored form already."""
        return (self.storage_kind or self).write(obj)

    @property
    def as_stored(self) -> bool:
        """Whether stored bytes are what this version shows."""
        return self.storage_kind is None and not self.outdated and self.stored_as in ("", self.api_version)

    def shown(self, data: bytes) -> bytes:
        """Return stored bytes as this version shows them."""
        return data if self.as_stored else self.write(self.read(data))

    def read(self, data: bytes) -> dict[str, Any]:
        """Return a stored object as this version has it.

        The version that it was stored in prunes and fills in defaults with its present schema, then this
        version prunes: a real server does so with every read.
        """
        obj: dict[str, Any] = msgspec.json.decode(data)
        if self.storage_kind is not None:
            return convert(obj, self.storage_kind, self)
        if not self.as_stored:
            obj = self.converted(self._brought_up(obj), self.api_version)
            if isinstance(self.codec, SchemaCodec):
                self.codec.conform(obj)
        return obj

    def converted(self, obj: dict[str, Any], version: str) -> dict[str, Any]:
        """Return an object of this custom resource in another version, given as its apiVersion."""
        if obj["apiVersion"] == version:
            return obj
        if self.webhook is not None and self.converter is not None:
            return self.converter.convert(self.webhook, obj, version)
        obj["apiVersion"] = version
        return obj

    @property
    def converts(self) -> bool:
        """Whether a webhook converts the objects of this kind."""
        return self.webhook is not None

    def prepare(self, stored: Iterable[bytes]) -> None:
        """Have the webhook convert all of these stored objects at once, before they are shown."""
        if self.webhook is not None and self.converter is not None:
            objs = (self._brought_up(msgspec.json.decode(data)) for data in stored)
            others = (obj for obj in objs if obj["apiVersion"] != self.api_version)
            self.converter.prepare(self.webhook, others, self.api_version)

    def reading(self, *, cached: bool) -> AbstractContextManager[None]:
        """Return the context in which a list or a watch reads: with a cache, no object is converted twice."""
        if self.webhook is not None and self.converter is not None and cached:
            return self.converter.from_cache()
        return nullcontext()

    def following(self, *, called_later: bool) -> AbstractContextManager[None]:
        """Return the context in which an open watch reads; it stops where a webhook must be called first."""
        if self.webhook is not None and self.converter is not None:
            return self.converter.in_background(called_later=called_later)
        return nullcontext()

    def _brought_up(self, obj: dict[str, Any]) -> dict[str, Any]:
        """Prune and default a stored object by the present schema of its version."""
        if (stored := self.codecs.get(obj["apiVersion"])) is not None:
            stored.tidy(obj)
        return obj

    @property
    def stored_api_version(self) -> str:
        """The apiVersion of stored objects."""
        return self.stored_as or self.api_version

    def __repr__(self) -> str:
        return f"Served({self.resource})"


class Kinds:
    """Everything that is served, found by group, version and plural."""

    def __init__(self, storage: Storage, release: Release) -> None:
        self.storage = storage
        self.release = release
        self.by_version: dict[tuple[str, str], dict[str, Served]] = {}
        self._own: frozenset[str] | None = None
        self.by_storage: dict[str, Served] = {}
        self.converter: Converter | None = None
        self.changes = 0  # grows when other kinds are served
        for facts in table().resources:
            if _named(facts) not in release.missing_resources:
                self._add(_built_in(facts, storage, release))
        for served in self:
            if (home := self.by_storage[served.storage.name]) is not served:
                served.storage_kind = home

    def find(self, group: str, version: str, plural: str) -> Served | None:
        """Return what is served under these names; None if nothing is."""
        return self.by_version.get((group, version), {}).get(plural)

    def has_own(self, group: str) -> bool:
        """Return whether a group is one of the server's own."""
        if self._own is None:
            versions = self.by_version.items()
            self._own = frozenset(
                key[0] for key, kinds in versions if any(not kind.custom for kind in kinds.values())
            )
        return group in self._own

    def of_kind(self, api_version: str, kind: str) -> Served | None:
        """Return the kind that an `apiVersion` and a `kind` name; None if it is not served."""
        group, _, version = api_version.rpartition("/")
        for served in self.by_version.get((group, version), {}).values():
            if served.kind == kind:
                return served
        return None

    def __iter__(self) -> Iterator[Served]:
        for resources in self.by_version.values():
            yield from resources.values()

    def of_storage(self, name: str) -> Served | None:
        """Return a served version of the kind whose storage has this name; None if there is none."""
        return self.by_storage.get(name)

    def define(self, kind: DefinedKind, *, ready_at: float) -> list[Served]:
        """Serve a custom resource, or serve it as its changed definition describes it."""
        before = [served for served in self if served.custom and served.full_name == kind.name]
        ready = before[0].ready_at if before else ready_at
        self.forget(kind.name)
        codecs = {one.resource.api_version: SchemaCodec(one.schema) for one in kind.versions}
        versions = kind.versions
        if not self.release.selectable_fields:
            versions = tuple(msgspec.structs.replace(one, selectable_fields=()) for one in versions)
        made = [_custom(kind, version, self.storage, codecs) for version in versions if version.served]
        for served in made:
            served.ready_at = ready
            served.outdated = bool(served.storage.objects)
            served.webhook, served.converter = kind.conversion, self.converter
            self._add(served)
        return made

    def forget(self, full_name: str) -> None:
        """Stop serving a custom resource."""
        for key, resources in list(self.by_version.items()):
            for plural, served in list(resources.items()):
                if served.custom and served.full_name == full_name:
                    del resources[plural]
                    self.by_storage.pop(served.storage.name, None)
                    self.changes += 1
            if not resources:
                del self.by_version[key]

    def _add(self, served: Served) -> None:
        self.changes += 1
        self.by_version.setdefault((served.group, served.version), {})[served.plural] = served
        self.by_storage.setdefault(served.storage.name, served)


def _named(facts: ResourceFacts) -> str:
    return f"{facts.resource.gvk.api_version}/{facts.resource.plural}"


def _built_in(facts: ResourceFacts, storage: Storage, release: Release) -> Served:
    resource = facts.resource
    subresources = tuple(
        one for one in facts.subresources if f"{_named(facts)}/{one.name}" not in release.missing_resources
    )
    name = f"{resource.plural}.{resource.group}" if resource.group else resource.plural
    name = STORED_WITH.get(name, name)
    codec = TypedCodec(facts.type, resource.kind, release)
    served = Served(resource, storage.resource(name), codec, subresources, type_=facts.type)
    served.warning = release.deprecation(served.full_name)
    if not release.has_service_fields and served.full_name == "services":
        served.fields = META_FIELDS
    if not release.pod_generations and served.full_name == "pods":
        served.counts_generation = False
    return served


def _custom(
    kind: DefinedKind, version: DefinedVersion, storage: Storage, codecs: dict[str, SchemaCodec]
) -> Served:
    resource = msgspec.structs.replace(version.resource, verbs=_CUSTOM_VERBS)
    subresources: list[SubresourceFacts] = []
    if version.has_status:
        subresources.append(
            SubresourceFacts(name="status", kind=resource.gvk, verbs=("get", "patch", "update"))
        )
    if version.scale:
        subresources.append(SubresourceFacts(name="scale", kind=_SCALE, verbs=("get", "patch", "update")))
    served = Served(
        resource, storage.resource(kind.name), codecs[resource.api_version], tuple(subresources), version,
        kind.list_kind,
    )  # fmt: skip
    served.stored_as = kind.stored.resource.api_version
    served.codecs = codecs
    return served


__all__ = ["Kinds", "Misfit", "SchemaCodec", "Served"]
