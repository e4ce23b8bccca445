"""Requests whose responses by a real server are recorded; the simulated server responds alike.

Each case runs in a namespace of its own, whose name replaces ``<ns>`` in targets and bodies.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

RECORDED: Final = Path(__file__).parent / "server_cases.json"
MERGE: Final = "application/merge-patch+json"
APPLY: Final = "application/apply-patch+yaml"
YAML: Final = "application/yaml"
TABLE: Final = "application/json;as=Table;v=v1;g=meta.k8s.io"
JSON: Final = "application/json"
Json = dict[str, Any]


class Step(Struct, frozen=True):
    """A request. A step that only prepares is not compared."""

    method: str
    target: str
    body: Any = None
    media: str = "application/json"
    accept: str = "application/json"
    compared: bool = True
    eventual: bool = False  # repeated until the server accepts it


# Sends a request with a user agent of "suite", and returns the status, the warnings and the body.
Send = Callable[[str, str, bytes, str, str], tuple[int, list[str], Any]]

PODS: Final = "/api/v1/namespaces/<ns>/pods"
CLAIMS: Final = "/api/v1/namespaces/<ns>/persistentvolumeclaims"
SERVICES: Final = "/api/v1/namespaces/<ns>/services"
SECRETS: Final = "/api/v1/namespaces/<ns>/secrets"
NODES: Final = "/api/v1/nodes"
PRIORITIES: Final = "/apis/scheduling.k8s.io/v1/priorityclasses"
CLASSES: Final = "/apis/storage.k8s.io/v1/storageclasses"
INGRESS_CLASSES: Final = "/apis/networking.k8s.io/v1/ingressclasses"
INGRESSES: Final = "/apis/networking.k8s.io/v1/namespaces/<ns>/ingresses"
RUNTIMES: Final = "/apis/node.k8s.io/v1/runtimeclasses"
LIMITS: Final = "/api/v1/namespaces/<ns>/limitranges"


def pod(name: str, *, meta: Json | None = None, resources: Json | None = None, **spec: Any) -> Json:
    container: Json = {"name": "c", "image": "i:1"} | ({"resources": resources} if resources else {})
    return {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **(meta or {})},
        "spec": {"containers": [container], **spec},
    }  # fmt: skip


def create(collection: str, body: Json, *, compared: bool = True) -> Step:
    return Step("POST", collection, body, compared=compared)


def given(collection: str, body: Json) -> Step:
    """Create an object that the case needs."""
    return create(collection, body, compared=False)


def delete(target: str) -> Step:
    return Step("DELETE", target, compared=False)


def limit_range(*limits: Json) -> Step:
    return given(LIMITS, {"metadata": {"name": "limits"}, "spec": {"limits": list(limits)}})


def _limit_ranges() -> Iterator[tuple[str, tuple[Step, ...]]]:
    def resources(requests: Json | None = None, limits: Json | None = None) -> Json:
        parts = {"requests": requests, "limits": limits}
        return {name: value for name, value in parts.items() if value}

    container = {
        "type": "Container", "min": {"cpu": "100m", "memory": "32Mi"}, "max": {"cpu": "2", "memory": "1Gi"},
        "default": {"cpu": "500m"}, "defaultRequest": {"cpu": "200m"},
    }  # fmt: skip
    yield (
        "limits of containers",
        (
            limit_range(container),
            create(PODS, pod("defaulted")),
            create(PODS, pod("own", resources=resources({"cpu": "150m"}, {"cpu": "1", "memory": "64Mi"}))),
            create(PODS, pod("small", resources=resources({"cpu": "50m"}, {"memory": "2Gi", "cpu": "3"}))),
            create(PODS, pod("init", initContainers=[{"name": "i", "image": "i:1"}])),
            Step("PATCH", f"{PODS}/own", {"metadata": {"labels": {"a": "b"}}}, MERGE),
        ),
    )
    yield (
        "ratios and pods",
        (
            limit_range(
                {"type": "Container", "maxLimitRequestRatio": {"cpu": "2"}},
                {"type": "Pod", "max": {"cpu": "1"}, "min": {"memory": "8Mi"}},
            ),
            create(PODS, pod("none")),
            create(
                PODS, pod("ratio", resources=resources({"cpu": "100m", "memory": "8Mi"}, {"cpu": "900m"}))
            ),
            create(PODS, pod("pod", resources=resources({"cpu": "2", "memory": "1Mi"}, {"cpu": "2"}))),
        ),
    )
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "5Gi"}}}
    yield (
        "limits of claims",
        (
            limit_range(
                {"type": "PersistentVolumeClaim", "min": {"storage": "1Gi"}, "max": {"storage": "2Gi"}}
            ),
            create(CLAIMS, {"metadata": {"name": "big"}, "spec": claim}),
            create(
                CLAIMS,
                {
                    "metadata": {"name": "fits"},
                    "spec": claim | {"resources": {"requests": {"storage": "1Gi"}}},
                },
            ),
        ),
    )


def _priorities() -> Iterator[tuple[str, tuple[Step, ...]]]:
    yield (
        "priority classes",
        (
            given(
                PRIORITIES, {"metadata": {"name": "<ns>-high"}, "value": 1000, "preemptionPolicy": "Never"}
            ),
            create(PODS, pod("high", priorityClassName="<ns>-high")),
            create(PODS, pod("unknown", priorityClassName="<ns>-unknown")),
            create(PODS, pod("critical", priorityClassName="system-node-critical")),
            create(PODS, pod("conflict", priorityClassName="<ns>-high", priority=5)),
            create(
                PODS, pod("policy", priorityClassName="<ns>-high", preemptionPolicy="PreemptLowerPriority")
            ),
            create(PODS, pod("value", priority=7)),
            Step("PUT", f"{PODS}/high", pod("high", priorityClassName="<ns>-high")),
            Step("PATCH", f"{PRIORITIES}/<ns>-high", {"value": 2000}, MERGE),
            Step("PATCH", f"{PRIORITIES}/<ns>-high", {"preemptionPolicy": "PreemptLowerPriority"}, MERGE),
            delete(f"{PRIORITIES}/<ns>-high"),
        ),
    )
    yield (
        "the default priority class",
        (
            given(PRIORITIES, {"metadata": {"name": "<ns>-default"}, "value": 50, "globalDefault": True}),
            create(PODS, pod("plain")),
            create(PRIORITIES, {"metadata": {"name": "<ns>-second"}, "value": 60, "globalDefault": True}),
            create(PRIORITIES, {"metadata": {"name": "system-<ns>"}, "value": 60}),
            create(PRIORITIES, {"metadata": {"name": "<ns>-too-high"}, "value": 1000000001}),
            delete(f"{PRIORITIES}/<ns>-default"),
        ),
    )
    yield (
        "an unchanged pod is replaced",
        (create(PODS, pod("same")), Step("PUT", f"{PODS}/same", pod("same"))),
    )


def _classes() -> Iterator[tuple[str, tuple[Step, ...]]]:
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    default = {"storageclass.kubernetes.io/is-default-class": "true"}
    yield (
        "the default storage class",
        (
            given(CLASSES, {"metadata": {"name": "<ns>-a", "annotations": default}, "provisioner": "x.io/a"}),
            create(CLAIMS, {"metadata": {"name": "plain"}, "spec": claim}),
            create(CLAIMS, {"metadata": {"name": "none"}, "spec": claim | {"storageClassName": ""}}),
            delete(f"{CLASSES}/<ns>-a"),
            create(CLAIMS, {"metadata": {"name": "later"}, "spec": claim}),
        ),
    )
    default = {"ingressclass.kubernetes.io/is-default-class": "true"}
    backend = {"defaultBackend": {"service": {"name": "s", "port": {"number": 80}}}}
    yield (
        "the default ingress class",
        (
            given(
                INGRESS_CLASSES,
                {"metadata": {"name": "<ns>-a", "annotations": default}, "spec": {"controller": "x.io/a"}},
            ),
            create(INGRESSES, {"metadata": {"name": "plain"}, "spec": backend}),
            create(
                INGRESSES, {"metadata": {"name": "named"}, "spec": backend | {"ingressClassName": "other"}}
            ),
            delete(f"{INGRESS_CLASSES}/<ns>-a"),
        ),
    )
    runtime = {
        "metadata": {"name": "<ns>-vm"}, "handler": "vm", "overhead": {"podFixed": {"cpu": "100m"}},
        "scheduling": {
            "nodeSelector": {"vm": "yes"},
            "tolerations": [{"key": "vm", "operator": "Exists", "effect": "NoSchedule"}],
        },
    }  # fmt: skip
    yield (
        "runtime classes",
        (
            given(RUNTIMES, runtime),
            create(PODS, pod("vm", runtimeClassName="<ns>-vm", nodeSelector={"a": "b"})),
            create(PODS, pod("conflict", runtimeClassName="<ns>-vm", nodeSelector={"vm": "no"})),
            create(PODS, pod("overhead", runtimeClassName="<ns>-vm", overhead={"cpu": "1"})),
            create(PODS, pod("unknown", runtimeClassName="<ns>-unknown")),
            create(PODS, pod("alone", overhead={"cpu": "1"})),
            delete(f"{RUNTIMES}/<ns>-vm"),
        ),
    )


_TIMES: Final = ("lastHeartbeatTime", "lastTransitionTime")


def _others() -> Iterator[tuple[str, tuple[Step, ...]]]:
    node = {
        "metadata": {"name": "<ns>-n"},
        "spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]},
        "status": {
            "capacity": {"cpu": "4"},
            "conditions": [
                {"type": "Ready", "status": "True"} | dict.fromkeys(_TIMES, "2026-01-01T00:00:00Z")
            ],
        },
    }
    yield (
        "taints and status of a node",
        (
            create(NODES, node),
            Step("PATCH", f"{NODES}/<ns>-n", {"spec": {"taints": None}}, MERGE),
            delete(f"{NODES}/<ns>-n"),
        ),
    )
    service = {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}], "clusterIP": "10.0.0.77"}}
    yield (
        "the address of a service is immutable",
        (
            given(SERVICES, service),
            Step("PATCH", f"{SERVICES}/s", {"spec": {"clusterIP": "10.0.0.78", "clusterIPs": None}}, MERGE),
            Step(
                "PATCH",
                f"{SERVICES}/s",
                {"spec": {"clusterIP": "10.0.0.78", "clusterIPs": ["10.0.0.78"]}},
                MERGE,
            ),
            Step("PATCH", f"{SERVICES}/s", {"spec": {"clusterIP": "None", "clusterIPs": ["None"]}}, MERGE),
            Step("PATCH", f"{SERVICES}/s", {"spec": {"selector": {"a": "b"}}}, MERGE, compared=False),
            delete(f"{SERVICES}/s"),
        ),
    )
    yield (
        "line breaks in base64",
        (
            create(
                SECRETS, {"metadata": {"name": "lines"}, "data": {"a": "aGVs\nbG8=\n", "b": "aGVs\r\nbG8="}}
            ),
            create(SECRETS, {"metadata": {"name": "spaces"}, "data": {"a": "aGVs bG8="}}),
            create(SECRETS, {"metadata": {"name": "padding"}, "data": {"a": "aGVsbG8"}}),
        ),
    )
    duplicate = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: d\ndata:\n  a: '1'\n  a: '2'\n"
    maps = "/api/v1/namespaces/<ns>/configmaps"
    yield (
        "a YAML key twice",
        (
            Step("POST", f"{maps}?fieldValidation=Ignore&dryRun=All", duplicate, YAML),
            Step("POST", f"{maps}?fieldValidation=Warn&dryRun=All", duplicate, YAML),
            Step("POST", f"{maps}?fieldValidation=Strict&dryRun=All", duplicate, YAML),
        ),
    )


DEPLOYMENTS: Final = "/apis/apps/v1/namespaces/<ns>/deployments"
REQUESTS: Final = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
POLICIES: Final = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"


def _subresources() -> Iterator[tuple[str, tuple[Step, ...]]]:
    pem = (
        "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIV01INENBUUF3SERFTU1Bb0dBMVVFQXd3RFltOW"
        "lNUXd3Q2dZRFZRUUtEQU5rWlhZd1dUQVRCZ2NxaGtqTwpQUUlCQmdncWhrak9QUU1CQndOQ0FBVGJyTnhaVjR2TjU2"
        "M0EwR20xZE1ERmd1VmIvYWpZRlp1d01FNkxtMk1HCk5VTmRnS25VTGFUWWQrUm1UelpkT3YvdVRORFRwdE1YNkVabW"
        "RnVkZkKzJHb0FBd0NnWUlLb1pJemowRUF3SUQKU0FBd1JRSWhBTWtpZzlQSEU3dkgrYnAyUzg2WDJHWXd1NkZmUGg3"
        "SksyN3JLRy9tNWFBZ0FpQTBCUGVkZk5TSQp3RjJvQm5pZkVYWEtERWMyYTc1RndzQXY1YWY4RGZPTlBBPT0KLS0tLS"
        "1FTkQgQ0VSVElGSUNBVEUgUkVRVUVTVC0tLS0tCg=="
    )
    spec = {"request": pem, "signerName": "x.io/s", "usages": ["client auth"], "username": "ignored"}
    approved = {"type": "Approved", "status": "True", "reason": "r", "message": "m"}
    failed = approved | {"type": "Failed"}
    certificate_request = f"{REQUESTS}/<ns>-r"
    yield (
        "a certificate request is approved",
        (
            create(REQUESTS, {"metadata": {"name": "<ns>-r"}, "spec": spec}),
            Step("PATCH", f"{certificate_request}/approval", {"status": {"conditions": [approved]}}, MERGE),
            Step("PATCH", certificate_request, {"spec": {"username": "other"}}, MERGE),
            Step("PATCH", f"{certificate_request}/status", {"status": {"conditions": [failed]}}, MERGE),
            Step(
                "PATCH",
                f"{certificate_request}/status",
                {"status": {"conditions": [approved, failed]}},
                MERGE,
            ),
            delete(certificate_request),
        ),
    )


def _valid_objects() -> Iterator[tuple[str, tuple[Step, ...]]]:
    def dry(collection: str, *bodies: Json) -> tuple[Step, ...]:
        return tuple(create(f"{collection}?dryRun=All", body) for body in bodies)

    device: Json = {
        "metadata": {"name": "c"},
        "spec": {"config": [{"opaque": {"driver": "x.io", "parameters": {}}}]},
    }
    yield "opaque parameters", dry("/apis/resource.k8s.io/v1/deviceclasses", device)
    claim_request = {"name": "r", "exactly": {"deviceClassName": "c", "count": 0}}
    yield (
        "a count of devices",
        dry(
            "/apis/resource.k8s.io/v1/namespaces/<ns>/resourceclaims",
            {"metadata": {"name": "c"}, "spec": {"devices": {"requests": [claim_request]}}},
            {
                "metadata": {"name": "d", "generateName": "A_"},
                "spec": {
                    "devices": {
                        "requests": [{"name": "r", "exactly": {"deviceClassName": "c"}}],
                        "config": [{"opaque": {"driver": "x.io", "parameters": {}}}],
                    }
                },
            },
        ),
    )
    yield (
        "an unusual generateName beside a name",
        (
            *dry(
                "/apis/policy/v1/namespaces/<ns>/poddisruptionbudgets",
                {"metadata": {"name": "b", "generateName": "A_"}},
            ),
            *dry(
                "/apis/resource.k8s.io/v1/deviceclasses",
                {"metadata": {"name": "b", "generateName": "A_"}, "spec": {}},
            ),
            *dry("/api/v1/namespaces/<ns>/configmaps", {"metadata": {"name": "b", "generateName": "A_"}}),
        ),
    )
    policy = {
        "metadata": {"name": "p", "finalizers": ["unqualified"]},
        "spec": {
            "matchConstraints": {
                "resourceRules": [
                    {
                        "apiGroups": [""],
                        "apiVersions": ["v1"],
                        "operations": ["CREATE"],
                        "resources": ["pods"],
                    }
                ]
            },
            "validations": [{"expression": "true"}],
        },
    }
    yield "finalizers of policies", dry(POLICIES, policy)
    template = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"hostname": "a_b", "containers": [{"name": "c", "image": "1Gi"}]},
    }
    stateful = {"selector": {"matchLabels": {"a": "b"}}, "serviceName": "s", "template": template}
    yield (
        "a host name with an underscore",
        dry(
            "/apis/apps/v1/namespaces/<ns>/statefulsets",
            {"metadata": {"name": "s"}, "spec": stateful},
        ),
    )


def _custom_resources() -> Iterator[tuple[str, tuple[Step, ...]]]:
    def version(name: str, *, stored: str, **properties: Json) -> Json:
        spec = {
            "type": "object",
            "properties": {"a": {"type": "string"}, "n": {"type": "integer"}, **properties},
        }
        return {
            "name": name, "served": True, "storage": name == stored,
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}},
            "subresources": {"scale": {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"}},
            "additionalPrinterColumns": [{"name": "B", "type": "string", "jsonPath": ".spec.b"}],
        }  # fmt: skip

    group = "<ns>.example.io"
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    things = f"/apis/{group}/v1/namespaces/<ns>/things"
    old_things = things.replace("/v1/", "/v1alpha1/")
    thing = {
        "apiVersion": f"{group}/v1alpha1",
        "kind": "Thing",
        "metadata": {"name": "t"},
        "spec": {"a": "1", "n": 3},
    }
    scale = {"spec": {"replicas": 0}}
    deployment = {
        "selector": {"matchLabels": {"a": "b"}},
        "replicas": 3,
        "template": {
            "metadata": {"labels": {"a": "b"}},
            "spec": {"containers": [{"name": "c", "image": "i:1"}]},
        },
    }
    yield (
        "a Deployment is scaled to zero",
        (
            given(DEPLOYMENTS, {"metadata": {"name": "d"}, "spec": deployment}),
            Step("PATCH", f"{DEPLOYMENTS}/d/scale", scale, MERGE),
            Step("PATCH", f"{DEPLOYMENTS}/d/scale", {"spec": {"replicas": 2}}, MERGE),
            delete(f"{DEPLOYMENTS}/d"),
        ),
    )
    for stored in ("v1alpha1", "v1"):
        versions = [
            version("v1alpha1", stored=stored),
            version("v1", stored=stored, b={"type": "string", "default": "x"}),
        ]
        spec = {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": "things", "kind": "Thing"},
            "versions": versions,
        }
        yield (
            f"defaults of another version, stored as {stored}",
            (
                given(definitions, {"metadata": {"name": f"things.{group}"}, "spec": spec}),
                Step("POST", old_things, thing, compared=False, eventual=True),
                Step("GET", old_things, compared=False, eventual=True),
                Step("GET", things, compared=False, eventual=True),
                Step("GET", f"{old_things}/t"),
                Step("GET", f"{things}/t"),
                Step("GET", f"{things}/t", accept=TABLE),
                Step("PATCH", f"{old_things}/t/scale", scale, MERGE),
                Step("GET", f"{old_things}/t"),
                Step("GET", f"{things}/t"),
                delete(f"{definitions}/things.{group}"),
            ),
        )


def _pods() -> Iterator[tuple[str, tuple[Step, ...]]]:
    """Pods and templates that break a rule."""
    specs: tuple[Json, ...] = (
        {"activeDeadlineSeconds": 5},
        {"priorityClassName": "A_"},
        {"runtimeClassName": "A_"},
        {"serviceAccountName": "A_"},
        {"os": {"name": "x"}},
        {"os": {}},
        {"tolerations": [{"operator": "X"}]},
        {"hostUsers": False, "hostNetwork": True},
        {"securityContext": {"sysctls": [{"name": "A_", "value": "1"}]}},
        {"volumes": [{"name": "v", "emptyDir": {"sizeLimit": "-1"}}]},
        {"readinessGates": [{"conditionType": "A B"}]},
        {"preemptionPolicy": "X"},
        {"schedulingGates": [{"name": "a b"}]},
        {"shareProcessNamespace": True, "hostPID": True},
    )
    containers: tuple[Json, ...] = (
        {"envFrom": [{}]},
        {"envFrom": [{"configMapRef": {"name": ""}}]},
        {"env": [{"name": "a=b"}]},
        {"volumeDevices": [{"name": "x", "devicePath": "/d"}]},
        {"resizePolicy": [{"resourceName": "x", "restartPolicy": "y"}]},
    )
    templates = [{"containers": [{"name": "c", "image": "i:1"}], **spec} for spec in specs]
    templates += [{"containers": [{"name": "c", "image": "i:1", **container}]} for container in containers]
    selector = {"matchLabels": {"a": "b"}}
    yield (
        "templates that break a rule",
        tuple(
            create(
                f"{DEPLOYMENTS}?dryRun=All",
                {
                    "metadata": {"name": "d"},
                    "spec": {
                        "selector": selector,
                        "template": {"metadata": {"labels": {"a": "b"}}, "spec": template},
                    },
                },
            )
            for template in templates
        ),
    )


def _warnings() -> Iterator[tuple[str, tuple[Step, ...]]]:
    volumes = (
        {"gitRepo": {"repository": "x"}},
        {"cephfs": {"monitors": ["x"]}},
        {"rbd": {"monitors": ["x"], "image": "i"}},
        {"glusterfs": {"endpoints": "e", "path": "p"}},
        {"flocker": {"datasetName": "d"}},
        {"quobyte": {"registry": "r:1", "volume": "v"}},
        {"storageos": {"volumeName": "v"}},
        {"scaleIO": {"gateway": "g", "system": "s", "volumeName": "v", "secretRef": {"name": "s"}}},
        {"photonPersistentDisk": {"pdID": "p"}},
    )
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    specs: tuple[Json, ...] = (
        *({"volumes": [{"name": "v", **volume}]} for volume in volumes),
        {"imagePullSecrets": [{"name": "a"}, {}, {"name": "a"}]},
        {"hostAliases": [{"ip": "1.2.3.4"}, {"ip": "1.2.3.4"}]},
        {"terminationGracePeriodSeconds": -1},
        {"nodeSelector": {"beta.kubernetes.io/arch": "x", "failure-domain.beta.kubernetes.io/zone": "y"}},
        {"nodeSelector": {"beta.kubernetes.io/instance-type": "x", "beta.kubernetes.io/os": "y"}},
        {
            "topologySpreadConstraints": [
                {"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"}
            ]
        },
        {"affinity": {"podAntiAffinity": {required: [{"topologyKey": "z"}]}}},
    )
    containers: tuple[Json, ...] = (
        {"env": [{"name": "a", "value": "1"}, {"name": "a", "value": "2"}]},
        {"env": [{"name": "a", "value": "1"}, {"name": "a", "value": "$(a)x"}]},
        {"ports": [{"containerPort": 80}, {"containerPort": 80, "name": "x"}]},
        {"ports": [{"containerPort": 80, "hostPort": 80}, {"containerPort": 80, "hostPort": 80}]},
        {"ports": [{"containerPort": 80, "protocol": "UDP"}, {"containerPort": 80, "hostIP": "x"}]},
        {"resources": {"limits": {"memory": "100m", "ephemeral-storage": "1m"}}},
    )
    annotations = (
        "scheduler.alpha.kubernetes.io/critical-pod",
        "security.alpha.kubernetes.io/sysctls",
        "seccomp.security.alpha.kubernetes.io/pod",
    )
    container = {"name": "c", "image": "i:1"}
    templates: list[Json] = [{"spec": {"containers": [container], **spec}} for spec in specs]
    templates += [{"spec": {"containers": [container | more]}} for more in containers]
    templates += [
        {"metadata": {"annotations": {name: "unconfined"}}, "spec": {"containers": [container]}}
        for name in annotations
    ]
    steps = [
        create(f"{PODS}?dryRun=All", template | {"metadata": {"name": "p", **template.get("metadata", {})}})
        for template in templates
    ]
    labels = {"labels": {"a": "b"}}
    steps += [
        create(
            f"{DEPLOYMENTS}?dryRun=All",
            {
                "metadata": {"name": "d.io"},
                "spec": {
                    "selector": {"matchLabels": {"a": "b"}},
                    "template": template | {"metadata": labels | template.get("metadata", {})},
                },
            },
        )
        for template in templates[::4]
    ]
    storage = {"metadata": {"name": "s", "annotations": {"volume.beta.kubernetes.io/storage-class": "x"}}}
    claim = {"resources": {"requests": {"storage": "1500m"}}, "accessModes": ["ReadWriteOnce"]}
    ingress_class = {"kubernetes.io/ingress.class": "x"}
    backend = {"defaultBackend": {"service": {"name": "s", "port": {"number": 80}}}}
    topology = {"matchLabelExpressions": [{"key": "beta.kubernetes.io/arch", "values": ["a"]}]}
    steps += [
        create(f"{CLAIMS}?dryRun=All", storage | {"spec": claim}),
        create(
            f"{INGRESSES}?dryRun=All",
            {"metadata": {"name": "i", "annotations": ingress_class}, "spec": backend},
        ),
        create(
            f"{CLASSES}?dryRun=All",
            {"metadata": {"name": "<ns>"}, "provisioner": "x.io/a", "allowedTopologies": [topology]},
        ),
    ]
    yield "warnings", tuple(steps)


def _pod_tables() -> Iterator[tuple[str, tuple[Step, ...]]]:
    """Statuses of a pod, and the rows that kubectl prints."""

    def state(
        name: str, *, ready: bool = False, restarts: int = 0, last: Json | None = None, **state: Json
    ) -> Json:
        entry: Json = {
            "name": name, "image": "i:1", "imageID": "", "ready": ready, "restartCount": restarts,
            "state": state,
        }  # fmt: skip
        return entry | ({"lastState": {"terminated": last}} if last else {})

    def ended(code: int, reason: str = "", **more: Any) -> Json:
        return {"exitCode": code, **({"reason": reason} if reason else {}), **more}

    times = dict.fromkeys(("lastProbeTime", "lastTransitionTime"), "2026-01-01T00:00:00Z")
    ready = {"type": "Ready", "status": "True", **times}
    initialized = {"type": "Initialized", "status": "True", **times}
    crashed = ended(1, "Error", finishedAt="2026-01-01T00:00:00Z")
    statuses: tuple[Json, ...] = (
        {"phase": "Succeeded"},
        {
            "initContainerStatuses": [
                state("i", running={}),
                state("s", waiting={"reason": "PodInitializing"}),
            ]
        },
        {"initContainerStatuses": [state("i", terminated=ended(2)), state("s", waiting={})]},
        {"initContainerStatuses": [state("i", terminated=ended(2, "Error")), state("s", waiting={})]},
        {"initContainerStatuses": [state("i", terminated=ended(0, signal=9)), state("s", waiting={})]},
        {
            "initContainerStatuses": [
                state("i", waiting={"reason": "CrashLoopBackOff"}, restarts=3, last=crashed)
            ]
        },
        {
            "initContainerStatuses": [
                state("i", terminated=ended(0, "Completed")),
                state("s", running={}, ready=True) | {"started": True},
            ],
            "containerStatuses": [
                state("c", running={}, ready=True),
                state("d", terminated=ended(0, "Completed")),
            ],
            "conditions": [ready, initialized],
            "phase": "Running",
        },
        {
            "containerStatuses": [
                state("c", running={}, ready=True),
                state("d", terminated=ended(0, "Completed")),
            ],
            "conditions": [initialized],
            "phase": "Running",
        },
        {
            "containerStatuses": [
                state("c", terminated=ended(137), restarts=2, last=crashed),
                state("d", waiting={"reason": "ImagePullBackOff"}),
            ],
            "phase": "Running",
        },
        {"containerStatuses": [state("c", terminated=ended(0, signal=15))], "phase": "Failed"},
        {"conditions": [{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated", **times}]},
        {"reason": "Evicted", "phase": "Failed"},
    )
    image = {"image": "i:1"}
    spec = {
        "containers": [{"name": "c", **image}, {"name": "d", **image}],
        "initContainers": [{"name": "i", **image}, {"name": "s", **image, "restartPolicy": "Always"}],
    }
    steps: list[Step] = []
    for index, status in enumerate(statuses):
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"p{index}"}, "spec": spec}
        steps += [
            given(PODS, body),
            Step("PATCH", f"{PODS}/p{index}/status", {"status": status}, MERGE, compared=False),
            Step("GET", f"{PODS}/p{index}", accept=TABLE),
        ]
    yield "rows of pods", tuple(steps)


def _defaults() -> Iterator[tuple[str, tuple[Step, ...]]]:
    def dry(collection: str, *bodies: Json) -> tuple[Step, ...]:
        return tuple(create(f"{collection}?dryRun=All", body) for body in bodies)

    hook = {
        "name": "a.b.c", "clientConfig": {"url": "https://x.io"}, "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "rules": [
            {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]},
        ],
    }  # fmt: skip
    hooks = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
    yield "the scope of a rule", dry(hooks, {"metadata": {"name": "h"}, "webhooks": [hook]})
    yield (
        "kinds of services",
        dry(
            SERVICES,
            {"metadata": {"name": "a"}, "spec": {"type": "ExternalName", "externalName": "x.io"}},
            {
                "metadata": {"name": "b"},
                "spec": {
                    "ports": [{"port": 80}],
                    "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 5}},
                },
            },
        ),
    )
    yield (
        "endpoints",
        dry(
            "/api/v1/namespaces/<ns>/endpoints",
            {
                "metadata": {"name": "e"},
                "subsets": [{"addresses": [{"ip": "10.1.1.1"}], "ports": [{"port": 80}]}],
            },
        ),
    )
    yield (
        "an empty network policy",
        dry(
            "/apis/networking.k8s.io/v1/namespaces/<ns>/networkpolicies",
            {"metadata": {"name": "e"}, "spec": {}},
            {"metadata": {"name": "e"}, "spec": {"podSelector": {}, "egress": []}},
        ),
    )
    yield (
        "finalizers of a namespace",
        dry("/api/v1/namespaces", {"metadata": {"name": "x-<ns>"}, "spec": {"finalizers": []}}),
    )
    lease = {"holderIdentity": "a", "preferredHolder": "b", "strategy": "OldestEmulationVersion"}
    yield (
        "fields behind gates",
        (
            *dry(
                "/apis/coordination.k8s.io/v1/namespaces/<ns>/leases",
                {"metadata": {"name": "l"}, "spec": lease},
            ),
            *dry(
                PODS,
                pod("g", schedulingGroup={"podGroupName": "x"}),
                {
                    "metadata": {"name": "s"},
                    "spec": {
                        "containers": [{"name": "c", "image": "i:1", "lifecycle": {"stopSignal": "SIGTERM"}}]
                    },
                },
            ),
            *dry(
                NODES,
                {
                    "metadata": {"name": "x-<ns>"},
                    "spec": {
                        "configSource": {
                            "configMap": {"name": "c", "namespace": "n", "kubeletConfigKey": "k"}
                        }
                    },
                },
            ),
        ),
    )


CASES: Final = dict(
    (
        *_subresources(),
        *_valid_objects(),
        *_custom_resources(),
        *_pods(),
        *_warnings(),
        *_pod_tables(),
        *_defaults(),
        *_limit_ranges(),
        *_priorities(),
        *_classes(),
        *_others(),
    )
)

_SCRUBBED: Final = (
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "<uid>"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"), "<time>"),
    (re.compile(r'"resourceVersion": "\d+"'), '"resourceVersion": "<version>"'),
)
_LIMITS_EXCEEDED: Final = re.compile(r"(.* is forbidden: )\[(.*)\]")
_AGE: Final = re.compile(r"\b(\d+[smhdy])+( ago\)|\")")


def decoded(body: bytes) -> Any:
    """Return the JSON in the body of a response, or its text."""
    return json.loads(body) if body.startswith(b"{") else body.decode()


def outcomes(send: Send, name: str, attempt: int = 0) -> list[Json]:
    """Run a case, and return the responses without the values that each server chooses."""
    namespace = f"case-{list(CASES).index(name)}-{attempt}"
    send(
        "POST",
        "/api/v1/namespaces",
        json.dumps({"metadata": {"name": namespace}}).encode(),
        JSON,
        JSON,
    )
    responses: list[Json] = []
    for step in CASES[name]:
        text = (
            step.body
            if isinstance(step.body, str)
            else json.dumps(step.body)
            if step.body is not None
            else ""
        )
        target = step.target.replace("<ns>", namespace)
        data = text.replace("<ns>", namespace).encode()
        status, warnings, body = send(step.method, target, data, step.media, step.accept)
        while step.eventual and status >= 400:
            status, warnings, body = send(step.method, target, data, step.media, step.accept)
        if step.compared:
            response = {
                "step": f"{step.method} {step.target}",
                "status": status,
                "warnings": sorted(warnings),  # a server iterates over maps
                "body": body,
            }
            responses.append(scrub(response, namespace))
        else:
            assert status in (200, 201), body
    return responses


def scrub(value: Any, namespace: str) -> Any:
    """Return a response without the values that a server chooses, and the writes of its controllers."""
    meta: Json = value["body"].get("metadata") or {}
    if "managedFields" in meta:
        meta["managedFields"] = [entry for entry in meta["managedFields"] if entry["manager"] == "suite"]
        if meta.get("annotations", {}).keys() == {"node.alpha.kubernetes.io/ttl"}:
            del meta["annotations"]
        if not meta["managedFields"]:
            del meta["managedFields"]
    if match := _LIMITS_EXCEEDED.fullmatch(value["body"].get("message") or ""):
        # A server iterates over a map of resources.
        value["body"]["message"] = match[1] + ", ".join(sorted(re.split(", (?=minimum|maximum)", match[2])))
    text = json.dumps(value, sort_keys=True).replace(namespace, "<ns>")
    for pattern, replacement in _SCRUBBED:
        text = pattern.sub(replacement, text)
    if value["body"].get("kind") == "Table":
        text = _AGE.sub(r"<age>\2", text)
    return json.loads(text)
