"""What the API is about: objects at three depths, and the values that stand in them."""

from ._api_versions import api_version_priority
from ._base import Constant, Fields, KubeObject, Object
from ._capabilities import (
    HasApproval,
    HasFinalize,
    HasScale,
    HasStatus,
    HasToken,
    RunsContainers,
)
from ._codec import FRONT_MARKS, FRONT_SKIP, LONG, decode, encode
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
from ._durations import Duration
from ._fields import FieldRequirement, FieldSelector
from ._json_patch import JsonPatch, PatchError, apply_json_patch, json_equal, make_json_patch
from ._labels import Requirement, Selector
from ._lazy import KindStages, reader, settle, stages_of
from ._list import ObjectList
from ._manifests import InvalidManifest, dump_yaml, parse_manifest
from ._merge_patch import apply_merge_patch, make_merge_patch
from ._meta import ListMeta, ManagedFieldsEntry, ObjectMeta, OwnerReference, ShardInfo
from ._names import (
    check_annotation_key,
    check_dns_1035_label,
    check_dns_label,
    check_dns_subdomain,
    check_finalizer,
    check_label_key,
    check_label_value,
    check_path_segment,
)
from ._pointers import format_pointer, is_object, parse_pointer, resolve_pointer
from ._quantity import Quantity
from ._ref import ObjectRef
from ._resource import GroupVersionKind, Resource, guess_plural
from ._spans import UNREAD, Span, text_of, whole
from ._stages import NOT_JSON
from ._status import Status, StatusCause, StatusDetails
from ._table import Table, TableColumn, TableRow
from ._times import MicroTime, format_time, parse_time
from ._values import dec_hook, enc_hook
from ._versions import comparable, compare_versions, is_newer

__all__ = [
    "FRONT_MARKS",
    "FRONT_SKIP",
    "LONG",
    "NOT_JSON",
    "UNREAD",
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
    "KindStages",
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
    "Requirement",
    "Resource",
    "Rule",
    "RunsContainers",
    "Scale",
    "Selector",
    "ShardInfo",
    "Span",
    "Status",
    "StatusCause",
    "StatusDetails",
    "Table",
    "TableColumn",
    "TableRow",
    "api_version_priority",
    "apply_json_patch",
    "apply_merge_patch",
    "check_annotation_key",
    "check_dns_1035_label",
    "check_dns_label",
    "check_dns_subdomain",
    "check_finalizer",
    "check_label_key",
    "check_label_value",
    "check_path_segment",
    "comparable",
    "compare_versions",
    "dec_hook",
    "decode",
    "dump_yaml",
    "enc_hook",
    "encode",
    "format_pointer",
    "format_time",
    "guess_plural",
    "is_newer",
    "is_object",
    "json_equal",
    "make_json_patch",
    "make_merge_patch",
    "parse_manifest",
    "parse_pointer",
    "parse_time",
    "reader",
    "resolve_pointer",
    "settle",
    "stages_of",
    "text_of",
    "whole",
]
