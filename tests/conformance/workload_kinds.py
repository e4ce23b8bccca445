"""Objects of the kinds that controllers act upon, drawn: workloads, Services, RBAC, autoscalers, budgets.

Most are good; a few hold what a server refuses.
"""

from __future__ import annotations

from typing import Any, Final

from hypothesis import strategies as st

from conformance.sequences import rarely


def some(required: dict[str, Any] | None = None, /, **optional: Any) -> st.SearchStrategy[dict[str, Any]]:
    """An object with these fields, and any of the others."""
    return st.fixed_dictionaries(required or {}, optional=optional)


def one(*values: Any) -> st.SearchStrategy[Any]:
    """One of these values."""
    return st.sampled_from(values)


LABELLED: Final[dict[str, Any]] = {"a": "b"}
QUANTITY: Final = rarely(one("1", "100m", 1, "0.5", "1Gi", "1024Mi"), one("x", "-1", ""))
RESOURCES: Final = some(
    limits=some(cpu=QUANTITY, memory=QUANTITY), requests=some(cpu=one("100m", "0.1"), memory=one("1Mi"))
)
PROBE: Final = some(
    {
        "httpGet": some(
            {"port": rarely(one(80, "http"), one(0, "no port"))}, path=one("/", "/x"), scheme=one("HTTP")
        )
    },
    initialDelaySeconds=rarely(one(0, 5), one(-1)),
    periodSeconds=one(5, 10),
    failureThreshold=one(1, 3),
)
PORT: Final = some(
    {"containerPort": rarely(one(80, 8080), one(0, 70000))},
    name=rarely(one("http"), one("Bad_")),
    protocol=rarely(one("TCP", "UDP"), one("X")),
)
ENV: Final = some({"name": rarely(one("A", "B"), one("", "a b"))}, value=one("1", ""))
MOUNT: Final = some(
    {"name": rarely(one("v"), one("none")), "mountPath": rarely(one("/v"), one(""))},
    readOnly=one(True, False),
)
CONTAINER: Final = some(
    {"name": rarely(one("c", "d"), one("", "C_")), "image": rarely(one("i", "i:1", "i:latest"), one(""))},
    args=one(["x"], []),
    ports=st.lists(PORT, max_size=2),
    env=st.lists(ENV, max_size=2),
    resources=RESOURCES,
    livenessProbe=PROBE,
    imagePullPolicy=rarely(one("Always", "IfNotPresent"), one("Sometimes")),
    volumeMounts=st.lists(MOUNT, max_size=1),
    terminationMessagePath=one("/x"),
    securityContext=some(
        runAsUser=rarely(one(0, 1000), one(-1)), privileged=one(False), readOnlyRootFilesystem=one(True)
    ),
)
VOLUME: Final = some(
    {"name": rarely(one("v", "w"), one("V_"))},
    emptyDir=one({}, {"medium": "Memory"}),
    configMap=some({"name": one("a")}, defaultMode=rarely(one(420), one(9999)), optional=one(True)),
)


def pod_spec(restart: Any) -> st.SearchStrategy[dict[str, Any]]:
    """What a template says of its pods; `restart` is drawn for the kind."""
    return some(
        {"containers": rarely(st.lists(CONTAINER, min_size=1, max_size=2), one([]))},
        restartPolicy=restart,
        volumes=st.lists(VOLUME, max_size=2),
        initContainers=st.lists(CONTAINER, max_size=1),
        terminationGracePeriodSeconds=rarely(one(0, 5), one(-1)),
        serviceAccountName=rarely(one("default"), one("A_")),
        nodeSelector=one({"a": "b"}, {}),
        hostNetwork=one(False),
        dnsPolicy=rarely(one("Default", "ClusterFirst"), one("X")),
        tolerations=st.lists(
            some(key=one("k"), operator=rarely(one("Exists"), one("X")), effect=one("NoSchedule")), max_size=1
        ),
        securityContext=some(runAsNonRoot=one(True), fsGroup=rarely(one(5), one(-5))),
        priorityClassName=one(""),
    )


