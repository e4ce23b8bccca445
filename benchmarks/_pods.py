"""Pods as a server writes them: compact, in Go's field order, managedFields last in the metadata."""

import json
import random
from typing import Any, Final

_CONSONANTS = "bcdfghjklmnpqrstvwxz2456789"  # the alphabet of generated names
_APPS = ("checkout", "inventory", "ledger", "mailer", "search", "storefront", "thumbnails", "webhooks")
_LEAF: Final[dict[str, Any]] = {}
_SELF: Final[dict[str, Any]] = {".": _LEAF}  # in managedFields: the map or item itself
_NODES = tuple(f"node-{zone}-{number}" for zone in "abc" for number in range(1, 9))


def go_json(value: Any) -> bytes:
    """Write JSON as Go's encoder does: compact, UTF-8, with `<`, `>` and `&` escaped."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e").encode()


def uid(rng: random.Random) -> str:
    digits = f"{rng.getrandbits(128):032x}"
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"


def timestamp(rng: random.Random) -> str:
    day, hour, minute, second = rng.randint(1, 28), rng.randrange(24), rng.randrange(60), rng.randrange(60)
    return f"2026-03-{day:02}T{hour:02}:{minute:02}:{second:02}Z"


def suffix(rng: random.Random, length: int) -> str:
    return "".join(rng.choices(_CONSONANTS, k=length))


def pod(index: int, rng: random.Random) -> bytes:
    """Return a running pod of a Deployment, of about 5.7 KB."""
    app = rng.choice(_APPS)
    replica_set = f"{app}-{suffix(rng, 10)}"
    born, started, address = timestamp(rng), timestamp(rng), _address(rng, 10)
    return go_json(
        {
            "kind": "Pod",
            "apiVersion": "v1",
            "metadata": _metadata(index, rng, replica_set, born) | _ownership(born, started, address),
            "spec": _spec(rng, app),
            "status": _status(rng, app, started, address),
        }
    )


def _metadata(index: int, rng: random.Random, replica_set: str, born: str) -> dict[str, Any]:
    app, _, template = replica_set.rpartition("-")
    return {
        "name": f"{replica_set}-{suffix(rng, 5)}",
        "generateName": f"{replica_set}-",
        "namespace": f"team-{index % 20}",
        "uid": uid(rng),
        "resourceVersion": str(100_000 + index),
        "generation": 1,
        "creationTimestamp": born,
        "labels": {
            "app.kubernetes.io/instance": f"{app}-production",
            "app.kubernetes.io/name": app,
            "app.kubernetes.io/version": f"v{rng.randrange(9)}.{rng.randrange(30)}.{rng.randrange(90)}",
            "pod-template-hash": template,
            "team": f"team-{index % 20}",
        },
        "annotations": {
            "checksum/config": f"{rng.getrandbits(256):064x}",
            "example.com/note": f'alert "{app}" when p99 > {rng.randrange(100, 900)} ms & errors < 1%',
            "prometheus.io/scrape": "true",
        },
        "ownerReferences": [
            {
                "apiVersion": "apps/v1",
                "kind": "ReplicaSet",
                "name": replica_set,
                "uid": uid(rng),
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ],
    }


def _ownership(born: str, started: str, address: str) -> dict[str, Any]:
    return {
        "managedFields": [
            {
                "manager": "kube-controller-manager",
                "operation": "Update",
                "apiVersion": "v1",
                "time": born,
                "fieldsType": "FieldsV1",
                "fieldsV1": _controller_fields(),
            },
            {
                "manager": "kubelet",
                "operation": "Update",
                "apiVersion": "v1",
                "time": started,
                "fieldsType": "FieldsV1",
                "fieldsV1": _kubelet_fields(address),
                "subresource": "status",
            },
        ],
    }


def _fields(*names: str, **children: dict[str, Any]) -> dict[str, Any]:
    """Return the owned fields of a level, sorted as on a server; `children` are the nested levels."""
    owned = {"f:" + name: _LEAF for name in names} | {
        "f:" + name: fields for name, fields in children.items()
    }
    return dict(sorted(owned.items()))


def _keyed(entries: dict[str, dict[str, Any]]) -> dict[str, Any]:
    return _SELF | {f"k:{key}": _SELF | fields for key, fields in sorted(entries.items())}


def _controller_fields() -> dict[str, Any]:
    container = ("image", "imagePullPolicy", "name", "ports", "resources", "volumeMounts")
    labels = ("app.kubernetes.io/instance", "app.kubernetes.io/name", "team")
    app = _fields(
        *container,
        env=_keyed({'{"name":"LOG_LEVEL"}': _fields("name", "value")}),
        readinessProbe=_fields("failureThreshold", "httpGet", "periodSeconds"),
    )
    return _fields(
        metadata=_fields(
            "generateName",
            annotations=_SELF | _fields("checksum/config", "example.com/note"),
            labels=_SELF | _fields(*labels),
            ownerReferences=_SELF,
        ),
        spec=_fields(
            *("dnsPolicy", "enableServiceLinks", "restartPolicy", "schedulerName"),
            *("terminationGracePeriodSeconds", "tolerations", "volumes"),
            containers=_keyed({'{"name":"app"}': app, '{"name":"proxy"}': _fields(*container)}),
        ),
    )


def _kubelet_fields(address: str) -> dict[str, Any]:
    condition = _fields("lastProbeTime", "lastTransitionTime", "status", "type")
    conditions = {f'{{"type":"{kind}"}}': condition for kind in ("ContainersReady", "Ready")}
    return _fields(
        status=_fields(
            *("containerStatuses", "hostIP", "phase", "podIP", "startTime"),
            conditions=_keyed(conditions),
            podIPs=_keyed({f'{{"ip":"{address}"}}': _fields("ip")}),
        )
    )


def _address(rng: random.Random, network: int) -> str:
    return f"{network}.{rng.randrange(256)}.{rng.randrange(256)}.{rng.randrange(1, 255)}"


def _spec(rng: random.Random, app: str) -> dict[str, Any]:
    token = f"kube-api-access-{suffix(rng, 5)}"
    outage = {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
    return {
        "volumes": [
            {"name": "config", "configMap": {"name": f"{app}-config", "defaultMode": 420}},
            {
                "name": token,
                "projected": {
                    "sources": [{"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}}],
                    "defaultMode": 420,
                },
            },
        ],
        "containers": [_app_container(rng, app, token), _proxy_container(rng, token)],
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "serviceAccountName": app,
        "serviceAccount": app,
        "nodeName": rng.choice(_NODES),
        "securityContext": {"fsGroup": 10001},
        "schedulerName": "default-scheduler",
        "tolerations": [
            {"key": "node.kubernetes.io/not-ready", **outage},
            {"key": "node.kubernetes.io/unreachable", **outage},
        ],
        "priority": 0,
        "enableServiceLinks": True,
        "preemptionPolicy": "PreemptLowerPriority",
    }


def _app_container(rng: random.Random, app: str, token: str) -> dict[str, Any]:
    return {
        "name": "app",
        "image": f"quay.io/shop/{app}:1.{rng.randrange(100)}.{rng.randrange(10)}",
        "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}],
        "env": [
            {"name": "LOG_LEVEL", "value": rng.choice(("debug", "info", "warning"))},
            {"name": "WORKERS", "value": str(rng.randrange(1, 9))},
        ],
        "resources": {
            "limits": {"memory": f"{rng.randrange(2, 16) * 64}Mi"},
            "requests": {"cpu": f"{rng.randrange(1, 20) * 50}m", "memory": "128Mi"},
        },
        "volumeMounts": [{"name": "config", "mountPath": "/etc/app"}, _token_mount(token)],
        "readinessProbe": _probe("/readyz", 5),
        **_container_tail(),
    }


def _proxy_container(rng: random.Random, token: str) -> dict[str, Any]:
    return {
        "name": "proxy",
        "image": f"quay.io/infra/proxy:2.{rng.randrange(30)}",
        "ports": [{"name": "metrics", "containerPort": 9090, "protocol": "TCP"}],
        "env": [{"name": "UPSTREAM", "value": "127.0.0.1:8080"}],
        "resources": {"requests": {"cpu": "10m", "memory": "32Mi"}},
        "volumeMounts": [_token_mount(token)],
        **_container_tail(),
    }


def _token_mount(token: str) -> dict[str, Any]:
    return {"name": token, "readOnly": True, "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}


def _probe(path: str, period: int) -> dict[str, Any]:
    return {
        "httpGet": {"path": path, "port": "http", "scheme": "HTTP"},
        "timeoutSeconds": 1,
        "periodSeconds": period,
        "successThreshold": 1,
        "failureThreshold": 3,
    }


def _container_tail() -> dict[str, Any]:
    return {
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "imagePullPolicy": "IfNotPresent",
    }


def _status(rng: random.Random, app: str, started: str, address: str) -> dict[str, Any]:
    host = _address(rng, 192)
    conditions = ("Initialized", "Ready", "ContainersReady", "PodScheduled")
    return {
        "phase": "Running",
        "conditions": [
            {"type": kind, "status": "True", "lastProbeTime": None, "lastTransitionTime": started}
            for kind in conditions
        ],
        "hostIP": host,
        "hostIPs": [{"ip": host}],
        "podIP": address,
        "podIPs": [{"ip": address}],
        "startTime": started,
        "containerStatuses": [
            _container_status(rng, "app", f"shop/{app}", started),
            _container_status(rng, "proxy", "infra/proxy", started),
        ],
        "qosClass": "Burstable",
    }


def _container_status(rng: random.Random, name: str, image: str, started: str) -> dict[str, Any]:
    repository = f"quay.io/{image}"
    return {
        "name": name,
        "state": {"running": {"startedAt": started}},
        "lastState": {},
        "ready": True,
        "restartCount": rng.choice((0, 0, 0, 1, 7)),
        "image": f"{repository}:1.{rng.randrange(100)}",
        "imageID": f"{repository}@sha256:{rng.getrandbits(256):064x}",
        "containerID": f"containerd://{rng.getrandbits(256):064x}",
        "started": True,
    }
