"""One minimal object of each built-in kind that can be created: the least that a real server accepts."""

from __future__ import annotations

import copy
from typing import Any, Final

Json = dict[str, Any]

CONTAINER: Final[Json] = {"name": "a", "image": "a"}
TEMPLATE: Final[Json] = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [CONTAINER]}}
WORKLOAD: Final[Json] = {"spec": {"selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE}}
JOB: Final[Json] = {"template": {"spec": {"containers": [CONTAINER], "restartPolicy": "Never"}}}
HOOK: Final[Json] = {
    "webhooks": [
        {
            "name": "a.b.c",
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "clientConfig": {"url": "https://a.b/c"},
        }
    ]
}
MATCH: Final[Json] = {
    "resourceRules": [
        {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
    ]
}
# A certificate request that was created with openssl, with a key that was not stored.
REQUEST: Final = (
    "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlJQ1VUQ0NBVGtDQVFBd0RERUtNQWdHQTFVRUF3d0JZVEND"
    "QVNJd0RRWUpLb1pJaHZjTkFRRUJCUUFEZ2dFUApBRENDQVFvQ2dnRUJBTDQ0Rml2cGtlUGhkYmtDK0pJVXlQblFabDZVajhW"
    "SXZMbVlsYmVFN21NOE5tVFhDMzA1CjF6b1g0eVloMENVZkp0RUZhU3B3UHdILzd6RnY1V05QOHoxcFpna1VldmVUWFhaMXdI"
    "UEFTWmgxM3pBNDhPamgKbEhCRWRpTmdvVlpYU1pPYVlYMXppWm1vc09nQlNNYWJOU3dTaTZDVTVnb0RrZ1hJc2NhTjE5MDZB"
    "cjRzdXo3NApDeHZqZmVBVHJNU2pFLy8veHl5TGNRL1c5bU54eWVnYitPcXk5aHUxRndMTWNwdWVtcTM5Q3Rybk1nWnlZS0g4"
    "ClhOWVl6TDVicnB3Z09qWEI4cWFzM0lvbllKVXhra1RoZWVwZFNGYzY1eTFWOUdvOTFhVWx0d2VVN1pKblBKWVIKdFBrQW8w"
    "aEpraFJGRW9zNFhFLzFLWmJqaDNHdmpuV3F4MXNDQXdFQUFhQUFNQTBHQ1NxR1NJYjNEUUVCQ3dVQQpBNElCQVFDek1VM1g1"
    "d0lLNFFLVFdaUy8xZFFCUGJDQnBpQVdrcVV3ZG5QYVNXakxoTDJDQ1JXTFhtYWZ4aGFXCkF6MHFKOHo5bklmTzdEdjBobk0w"
    "V0hnOUYvcGE3T3ZJWjY5RmwrRUgxK01haER5TFFIcjN1VDR0blVnTHhkbU4KU0xMWm8rakxiSHBXOVdaUHlvTFR4VXBQR1lj"
    "b2dTVi8yelZQaVJKaThlVUNQWWxEbG56Nm1wclIvQjE2bGJ3UApsb1NKeTdHd05hSVA4SGNweVhBOHdhb1hPVkREZFVWci81"
    "VkRVVEV0UitRU0hGRktkNTlTR0lkd3NHbWNTdkRzCmpxV3cyM3FTaUFaS1BjWCszNzlvdE5ucXIxcGNLL0ZBKzVhV2RzN3hn"
    "L0F3bUlEZHgrR2Z5S09uUzFNVWdYY0MKMEtUSFNFbXNyNjdVekgxVG1ybmd0ZFQ5Y2lJbgotLS0tLUVORCBDRVJUSUZJQ0FU"
    "RSBSRVFVRVNULS0tLS0K"
)

MINIMAL: Final[dict[str, Json]] = {
    "configmaps": {},
    "endpoints": {},
    "events": {"involvedObject": {"namespace": "default"}},
    "limitranges": {},
    "namespaces": {},
    "nodes": {},
    "persistentvolumeclaims": {
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    },
    "persistentvolumes": {
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "hostPath": {"path": "/a"},
        }
    },
    "pods": {"spec": {"containers": [CONTAINER]}},
    "podtemplates": {"template": TEMPLATE},
    "replicationcontrollers": {"spec": {"template": TEMPLATE}},
    "resourcequotas": {},
    "secrets": {},
    "serviceaccounts": {},
    "services": {"spec": {"ports": [{"port": 80}]}},
    "apiservices.apiregistration.k8s.io": {
        "metadata": {"name": "v1.a.b"},
        "spec": {
            "group": "a.b",
            "version": "v1",
            "groupPriorityMinimum": 100,
            "versionPriority": 100,
            "service": {"name": "a", "namespace": "default"},
            "insecureSkipTLSVerify": True,
        },
    },
    "controllerrevisions.apps": {"revision": 1, "data": {"a": 1}},
    "daemonsets.apps": WORKLOAD,
    "deployments.apps": WORKLOAD,
    "replicasets.apps": WORKLOAD,
    "statefulsets.apps": WORKLOAD,
    "events.events.k8s.io": {
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "regarding": {"namespace": "default"},
        "reportingController": "a.b/c",
        "reportingInstance": "a",
        "action": "a",
        "reason": "a",
        "type": "Normal",
    },
    "horizontalpodautoscalers.autoscaling": {
        "spec": {
            "maxReplicas": 1,
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"},
        }
    },
    "cronjobs.batch": {"spec": {"schedule": "* * * * *", "jobTemplate": {"spec": JOB}}},
    "jobs.batch": {"spec": JOB},
    "certificatesigningrequests.certificates.k8s.io": {
        "spec": {"signerName": "a.b/c", "request": REQUEST, "usages": ["client auth"]}
    },
    "ingressclasses.networking.k8s.io": {"spec": {"controller": "a.b/c"}},
    "ingresses.networking.k8s.io": {
        "spec": {"defaultBackend": {"service": {"name": "a", "port": {"number": 80}}}}
    },
    "ipaddresses.networking.k8s.io": {
        "metadata": {"name": "10.99.0.1"},
        "spec": {"parentRef": {"resource": "services", "name": "a", "namespace": "default"}},
    },
    "networkpolicies.networking.k8s.io": {"spec": {}},
    "servicecidrs.networking.k8s.io": {"spec": {"cidrs": ["10.99.0.0/24"]}},
    "poddisruptionbudgets.policy": {},
    "clusterrolebindings.rbac.authorization.k8s.io": {
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}
    },
    "clusterroles.rbac.authorization.k8s.io": {},
    "rolebindings.rbac.authorization.k8s.io": {
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}
    },
    "roles.rbac.authorization.k8s.io": {},
    "csidrivers.storage.k8s.io": {"spec": {}},
    "csinodes.storage.k8s.io": {"spec": {"drivers": []}},
    "csistoragecapacities.storage.k8s.io": {"storageClassName": "a"},
    "storageclasses.storage.k8s.io": {"provisioner": "a.b/c"},
    "volumeattachments.storage.k8s.io": {
        "spec": {"attacher": "a.b", "nodeName": "a", "source": {"persistentVolumeName": "a"}}
    },
    "volumeattributesclasses.storage.k8s.io": {"driverName": "a.b", "parameters": {"a": "b"}},
    "mutatingadmissionpolicies.admissionregistration.k8s.io": {
        "spec": {
            "matchConstraints": MATCH,
            "reinvocationPolicy": "Never",
            "mutations": [
                {
                    "patchType": "ApplyConfiguration",
                    "applyConfiguration": {"expression": "Object{}"},
                }
            ],
        }
    },
    "mutatingadmissionpolicybindings.admissionregistration.k8s.io": {"spec": {"policyName": "a"}},
    "mutatingwebhookconfigurations.admissionregistration.k8s.io": HOOK,
    "validatingadmissionpolicies.admissionregistration.k8s.io": {
        "spec": {"matchConstraints": MATCH, "validations": [{"expression": "true"}]}
    },
    "validatingadmissionpolicybindings.admissionregistration.k8s.io": {
        "spec": {"policyName": "a", "validationActions": ["Deny"]}
    },
    "validatingwebhookconfigurations.admissionregistration.k8s.io": HOOK,
    "customresourcedefinitions.apiextensions.k8s.io": {
        "metadata": {"name": "as.a.b"},
        "spec": {
            "group": "a.b",
            "scope": "Namespaced",
            "names": {"plural": "as", "kind": "A"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": {"type": "object"}},
                }
            ],
        },
    },
    "priorityclasses.scheduling.k8s.io": {"value": 5},
    "leases.coordination.k8s.io": {},
    "runtimeclasses.node.k8s.io": {"handler": "a"},
    "endpointslices.discovery.k8s.io": {
        "addressType": "IPv4",
        "endpoints": [{"addresses": ["10.1.2.3"]}],
    },
    "deviceclasses.resource.k8s.io": {},
    "resourceclaims.resource.k8s.io": {
        "spec": {"devices": {"requests": [{"name": "a", "exactly": {"deviceClassName": "a"}}]}}
    },
    "resourceclaimtemplates.resource.k8s.io": {
        "spec": {"spec": {"devices": {"requests": [{"name": "a", "exactly": {"deviceClassName": "a"}}]}}}
    },
    "resourceslices.resource.k8s.io": {
        "spec": {
            "driver": "a.b",
            "nodeName": "a",
            "pool": {"name": "a", "generation": 1, "resourceSliceCount": 1},
        }
    },
    "flowschemas.flowcontrol.apiserver.k8s.io": {
        "spec": {"priorityLevelConfiguration": {"name": "global-default"}}
    },
    "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io": {
        "spec": {"type": "Limited", "limited": {"limitResponse": {"type": "Reject"}}}
    },
}


def minimal(full_name: str, api_version: str, kind: str) -> Json:
    """Return the minimal object of a kind."""
    obj: Json = copy.deepcopy(MINIMAL[full_name])
    meta = {"name": "a"} | obj.pop("metadata", {})
    return {"apiVersion": api_version, "kind": kind, "metadata": meta} | obj
