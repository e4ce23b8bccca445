"""The order in which a server writes the fields of its own types.

OpenAPI does not contain the order, so this module lists it for the most common types. Other fields follow in
alphabetical order; kind, apiVersion and metadata are always first.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from ._builtin_table import built_in

_ORDERS: Final = {
    "meta_v1.ObjectMeta": (
        "name generateName namespace selfLink uid resourceVersion generation creationTimestamp"
        " deletionTimestamp deletionGracePeriodSeconds labels annotations ownerReferences finalizers"
        " managedFields"
    ),
    "meta_v1.ManagedFieldsEntry": "manager operation apiVersion time fieldsType fieldsV1 subresource",
    "meta_v1.OwnerReference": "apiVersion kind name uid controller blockOwnerDeletion",
    "meta_v1.LabelSelector": "matchLabels matchExpressions",
    "meta_v1.Condition": "type status observedGeneration lastTransitionTime reason message",
    "core_v1.ConfigMap": "immutable data binaryData",
    "core_v1.Secret": "immutable data stringData type",
    "core_v1.ServiceAccount": "secrets imagePullSecrets automountServiceAccountToken",
    "core_v1.PodTemplateSpec": "metadata spec",
    "core_v1.PodSpec": (
        "volumes initContainers containers ephemeralContainers restartPolicy terminationGracePeriodSeconds"
        " activeDeadlineSeconds dnsPolicy nodeSelector serviceAccountName serviceAccount"
        " automountServiceAccountToken nodeName hostNetwork hostPID hostIPC shareProcessNamespace"
        " securityContext imagePullSecrets hostname subdomain affinity schedulerName tolerations hostAliases"
        " priorityClassName priority dnsConfig readinessGates runtimeClassName enableServiceLinks"
        " preemptionPolicy overhead topologySpreadConstraints setHostnameAsFQDN os hostUsers schedulingGates"
        " resourceClaims resources"
    ),
    "core_v1.Container": (
        "name image command args workingDir ports envFrom env resources resizePolicy restartPolicy"
        " volumeMounts volumeDevices livenessProbe readinessProbe startupProbe lifecycle"
        " terminationMessagePath terminationMessagePolicy imagePullPolicy securityContext stdin stdinOnce tty"
    ),
    "core_v1.ContainerPort": "name hostPort containerPort protocol hostIP",
    "core_v1.EnvVar": "name value valueFrom",
    "core_v1.ResourceRequirements": "limits requests claims",
    "core_v1.Toleration": "key operator value effect tolerationSeconds",
    "core_v1.Volume": "name",
    "core_v1.PodStatus": (
        "observedGeneration phase conditions message reason nominatedNodeName hostIP hostIPs podIP podIPs"
        " startTime initContainerStatuses containerStatuses qosClass"
    ),
    "core_v1.PodCondition": "type observedGeneration status lastProbeTime lastTransitionTime reason message",
    "core_v1.ContainerStatus": "name state lastState ready restartCount image imageID containerID started",
    "core_v1.ServiceSpec": (
        "ports selector clusterIP clusterIPs type externalIPs sessionAffinity loadBalancerIP"
        " loadBalancerSourceRanges externalName externalTrafficPolicy healthCheckNodePort"
        " publishNotReadyAddresses sessionAffinityConfig ipFamilies ipFamilyPolicy"
    ),
    "core_v1.ServicePort": "name protocol appProtocol port targetPort nodePort",
    "core_v1.NamespaceSpec": "finalizers",
    "core_v1.NamespaceStatus": "phase conditions",
    "core_v1.NamespaceCondition": "type status lastTransitionTime reason message",
    "core_v1.Event": (
        "involvedObject reason message source firstTimestamp lastTimestamp count type eventTime series action"
        " related reportingComponent reportingInstance"
    ),
    "core_v1.ObjectReference": "kind namespace name uid apiVersion resourceVersion fieldPath",
    "events_v1.Event": (
        "eventTime series reportingController reportingInstance action reason regarding related note type"
        " deprecatedSource deprecatedFirstTimestamp deprecatedLastTimestamp deprecatedCount"
    ),
    "apps_v1.DeploymentStrategy": "type rollingUpdate",
    "apps_v1.RollingUpdateDeployment": "maxUnavailable maxSurge",
    "apps_v1.DeploymentSpec": (
        "replicas selector template strategy minReadySeconds revisionHistoryLimit paused"
        " progressDeadlineSeconds"
    ),
    "apps_v1.DeploymentStatus": (
        "observedGeneration replicas updatedReplicas readyReplicas availableReplicas unavailableReplicas"
        " terminatingReplicas conditions collisionCount"
    ),
    "apps_v1.ReplicaSetSpec": "replicas minReadySeconds selector template",
    "apps_v1.StatefulSetSpec": "replicas selector template volumeClaimTemplates serviceName",
    "coordination_v1.LeaseSpec": (
        "holderIdentity leaseDurationSeconds acquireTime renewTime leaseTransitions strategy preferredHolder"
    ),
    "policy_v1.PodDisruptionBudgetSpec": "minAvailable selector maxUnavailable",
    "autoscaling_v1.ScaleStatus": "replicas selector",
    "apiextensions_v1.CustomResourceDefinitionSpec": "group names scope versions conversion",
    "apiextensions_v1.CustomResourceDefinitionNames": "plural singular shortNames kind listKind categories",
    "apiextensions_v1.CustomResourceDefinitionStatus": "conditions acceptedNames storedVersions",
    "apiextensions_v1.CustomResourceDefinitionCondition": "type status lastTransitionTime reason message",
    "apiextensions_v1.CustomResourceDefinitionVersion": (
        "name served storage deprecated deprecationWarning schema subresources additionalPrinterColumns"
        " selectableFields"
    ),
    "authentication_v1.TokenRequestSpec": "audiences expirationSeconds boundObjectRef",
    "authentication_v1.TokenRequestStatus": "token expirationTimestamp",
    "authentication_v1.BoundObjectReference": "kind apiVersion name uid",
    "authentication_v1.TokenReviewSpec": "token audiences",
    "authentication_v1.TokenReviewStatus": "authenticated user audiences error",
    "authentication_v1.UserInfo": "username uid groups extra",
    "authorization_v1.NonResourceAttributes": "path verb",
    "authorization_v1.NonResourceRule": "verbs nonResourceURLs",
    "authorization_v1.ResourceAttributes": (
        "namespace verb group version resource subresource name fieldSelector labelSelector"
    ),
    "authorization_v1.ResourceRule": "verbs apiGroups resources resourceNames",
    "authorization_v1.SelfSubjectAccessReviewSpec": "resourceAttributes nonResourceAttributes",
    "authorization_v1.SubjectAccessReviewSpec": (
        "resourceAttributes nonResourceAttributes user groups extra uid"
    ),
    "authorization_v1.SubjectAccessReviewStatus": "allowed denied reason evaluationError",
    "authorization_v1.SubjectRulesReviewStatus": (
        "resourceRules nonResourceRules incomplete evaluationError"
    ),
}  # fmt: skip
_FIRST: Final = ("kind", "apiVersion", "metadata")
_LAST: Final = ("spec", "status")


# Types that are written with the nulls of the type in another API group, which shares the storage.
NULLS_LIKE: Final = {"events_v1.EventSeries": "core_v1.EventSeries"}

# Fields that are always written, if need be as null or as an empty string.
ALWAYS: Final = frozenset((
    ("autoscaling_v2.HorizontalPodAutoscalerStatus", "currentMetrics"),
    ("apiextensions_v1.CustomResourceDefinitionStatus", "conditions"),
    ("authentication_v1.TokenRequestSpec", "boundObjectRef"),
    ("core_v1.PodCondition", "lastProbeTime"),
    ("core_v1.PodCondition", "lastTransitionTime"),
    ("core_v1.Event", "firstTimestamp"),
    ("core_v1.Event", "lastTimestamp"),
    ("core_v1.Event", "eventTime"),
    ("core_v1.Event", "reportingComponent"),
    ("core_v1.Event", "reportingInstance"),
    ("events_v1.Event", "eventTime"),
    ("events_v1.Event", "deprecatedFirstTimestamp"),
    ("events_v1.Event", "deprecatedLastTimestamp"),
))  # fmt: skip

# Empty strings that are stored: pointers in Go. OpenAPI does not distinguish them.
POINTERS: Final = frozenset((
    ("coordination_v1.LeaseSpec", "holderIdentity"),
    ("coordination_v1.LeaseSpec", "preferredHolder"),
    ("core_v1.PersistentVolumeClaimSpec", "storageClassName"),
    ("batch_v1.CronJobSpec", "timeZone"),
    ("batch_v1.JobStatus", "failedIndexes"),
    ("networking_v1.IngressSpec", "ingressClassName"),
))  # fmt: skip


def in_order(type_: str, fields: Iterable[str]) -> list[str]:
    """Return the fields of a type in the order of a server."""
    names = frozenset(fields)
    order = _ORDERS.get(type_, "").split()
    # The order of other fields is observed from a real server, a few fields at a time; fields that were never
    # observed side by side have no order.
    position = -1
    for name in built_in().orders.get(type_, []):
        if name in order:
            position = order.index(name)
        else:
            position += 1
            order.insert(position, name)
    leading = [*(name for name in _FIRST if name not in order), *order]
    others = sorted(names - {*leading, *_LAST})
    return [name for name in dict.fromkeys([*leading, *others, *_LAST]) if name in names]
