"""The order in which a server writes the fields of the most frequent types.

The fields of OpenAPI documents are sorted. msgspec searches for each key of a JSON object after the field of
the previous key, and finds it immediately if the class has the server's order. Nothing else depends on the
order, so other fields, and fields of future versions, follow the listed fields.
"""

from typing import Final

ORDER: Final = {
    "core_v1.Container": (
        "name image command args workingDir ports envFrom env resources resizePolicy restartPolicy"
        " volumeMounts volumeDevices livenessProbe readinessProbe startupProbe lifecycle"
        " terminationMessagePath terminationMessagePolicy imagePullPolicy securityContext"
    ),
    "core_v1.ContainerPort": "name hostPort containerPort protocol hostIP",
    "core_v1.ContainerStateRunning": "startedAt",
    "core_v1.ContainerStateTerminated": "exitCode signal reason message startedAt finishedAt containerID",
    "core_v1.ContainerStateWaiting": "reason message",
    "core_v1.ContainerStatus": (
        "name state lastState ready restartCount image imageID containerID started allocatedResources"
        " resources volumeMounts user"
    ),
    "core_v1.EnvVar": "name value valueFrom",
    "core_v1.Event": (
        "involvedObject reason message source firstTimestamp lastTimestamp count type eventTime series action"
        " related reportingComponent reportingInstance"
    ),
    "core_v1.HTTPGetAction": "path port host scheme httpHeaders",
    "core_v1.KeyToPath": "key path mode",
    "core_v1.NodeCondition": "type status lastHeartbeatTime lastTransitionTime reason message",
    "core_v1.NodeSpec": "podCIDR podCIDRs providerID unschedulable taints",
    "core_v1.NodeStatus": (
        "capacity allocatable phase conditions addresses daemonEndpoints nodeInfo images volumesInUse"
        " volumesAttached"
    ),
    "core_v1.ObjectFieldSelector": "apiVersion fieldPath",
    "core_v1.ObjectReference": "kind namespace name uid apiVersion resourceVersion fieldPath",
    "core_v1.PodCondition": (
        "type observedGeneration status lastProbeTime lastTransitionTime reason message"
    ),
    "core_v1.PodSpec": (
        "volumes initContainers containers ephemeralContainers restartPolicy terminationGracePeriodSeconds"
        " activeDeadlineSeconds dnsPolicy nodeSelector serviceAccountName serviceAccount"
        " automountServiceAccountToken nodeName hostNetwork hostPID hostIPC shareProcessNamespace"
        " securityContext imagePullSecrets hostname subdomain affinity schedulerName tolerations hostAliases"
        " priorityClassName priority dnsConfig readinessGates runtimeClassName enableServiceLinks"
        " preemptionPolicy overhead topologySpreadConstraints"
    ),
    "core_v1.PodStatus": (
        "observedGeneration phase conditions message reason nominatedNodeName hostIP hostIPs podIP podIPs"
        " startTime initContainerStatuses containerStatuses qosClass ephemeralContainerStatuses"
    ),
    "core_v1.Probe": (
        "exec httpGet tcpSocket grpc initialDelaySeconds timeoutSeconds periodSeconds successThreshold"
        " failureThreshold terminationGracePeriodSeconds"
    ),
    "core_v1.ProjectedVolumeSource": "sources defaultMode",
    "core_v1.ResourceRequirements": "limits requests claims",
    "core_v1.SecurityContext": (
        "capabilities privileged seLinuxOptions windowsOptions runAsUser runAsGroup runAsNonRoot"
        " readOnlyRootFilesystem allowPrivilegeEscalation procMount seccompProfile"
    ),
    "core_v1.ServiceAccountTokenProjection": "audience expirationSeconds path",
    "core_v1.ServicePort": "name protocol appProtocol port targetPort nodePort",
    "core_v1.ServiceSpec": (
        "ports selector clusterIP clusterIPs type externalIPs sessionAffinity loadBalancerIP"
    ),
    "core_v1.Toleration": "key operator value effect tolerationSeconds",
    "core_v1.Volume": "name",
    "core_v1.VolumeMount": "name readOnly recursiveReadOnly mountPath subPath mountPropagation",
    "apps_v1.DeploymentCondition": "type status lastUpdateTime lastTransitionTime reason message",
    "apps_v1.DeploymentSpec": "replicas selector template strategy minReadySeconds revisionHistoryLimit",
    "apps_v1.DeploymentStatus": (
        "observedGeneration replicas updatedReplicas readyReplicas availableReplicas unavailableReplicas"
        " terminatingReplicas conditions"
    ),
    "apps_v1.ReplicaSetSpec": "replicas minReadySeconds selector template",
    "apps_v1.ReplicaSetStatus": (
        "replicas fullyLabeledReplicas readyReplicas availableReplicas terminatingReplicas observedGeneration"
        " conditions"
    ),
    "discovery_v1.Endpoint": "addresses conditions hostname targetRef deprecatedTopology nodeName zone hints",
    "discovery_v1.EndpointSlice": "addressType endpoints ports",
    "meta_v1.Condition": "type status observedGeneration lastTransitionTime reason message",
}