TEMPLATE: Final = some(
    {
        "metadata": rarely(
            some({"labels": st.just(LABELLED)}, annotations=one({"n": "o"})), one({"labels": {"x": "y"}}, {})
        ),
        "spec": pod_spec(rarely(one("Always"), one("Never", "Odd"))),
    }
)
JOB_TEMPLATE: Final = some(
    {"spec": pod_spec(rarely(one("Never", "OnFailure"), one("Always")))},
    metadata=some(labels=st.just({"j": "k"})),
)
SELECTOR: Final = rarely(
    st.just({"matchLabels": LABELLED}),
    one(
        {},
        {"matchLabels": {"x": "y"}},
        {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]},
        None,
    ),
)
REPLICAS: Final = rarely(one(0, 1, 3), one(-1, "x"))
PERCENT: Final = rarely(one(1, "25%", 0), one("x", -1, "101%", "200%"))
CRON: Final = rarely(one("* * * * *", "@daily", "0 */2 * * 1-5"), one("x", "", "* * * *", "TZ=UTC * * * * *"))
JOB: Final = some(
    {"template": JOB_TEMPLATE},
    parallelism=rarely(one(0, 2), one(-1)),
    completions=rarely(one(1, 2), one(-1)),
    backoffLimit=rarely(one(0, 3), one(-1)),
    activeDeadlineSeconds=rarely(one(10), one(0, -1)),
    suspend=st.just(True),
    completionMode=rarely(one("Indexed", "NonIndexed"), one("X")),
    ttlSecondsAfterFinished=rarely(one(60), one(-1)),
)
SERVICE_PORT: Final = some(
    {"port": rarely(one(80, 443), one(0, 65536))},
    name=rarely(one("p", "q"), one("P_")),
    protocol=rarely(one("TCP", "UDP"), one("X")),
    targetPort=rarely(one(8080, "http"), one("", 0)),
    appProtocol=one("http"),
)
RULE: Final = some(
    {"verbs": rarely(one(["get"], ["*"]), one([]))},
    apiGroups=one([""], ["apps"], []),
    resources=one(["pods"], ["pods/log"], []),
    resourceNames=one(["a"]),
    nonResourceURLs=one(["/x"]),
)
SUBJECT: Final = some(
    {"kind": rarely(one("User", "Group", "ServiceAccount"), one("X", "")), "name": rarely(one("u"), one(""))},
    namespace=one("default"),
    apiGroup=one("rbac.authorization.k8s.io", "", "x"),
)
METRIC: Final = some(
    {"type": rarely(one("Resource"), one("X", ""))},
    resource=some(
        {"name": rarely(one("cpu", "memory"), one(""))},
        target=some(
            {"type": rarely(one("Utilization", "AverageValue"), one("X"))},
            averageUtilization=rarely(one(50), one(0)),
            averageValue=one("100m"),
        ),
    ),
)
RULES: Final = some(
    stabilizationWindowSeconds=rarely(one(0, 60), one(-1)),
    selectPolicy=rarely(one("Max", "Disabled"), one("X")),
)
PEER: Final = some(
    podSelector=one({}, {"matchLabels": LABELLED}),
    ipBlock=some({"cidr": rarely(one("10.0.0.0/8"), one("x"))}),
)


