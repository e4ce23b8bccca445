"""The served versions of kinds: their addresses, their codecs, and conversion from and to the stored version.

Each version of a kind is a `ServedKind`. The versions of a custom resource share a storage, which contains
objects in the storage version of the definition. A webhook of the definition converts them; without a webhook
only the apiVersion differs.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final, Protocol

import msgspec

from kubeproto.crd import (
    DefinedVersion,
    KindConversion,
    NotEvaluated,
    Violation,
    apply_defaults,
    prune,
    validate,
)
from kubeproto.kinds import BuiltinSubresource
from kubeproto.objects import Resource

from ..apply._merge_schemas import MergeSchema
from ..storage._storage import ResourceStorage
from ._builtin_conversion import convert
from ._kubernetes_releases import NEWEST
from ._schema_quick_check import quick_check
from ._selectable_fields import BUILT_IN, SelectableField
from ._stored_form import stored_form
from ._typed_codec import TypedCodec, go_escaped

_ALL_VERBS: Final = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")

# Kinds whose metadata.generation counts changes of the spec.
_WITH_GENERATION: Final = frozenset((
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
_CREATED_BY_UPDATE: Final = frozenset((
    "leases.coordination.k8s.io", "endpoints", "events", "events.events.k8s.io", "limitranges", "services",
    "roles.rbac.authorization.k8s.io", "rolebindings.rbac.authorization.k8s.io",
    "clusterroles.rbac.authorization.k8s.io", "clusterrolebindings.rbac.authorization.k8s.io",
    "runtimeclasses.node.k8s.io", "leasecandidates.coordination.k8s.io",
))  # fmt: skip
# A PUT to one of these must contain the replaced version (tried on a 1.36 server).
_VERSION_REQUIRED: Final = frozenset((
    "leases.coordination.k8s.io", "poddisruptionbudgets.policy", "csidrivers.storage.k8s.io",
    "runtimeclasses.node.k8s.io", "customresourcedefinitions.apiextensions.k8s.io",
    "validatingwebhookconfigurations.admissionregistration.k8s.io",
    "mutatingwebhookconfigurations.admissionregistration.k8s.io",
))  # fmt: skip
# An immediate DELETE responds with the object instead of a Status.
_RESPONDS_WITH_OBJECT: Final = frozenset((
    "services", "serviceaccounts", "pods", "persistentvolumeclaims", "persistentvolumes", "jobs.batch",
    "replicationcontrollers",
))  # fmt: skip
_sorted_json: Final = msgspec.json.Encoder(order="sorted").encode
_OBJECT_META: Final = "meta_v1.ObjectMeta"
_META_CODEC: Final = TypedCodec(_OBJECT_META, "ObjectMeta")


class SchemaCodec:
    """The codec of a custom resource: prunes and defaults by its schema, and writes sorted keys."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self.schema = schema
        self._fits = quick_check(schema)
        self.rules = b'"x-kubernetes-validations"' in _sorted_json(schema)
        self.merge_schema: MergeSchema | None = None

    def tidy(self, obj: dict[str, Any]) -> list[str]:
        """Prune and default an object in place; return the paths of undeclared fields."""
        undeclared: list[str] = []
        if not self._fits(obj):
            undeclared = prune(self.schema, obj)
            apply_defaults(self.schema, obj)
        meta: dict[str, Any] = obj["metadata"]
        if not stored_form(_OBJECT_META, NEWEST)(meta):
            _META_CODEC.write(meta)
            _META_CODEC.plan.tidy(meta, "metadata.", undeclared)
        return sorted(undeclared)

    def write(self, obj: dict[str, Any]) -> bytes:
        """Return the JSON in the form of a server."""
        return go_escaped(_sorted_json(obj))

    def conform(self, obj: dict[str, Any], *, sets_defaults: bool = False) -> None:
        """Prune an object in place, and optionally set its defaults."""
        if not self._fits(obj):
            prune(self.schema, obj)
            if sets_defaults:
                apply_defaults(self.schema, obj)

    def violations(
        self,
        obj: dict[str, Any],
        old: dict[str, Any] | None,
        unevaluated: list[NotEvaluated],
        *,
        rules: bool = True,
    ) -> list[Violation]:
        """Return the violations of the schema and its rules; add rules that cannot be evaluated to a list."""
        return (
            [] if self._fits(obj) else validate(self.schema, obj, old, rules=rules, not_evaluated=unevaluated)
        )


