"""Random objects of the kinds of controllers: workloads, Services, RBAC, autoscalers, budgets.

Most are valid; a few contain values that a server refuses.
"""

from __future__ import annotations

from typing import Any, Final

from hypothesis import strategies as st

from conformance.sequences import rarely


def some(required: dict[str, Any] | None = None, /, **optional: Any) -> st.SearchStrategy[dict[str, Any]]:
    """Return a strategy of objects with these fields, and any of the others."""
    return st.fixed_dictionaries(required or {}, optional=optional)


def any_of(*values: Any) -> st.SearchStrategy[Any]:
    """Return a strategy of these values."""
    return st.sampled_from(values)


LABELLED: Final[dict[str, Any]] = {"a": "b"}
QUANTITY: Final = rarely(any_of("1", "100m", 1, "0.5", "1Gi", "1024Mi"), any_of("x", "-1", ""))
RESOURCES: Final = some(
    limits=some(cpu=QUANTITY, memory=QUANTITY), requests=some(cpu=any_of("100m", "0.1"), memory=any_of("1Mi"))
)
PROBE: Final = some(
    {
        "httpGet": some(
            {"port": rarely(any_of(80, "http"), any_of(0, "no port"))},
            path=any_of("/", "/x"),
            scheme=any_of("HTTP"),
        )
    },
    initialDelaySeconds=rarely(any_of(0, 5), any_of(-1)),
    periodSeconds=any_of(5, 10),
    failureThreshold=any_of(1, 3),
)
PORT: Final = some(
    {"containerPort": rarely(any_of(80, 8080), any_of(0, 70000))},
    name=rarely(any_of("http"), any_of("Bad_")),
    protocol=rarely(any_of("TCP", "UDP"), any_of("X")),
)
ENV: Final = some({"name": rarely(any_of("A", "B"), any_of("", "a b"))}, value=any_of("1", ""))
MOUNT: Final = some(
    {"name": rarely(any_of("v"), any_of("none")), "mountPath": rarely(any_of("/v"), any_of(""))},
    readOnly=any_of(True, False),
)
CONTAINER: Final = some(
    {
        "name": rarely(any_of("c", "d"), any_of("", "C_")),
        "image": rarely(any_of("i", "i:1", "i:latest"), any_of("")),
    },
    args=any_of(["x"], []),
    ports=st.lists(PORT, max_size=2),
    env=st.lists(ENV, max_size=2),
    resources=RESOURCES,
    livenessProbe=PROBE,
    imagePullPolicy=rarely(any_of("Always", "IfNotPresent"), any_of("Sometimes")),
    volumeMounts=st.lists(MOUNT, max_size=1),
    terminationMessagePath=any_of("/x"),
    securityContext=some(
        runAsUser=rarely(any_of(0, 1000), any_of(-1)),
        privileged=any_of(False),
        readOnlyRootFilesystem=any_of(True),
    ),
)
VOLUME: Final = some(
    {"name": rarely(any_of("v", "w"), any_of("V_"))},
    emptyDir=any_of({}, {"medium": "Memory"}),
    configMap=some(
        {"name": any_of("a")}, defaultMode=rarely(any_of(420), any_of(9999)), optional=any_of(True)
    ),
)


def pod_spec(restart: Any) -> st.SearchStrategy[dict[str, Any]]:
    """Return the pod spec of a template; `restart` is drawn for the kind."""
    return some(
        {"containers": rarely(st.lists(CONTAINER, min_size=1, max_size=2), any_of([]))},
        restartPolicy=restart,
        volumes=st.lists(VOLUME, max_size=2),
        initContainers=st.lists(CONTAINER, max_size=1),
        terminationGracePeriodSeconds=rarely(any_of(0, 5), any_of(-1)),
        serviceAccountName=rarely(any_of("default"), any_of("A_")),
        nodeSelector=any_of({"a": "b"}, {}),
        hostNetwork=any_of(False),
        dnsPolicy=rarely(any_of("Default", "ClusterFirst"), any_of("X")),
        tolerations=st.lists(
            some(
                key=any_of("k"), operator=rarely(any_of("Exists"), any_of("X")), effect=any_of("NoSchedule")
            ),
            max_size=1,
        ),
        securityContext=some(runAsNonRoot=any_of(True), fsGroup=rarely(any_of(5), any_of(-5))),
        priorityClassName=any_of(""),
    )