class Kind:
    """A kind whose objects are drawn: where they are, and what they hold beside their metadata."""

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
                minReadySeconds=rarely(one(0, 5), one(-1)),
                paused=one(True, False),
                revisionHistoryLimit=rarely(one(0, 5), one(-1)),
                progressDeadlineSeconds=rarely(one(60), one(0)),
                strategy=some(
                    type=rarely(one("RollingUpdate", "Recreate"), one("X")),
                    rollingUpdate=some(maxSurge=PERCENT, maxUnavailable=PERCENT),
                ),
            )
        },
    ),
    Kind(
        "apps/v1",
        "ReplicaSet",
        "replicasets",
        {"spec": some(WORKLOAD, replicas=REPLICAS, minReadySeconds=one(0, 5))},
    ),
    Kind(
        "apps/v1",
        "StatefulSet",
        "statefulsets",
        {
            "spec": some(
                {**WORKLOAD, "serviceName": rarely(one("s"), one("S_"))},
                replicas=REPLICAS,
                podManagementPolicy=rarely(one("Parallel", "OrderedReady"), one("X")),
                revisionHistoryLimit=one(0, 5),
                updateStrategy=some(
                    type=rarely(one("OnDelete", "RollingUpdate"), one("X")),
                    rollingUpdate=some(partition=rarely(one(0, 1), one(-1))),
                ),
                persistentVolumeClaimRetentionPolicy=some(
                    whenDeleted=rarely(one("Delete", "Retain"), one("X"))
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
                minReadySeconds=one(0, 5),
                revisionHistoryLimit=one(1),
                updateStrategy=some(
                    type=rarely(one("OnDelete", "RollingUpdate"), one("X")),
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
                concurrencyPolicy=rarely(one("Forbid", "Replace"), one("X")),
                successfulJobsHistoryLimit=rarely(one(0, 1), one(-1)),
                startingDeadlineSeconds=rarely(one(10), one(-1)),
                timeZone=rarely(one("Europe/Berlin"), one("Nowhere/None", "")),
            )
        },
    ),
    Kind(
        "v1",
        "Service",
        "services",
        {
            "spec": some(
                {"ports": rarely(st.lists(SERVICE_PORT, min_size=1, max_size=2), one([]))},
                selector=one(LABELLED, {}),
                type=rarely(one("ClusterIP", "NodePort", "LoadBalancer", "ExternalName"), one("X")),
                clusterIP=rarely(one("None", ""), one("x")),
                sessionAffinity=rarely(one("ClientIP", "None"), one("X")),
                externalName=one("a.b", ""),
                publishNotReadyAddresses=one(True, False),
                externalTrafficPolicy=rarely(one("Local", "Cluster"), one("X")),
                internalTrafficPolicy=one("Local"),
            )
        },
    ),
    Kind(
        "v1",
        "ReplicationController",
        "replicationcontrollers",
        {"spec": some({"template": TEMPLATE}, replicas=REPLICAS, selector=one(LABELLED, {}))},
    ),
    Kind(
        "v1",
        "ServiceAccount",
        "serviceaccounts",
        {"automountServiceAccountToken": one(True, False), "imagePullSecrets": one([{"name": "a"}], [])},
    ),
    Kind(RBAC, "Role", "roles", {"rules": st.lists(RULE, min_size=1, max_size=2)}),
    Kind(
        RBAC,
        "RoleBinding",
        "rolebindings",
        {
            "roleRef": rarely(
                one(
                    {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "a"},
                    {"kind": "ClusterRole", "name": "b"},
                ),
                one({}, {"kind": "X", "name": "a"}, {"apiGroup": "x", "kind": "Role", "name": "a"}),
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
                    "maxReplicas": rarely(one(3, 5), one(0, -1)),
                    "scaleTargetRef": rarely(
                        one({"apiVersion": "apps/v1", "kind": "Deployment", "name": "none"}),
                        one({"kind": "X"}, {}),
                    ),
                },
                minReplicas=rarely(one(1, 2), one(0, 9)),
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
                {"selector": rarely(one({"matchLabels": LABELLED}, {}), one(None))},
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
                {"podSelector": one({}, {"matchLabels": LABELLED})},
                policyTypes=rarely(one(["Ingress"], ["Egress", "Ingress"]), one(["X"])),
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
                            {"type": rarely(one("Container", "Pod"), one(""))},
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
