"""The objects of the API, at three depths of typing, and the values in them."""

from typing import TYPE_CHECKING

from .. import _deferred
from ._api_versions import api_version_priority
from ._base import Constant, Fields, KubeObject, Object
from ._capabilities import HasApproval, HasFinalize, HasScale, HasStatus, HasToken, RunsContainers
from ._codec import decode, encode
from ._definition import (
    Atomic,
    Column,
    ConversionWebhook,
    Definition,
    Embedded,
    ListMap,
    ListSet,
    PreserveUnknown,
    Rule,
    Scale,
)
from ._depths import Dynamic, Metadata
from ._durations import Duration, human_duration
from ._fields import FieldRequirement, FieldSelector
from ._json_values import is_list, is_object, json_equal, without_nulls
from ._labels import Requirement, Selector
from ._list import ObjectList
from ._meta import ListMeta, ManagedFieldsEntry, ObjectMeta, OwnerReference, ShardInfo
from ._names import (
    check_dns_subdomain,
    check_finalizer,
    check_label_key,
    check_label_value,
    check_path_segment,
    dns_1035_label_errors,
    dns_label_errors,
    dns_subdomain_errors,
    label_value_errors,
    qualified_name_errors,
)
from ._pointers import format_pointer, parse_pointer, resolve_pointer
from ._reading import Reader, TooDeep
from ._ref import ObjectRef
from ._resource import GroupVersionKind, Resource
from ._scanning import members
from ._status import Status, StatusCause, StatusDetails
from ._times import MicroTime, format_time, parse_time
from ._versions import comparable, compare_versions, is_newer
from ._view_methods import asdict, kind_of, replace, settle

if TYPE_CHECKING:
    from ._json_patch import JsonPatch, PatchError, apply_json_patch, make_json_patch
    from ._json_paths import JsonPath
    from ._manifests import InvalidManifest, dump_yaml, parse_manifest
    from ._merge_patch import apply_merge_patch, make_merge_patch
    from ._quantity import Quantity
    from ._table import Table, TableColumn, TableRow
else:
    # Patches, manifests and tables take a third as long to import as everything else here, and a program that
    # reads and watches objects needs none of them.
    __getattr__, __dir__ = _deferred.attributes(
        __name__,
        {
            "InvalidManifest": "_manifests",
            "JsonPatch": "_json_patch",
            "JsonPath": "_json_paths",
            "PatchError": "_json_patch",
            "Quantity": "_quantity",
            "Table": "_table",
            "TableColumn": "_table",
            "TableRow": "_table",
            "apply_json_patch": "_json_patch",
            "apply_merge_patch": "_merge_patch",
            "dump_yaml": "_manifests",
            "make_json_patch": "_json_patch",
            "make_merge_patch": "_merge_patch",
            "parse_manifest": "_manifests",
        },
    )

__all__ = [
    "Atomic",
    "Column",
    "Constant",
    "ConversionWebhook",
    "Definition",
    "Duration",
    "Dynamic",
    "Embedded",
    "FieldRequirement",
    "FieldSelector",
    "Fields",
    "GroupVersionKind",
    "HasApproval",
    "HasFinalize",
    "HasScale",
    "HasStatus",
    "HasToken",
    "InvalidManifest",
    "JsonPatch",
    "JsonPath",
    "KubeObject",
    "ListMap",
    "ListMeta",
    "ListSet",
    "ManagedFieldsEntry",
    "Metadata",
    "MicroTime",
    "Object",
    "ObjectList",
    "ObjectMeta",
    "ObjectRef",
    "OwnerReference",
    "PatchError",
    "PreserveUnknown",
    "Quantity",
    "Reader",
    "Requirement",
    "Resource",
    "Rule",
    "RunsContainers",
    "Scale",
    "Selector",
    "ShardInfo",
    "Status",
    "StatusCause",
    "StatusDetails",
    "Table",
    "TableColumn",
    "TableRow",
    "TooDeep",
    "api_version_priority",
    "apply_json_patch",
    "apply_merge_patch",
    "asdict",
    "check_dns_subdomain",
    "check_finalizer",
    "check_label_key",
    "check_label_value",
    "check_path_segment",
    "comparable",
    "compare_versions",
    "decode",
    "dns_1035_label_errors",
    "dns_label_errors",
    "dns_subdomain_errors",
    "dump_yaml",
    "encode",
    "format_pointer",
    "format_time",
    "human_duration",
    "is_list",
    "is_newer",
    "is_object",
    "json_equal",
    "kind_of",
    "label_value_errors",
    "make_json_patch",
    "make_merge_patch",
    "members",
    "parse_manifest",
    "parse_pointer",
    "parse_time",
    "qualified_name_errors",
    "replace",
    "resolve_pointer",
    "settle",
    "without_nulls",
]
