"""The kinds of resource.k8s.io/v1 and their parts, generated from Kubernetes 1.36.3."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from ..objects import HasStatus, KubeObject, ObjectMeta, Quantity
from ._generated_base import ALL_VERBS, Filled, Part
from .core_v1 import NodeSelector
from .meta_v1 import Condition

__all__ = [
    "AllocatedDeviceStatus",
    "AllocationResult",
    "CELDeviceSelector",
    "CapacityRequestPolicy",
    "CapacityRequestPolicyRange",
    "CapacityRequirements",
    "Counter",
    "CounterSet",
    "Device",
    "DeviceAllocationConfiguration",
    "DeviceAllocationResult",
    "DeviceAttribute",
    "DeviceCapacity",
    "DeviceClaim",
    "DeviceClaimConfiguration",
    "DeviceClass",
    "DeviceClassConfiguration",
    "DeviceClassSpec",
    "DeviceConstraint",
    "DeviceCounterConsumption",
    "DeviceRequest",
    "DeviceRequestAllocationResult",
    "DeviceSelector",
    "DeviceSubRequest",
    "DeviceTaint",
    "DeviceToleration",
    "ExactDeviceRequest",
    "NetworkDeviceData",
    "NodeAllocatableResourceMapping",
    "OpaqueDeviceConfiguration",
    "ResourceClaim",
    "ResourceClaimConsumerReference",
    "ResourceClaimSpec",
    "ResourceClaimStatus",
    "ResourceClaimTemplate",
    "ResourceClaimTemplateSpec",
    "ResourcePool",
    "ResourceSlice",
    "ResourceSliceSpec",
]


class AllocatedDeviceStatus(Part):
    device: str
    driver: str
    pool: str
    conditions: list[Condition] | None = None
    data: Any = None
    network_data: NetworkDeviceData | None = None
    share_id: str | None = msgspec.field(default=None, name="shareID")


class AllocationResult(Part):
    allocation_timestamp: datetime | None = None
    devices: DeviceAllocationResult | None = None
    node_selector: NodeSelector | None = None


class CELDeviceSelector(Part):
    expression: str


class CapacityRequestPolicy(Part):
    default: Quantity | None = None
    valid_range: CapacityRequestPolicyRange | None = None
    valid_values: list[Quantity] | None = None


class CapacityRequestPolicyRange(Part):
    min: Quantity
    max: Quantity | None = None
    step: Quantity | None = None


class CapacityRequirements(Part):
    requests: dict[str, Quantity] | None = None


class Counter(Part):
    value: Quantity


class CounterSet(Part):
    counters: Filled[dict[str, Counter]]
    name: str

    def __post_init__(self: Any) -> None:
        if self.counters is None:
            self.counters = {}


class Device(Part):
    name: str
    all_nodes: bool | None = None
    allow_multiple_allocations: bool | None = None
    attributes: dict[str, DeviceAttribute] | None = None
    binding_conditions: list[str] | None = None
    binding_failure_conditions: list[str] | None = None
    binds_to_node: bool | None = None
    capacity: dict[str, DeviceCapacity] | None = None
    consumes_counters: list[DeviceCounterConsumption] | None = None
    node_allocatable_resource_mappings: dict[str, NodeAllocatableResourceMapping] | None = None
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    taints: list[DeviceTaint] | None = None


class DeviceAllocationConfiguration(Part):
    source: str
    opaque: OpaqueDeviceConfiguration | None = None
    requests: list[str] | None = None


class DeviceAllocationResult(Part):
    config: list[DeviceAllocationConfiguration] | None = None
    results: list[DeviceRequestAllocationResult] | None = None


class DeviceAttribute(Part):
    bool_: bool | None = None
    bools: list[bool] | None = None
    int_: int | None = None
    ints: list[int] | None = None
    string: str | None = None
    strings: list[str] | None = None
    version: str | None = None
    versions: list[str] | None = None


class DeviceCapacity(Part):
    value: Quantity
    request_policy: CapacityRequestPolicy | None = None


class DeviceClaim(Part):
    config: list[DeviceClaimConfiguration] | None = None
    constraints: list[DeviceConstraint] | None = None
    requests: list[DeviceRequest] | None = None


class DeviceClaimConfiguration(Part):
    opaque: OpaqueDeviceConfiguration | None = None
    requests: list[str] | None = None


class DeviceClassConfiguration(Part):
    opaque: OpaqueDeviceConfiguration | None = None


class DeviceClassSpec(Part):
    config: list[DeviceClassConfiguration] | None = None
    extended_resource_name: str | None = None
    selectors: list[DeviceSelector] | None = None


class DeviceConstraint(Part):
    distinct_attribute: str | None = None
    match_attribute: str | None = None
    requests: list[str] | None = None


class DeviceCounterConsumption(Part):
    counter_set: str
    counters: Filled[dict[str, Counter]]

    def __post_init__(self: Any) -> None:
        if self.counters is None:
            self.counters = {}


class DeviceRequest(Part):
    name: str
    exactly: ExactDeviceRequest | None = None
    first_available: list[DeviceSubRequest] | None = None


class DeviceRequestAllocationResult(Part):
    device: str
    driver: str
    pool: str
    request: str
    admin_access: bool | None = None
    binding_conditions: list[str] | None = None
    binding_failure_conditions: list[str] | None = None
    consumed_capacity: dict[str, Quantity] | None = None
    share_id: str | None = msgspec.field(default=None, name="shareID")
    tolerations: list[DeviceToleration] | None = None


class DeviceSelector(Part):
    cel: CELDeviceSelector | None = None


class DeviceSubRequest(Part):
    device_class_name: str
    name: str
    allocation_mode: str | None = None
    capacity: CapacityRequirements | None = None
    count: int | None = None
    selectors: list[DeviceSelector] | None = None
    tolerations: list[DeviceToleration] | None = None


class DeviceTaint(Part):
    effect: str
    key: str
    time_added: datetime | None = None
    value: str | None = None


class DeviceToleration(Part):
    effect: str | None = None
    key: str | None = None
    operator: str | None = None
    toleration_seconds: int | None = None
    value: str | None = None


class ExactDeviceRequest(Part):
    device_class_name: str
    admin_access: bool | None = None
    allocation_mode: str | None = None
    capacity: CapacityRequirements | None = None
    count: int | None = None
    selectors: list[DeviceSelector] | None = None
    tolerations: list[DeviceToleration] | None = None


class NetworkDeviceData(Part):
    hardware_address: str | None = None
    interface_name: str | None = None
    ips: list[str] | None = None


class NodeAllocatableResourceMapping(Part):
    allocation_multiplier: Quantity | None = None
    capacity_key: str | None = None


class OpaqueDeviceConfiguration(Part):
    driver: str
    parameters: Any


class ResourceClaimConsumerReference(Part):
    name: str
    resource: str
    uid: str
    api_group: str | None = None


class ResourceClaimSpec(Part):
    devices: DeviceClaim | None = None


class ResourceClaimStatus(Part):
    allocation: AllocationResult | None = None
    devices: list[AllocatedDeviceStatus] | None = None
    reserved_for: list[ResourceClaimConsumerReference] | None = None


class ResourceClaimTemplateSpec(Part):
    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: ResourceClaimSpec = msgspec.field(default_factory=ResourceClaimSpec)


class ResourcePool(Part):
    generation: int
    name: str
    resource_slice_count: int


class ResourceSliceSpec(Part):
    driver: str
    pool: ResourcePool
    all_nodes: bool | None = None
    devices: list[Device] | None = None
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    per_device_node_selection: bool | None = None
    shared_counters: list[CounterSet] | None = None


class DeviceClass(
    KubeObject,
    group="resource.k8s.io",
    version="v1",
    plural="deviceclasses",
    namespaced=False,
    verbs=ALL_VERBS,
):
    spec: DeviceClassSpec = msgspec.field(default_factory=DeviceClassSpec)


class ResourceClaim(
    HasStatus,
    group="resource.k8s.io",
    version="v1",
    plural="resourceclaims",
    subresources=("status",),
    verbs=ALL_VERBS,
):
    spec: ResourceClaimSpec = msgspec.field(default_factory=ResourceClaimSpec)
    status: ResourceClaimStatus | None = None


class ResourceClaimTemplate(
    KubeObject, group="resource.k8s.io", version="v1", plural="resourceclaimtemplates", verbs=ALL_VERBS
):
    spec: ResourceClaimTemplateSpec


class ResourceSlice(
    KubeObject,
    group="resource.k8s.io",
    version="v1",
    plural="resourceslices",
    namespaced=False,
    verbs=ALL_VERBS,
):
    spec: ResourceSliceSpec