class ServedKind:
    """A served version of a kind."""

    def __init__(
        self, resource: Resource, storage: ResourceStorage, codec: TypedCodec | SchemaCodec,
        subresources: tuple[BuiltinSubresource, ...] = (), defined: DefinedVersion | None = None,
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
        self.subresources = {subresource.name: subresource for subresource in subresources}
        self.full_name = f"{self.plural}.{self.group}" if self.group else self.plural
        self.counts_generation = self.custom or self.full_name in _WITH_GENERATION
        self.created_by_update = self.full_name in _CREATED_BY_UPDATE
        self.requires_version = self.custom or self.full_name in _VERSION_REQUIRED
        self.responds_with_object = self.full_name in _RESPONDS_WITH_OBJECT
        self.warning = defined.deprecation if defined else ""
        self.ready_at = 0.0  # until then the storage is initializing
        self.stored_as = ""  # the apiVersion of stored objects, if it differs
        # The codecs of all versions of a custom resource, also of those not served, by apiVersion.
        self.codecs: dict[str, SchemaCodec] = {}
        # Whether stored objects may have been written under another schema, so that reads prune them again.
        self.outdated = False
        self.storage_kind: ServedKind | None = None  # the built-in kind in whose form objects are stored
        self.webhook: KindConversion | None = None  # that converts between versions
        self.converter: Converter | None = None
        self.merge_schema: MergeSchema | None = None
        self.cached_managed_fields: dict[
            Any, list[dict[str, Any]]
        ] = {}  # a cache: the managedFields of new objects by shape
        self.valid_specs: set[bytes] = set()  # a cache: specs that satisfy all rules
        self.fields: dict[str, SelectableField] = BUILT_IN.get(self.full_name, {})
        if defined:
            paths = (path.removeprefix(".") for path in defined.selectable_fields)
            self.fields = {path: SelectableField((path,)) for path in paths}
        # The JSON before the metadata of a built-in object; items of lists omit it.
        self.prefix = (
            b"" if self.custom else b'{"kind":"%s","apiVersion":"%s",' % (
                self.kind.encode(), self.api_version.encode())
        )  # fmt: skip

    @property
    def has_status(self) -> bool:
        """Whether the kind has the subresource `status`."""
        return "status" in self.subresources

    def key(self, namespace: str, name: str) -> str:
        """Return the key of an object in the storage of its kind."""
        return f"{namespace}/{name}" if self.namespaced else name

    def write(self, obj: dict[str, Any]) -> bytes:
        """Return the JSON of an object in this version; raise `TypeMismatch` for values of wrong types."""
        return self.codec.write(obj)

    def encode_stored(self, obj: dict[str, Any]) -> bytes:
        """Return the JSON of an object of this version in the stored version.

        Raise `TypeMismatch` for values of wrong types.
        """
        if self.storage_kind is not None:
            return self.storage_kind.write(convert(obj, self, self.storage_kind))
        if self.stored_as in ("", self.api_version):
            return self.codec.write(obj)
        converted = self.converted(msgspec.json.decode(self.codec.write(obj)), self.stored_as)
        codec = self.codecs[self.stored_as]
        # A real server sets these defaults when it reads the object again.
        codec.conform(converted, sets_defaults=True)
        return codec.write(converted)

    def encode_unconverted(self, obj: dict[str, Any]) -> bytes:
        """Return the JSON of an object that is in the stored version already."""
        return (self.storage_kind or self).write(obj)

    @property
    def shows_stored_bytes(self) -> bool:
        """Whether responses of this version contain the stored bytes unchanged."""
        return self.storage_kind is None and not self.outdated and self.stored_as in ("", self.api_version)

    def encode_response(self, data: bytes) -> bytes:
        """Return the JSON of this version from stored bytes."""
        return data if self.shows_stored_bytes else self.write(self.read(data))

    def read(self, data: bytes) -> dict[str, Any]:
        """Return a stored object in this version.

        The stored version prunes and defaults the object with its present schema, then this version prunes
        it: a real server does so with every read.
        """
        obj: dict[str, Any] = msgspec.json.decode(data)
        if self.storage_kind is not None:
            return convert(obj, self.storage_kind, self)
        if not self.shows_stored_bytes:
            obj = self.converted(self._with_present_schema(obj), self.api_version)
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

    def prepare(self, stored_data: Iterable[bytes]) -> None:
        """Convert stored objects by a single call of the webhook, before they are read separately."""
        if self.webhook is not None and self.converter is not None:
            objs = (self._with_present_schema(msgspec.json.decode(data)) for data in stored_data)
            of_other_versions = (obj for obj in objs if obj["apiVersion"] != self.api_version)
            self.converter.prepare(self.webhook, of_other_versions, self.api_version)

    def reading(self, *, cached: bool) -> AbstractContextManager[None]:
        """Return the context of a list or a watch: with `cached`, no object is converted twice."""
        if self.webhook is not None and self.converter is not None and cached:
            return self.converter.from_cache()
        return nullcontext()

    def following(self, *, called_later: bool) -> AbstractContextManager[None]:
        """Return the context of an open watch, which stops when a webhook must be called first."""
        if self.webhook is not None and self.converter is not None:
            return self.converter.in_background(called_later=called_later)
        return nullcontext()

    def _with_present_schema(self, obj: dict[str, Any]) -> dict[str, Any]:
        """Prune and default a stored object by the present schema of its version."""
        if (codec := self.codecs.get(obj["apiVersion"])) is not None:
            codec.tidy(obj)
        return obj

    @property
    def stored_api_version(self) -> str:
        """The apiVersion of stored objects."""
        return self.stored_as or self.api_version

    def __repr__(self) -> str:
        return f"ServedKind({self.resource})"


Json = dict[str, Any]


class Converter(Protocol):
    """Converts objects by the webhook of their definition."""

    def convert(self, webhook: KindConversion, obj: Json, version: str) -> Json:
        """Return an object in another version, given as its `apiVersion`.

        Raise `Rejection` if it cannot be converted.
        """
        ...

    def prepare(self, webhook: KindConversion, objs: Iterable[Json], version: str) -> None:
        """Request all conversions together, so that the request is repeated once and not for each object."""
        ...

    def from_cache(self) -> AbstractContextManager[None]:
        """Return a context that reuses the conversions of earlier lists and watches."""
        ...

    def in_background(self, *, called_later: bool) -> AbstractContextManager[None]:
        """Return a context for an open watch, which ends when the reply of a webhook is missing.

        With `called_later` the missing calls are stored for the driver, which can send them.
        """
        ...
