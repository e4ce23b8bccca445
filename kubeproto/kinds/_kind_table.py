"""`kind_table`: the built-in kinds, their paths, and the types, merge keys and defaults of their fields.

The classes have the attributes that a program needs; the table has the further facts of a server. It is
loaded on demand, and costs nothing at import.
"""

from __future__ import annotations

import functools
from typing import Any, Literal

import msgspec
from msgspec import Struct

from ..objects import GroupVersionKind, Resource


class BuiltinField(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A field of a type. `form` lists the containers around `type`, outermost first: a map of lists.

    `type` is the name of another type (``core_v1.PodSpec``) or one of string, integer, number, boolean,
    bytes, time, micro-time, quantity, int-or-string, object (any JSON object) and any; in the schemas of CRDs
    also schema-or-array, schema-or-bool and schema-or-strings.
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


class BuiltinType(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A type, its fields by wire name. An atomic type has a single owner in server-side apply."""

    gvk: GroupVersionKind | None = None
    map_type: Literal["", "atomic", "granular"] = ""
    fields: dict[str, BuiltinField] = {}


class BuiltinSubresource(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A subresource: the kind of its responses, the kinds of bodies that it accepts, and its verbs."""

    name: str
    kind: GroupVersionKind
    verbs: tuple[str, ...] = ()
    accepts: tuple[GroupVersionKind, ...] = ()


class BuiltinResource(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A resource and the type of its objects."""

    resource: Resource
    type: str
    subresources: tuple[BuiltinSubresource, ...] = ()


class ReleaseDifferences(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The differences of an older release to the newest release, for types that both have.

    The name of a resource is ``apps/v1/deployments``, of a subresource ``apps/v1/deployments/scale``, of a
    field ``core_v1.PodSpec.hostUsers``. `optional_fields` are required only in the newest release.
    """

    kubernetes: str
    missing_resources: tuple[str, ...] = ()
    missing_fields: tuple[str, ...] = ()
    dropped_fields: dict[str, BuiltinField] = {}
    dropped_types: dict[str, BuiltinType] = {}  # the types of dropped fields
    optional_fields: tuple[str, ...] = ()


class KindTable(Struct, frozen=True, kw_only=True):
    """The built-in kinds of a Kubernetes version, in the order of its discovery."""

    kubernetes: str
    resources: tuple[BuiltinResource, ...]
    types: dict[str, BuiltinType]
    releases: dict[str, ReleaseDifferences] = {}  # older releases, by number such as 1.30

    def type_of(self, gvk: GroupVersionKind) -> str:
        """Return the name of the type of a kind; raise KeyError if it is not a built-in kind."""
        for name, type_ in self.types.items():
            if type_.gvk == gvk:
                return name
        raise KeyError(f"{gvk} is not a built-in kind of Kubernetes {self.kubernetes}")

    def modules_of(self, class_: str) -> list[str]:
        """Return the modules with a class of this name; kinds come before parts."""
        kinds = [name for name, type_ in self.types.items() if type_.gvk and name.endswith(f".{class_}")]
        parts = [name for name, type_ in self.types.items() if not type_.gvk and name.endswith(f".{class_}")]
        return [name.partition(".")[0] for name in kinds + parts]


@functools.cache
def kind_table() -> KindTable:
    """Return the table of the built-in kinds."""
    import pkgutil

    data = pkgutil.get_data("kubeproto.kinds", "table.json")
    if data is None:
        raise RuntimeError("kubeproto.kinds was installed without its table.json")
    return msgspec.json.decode(data, type=KindTable)