TEMPLATE: Final = some(
    {
        "metadata": rarely(
            some({"labels": st.just(LABELLED)}, annotations=any_of({"n": "o"})),
            any_of({"labels": {"x": "y"}}, {}),
        ),
        "spec": pod_spec(rarely(any_of("Always"), any_of("Never", "Odd"))),
    }
)
JOB_TEMPLATE: Final = some(
    {"spec": pod_spec(rarely(any_of("Never", "OnFailure"), any_of("Always")))},
    metadata=some(labels=st.just({"j": "k"})),
)
SELECTOR: Final = rarely(
    st.just({"matchLabels": LABELLED}),
    any_of(
        {},
        {"matchLabels": {"x": "y"}},
        {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]},
        None,
    ),
)
REPLICAS: Final = rarely(any_of(0, 1, 3), any_of(-1, "x"))
PERCENT: Final = rarely(any_of(1, "25%", 0), any_of("x", -1, "101%", "200%"))
CRON: Final = rarely(
    any_of("* * * * *", "@daily", "0 */2 * * 1-5"), any_of("x", "", "* * * *", "TZ=UTC * * * * *")
)
JOB: Final = some(
    {"template": JOB_TEMPLATE},
    parallelism=rarely(any_of(0, 2), any_of(-1)),
    completions=rarely(any_of(1, 2), any_of(-1)),
    backoffLimit=rarely(any_of(0, 3), any_of(-1)),
    activeDeadlineSeconds=rarely(any_of(10), any_of(0, -1)),
    suspend=st.just(True),
    completionMode=rarely(any_of("Indexed", "NonIndexed"), any_of("X")),
    ttlSecondsAfterFinished=rarely(any_of(60), any_of(-1)),
)
SERVICE_PORT: Final = some(
    {"port": rarely(any_of(80, 443), any_of(0, 65536))},
    name=rarely(any_of("p", "q"), any_of("P_")),
    protocol=rarely(any_of("TCP", "UDP"), any_of("X")),
    targetPort=rarely(any_of(8080, "http"), any_of("", 0)),
    appProtocol=any_of("http"),
)
RULE: Final = some(
    {"verbs": rarely(any_of(["get"], ["*"]), any_of([]))},
    apiGroups=any_of([""], ["apps"], []),
    resources=any_of(["pods"], ["pods/log"], []),
    resourceNames=any_of(["a"]),
    nonResourceURLs=any_of(["/x"]),
)
SUBJECT: Final = some(
    {
        "kind": rarely(any_of("User", "Group", "ServiceAccount"), any_of("X", "")),
        "name": rarely(any_of("u"), any_of("")),
    },
    namespace=any_of("default"),
    apiGroup=any_of("rbac.authorization.k8s.io", "", "x"),
)
METRIC: Final = some(
    {"type": rarely(any_of("Resource"), any_of("X", ""))},
    resource=some(
        {"name": rarely(any_of("cpu", "memory"), any_of(""))},
        target=some(
            {"type": rarely(any_of("Utilization", "AverageValue"), any_of("X"))},
            averageUtilization=rarely(any_of(50), any_of(0)),
            averageValue=any_of("100m"),
        ),
    ),
)
RULES: Final = some(
    stabilizationWindowSeconds=rarely(any_of(0, 60), any_of(-1)),
    selectPolicy=rarely(any_of("Max", "Disabled"), any_of("X")),
)
PEER: Final = some(
    podSelector=any_of({}, {"matchLabels": LABELLED}),
    ipBlock=some({"cidr": rarely(any_of("10.0.0.0/8"), any_of("x"))}),
)


class Kind:
    """A kind whose objects are drawn: its path, and its fields besides the metadata."""

    def __init__(self, api_version: str, kind: str, plural: str, content: dict[str, Any]) -> None:
        self.api_version, self.kind, self.plural = api_version, kind, plural
        self.content = st.fixed_dictionaries(content)
        self.home = f"/{'apis' if '/' in api_version else 'api'}/{api_version}/namespaces/<ns>/{plural}"


