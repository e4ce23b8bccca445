"""User code with built-in kinds passes both type checkers, and runs."""

from __future__ import annotations

from datetime import datetime
from typing import assert_type

import kubeproto as kp
from kubeproto.kinds.apps_v1 import Deployment, DeploymentSpec
from kubeproto.kinds.core_v1 import Container, ContainerPort, Pod, PodSpec, PodTemplateSpec, Service
from kubeproto.kinds.meta_v1 import LabelSelector
from kubeproto.objects import Quantity, decode, encode
from kubeproto.requests import Request

LABELS = {"app": "web"}


def deployment(name: str) -> Deployment:
    """Return a Deployment as a controller would build it."""
    web = Container(name="web", image="nginx", ports=[ContainerPort(container_port=80)])
    template = PodTemplateSpec(metadata=kp.ObjectMeta(labels=LABELS), spec=PodSpec(containers=[web]))
    return Deployment(
        metadata=kp.ObjectMeta(name=name),
        spec=DeploymentSpec(replicas=0, selector=LabelSelector(match_labels=LABELS), template=template),
    )


def test_an_encoded_deployment_contains_only_the_assigned_fields() -> None:
    assert encode(deployment("a")) == (
        b'{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"a"},"spec":{"replicas":0,'
        b'"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":{"app":"web"}},'
        b'"spec":{"containers":[{"name":"web","image":"nginx","ports":[{"containerPort":80}]}]}}}}'
    )


def test_an_api_of_a_built_in_kind_needs_only_the_class() -> None:
    deployments = kp.Api(Deployment, namespace="shop")
    assert_type(deployments, kp.Api[Deployment])
    request = deployments.create(deployment("a"))
    assert_type(request, Request[Deployment])
    assert request.target.startswith("/apis/apps/v1/namespaces/shop/deployments")
    reply = request.parse(201, (), encode(deployment("a")))
    assert reply.value.spec.template.spec.containers[0].name == "web"


def test_type_checkers_know_which_fields_may_be_none() -> None:
    spec = deployment("a").spec
    assert_type(spec.replicas, int | None)
    assert_type(spec.template.spec.containers, list[Container])
    service = decode(
        b'{"spec":{"clusterIPs":["10.0.0.1"],"ports":[{"port":80,"targetPort":"web"}]}}', Service
    )
    assert_type(service.spec.cluster_ips, list[str] | None)
    assert_type((service.spec.ports or [])[0].target_port, int | str | None)
    assert service.spec.cluster_ips == ["10.0.0.1"]
    pod = decode(b'{"spec":{"containers":[{"name":"a"}]},"status":{"startTime":"2026-01-31T09:30:00Z"}}', Pod)
    assert pod.status is not None
    assert_type(pod.status.start_time, datetime | None)
    assert_type(pod.spec.overhead, dict[str, Quantity] | None)


class SlimPodSpec(kp.Fields):
    node_name: str | None = None


class SlimPod(kp.KubeObject, version="v1", kind="Pod", plural="pods"):
    """A pod with only its node."""

    spec: SlimPodSpec


def test_a_partial_class_reads_objects_of_a_built_in_kind() -> None:
    pods = kp.Api(SlimPod, namespace="shop")
    assert pods.get("a").target == kp.Api(Pod, namespace="shop").get("a").target
    body = b'{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"},"spec":{"nodeName":"n","containers":[]}}'
    reply = pods.get("a").parse(200, (), body)
    assert_type(reply.value, SlimPod)
    assert reply.value.spec.node_name == "n"
    assert str(kp.ObjectRef.of(reply.value)) == str(kp.ObjectRef.to(Pod, "a"))
