"""What the API is about: objects at three depths, and the values that stand in them."""

from ._base import Fields, KubeObject, Object
from ._codec import decode, encode
from ._depths import Dynamic, Metadata
from ._list import ObjectList
from ._meta import ListMeta, ManagedFieldsEntry, ObjectMeta, OwnerReference, ShardInfo
from ._ref import ObjectRef
from ._resource import GroupVersionKind, Resource
from ._status import Status, StatusCause, StatusDetails

__all__ = [
    "Dynamic",
    "Fields",
    "GroupVersionKind",
    "KubeObject",
    "ListMeta",
    "ManagedFieldsEntry",
    "Metadata",
    "Object",
    "ObjectList",
    "ObjectMeta",
    "ObjectRef",
    "OwnerReference",
    "Resource",
    "ShardInfo",
    "Status",
    "StatusCause",
    "StatusDetails",
    "decode",
    "encode",
]
