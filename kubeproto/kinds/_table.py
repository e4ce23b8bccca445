"""The built-in kinds as a table: how each is addressed, and how its fields are typed, merged and defaulted.

The classes say what a program needs; the table says what a server knows besides. It is read on demand, and
costs an import nothing.
"""

from __future__ import annotations

import functools
from typing import Any, Literal

import msgspec
from msgspec import Struct

from ..objects import GroupVersionKind, Resource


class FieldFacts(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A field of a type. `form` says in what the `type` is wrapped, from outside: a map of lists of strings.

    `type` is the name of another type (``core_v1.PodSpec``) or one of the words string, integer, number,
    boolean, bytes, time, micro-time, quantity, int-or-string, object (any JSON object), any, and where CRDs
    hold schemas: schema-or-array, schema-or-bool, schema-or-strings.
    """

    type: str
    form: tuple[Literal["list", "map"], ...] = ()
    required: bool = False
    default: Any = None
    enum: tuple[str, ...] = ()
    list_type: Literal["", "atomic", "map", "set"] = ""
    list_map_keys: tuple[str, ...] = ()
    map_type: Literal["", "atomic", "granular"] = ""
    patch_strategy: tuple[str, ...] = ()
    patch_merge_key: str = ""


class TypeFacts(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A type by its fields under their wire names. An atomic one has one owner in server-side apply."""

    gvk: GroupVersionKind | None = None
    map_type: Literal["", "atomic", "granular"] = ""
    fields: dict[str, FieldFacts] = {}


class SubresourceFacts(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A subresource: the kind that it speaks in, the kinds that it takes, its verbs."""

    name: str
    kind: GroupVersionKind
    verbs: tuple[str, ...] = ()
    accepts: tuple[GroupVersionKind, ...] = ()


class ResourceFacts(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A resource and the type of its objects."""

    resource: Resource
    type: str
    subresources: tuple[SubresourceFacts, ...] = ()


class ReleaseFacts(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What an older release has or lacks beside the newest one, as far as both have the type.

    A resource is named ``apps/v1/deployments``, a subresource ``apps/v1/deployments/scale``, a field
    ``core_v1.PodSpec.hostUsers``. `optional_fields` are required in the newest release alone.
    """

    kubernetes: str
    missing_resources: tuple[str, ...] = ()
    missing_fields: tuple[str, ...] = ()
    dropped_fields: dict[str, FieldFacts] = {}
    dropped_types: dict[str, TypeFacts] = {}  # those of dropped fields
    optional_fields: tuple[str, ...] = ()


class KindTable(Struct, frozen=True, kw_only=True):
    """All that is known of the built-in kinds of one Kubernetes version, in the order of its discovery."""

    kubernetes: str
    resources: tuple[ResourceFacts, ...]
    types: dict[str, TypeFacts]
    releases: dict[str, ReleaseFacts] = {}  # how older ones differ, by number such as 1.30

    def type_of(self, gvk: GroupVersionKind) -> str:
        """Return the name of a kind's type; KeyError if there is no built-in kind of this name."""
        for name, facts in self.types.items():
            if facts.gvk == gvk:
                return name
        raise KeyError(f"{gvk} is not a built-in kind of Kubernetes {self.kubernetes}")

    def homes_of(self, class_: str) -> list[str]:
        """Return the modules that have a class of this name, kinds before their parts."""
        kinds = [name for name, facts in self.types.items() if facts.gvk and name.endswith(f".{class_}")]
        parts = [name for name, facts in self.types.items() if not facts.gvk and name.endswith(f".{class_}")]
        return [name.partition(".")[0] for name in kinds + parts]


@functools.cache
def table() -> KindTable:
    """Return the table of the built-in kinds."""
    import pkgutil

    data = pkgutil.get_data("kubeproto.kinds", "table.json")
    if data is None:
        raise RuntimeError("kubeproto.kinds was installed without its table.json")
    return msgspec.json.decode(data, type=KindTable)