WORKLOAD: Final[dict[str, Any]] = {"selector": SELECTOR, "template": TEMPLATE}
RBAC: Final = "rbac.authorization.k8s.io/v1"
KINDS: Final = (
    Kind(
        "apps/v1",
        "Deployment",
        "deployments",
        {
            "spec": some(
                WORKLOAD,
                replicas=REPLICAS,
                minReadySeconds=rarely(any_of(0, 5), any_of(-1)),
                paused=any_of(True, False),
                revisionHistoryLimit=rarely(any_of(0, 5), any_of(-1)),
                progressDeadlineSeconds=rarely(any_of(60), any_of(0)),
                strategy=some(
                    type=rarely(any_of("RollingUpdate", "Recreate"), any_of("X")),
                    rollingUpdate=some(maxSurge=PERCENT, maxUnavailable=PERCENT),
                ),
            )
        },
    ),
    Kind(
        "apps/v1",
        "ReplicaSet",
        "replicasets",
        {"spec": some(WORKLOAD, replicas=REPLICAS, minReadySeconds=any_of(0, 5))},
    ),
    Kind(
        "apps/v1",
        "StatefulSet",
        "statefulsets",
        {
            "spec": some(
                {**WORKLOAD, "serviceName": rarely(any_of("s"), any_of("S_"))},
                replicas=REPLICAS,
                podManagementPolicy=rarely(any_of("Parallel", "OrderedReady"), any_of("X")),
                revisionHistoryLimit=any_of(0, 5),
                updateStrategy=some(
                    type=rarely(any_of("OnDelete", "RollingUpdate"), any_of("X")),
                    rollingUpdate=some(partition=rarely(any_of(0, 1), any_of(-1))),
                ),
                persistentVolumeClaimRetentionPolicy=some(
                    whenDeleted=rarely(any_of("Delete", "Retain"), any_of("X"))
                ),
            )
        },
    ),
    Kind(
        "apps/v1",
        "DaemonSet",
        "daemonsets",
        {
            "spec": some(
                WORKLOAD,
                minReadySeconds=any_of(0, 5),
                revisionHistoryLimit=any_of(1),
                updateStrategy=some(
                    type=rarely(any_of("OnDelete", "RollingUpdate"), any_of("X")),
                    rollingUpdate=some(maxUnavailable=PERCENT),
                ),
            )
        },
    ),
    Kind("batch/v1", "Job", "jobs", {"spec": JOB}),
    Kind(
        "batch/v1",
        "CronJob",
        "cronjobs",
        {
            "spec": some(
                {"schedule": CRON, "jobTemplate": some({"spec": JOB}), "suspend": st.just(True)},
                concurrencyPolicy=rarely(any_of("Forbid", "Replace"), any_of("X")),
                successfulJobsHistoryLimit=rarely(any_of(0, 1), any_of(-1)),
                startingDeadlineSeconds=rarely(any_of(10), any_of(-1)),
                timeZone=rarely(any_of("Europe/Berlin"), any_of("Nowhere/None", "")),
            )
        },
    ),
    Kind(
        "v1",
        "Service",
        "services",
        {
            "spec": some(
                {"ports": rarely(st.lists(SERVICE_PORT, min_size=1, max_size=2), any_of([]))},
                selector=any_of(LABELLED, {}),
                type=rarely(any_of("ClusterIP", "NodePort", "LoadBalancer", "ExternalName"), any_of("X")),
                clusterIP=rarely(any_of("None", ""), any_of("x")),
                sessionAffinity=rarely(any_of("ClientIP", "None"), any_of("X")),
                externalName=any_of("a.b", ""),
                publishNotReadyAddresses=any_of(True, False),
                externalTrafficPolicy=rarely(any_of("Local", "Cluster"), any_of("X")),
                internalTrafficPolicy=any_of("Local"),
            )
        },
    ),
    Kind(
        "v1",
        "ReplicationController",
        "replicationcontrollers",
        {"spec": some({"template": TEMPLATE}, replicas=REPLICAS, selector=any_of(LABELLED, {}))},
    ),
    Kind(
        "v1",
        "ServiceAccount",
        "serviceaccounts",
        {
            "automountServiceAccountToken": any_of(True, False),
            "imagePullSecrets": any_of([{"name": "a"}], []),
        },
    ),
    Kind(RBAC, "Role", "roles", {"rules": st.lists(RULE, min_size=1, max_size=2)}),
    Kind(
        RBAC,
        "RoleBinding",
        "rolebindings",
        {
            "roleRef": rarely(
                any_of(
                    {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "a"},
                    {"kind": "ClusterRole", "name": "b"},
                ),
                any_of({}, {"kind": "X", "name": "a"}, {"apiGroup": "x", "kind": "Role", "name": "a"}),
            ),
            "subjects": st.lists(SUBJECT, max_size=2),
        },
    ),
    Kind(
        "autoscaling/v2",
        "HorizontalPodAutoscaler",
        "horizontalpodautoscalers",
        {
            "spec": some(
                {
                    "maxReplicas": rarely(any_of(3, 5), any_of(0, -1)),
                    "scaleTargetRef": rarely(
                        any_of({"apiVersion": "apps/v1", "kind": "Deployment", "name": "none"}),
                        any_of({"kind": "X"}, {}),
                    ),
                },
                minReplicas=rarely(any_of(1, 2), any_of(0, 9)),
                metrics=st.lists(METRIC, max_size=2),
                behavior=some(scaleDown=RULES, scaleUp=RULES),
            )
        },
    ),
    Kind(
        "policy/v1",
        "PodDisruptionBudget",
        "poddisruptionbudgets",
        {
            "spec": some(
                {"selector": rarely(any_of({"matchLabels": LABELLED}, {}), any_of(None))},
                minAvailable=PERCENT,
                maxUnavailable=PERCENT,
            )
        },
    ),
    Kind(
        "networking.k8s.io/v1",
        "NetworkPolicy",
        "networkpolicies",
        {
            "spec": some(
                {"podSelector": any_of({}, {"matchLabels": LABELLED})},
                policyTypes=rarely(any_of(["Ingress"], ["Egress", "Ingress"]), any_of(["X"])),
                ingress=st.lists(some({"from": st.lists(PEER, max_size=1)}), max_size=1),
            )
        },
    ),
    Kind(
        "v1",
        "LimitRange",
        "limitranges",
        {
            "spec": some(
                {
                    "limits": st.lists(
                        some(
                            {"type": rarely(any_of("Container", "Pod"), any_of(""))},
                            max=some(cpu=QUANTITY),
                            default=some(cpu=QUANTITY),
                        ),
                        min_size=1,
                        max_size=1,
                    )
                }
            )
        },
    ),
    Kind("v1", "PodTemplate", "podtemplates", {"template": TEMPLATE}),
)
