"""The objects of the API, at three depths of typing, and the values in them."""

from typing import TYPE_CHECKING

from .. import _deferred
from ._base import Constant as Constant, Fields, KubeObject, Object
from ._capabilities import (
    HasApproval as HasApproval,
    HasFinalize as HasFinalize,
    HasScale as HasScale,
    HasStatus as HasStatus,
    HasToken as HasToken,
    RunsContainers as RunsContainers,
)
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
from ._durations import Duration, human_duration as human_duration
from ._field_selectors import FieldRequirement, FieldSelector
from ._json_reader import Reader as Reader, TooDeep
from ._json_values import (
    copy_json as copy_json,
    is_list as is_list,
    is_object as is_object,
    json_equal as json_equal,
    without_nulls as without_nulls,
)
from ._label_selectors import Requirement, Selector
from ._names import (
    check_dns_subdomain as check_dns_subdomain,
    check_finalizer as check_finalizer,
    check_label_key as check_label_key,
    check_label_value as check_label_value,
    check_path_segment as check_path_segment,
    dns_1035_label_errors as dns_1035_label_errors,
    dns_label_errors as dns_label_errors,
    dns_subdomain_errors as dns_subdomain_errors,
    label_value_errors as label_value_errors,
    qualified_name_errors as qualified_name_errors,
)
from ._object_list import ObjectList
from ._object_meta import ListMeta, ManagedFieldsEntry, ObjectMeta, OwnerReference, ShardInfo as ShardInfo
from ._object_refs import ObjectRef
from ._pointers import (
    format_pointer as format_pointer,
    parse_pointer as parse_pointer,
    resolve_pointer as resolve_pointer,
)
from ._resource import GroupVersionKind, Resource, api_version_priority as api_version_priority
from ._resource_versions import (
    comparable as comparable,
    compare_versions as compare_versions,
    is_newer as is_newer,
)
from ._scanning import split_object as split_object
from ._status import Status, StatusCause, StatusDetails
from ._times import MicroTime as MicroTime, format_time as format_time, parse_time as parse_time
from ._view_methods import asdict, kind_of as kind_of, replace, to_plain

if TYPE_CHECKING:
    from ._json_patch import (
        JsonPatch as JsonPatch,
        PatchError,
        apply_json_patch as apply_json_patch,
        make_json_patch as make_json_patch,
    )
    from ._json_paths import JsonPath
    from ._manifest_parsing import InvalidManifest, dump_yaml, parse_manifest
    from ._merge_patch import apply_merge_patch as apply_merge_patch, make_merge_patch as make_merge_patch
    from ._quantity import Quantity
    from ._table import Table, TableColumn as TableColumn, TableRow as TableRow
else:
    # Patches, manifests and tables take a third as long to import as everything else here, and a program that
    # reads and watches objects needs none of them.
    __getattr__, __dir__ = _deferred.attributes(
        __name__,
        {
            "InvalidManifest": "_manifest_parsing",
            "JsonPatch": "_json_patch",
            "JsonPath": "_json_paths",
            "PatchError": "_json_patch",
            "Quantity": "_quantity",
            "Table": "_table",
            "TableColumn": "_table",
            "TableRow": "_table",
            "apply_json_patch": "_json_patch",
            "apply_merge_patch": "_merge_patch",
            "dump_yaml": "_manifest_parsing",
            "make_json_patch": "_json_patch",
            "make_merge_patch": "_merge_patch",
            "parse_manifest": "_manifest_parsing",
        },
    )

__all__ = [
    "Atomic",
    "Column",
    "ConversionWebhook",
    "Definition",
    "Duration",
    "Dynamic",
    "Embedded",
    "FieldRequirement",
    "FieldSelector",
    "Fields",
    "GroupVersionKind",
    "InvalidManifest",
    "JsonPath",
    "KubeObject",
    "ListMap",
    "ListMeta",
    "ListSet",
    "ManagedFieldsEntry",
    "Metadata",
    "Object",
    "ObjectList",
    "ObjectMeta",
    "ObjectRef",
    "OwnerReference",
    "PatchError",
    "PreserveUnknown",
    "Quantity",
    "Requirement",
    "Resource",
    "Rule",
    "Scale",
    "Selector",
    "Status",
    "StatusCause",
    "StatusDetails",
    "Table",
    "TooDeep",
    "asdict",
    "decode",
    "dump_yaml",
    "encode",
    "parse_manifest",
    "replace",
    "to_plain",
]
