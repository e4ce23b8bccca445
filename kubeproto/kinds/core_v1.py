"""The kinds of v1 and their parts, generated from Kubernetes 1.36.3."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from ..objects import (
    HasFinalize,
    HasScale,
    HasStatus,
    HasToken,
    KubeObject,
    MicroTime,
    ObjectMeta,
    Quantity,
    RunsContainers,
)
from ._generated_base import ALL_VERBS, Filled, IntOrString, Part, concealed_repr
from .meta_v1 import Condition, LabelSelector

__all__ = [
    "AWSElasticBlockStoreVolumeSource",
    "Affinity",
    "AppArmorProfile",
    "AttachedVolume",
    "AzureDiskVolumeSource",
    "AzureFilePersistentVolumeSource",
    "AzureFileVolumeSource",
    "Binding",
    "CSIPersistentVolumeSource",
    "CSIVolumeSource",
    "Capabilities",
    "CephFSPersistentVolumeSource",
    "CephFSVolumeSource",
    "CinderPersistentVolumeSource",
    "CinderVolumeSource",
    "ClaimSource",
    "ClientIPConfig",
    "ClusterTrustBundleProjection",
    "ComponentCondition",
    "ComponentStatus",
    "ConfigMap",
    "ConfigMapEnvSource",
    "ConfigMapKeySelector",
    "ConfigMapNodeConfigSource",
    "ConfigMapProjection",
    "ConfigMapVolumeSource",
    "Container",
    "ContainerExtendedResourceRequest",
    "ContainerImage",
    "ContainerPort",
    "ContainerResizePolicy",
    "ContainerRestartRule",
    "ContainerRestartRuleOnExitCodes",
    "ContainerState",
    "ContainerStateRunning",
    "ContainerStateTerminated",
    "ContainerStateWaiting",
    "ContainerStatus",
    "ContainerUser",
    "DaemonEndpoint",
    "DownwardAPIProjection",
    "DownwardAPIVolumeFile",
    "DownwardAPIVolumeSource",
    "EmptyDirVolumeSource",
    "EndpointAddress",
    "EndpointPort",
    "EndpointSubset",
    "Endpoints",
    "EnvFromSource",
    "EnvVar",
    "EnvVarSource",
    "EphemeralContainer",
    "EphemeralVolumeSource",
    "Event",
    "EventSeries",
    "EventSource",
    "ExecAction",
    "FCVolumeSource",
    "FileKeySelector",
    "FlexPersistentVolumeSource",
    "FlexVolumeSource",
    "FlockerVolumeSource",
    "GCEPersistentDiskVolumeSource",
    "GRPCAction",
    "GitRepoVolumeSource",
    "GlusterfsPersistentVolumeSource",
    "GlusterfsVolumeSource",
    "HTTPGetAction",
    "HTTPHeader",
    "HostAlias",
    "HostIP",
    "HostPathVolumeSource",
    "ISCSIPersistentVolumeSource",
    "ISCSIVolumeSource",
    "ImageVolumeSource",
    "ImageVolumeStatus",
    "KeyToPath",
    "Lifecycle",
    "LifecycleHandler",
    "LimitRange",
    "LimitRangeItem",
    "LimitRangeSpec",
    "LinuxContainerUser",
    "LoadBalancerIngress",
    "LoadBalancerStatus",
    "LocalObjectReference",
    "LocalVolumeSource",
    "ModifyVolumeStatus",
    "NFSVolumeSource",
    "Namespace",
    "NamespaceCondition",
    "NamespaceSpec",
    "NamespaceStatus",
    "Node",
    "NodeAddress",
    "NodeAffinity",
    "NodeAllocatableResourceClaimStatus",
    "NodeCondition",
    "NodeConfigSource",
    "NodeConfigStatus",
    "NodeDaemonEndpoints",
    "NodeFeatures",
    "NodeRuntimeHandler",
    "NodeRuntimeHandlerFeatures",
    "NodeSelector",
    "NodeSelectorRequirement",
    "NodeSelectorTerm",
    "NodeSpec",
    "NodeStatus",
    "NodeSwapStatus",
    "NodeSystemInfo",
    "ObjectFieldSelector",
    "ObjectReference",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "PersistentVolumeClaimCondition",
    "PersistentVolumeClaimSpec",
    "PersistentVolumeClaimStatus",
    "PersistentVolumeClaimTemplate",
    "PersistentVolumeClaimVolumeSource",
    "PersistentVolumeSpec",
    "PersistentVolumeStatus",
    "PhotonPersistentDiskVolumeSource",
    "Pod",
    "PodAffinity",
    "PodAffinityTerm",
    "PodAntiAffinity",
    "PodCertificateProjection",
    "PodCondition",
    "PodDNSConfig",
    "PodDNSConfigOption",
    "PodExtendedResourceClaimStatus",
    "PodIP",
    "PodOS",
    "PodReadinessGate",
    "PodResourceClaim",
    "PodResourceClaimStatus",
    "PodSchedulingGate",
    "PodSchedulingGroup",
    "PodSecurityContext",
    "PodSpec",
    "PodStatus",
    "PodTemplate",
    "PodTemplateSpec",
    "PortStatus",
    "PortworxVolumeSource",
    "PreferredSchedulingTerm",
    "Probe",
    "ProjectedVolumeSource",
    "QuobyteVolumeSource",
    "RBDPersistentVolumeSource",
    "RBDVolumeSource",
    "ReplicationController",
    "ReplicationControllerCondition",
    "ReplicationControllerSpec",
    "ReplicationControllerStatus",
    "ResourceClaim",
    "ResourceFieldSelector",
    "ResourceHealth",
    "ResourceQuota",
    "ResourceQuotaSpec",
    "ResourceQuotaStatus",
    "ResourceRequirements",
    "ResourceStatus",
    "SELinuxOptions",
    "ScaleIOPersistentVolumeSource",
    "ScaleIOVolumeSource",
    "ScopeSelector",
    "ScopedResourceSelectorRequirement",
    "SeccompProfile",
    "Secret",
    "SecretEnvSource",
    "SecretKeySelector",
    "SecretProjection",
    "SecretReference",
    "SecretVolumeSource",
    "SecurityContext",
    "Service",
    "ServiceAccount",
    "ServiceAccountTokenProjection",
    "ServicePort",
    "ServiceSpec",
    "ServiceStatus",
    "SessionAffinityConfig",
    "SleepAction",
    "StorageOSPersistentVolumeSource",
    "StorageOSVolumeSource",
    "Sysctl",
    "TCPSocketAction",
    "Taint",
    "Toleration",
    "TopologySelectorLabelRequirement",
    "TopologySelectorTerm",
    "TopologySpreadConstraint",
    "TypedLocalObjectReference",
    "TypedObjectReference",
    "Volume",
    "VolumeDevice",
    "VolumeMount",
    "VolumeMountStatus",
    "VolumeNodeAffinity",
    "VolumeProjection",
    "VolumeResourceRequirements",
    "VolumeStatus",
    "VsphereVirtualDiskVolumeSource",
    "WeightedPodAffinityTerm",
    "WindowsSecurityContextOptions",
    "WorkloadReference",
]


class AWSElasticBlockStoreVolumeSource(Part):
    volume_id: str = msgspec.field(name="volumeID")
    fs_type: str | None = None
    partition: int | None = None
    read_only: bool | None = None


class Affinity(Part):
    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAntiAffinity | None = None


class AppArmorProfile(Part):
    type: str
    localhost_profile: str | None = None


class AttachedVolume(Part):
    device_path: str
    name: str


class AzureDiskVolumeSource(Part):
    disk_name: str
    disk_uri: str = msgspec.field(name="diskURI")
    caching_mode: str | None = None
    fs_type: str | None = None
    kind: str | None = None
    read_only: bool | None = None


class AzureFilePersistentVolumeSource(Part):
    secret_name: str
    share_name: str
    read_only: bool | None = None
    secret_namespace: str | None = None


class AzureFileVolumeSource(Part):
    secret_name: str
    share_name: str
    read_only: bool | None = None


class CSIPersistentVolumeSource(Part):
    driver: str
    volume_handle: str
    controller_expand_secret_ref: SecretReference | None = None
    controller_publish_secret_ref: SecretReference | None = None
    fs_type: str | None = None
    node_expand_secret_ref: SecretReference | None = None
    node_publish_secret_ref: SecretReference | None = None
    node_stage_secret_ref: SecretReference | None = None
    read_only: bool | None = None
    volume_attributes: dict[str, str] | None = None


class CSIVolumeSource(Part):
    driver: str
    fs_type: str | None = None
    node_publish_secret_ref: LocalObjectReference | None = None
    read_only: bool | None = None
    volume_attributes: dict[str, str] | None = None


class Capabilities(Part):
    add: list[str] | None = None
    drop: list[str] | None = None


class CephFSPersistentVolumeSource(Part):
    monitors: Filled[list[str]]
    path: str | None = None
    read_only: bool | None = None
    secret_file: str | None = None
    secret_ref: SecretReference | None = None
    user: str | None = None

    def __post_init__(self: Any) -> None:
        if self.monitors is None:
            self.monitors = []


class CephFSVolumeSource(Part):
    monitors: Filled[list[str]]
    path: str | None = None
    read_only: bool | None = None
    secret_file: str | None = None
    secret_ref: LocalObjectReference | None = None
    user: str | None = None

    def __post_init__(self: Any) -> None:
        if self.monitors is None:
            self.monitors = []


class CinderPersistentVolumeSource(Part):
    volume_id: str = msgspec.field(name="volumeID")
    fs_type: str | None = None
    read_only: bool | None = None
    secret_ref: SecretReference | None = None


class CinderVolumeSource(Part):
    volume_id: str = msgspec.field(name="volumeID")
    fs_type: str | None = None
    read_only: bool | None = None
    secret_ref: LocalObjectReference | None = None


class ClaimSource(Part):
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class ClientIPConfig(Part):
    timeout_seconds: int | None = None


class ClusterTrustBundleProjection(Part):
    path: str
    label_selector: LabelSelector | None = None
    name: str | None = None
    optional: bool | None = None
    signer_name: str | None = None


class ComponentCondition(Part):
    status: str
    type: str
    error: str | None = None
    message: str | None = None


class ConfigMapEnvSource(Part):
    name: str | None = None
    optional: bool | None = None


class ConfigMapKeySelector(Part):
    key: str
    name: str | None = None
    optional: bool | None = None


class ConfigMapNodeConfigSource(Part):
    kubelet_config_key: str
    name: str
    namespace: str
    resource_version: str | None = None
    uid: str | None = None


class ConfigMapProjection(Part):
    items: list[KeyToPath] | None = None
    name: str | None = None
    optional: bool | None = None


class ConfigMapVolumeSource(Part):
    default_mode: int | None = None
    items: list[KeyToPath] | None = None
    name: str | None = None
    optional: bool | None = None


class Container(Part):
    name: str
    image: str | None = None
    command: list[str] | None = None
    args: list[str] | None = None
    working_dir: str | None = None
    ports: list[ContainerPort] | None = None
    env_from: list[EnvFromSource] | None = None
    env: list[EnvVar] | None = None
    resources: ResourceRequirements | None = None
    resize_policy: list[ContainerResizePolicy] | None = None
    restart_policy: str | None = None
    volume_mounts: list[VolumeMount] | None = None
    volume_devices: list[VolumeDevice] | None = None
    liveness_probe: Probe | None = None
    readiness_probe: Probe | None = None
    startup_probe: Probe | None = None
    lifecycle: Lifecycle | None = None
    termination_message_path: str | None = None
    termination_message_policy: str | None = None
    image_pull_policy: str | None = None
    security_context: SecurityContext | None = None
    restart_policy_rules: list[ContainerRestartRule] | None = None
    stdin: bool | None = None
    stdin_once: bool | None = None
    tty: bool | None = None


class ContainerExtendedResourceRequest(Part):
    container_name: str
    request_name: str
    resource_name: str


class ContainerImage(Part):
    names: list[str] | None = None
    size_bytes: int | None = None


class ContainerPort(Part):
    name: str | None = None
    host_port: int | None = None
    container_port: int
    protocol: str | None = None
    host_ip: str | None = msgspec.field(default=None, name="hostIP")


class ContainerResizePolicy(Part):
    resource_name: str
    restart_policy: str


class ContainerRestartRule(Part):
    action: str
    exit_codes: ContainerRestartRuleOnExitCodes | None = None


class ContainerRestartRuleOnExitCodes(Part):
    operator: str
    values: list[int] | None = None


class ContainerState(Part):
    running: ContainerStateRunning | None = None
    terminated: ContainerStateTerminated | None = None
    waiting: ContainerStateWaiting | None = None


class ContainerStateRunning(Part):
    started_at: datetime | None = None


class ContainerStateTerminated(Part):
    exit_code: int
    signal: int | None = None
    reason: str | None = None
    message: str | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    container_id: str | None = msgspec.field(default=None, name="containerID")


class ContainerStateWaiting(Part):
    reason: str | None = None
    message: str | None = None


class ContainerStatus(Part):
    name: str
    state: ContainerState | None = None
    last_state: ContainerState | None = None
    ready: bool
    restart_count: int
    image: str
    image_id: str = msgspec.field(name="imageID")
    container_id: str | None = msgspec.field(default=None, name="containerID")
    started: bool | None = None
    allocated_resources: dict[str, Quantity] | None = None
    resources: ResourceRequirements | None = None
    volume_mounts: list[VolumeMountStatus] | None = None
    user: ContainerUser | None = None
    allocated_resources_status: list[ResourceStatus] | None = None
    stop_signal: str | None = None


class ContainerUser(Part):
    linux: LinuxContainerUser | None = None


class DaemonEndpoint(Part):
    port: int = msgspec.field(name="Port")


class DownwardAPIProjection(Part):
    items: list[DownwardAPIVolumeFile] | None = None


class DownwardAPIVolumeFile(Part):
    path: str
    field_ref: ObjectFieldSelector | None = None
    mode: int | None = None
    resource_field_ref: ResourceFieldSelector | None = None


class DownwardAPIVolumeSource(Part):
    default_mode: int | None = None
    items: list[DownwardAPIVolumeFile] | None = None


class EmptyDirVolumeSource(Part):
    medium: str | None = None
    size_limit: Quantity | None = None


class EndpointAddress(Part):
    ip: str
    hostname: str | None = None
    node_name: str | None = None
    target_ref: ObjectReference | None = None


class EndpointPort(Part):
    port: int
    app_protocol: str | None = None
    name: str | None = None
    protocol: str | None = None


class EndpointSubset(Part):
    addresses: list[EndpointAddress] | None = None
    not_ready_addresses: list[EndpointAddress] | None = None
    ports: list[EndpointPort] | None = None


class EnvFromSource(Part):
    config_map_ref: ConfigMapEnvSource | None = None
    prefix: str | None = None
    secret_ref: SecretEnvSource | None = None


class EnvVar(Part):
    name: str
    value: str | None = None
    value_from: EnvVarSource | None = None


class EnvVarSource(Part):
    config_map_key_ref: ConfigMapKeySelector | None = None
    field_ref: ObjectFieldSelector | None = None
    file_key_ref: FileKeySelector | None = None
    resource_field_ref: ResourceFieldSelector | None = None
    secret_key_ref: SecretKeySelector | None = None


class EphemeralContainer(Part):
    name: str
    args: list[str] | None = None
    command: list[str] | None = None
    env: list[EnvVar] | None = None
    env_from: list[EnvFromSource] | None = None
    image: str | None = None
    image_pull_policy: str | None = None
    lifecycle: Lifecycle | None = None
    liveness_probe: Probe | None = None
    ports: list[ContainerPort] | None = None
    readiness_probe: Probe | None = None
    resize_policy: list[ContainerResizePolicy] | None = None
    resources: ResourceRequirements | None = None
    restart_policy: str | None = None
    restart_policy_rules: list[ContainerRestartRule] | None = None
    security_context: SecurityContext | None = None
    startup_probe: Probe | None = None
    stdin: bool | None = None
    stdin_once: bool | None = None
    target_container_name: str | None = None
    termination_message_path: str | None = None
    termination_message_policy: str | None = None
    tty: bool | None = None
    volume_devices: list[VolumeDevice] | None = None
    volume_mounts: list[VolumeMount] | None = None
    working_dir: str | None = None


class EphemeralVolumeSource(Part):
    volume_claim_template: PersistentVolumeClaimTemplate | None = None


class EventSeries(Part):
    count: int | None = None
    last_observed_time: MicroTime | None = None


class EventSource(Part):
    component: str | None = None
    host: str | None = None


class ExecAction(Part):
    command: list[str] | None = None


class FCVolumeSource(Part):
    fs_type: str | None = None
    lun: int | None = None
    read_only: bool | None = None
    target_wwns: list[str] | None = msgspec.field(default=None, name="targetWWNs")
    wwids: list[str] | None = None


class FileKeySelector(Part):
    key: str
    path: str
    volume_name: str
    optional: bool | None = None


class FlexPersistentVolumeSource(Part):
    driver: str
    fs_type: str | None = None
    options: dict[str, str] | None = None
    read_only: bool | None = None
    secret_ref: SecretReference | None = None


class FlexVolumeSource(Part):
    driver: str
    fs_type: str | None = None
    options: dict[str, str] | None = None
    read_only: bool | None = None
    secret_ref: LocalObjectReference | None = None


class FlockerVolumeSource(Part):
    dataset_name: str | None = None
    dataset_uuid: str | None = msgspec.field(default=None, name="datasetUUID")


class GCEPersistentDiskVolumeSource(Part):
    pd_name: str
    fs_type: str | None = None
    partition: int | None = None
    read_only: bool | None = None


class GRPCAction(Part):
    port: int
    service: str | None = None


class GitRepoVolumeSource(Part):
    repository: str
    directory: str | None = None
    revision: str | None = None


class GlusterfsPersistentVolumeSource(Part):
    endpoints: str
    path: str
    endpoints_namespace: str | None = None
    read_only: bool | None = None


class GlusterfsVolumeSource(Part):
    endpoints: str
    path: str
    read_only: bool | None = None


class HTTPGetAction(Part):
    path: str | None = None
    port: IntOrString
    host: str | None = None
    scheme: str | None = None
    http_headers: list[HTTPHeader] | None = None


class HTTPHeader(Part):
    name: str
    value: str


class HostAlias(Part):
    ip: str
    hostnames: list[str] | None = None


class HostIP(Part):
    ip: str


class HostPathVolumeSource(Part):
    path: str
    type: str | None = None


class ISCSIPersistentVolumeSource(Part):
    iqn: str
    lun: int
    target_portal: str
    chap_auth_discovery: bool | None = None
    chap_auth_session: bool | None = None
    fs_type: str | None = None
    initiator_name: str | None = None
    iscsi_interface: str | None = None
    portals: list[str] | None = None
    read_only: bool | None = None
    secret_ref: SecretReference | None = None


class ISCSIVolumeSource(Part):
    iqn: str
    lun: int
    target_portal: str
    chap_auth_discovery: bool | None = None
    chap_auth_session: bool | None = None
    fs_type: str | None = None
    initiator_name: str | None = None
    iscsi_interface: str | None = None
    portals: list[str] | None = None
    read_only: bool | None = None
    secret_ref: LocalObjectReference | None = None


class ImageVolumeSource(Part):
    pull_policy: str | None = None
    reference: str | None = None


class ImageVolumeStatus(Part):
    image_ref: str


class KeyToPath(Part):
    key: str
    path: str
    mode: int | None = None


class Lifecycle(Part):
    post_start: LifecycleHandler | None = None
    pre_stop: LifecycleHandler | None = None
    stop_signal: str | None = None


class LifecycleHandler(Part):
    exec: ExecAction | None = None
    http_get: HTTPGetAction | None = None
    sleep: SleepAction | None = None
    tcp_socket: TCPSocketAction | None = None


class LimitRangeItem(Part):
    type: str
    default: dict[str, Quantity] | None = None
    default_request: dict[str, Quantity] | None = None
    max: dict[str, Quantity] | None = None
    max_limit_request_ratio: dict[str, Quantity] | None = None
    min: dict[str, Quantity] | None = None


class LimitRangeSpec(Part):
    limits: Filled[list[LimitRangeItem]]

    def __post_init__(self: Any) -> None:
        if self.limits is None:
            self.limits = []


class LinuxContainerUser(Part):
    gid: int
    uid: int
    supplemental_groups: list[int] | None = None


class LoadBalancerIngress(Part):
    hostname: str | None = None
    ip: str | None = None
    ip_mode: str | None = None
    ports: list[PortStatus] | None = None


class LoadBalancerStatus(Part):
    ingress: list[LoadBalancerIngress] | None = None


class LocalObjectReference(Part):
    name: str | None = None


class LocalVolumeSource(Part):
    path: str
    fs_type: str | None = None


class ModifyVolumeStatus(Part):
    status: str
    target_volume_attributes_class_name: str | None = None


class NFSVolumeSource(Part):
    path: str
    server: str
    read_only: bool | None = None


class NamespaceCondition(Part):
    status: str
    type: str
    last_transition_time: datetime | None = None
    message: str | None = None
    reason: str | None = None


class NamespaceSpec(Part):
    finalizers: list[str] | None = None


class NamespaceStatus(Part):
    conditions: list[NamespaceCondition] | None = None
    phase: str | None = None


class NodeAddress(Part):
    address: str
    type: str


class NodeAffinity(Part):
    preferred_during_scheduling_ignored_during_execution: list[PreferredSchedulingTerm] | None = None
    required_during_scheduling_ignored_during_execution: NodeSelector | None = None


class NodeAllocatableResourceClaimStatus(Part):
    resource_claim_name: str
    resources: Filled[dict[str, Quantity]]
    containers: list[str] | None = None

    def __post_init__(self: Any) -> None:
        if self.resources is None:
            self.resources = {}


class NodeCondition(Part):
    type: str
    status: str
    last_heartbeat_time: datetime | None = None
    last_transition_time: datetime | None = None
    reason: str | None = None
    message: str | None = None


class NodeConfigSource(Part):
    config_map: ConfigMapNodeConfigSource | None = None


class NodeConfigStatus(Part):
    active: NodeConfigSource | None = None
    assigned: NodeConfigSource | None = None
    error: str | None = None
    last_known_good: NodeConfigSource | None = None


class NodeDaemonEndpoints(Part):
    kubelet_endpoint: DaemonEndpoint | None = None


class NodeFeatures(Part):
    supplemental_groups_policy: bool | None = None


class NodeRuntimeHandler(Part):
    features: NodeRuntimeHandlerFeatures | None = None
    name: str | None = None


class NodeRuntimeHandlerFeatures(Part):
    recursive_read_only_mounts: bool | None = None
    user_namespaces: bool | None = None


class NodeSelector(Part):
    node_selector_terms: Filled[list[NodeSelectorTerm]]

    def __post_init__(self: Any) -> None:
        if self.node_selector_terms is None:
            self.node_selector_terms = []


class NodeSelectorRequirement(Part):
    key: str
    operator: str
    values: list[str] | None = None


class NodeSelectorTerm(Part):
    match_expressions: list[NodeSelectorRequirement] | None = None
    match_fields: list[NodeSelectorRequirement] | None = None


class NodeSpec(Part):
    pod_cidr: str | None = msgspec.field(default=None, name="podCIDR")
    pod_cidrs: list[str] | None = msgspec.field(default=None, name="podCIDRs")
    provider_id: str | None = msgspec.field(default=None, name="providerID")
    unschedulable: bool | None = None
    taints: list[Taint] | None = None
    config_source: NodeConfigSource | None = None
    external_id: str | None = msgspec.field(default=None, name="externalID")


class NodeStatus(Part):
    capacity: dict[str, Quantity] | None = None
    allocatable: dict[str, Quantity] | None = None
    phase: str | None = None
    conditions: list[NodeCondition] | None = None
    addresses: list[NodeAddress] | None = None
    daemon_endpoints: NodeDaemonEndpoints | None = None
    node_info: NodeSystemInfo | None = None
    images: list[ContainerImage] | None = None
    volumes_in_use: list[str] | None = None
    volumes_attached: list[AttachedVolume] | None = None
    config: NodeConfigStatus | None = None
    declared_features: list[str] | None = None
    features: NodeFeatures | None = None
    runtime_handlers: list[NodeRuntimeHandler] | None = None


class NodeSwapStatus(Part):
    capacity: int | None = None


class NodeSystemInfo(Part):
    architecture: str
    boot_id: str = msgspec.field(name="bootID")
    container_runtime_version: str
    kernel_version: str
    kube_proxy_version: str
    kubelet_version: str
    machine_id: str = msgspec.field(name="machineID")
    operating_system: str
    os_image: str
    system_uuid: str = msgspec.field(name="systemUUID")
    swap: NodeSwapStatus | None = None


class ObjectFieldSelector(Part):
    api_version: str | None = None
    field_path: str


class ObjectReference(Part):
    kind: str | None = None
    namespace: str | None = None
    name: str | None = None
    uid: str | None = None
    api_version: str | None = None
    resource_version: str | None = None
    field_path: str | None = None


class PersistentVolumeClaimCondition(Part):
    status: str
    type: str
    last_probe_time: datetime | None = None
    last_transition_time: datetime | None = None
    message: str | None = None
    reason: str | None = None


class PersistentVolumeClaimSpec(Part):
    access_modes: list[str] | None = None
    data_source: TypedLocalObjectReference | None = None
    data_source_ref: TypedObjectReference | None = None
    resources: VolumeResourceRequirements | None = None
    selector: LabelSelector | None = None
    storage_class_name: str | None = None
    volume_attributes_class_name: str | None = None
    volume_mode: str | None = None
    volume_name: str | None = None


class PersistentVolumeClaimStatus(Part):
    access_modes: list[str] | None = None
    allocated_resource_statuses: dict[str, str] | None = None
    allocated_resources: dict[str, Quantity] | None = None
    capacity: dict[str, Quantity] | None = None
    conditions: list[PersistentVolumeClaimCondition] | None = None
    current_volume_attributes_class_name: str | None = None
    modify_volume_status: ModifyVolumeStatus | None = None
    phase: str | None = None


class PersistentVolumeClaimTemplate(Part):
    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: PersistentVolumeClaimSpec = msgspec.field(default_factory=PersistentVolumeClaimSpec)


class PersistentVolumeClaimVolumeSource(Part):
    claim_name: str
    read_only: bool | None = None


class PersistentVolumeSpec(Part):
    access_modes: list[str] | None = None
    aws_elastic_block_store: AWSElasticBlockStoreVolumeSource | None = None
    azure_disk: AzureDiskVolumeSource | None = None
    azure_file: AzureFilePersistentVolumeSource | None = None
    capacity: dict[str, Quantity] | None = None
    cephfs: CephFSPersistentVolumeSource | None = None
    cinder: CinderPersistentVolumeSource | None = None
    claim_ref: ObjectReference | None = None
    csi: CSIPersistentVolumeSource | None = None
    fc: FCVolumeSource | None = None
    flex_volume: FlexPersistentVolumeSource | None = None
    flocker: FlockerVolumeSource | None = None
    gce_persistent_disk: GCEPersistentDiskVolumeSource | None = None
    glusterfs: GlusterfsPersistentVolumeSource | None = None
    host_path: HostPathVolumeSource | None = None
    iscsi: ISCSIPersistentVolumeSource | None = None
    local: LocalVolumeSource | None = None
    mount_options: list[str] | None = None
    nfs: NFSVolumeSource | None = None
    node_affinity: VolumeNodeAffinity | None = None
    persistent_volume_reclaim_policy: str | None = None
    photon_persistent_disk: PhotonPersistentDiskVolumeSource | None = None
    portworx_volume: PortworxVolumeSource | None = None
    quobyte: QuobyteVolumeSource | None = None
    rbd: RBDPersistentVolumeSource | None = None
    scale_io: ScaleIOPersistentVolumeSource | None = msgspec.field(default=None, name="scaleIO")
    storage_class_name: str | None = None
    storageos: StorageOSPersistentVolumeSource | None = None
    volume_attributes_class_name: str | None = None
    volume_mode: str | None = None
    vsphere_volume: VsphereVirtualDiskVolumeSource | None = None


class PersistentVolumeStatus(Part):
    last_phase_transition_time: datetime | None = None
    message: str | None = None
    phase: str | None = None
    reason: str | None = None


class PhotonPersistentDiskVolumeSource(Part):
    pd_id: str = msgspec.field(name="pdID")
    fs_type: str | None = None


class PodAffinity(Part):
    preferred_during_scheduling_ignored_during_execution: list[WeightedPodAffinityTerm] | None = None
    required_during_scheduling_ignored_during_execution: list[PodAffinityTerm] | None = None


class PodAffinityTerm(Part):
    topology_key: str
    label_selector: LabelSelector | None = None
    match_label_keys: list[str] | None = None
    mismatch_label_keys: list[str] | None = None
    namespace_selector: LabelSelector | None = None
    namespaces: list[str] | None = None


class PodAntiAffinity(Part):
    preferred_during_scheduling_ignored_during_execution: list[WeightedPodAffinityTerm] | None = None
    required_during_scheduling_ignored_during_execution: list[PodAffinityTerm] | None = None


class PodCertificateProjection(Part):
    key_type: str
    signer_name: str
    certificate_chain_path: str | None = None
    credential_bundle_path: str | None = None
    key_path: str | None = None
    max_expiration_seconds: int | None = None
    user_annotations: dict[str, str] | None = None


class PodCondition(Part):
    type: str
    observed_generation: int | None = None
    status: str
    last_probe_time: datetime | None = None
    last_transition_time: datetime | None = None
    reason: str | None = None
    message: str | None = None


class PodDNSConfig(Part):
    nameservers: list[str] | None = None
    options: list[PodDNSConfigOption] | None = None
    searches: list[str] | None = None


class PodDNSConfigOption(Part):
    name: str | None = None
    value: str | None = None


class PodExtendedResourceClaimStatus(Part):
    request_mappings: Filled[list[ContainerExtendedResourceRequest]]
    resource_claim_name: str

    def __post_init__(self: Any) -> None:
        if self.request_mappings is None:
            self.request_mappings = []


class PodIP(Part):
    ip: str


class PodOS(Part):
    name: str


class PodReadinessGate(Part):
    condition_type: str


class PodResourceClaim(Part):
    name: str
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None
    source: ClaimSource | None = None


class PodResourceClaimStatus(Part):
    name: str
    resource_claim_name: str | None = None


class PodSchedulingGate(Part):
    name: str


class PodSchedulingGroup(Part):
    pod_group_name: str | None = None


class PodSecurityContext(Part):
    app_armor_profile: AppArmorProfile | None = None
    fs_group: int | None = None
    fs_group_change_policy: str | None = None
    run_as_group: int | None = None
    run_as_non_root: bool | None = None
    run_as_user: int | None = None
    se_linux_change_policy: str | None = None
    se_linux_options: SELinuxOptions | None = None
    seccomp_profile: SeccompProfile | None = None
    supplemental_groups: list[int] | None = None
    supplemental_groups_policy: str | None = None
    sysctls: list[Sysctl] | None = None
    windows_options: WindowsSecurityContextOptions | None = None


class PodSpec(Part):
    volumes: list[Volume] | None = None
    init_containers: list[Container] | None = None
    containers: Filled[list[Container]]
    ephemeral_containers: list[EphemeralContainer] | None = None
    restart_policy: str | None = None
    termination_grace_period_seconds: int | None = None
    active_deadline_seconds: int | None = None
    dns_policy: str | None = None
    node_selector: dict[str, str] | None = None
    service_account_name: str | None = None
    service_account: str | None = None
    automount_service_account_token: bool | None = None
    node_name: str | None = None
    host_network: bool | None = None
    host_pid: bool | None = msgspec.field(default=None, name="hostPID")
    host_ipc: bool | None = msgspec.field(default=None, name="hostIPC")
    share_process_namespace: bool | None = None
    security_context: PodSecurityContext | None = None
    image_pull_secrets: list[LocalObjectReference] | None = None
    hostname: str | None = None
    subdomain: str | None = None
    affinity: Affinity | None = None
    scheduler_name: str | None = None
    tolerations: list[Toleration] | None = None
    host_aliases: list[HostAlias] | None = None
    priority_class_name: str | None = None
    priority: int | None = None
    dns_config: PodDNSConfig | None = None
    readiness_gates: list[PodReadinessGate] | None = None
    runtime_class_name: str | None = None
    enable_service_links: bool | None = None
    preemption_policy: str | None = None
    overhead: dict[str, Quantity] | None = None
    topology_spread_constraints: list[TopologySpreadConstraint] | None = None
    host_users: bool | None = None
    hostname_override: str | None = None
    os: PodOS | None = None
    resource_claims: list[PodResourceClaim] | None = None
    resources: ResourceRequirements | None = None
    scheduling_gates: list[PodSchedulingGate] | None = None
    scheduling_group: PodSchedulingGroup | None = None
    set_hostname_as_fqdn: bool | None = msgspec.field(default=None, name="setHostnameAsFQDN")
    workload_ref: WorkloadReference | None = None

    def __post_init__(self: Any) -> None:
        if self.containers is None:
            self.containers = []


class PodStatus(Part):
    observed_generation: int | None = None
    phase: str | None = None
    conditions: list[PodCondition] | None = None
    message: str | None = None
    reason: str | None = None
    nominated_node_name: str | None = None
    host_ip: str | None = msgspec.field(default=None, name="hostIP")
    host_ips: list[HostIP] | None = msgspec.field(default=None, name="hostIPs")
    pod_ip: str | None = msgspec.field(default=None, name="podIP")
    pod_ips: list[PodIP] | None = msgspec.field(default=None, name="podIPs")
    start_time: datetime | None = None
    init_container_statuses: list[ContainerStatus] | None = None
    container_statuses: list[ContainerStatus] | None = None
    qos_class: str | None = None
    ephemeral_container_statuses: list[ContainerStatus] | None = None
    allocated_resources: dict[str, Quantity] | None = None
    extended_resource_claim_status: PodExtendedResourceClaimStatus | None = None
    node_allocatable_resource_claim_statuses: list[NodeAllocatableResourceClaimStatus] | None = None
    resize: str | None = None
    resource_claim_statuses: list[PodResourceClaimStatus] | None = None
    resources: ResourceRequirements | None = None


class PodTemplateSpec(Part):
    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: PodSpec


class PortStatus(Part):
    port: int
    protocol: str
    error: str | None = None


class PortworxVolumeSource(Part):
    volume_id: str = msgspec.field(name="volumeID")
    fs_type: str | None = None
    read_only: bool | None = None


class PreferredSchedulingTerm(Part):
    preference: NodeSelectorTerm
    weight: int


class Probe(Part):
    exec: ExecAction | None = None
    http_get: HTTPGetAction | None = None
    tcp_socket: TCPSocketAction | None = None
    grpc: GRPCAction | None = None
    initial_delay_seconds: int | None = None
    timeout_seconds: int | None = None
    period_seconds: int | None = None
    success_threshold: int | None = None
    failure_threshold: int | None = None
    termination_grace_period_seconds: int | None = None


class ProjectedVolumeSource(Part):
    sources: list[VolumeProjection] | None = None
    default_mode: int | None = None


class QuobyteVolumeSource(Part):
    registry: str
    volume: str
    group: str | None = None
    read_only: bool | None = None
    tenant: str | None = None
    user: str | None = None


class RBDPersistentVolumeSource(Part):
    image: str
    monitors: Filled[list[str]]
    fs_type: str | None = None
    keyring: str | None = None
    pool: str | None = None
    read_only: bool | None = None
    secret_ref: SecretReference | None = None
    user: str | None = None

    def __post_init__(self: Any) -> None:
        if self.monitors is None:
            self.monitors = []


class RBDVolumeSource(Part):
    image: str
    monitors: Filled[list[str]]
    fs_type: str | None = None
    keyring: str | None = None
    pool: str | None = None
    read_only: bool | None = None
    secret_ref: LocalObjectReference | None = None
    user: str | None = None

    def __post_init__(self: Any) -> None:
        if self.monitors is None:
            self.monitors = []


class ReplicationControllerCondition(Part):
    status: str
    type: str
    last_transition_time: datetime | None = None
    message: str | None = None
    reason: str | None = None


class ReplicationControllerSpec(Part):
    min_ready_seconds: int | None = None
    replicas: int | None = None
    selector: dict[str, str] | None = None
    template: PodTemplateSpec | None = None


class ReplicationControllerStatus(Part):
    replicas: int
    available_replicas: int | None = None
    conditions: list[ReplicationControllerCondition] | None = None
    fully_labeled_replicas: int | None = None
    observed_generation: int | None = None
    ready_replicas: int | None = None


class ResourceClaim(Part):
    name: str
    request: str | None = None


class ResourceFieldSelector(Part):
    resource: str
    container_name: str | None = None
    divisor: Quantity | None = None


class ResourceHealth(Part):
    resource_id: str = msgspec.field(name="resourceID")
    health: str | None = None
    message: str | None = None


class ResourceQuotaSpec(Part):
    hard: dict[str, Quantity] | None = None
    scope_selector: ScopeSelector | None = None
    scopes: list[str] | None = None


class ResourceQuotaStatus(Part):
    hard: dict[str, Quantity] | None = None
    used: dict[str, Quantity] | None = None


class ResourceRequirements(Part):
    limits: dict[str, Quantity] | None = None
    requests: dict[str, Quantity] | None = None
    claims: list[ResourceClaim] | None = None


class ResourceStatus(Part):
    name: str
    resources: list[ResourceHealth] | None = None


class SELinuxOptions(Part):
    level: str | None = None
    role: str | None = None
    type: str | None = None
    user: str | None = None


class ScaleIOPersistentVolumeSource(Part):
    gateway: str
    secret_ref: SecretReference
    system: str
    fs_type: str | None = None
    protection_domain: str | None = None
    read_only: bool | None = None
    ssl_enabled: bool | None = None
    storage_mode: str | None = None
    storage_pool: str | None = None
    volume_name: str | None = None


class ScaleIOVolumeSource(Part):
    gateway: str
    secret_ref: LocalObjectReference
    system: str
    fs_type: str | None = None
    protection_domain: str | None = None
    read_only: bool | None = None
    ssl_enabled: bool | None = None
    storage_mode: str | None = None
    storage_pool: str | None = None
    volume_name: str | None = None


class ScopeSelector(Part):
    match_expressions: list[ScopedResourceSelectorRequirement] | None = None


class ScopedResourceSelectorRequirement(Part):
    operator: str
    scope_name: str
    values: list[str] | None = None


class SeccompProfile(Part):
    type: str
    localhost_profile: str | None = None


class SecretEnvSource(Part):
    name: str | None = None
    optional: bool | None = None


class SecretKeySelector(Part):
    key: str
    name: str | None = None
    optional: bool | None = None


class SecretProjection(Part):
    items: list[KeyToPath] | None = None
    name: str | None = None
    optional: bool | None = None


class SecretReference(Part):
    name: str | None = None
    namespace: str | None = None


class SecretVolumeSource(Part):
    default_mode: int | None = None
    items: list[KeyToPath] | None = None
    optional: bool | None = None
    secret_name: str | None = None


class SecurityContext(Part):
    capabilities: Capabilities | None = None
    privileged: bool | None = None
    se_linux_options: SELinuxOptions | None = None
    windows_options: WindowsSecurityContextOptions | None = None
    run_as_user: int | None = None
    run_as_group: int | None = None
    run_as_non_root: bool | None = None
    read_only_root_filesystem: bool | None = None
    allow_privilege_escalation: bool | None = None
    proc_mount: str | None = None
    seccomp_profile: SeccompProfile | None = None
    app_armor_profile: AppArmorProfile | None = None


class ServiceAccountTokenProjection(Part):
    audience: str | None = None
    expiration_seconds: int | None = None
    path: str


class ServicePort(Part):
    name: str | None = None
    protocol: str | None = None
    app_protocol: str | None = None
    port: int
    target_port: IntOrString | None = None
    node_port: int | None = None


class ServiceSpec(Part):
    ports: list[ServicePort] | None = None
    selector: dict[str, str] | None = None
    cluster_ip: str | None = msgspec.field(default=None, name="clusterIP")
    cluster_ips: list[str] | None = msgspec.field(default=None, name="clusterIPs")
    type: str | None = None
    external_ips: list[str] | None = msgspec.field(default=None, name="externalIPs")
    session_affinity: str | None = None
    load_balancer_ip: str | None = msgspec.field(default=None, name="loadBalancerIP")
    allocate_load_balancer_node_ports: bool | None = None
    external_name: str | None = None
    external_traffic_policy: str | None = None
    health_check_node_port: int | None = None
    internal_traffic_policy: str | None = None
    ip_families: list[str] | None = None
    ip_family_policy: str | None = None
    load_balancer_class: str | None = None
    load_balancer_source_ranges: list[str] | None = None
    publish_not_ready_addresses: bool | None = None
    session_affinity_config: SessionAffinityConfig | None = None
    traffic_distribution: str | None = None


class ServiceStatus(Part):
    conditions: list[Condition] | None = None
    load_balancer: LoadBalancerStatus | None = None


class SessionAffinityConfig(Part):
    client_ip: ClientIPConfig | None = msgspec.field(default=None, name="clientIP")


class SleepAction(Part):
    seconds: int


class StorageOSPersistentVolumeSource(Part):
    fs_type: str | None = None
    read_only: bool | None = None
    secret_ref: ObjectReference | None = None
    volume_name: str | None = None
    volume_namespace: str | None = None


class StorageOSVolumeSource(Part):
    fs_type: str | None = None
    read_only: bool | None = None
    secret_ref: LocalObjectReference | None = None
    volume_name: str | None = None
    volume_namespace: str | None = None


class Sysctl(Part):
    name: str
    value: str


class TCPSocketAction(Part):
    port: IntOrString
    host: str | None = None


class Taint(Part):
    effect: str
    key: str
    time_added: datetime | None = None
    value: str | None = None


class Toleration(Part):
    key: str | None = None
    operator: str | None = None
    value: str | None = None
    effect: str | None = None
    toleration_seconds: int | None = None


class TopologySelectorLabelRequirement(Part):
    key: str
    values: Filled[list[str]]

    def __post_init__(self: Any) -> None:
        if self.values is None:
            self.values = []


class TopologySelectorTerm(Part):
    match_label_expressions: list[TopologySelectorLabelRequirement] | None = None


class TopologySpreadConstraint(Part):
    max_skew: int
    topology_key: str
    when_unsatisfiable: str
    label_selector: LabelSelector | None = None
    match_label_keys: list[str] | None = None
    min_domains: int | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None


class TypedLocalObjectReference(Part):
    kind: str
    name: str
    api_group: str | None = None


class TypedObjectReference(Part):
    kind: str
    name: str
    api_group: str | None = None
    namespace: str | None = None


class Volume(Part):
    name: str
    aws_elastic_block_store: AWSElasticBlockStoreVolumeSource | None = None
    azure_disk: AzureDiskVolumeSource | None = None
    azure_file: AzureFileVolumeSource | None = None
    cephfs: CephFSVolumeSource | None = None
    cinder: CinderVolumeSource | None = None
    config_map: ConfigMapVolumeSource | None = None
    csi: CSIVolumeSource | None = None
    downward_api: DownwardAPIVolumeSource | None = msgspec.field(default=None, name="downwardAPI")
    empty_dir: EmptyDirVolumeSource | None = None
    ephemeral: EphemeralVolumeSource | None = None
    fc: FCVolumeSource | None = None
    flex_volume: FlexVolumeSource | None = None
    flocker: FlockerVolumeSource | None = None
    gce_persistent_disk: GCEPersistentDiskVolumeSource | None = None
    git_repo: GitRepoVolumeSource | None = None
    glusterfs: GlusterfsVolumeSource | None = None
    host_path: HostPathVolumeSource | None = None
    image: ImageVolumeSource | None = None
    iscsi: ISCSIVolumeSource | None = None
    nfs: NFSVolumeSource | None = None
    persistent_volume_claim: PersistentVolumeClaimVolumeSource | None = None
    photon_persistent_disk: PhotonPersistentDiskVolumeSource | None = None
    portworx_volume: PortworxVolumeSource | None = None
    projected: ProjectedVolumeSource | None = None
    quobyte: QuobyteVolumeSource | None = None
    rbd: RBDVolumeSource | None = None
    scale_io: ScaleIOVolumeSource | None = msgspec.field(default=None, name="scaleIO")
    secret: SecretVolumeSource | None = None
    storageos: StorageOSVolumeSource | None = None
    vsphere_volume: VsphereVirtualDiskVolumeSource | None = None


class VolumeDevice(Part):
    device_path: str
    name: str


class VolumeMount(Part):
    name: str
    read_only: bool | None = None
    recursive_read_only: str | None = None
    mount_path: str
    sub_path: str | None = None
    mount_propagation: str | None = None
    sub_path_expr: str | None = None


class VolumeMountStatus(Part):
    mount_path: str
    name: str
    read_only: bool | None = None
    recursive_read_only: str | None = None
    volume_status: VolumeStatus | None = None


class VolumeNodeAffinity(Part):
    required: NodeSelector | None = None


class VolumeProjection(Part):
    cluster_trust_bundle: ClusterTrustBundleProjection | None = None
    config_map: ConfigMapProjection | None = None
    downward_api: DownwardAPIProjection | None = msgspec.field(default=None, name="downwardAPI")
    pod_certificate: PodCertificateProjection | None = None
    secret: SecretProjection | None = None
    service_account_token: ServiceAccountTokenProjection | None = None


class VolumeResourceRequirements(Part):
    limits: dict[str, Quantity] | None = None
    requests: dict[str, Quantity] | None = None


class VolumeStatus(Part):
    image: ImageVolumeStatus | None = None


class VsphereVirtualDiskVolumeSource(Part):
    volume_path: str
    fs_type: str | None = None
    storage_policy_id: str | None = msgspec.field(default=None, name="storagePolicyID")
    storage_policy_name: str | None = None


class WeightedPodAffinityTerm(Part):
    pod_affinity_term: PodAffinityTerm
    weight: int


class WindowsSecurityContextOptions(Part):
    gmsa_credential_spec: str | None = None
    gmsa_credential_spec_name: str | None = None
    host_process: bool | None = None
    run_as_user_name: str | None = None


class WorkloadReference(Part):
    name: str
    pod_group: str
    pod_group_replica_key: str | None = None


class Binding(KubeObject, version="v1", plural="bindings", verbs=("create",)):
    target: ObjectReference


class ComponentStatus(
    KubeObject,
    version="v1",
    plural="componentstatuses",
    namespaced=False,
    short_names=("cs",),
    verbs=("get", "list"),
):
    conditions: list[ComponentCondition] | None = None


class ConfigMap(KubeObject, version="v1", plural="configmaps", short_names=("cm",), verbs=ALL_VERBS):
    binary_data: dict[str, bytes] | None = None
    data: dict[str, str] | None = None
    immutable: bool | None = None


class Endpoints(KubeObject, version="v1", plural="endpoints", short_names=("ep",), verbs=ALL_VERBS):
    subsets: list[EndpointSubset] | None = None


class Event(KubeObject, version="v1", plural="events", short_names=("ev",), verbs=ALL_VERBS):
    involved_object: ObjectReference
    reason: str | None = None
    message: str | None = None
    source: EventSource | None = None
    first_timestamp: datetime | None = None
    last_timestamp: datetime | None = None
    count: int | None = None
    type: str | None = None
    event_time: MicroTime | None = None
    series: EventSeries | None = None
    action: str | None = None
    related: ObjectReference | None = None
    reporting_component: str | None = None
    reporting_instance: str | None = None


class LimitRange(KubeObject, version="v1", plural="limitranges", short_names=("limits",), verbs=ALL_VERBS):
    spec: LimitRangeSpec


class Namespace(
    HasFinalize,
    HasStatus,
    version="v1",
    plural="namespaces",
    namespaced=False,
    short_names=("ns",),
    subresources=("finalize", "status"),
    verbs=("create", "delete", "get", "list", "patch", "update", "watch"),
):
    spec: NamespaceSpec = msgspec.field(default_factory=NamespaceSpec)
    status: NamespaceStatus | None = None


class Node(
    HasStatus,
    version="v1",
    plural="nodes",
    namespaced=False,
    short_names=("no",),
    subresources=("proxy", "status"),
    verbs=ALL_VERBS,
):
    spec: NodeSpec = msgspec.field(default_factory=NodeSpec)
    status: NodeStatus | None = None


class PersistentVolume(
    HasStatus,
    version="v1",
    plural="persistentvolumes",
    namespaced=False,
    short_names=("pv",),
    subresources=("status",),
    verbs=ALL_VERBS,
):
    spec: PersistentVolumeSpec = msgspec.field(default_factory=PersistentVolumeSpec)
    status: PersistentVolumeStatus | None = None


class PersistentVolumeClaim(
    HasStatus,
    version="v1",
    plural="persistentvolumeclaims",
    short_names=("pvc",),
    subresources=("status",),
    verbs=ALL_VERBS,
):
    spec: PersistentVolumeClaimSpec = msgspec.field(default_factory=PersistentVolumeClaimSpec)
    status: PersistentVolumeClaimStatus | None = None


class Pod(
    HasStatus,
    RunsContainers,
    version="v1",
    plural="pods",
    short_names=("po",),
    categories=("all",),
    subresources=(
        "attach",
        "binding",
        "ephemeralcontainers",
        "eviction",
        "exec",
        "log",
        "portforward",
        "proxy",
        "resize",
        "status",
    ),
    verbs=ALL_VERBS,
):
    spec: PodSpec
    status: PodStatus | None = None


class PodTemplate(KubeObject, version="v1", plural="podtemplates", verbs=ALL_VERBS):
    template: PodTemplateSpec | None = None


class ReplicationController(
    HasScale,
    HasStatus,
    version="v1",
    plural="replicationcontrollers",
    short_names=("rc",),
    categories=("all",),
    subresources=("scale", "status"),
    verbs=ALL_VERBS,
):
    spec: ReplicationControllerSpec = msgspec.field(default_factory=ReplicationControllerSpec)
    status: ReplicationControllerStatus | None = None


class ResourceQuota(
    HasStatus,
    version="v1",
    plural="resourcequotas",
    short_names=("quota",),
    subresources=("status",),
    verbs=ALL_VERBS,
):
    spec: ResourceQuotaSpec = msgspec.field(default_factory=ResourceQuotaSpec)
    status: ResourceQuotaStatus | None = None


class Secret(KubeObject, version="v1", plural="secrets", verbs=ALL_VERBS):
    data: dict[str, bytes] | None = None
    immutable: bool | None = None
    string_data: dict[str, str] | None = None
    type: str | None = None

    def __repr__(self) -> str:
        return concealed_repr(self, "data", "string_data")


class Service(
    HasStatus,
    version="v1",
    plural="services",
    short_names=("svc",),
    categories=("all",),
    subresources=("proxy", "status"),
    verbs=ALL_VERBS,
):
    spec: ServiceSpec = msgspec.field(default_factory=ServiceSpec)
    status: ServiceStatus | None = None


class ServiceAccount(
    HasToken,
    version="v1",
    plural="serviceaccounts",
    short_names=("sa",),
    subresources=("token",),
    verbs=ALL_VERBS,
):
    automount_service_account_token: bool | None = None
    image_pull_secrets: list[LocalObjectReference] | None = None
    secrets: list[ObjectReference] | None = None
