"""The typed and dynamic kinds of the tests of requests."""

from __future__ import annotations

import kubeproto as kp
from kubeproto.objects import HasToken, RunsContainers


class ConfigMap(kp.KubeObject, group="", version="v1"):
    data: dict[str, str] | None = None


class FooSpec(kp.Fields):
    color: str | None = None
    mode: str | None = None
    size: int | None = None


class FooStatus(kp.Fields):
    note: str | None = None


class Foo(kp.Object[FooSpec, FooStatus], group="wire.test", version="v1"):
    pass


class Namespace(kp.KubeObject, group="", version="v1", namespaced=False):
    pass


class Pod(RunsContainers, group="", version="v1"):
    pass


class ServiceAccount(HasToken, group="", version="v1"):
    pass


def resource(group: str, kind: str, plural: str, *, namespaced: bool = True) -> kp.Resource:
    return kp.Resource(group, "v1", kind, plural, namespaced)


def dynamic(kind: kp.Resource, namespace: str = "w") -> kp.Api[kp.Dynamic]:
    return kp.Api(kp.Dynamic, resource=kind, namespace=namespace if kind.namespaced else "")


DEPLOYMENTS = dynamic(resource("apps", "Deployment", "deployments"))
LEASES = dynamic(resource("coordination.k8s.io", "Lease", "leases"))
ENDPOINTS = dynamic(resource("", "Endpoints", "endpoints"))
CRDS = dynamic(
    resource(
        "apiextensions.k8s.io", "CustomResourceDefinition", "customresourcedefinitions", namespaced=False
    )
)
CONFIG_MAPS = kp.Api(ConfigMap, namespace="w")
LOOSE_CONFIG_MAPS = dynamic(resource("", "ConfigMap", "configmaps"))
FOOS = kp.Api(Foo, namespace="w")
PODS = kp.Api(Pod, namespace="w")
SERVICE_ACCOUNTS = kp.Api(ServiceAccount, namespace="w")
NAMESPACES = kp.Api(Namespace)
