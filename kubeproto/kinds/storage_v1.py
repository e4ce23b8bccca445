"""The kinds of storage.k8s.io/v1 and their parts, generated from Kubernetes 1.36.3."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from ..objects import HasStatus, KubeObject, Quantity
from ._generated_base import ALL_VERBS, Filled, Part
from .core_v1 import PersistentVolumeSpec, TopologySelectorTerm
from .meta_v1 import LabelSelector

__all__ = [
    "CSIDriver",
    "CSIDriverSpec",
    "CSINode",
    "CSINodeDriver",
    "CSINodeSpec",
    "CSIStorageCapacity",
    "StorageClass",
    "TokenRequest",
    "VolumeAttachment",
    "VolumeAttachmentSource",
    "VolumeAttachmentSpec",
    "VolumeAttachmentStatus",
    "VolumeAttributesClass",
    "VolumeError",
    "VolumeNodeResources",
]


class CSIDriverSpec(Part):
    attach_required: bool | None = None
    fs_group_policy: str | None = None
    node_allocatable_update_period_seconds: int | None = None
    pod_info_on_mount: bool | None = None
    prevent_pod_scheduling_if_missing: bool | None = None
    requires_republish: bool | None = None
    se_linux_mount: bool | None = None
    service_account_token_in_secrets: bool | None = None
    storage_capacity: bool | None = None
    token_requests: list[TokenRequest] | None = None
    volume_lifecycle_modes: list[str] | None = None


class CSINodeDriver(Part):
    name: str
    node_id: str = msgspec.field(name="nodeID")
    allocatable: VolumeNodeResources | None = None
    topology_keys: list[str] | None = None


class CSINodeSpec(Part):
    drivers: Filled[list[CSINodeDriver]]

    def __post_init__(self: Any) -> None:
        if self.drivers is None:
            self.drivers = []


class TokenRequest(Part):
    audience: str
    expiration_seconds: int | None = None


class VolumeAttachmentSource(Part):
    inline_volume_spec: PersistentVolumeSpec | None = None
    persistent_volume_name: str | None = None


class VolumeAttachmentSpec(Part):
    attacher: str
    node_name: str
    source: VolumeAttachmentSource


class VolumeAttachmentStatus(Part):
    attached: bool
    attach_error: VolumeError | None = None
    attachment_metadata: dict[str, str] | None = None
    detach_error: VolumeError | None = None


class VolumeError(Part):
    error_code: int | None = None
    message: str | None = None
    time: datetime | None = None


class VolumeNodeResources(Part):
    count: int | None = None


class CSIDriver(
    KubeObject, group="storage.k8s.io", version="v1", plural="csidrivers", namespaced=False, verbs=ALL_VERBS
):
    spec: CSIDriverSpec = msgspec.field(default_factory=CSIDriverSpec)


class CSINode(
    KubeObject, group="storage.k8s.io", version="v1", plural="csinodes", namespaced=False, verbs=ALL_VERBS
):
    spec: CSINodeSpec


class CSIStorageCapacity(
    KubeObject, group="storage.k8s.io", version="v1", plural="csistoragecapacities", verbs=ALL_VERBS
):
    storage_class_name: str
    capacity: Quantity | None = None
    maximum_volume_size: Quantity | None = None
    node_topology: LabelSelector | None = None


class StorageClass(
    KubeObject,
    group="storage.k8s.io",
    version="v1",
    plural="storageclasses",
    namespaced=False,
    short_names=("sc",),
    verbs=ALL_VERBS,
):
    provisioner: str
    allow_volume_expansion: bool | None = None
    allowed_topologies: list[TopologySelectorTerm] | None = None
    mount_options: list[str] | None = None
    parameters: dict[str, str] | None = None
    reclaim_policy: str | None = None
    volume_binding_mode: str | None = None


class VolumeAttachment(
    HasStatus,
    group="storage.k8s.io",
    version="v1",
    plural="volumeattachments",
    namespaced=False,
    subresources=("status",),
    verbs=ALL_VERBS,
):
    spec: VolumeAttachmentSpec
    status: VolumeAttachmentStatus | None = None


class VolumeAttributesClass(
    KubeObject,
    group="storage.k8s.io",
    version="v1",
    plural="volumeattributesclasses",
    namespaced=False,
    short_names=("vac",),
    verbs=ALL_VERBS,
):
    driver_name: str
    parameters: dict[str, str] | None = None
