"""The types of verbs for mypy and pyright; pytest checks that they run."""

from __future__ import annotations

from typing import Any, assert_type

import kubeproto as kp
from kubeproto.kinds.authentication_v1 import TokenRequest
from kubeproto.kinds.autoscaling_v1 import Scale
from kubeproto.objects import HasFinalize, HasToken, RunsContainers, Table
from kubeproto.requests import (
    Discovery,
    DiscoveryProgress,
    Health,
    Request,
    ServerVersion,
    StreamRequest,
    Subresource,
    Tables,
    health,
    openapi_document,
    openapi_index,
    version,
)
from kubeproto.wire import Decoder, UpgradeRequest


class GadgetSpec(kp.Fields):
    size: int


class GadgetStatus(kp.Fields):
    ready: bool


class Gadget(kp.Object[GadgetSpec, GadgetStatus], group="example.com", version="v1"):
    """A thing with a status."""


class Pod(RunsContainers, group="", version="v1"):
    """A pod by its metadata."""


class BarePod(kp.KubeObject, group="", version="v1", kind="Pod"):
    """A pod without declared capabilities."""


class ServiceAccount(HasToken, group="", version="v1"):
    """A service account by its metadata."""


class Namespace(HasFinalize, group="", version="v1", namespaced=False):
    """A namespace by its metadata."""


GADGETS = kp.Api(Gadget)
GADGET = Gadget(metadata=kp.ObjectMeta(name="g"), spec=GadgetSpec(size=1))
PODS = kp.Api(Pod)


def test_the_verbs_of_a_kind_reveal_the_kind() -> None:
    assert_type(GADGETS.get("g"), Request[Gadget])
    assert_type(GADGETS.list(), Request[kp.ObjectList[Gadget]])
    assert_type(GADGETS.watch(), StreamRequest[kp.WatchEvent[Gadget]])
    assert_type(GADGETS.create(GADGET, dry_run=True), Request[Gadget])
    assert_type(GADGETS.replace(GADGET), Request[Gadget])
    assert_type(GADGETS.json_patch("g", []), Request[Gadget])
    assert_type(GADGETS.merge_patch("g", {}), Request[Gadget])
    assert_type(GADGETS.strategic_patch("g", {}), Request[Gadget])
    assert_type(GADGETS.apply(GADGET, field_manager="m", force=True), Request[Gadget])
    assert_type(GADGETS.apply({"metadata": {"name": "g"}}, field_manager="m"), Request[Gadget])
    assert_type(GADGETS.delete("g"), Request[Gadget | kp.Status])
    assert_type(GADGETS.delete_collection(), Request[kp.ObjectList[Gadget] | kp.Status])
    namespace = Namespace(metadata=kp.ObjectMeta(name="n"))
    assert_type(kp.Api(Namespace).finalize(namespace), Request[Namespace])


def test_subresources_reveal_their_types() -> None:
    assert_type(GADGETS.status, Subresource[Gadget])
    assert_type(GADGETS.status.get("g"), Request[Gadget])
    assert_type(GADGETS.status.apply({"metadata": {"name": "g"}}, field_manager="m"), Request[Gadget])
    assert_type(GADGETS.scale, Subresource[Scale])
    assert_type(GADGETS.scale.merge_patch("g", {"spec": {"replicas": 2}}), Request[Scale])
    assert_type(GADGETS.subresource("approval"), Subresource[Gadget])
    assert_type(GADGETS.subresource("size", Scale).get("g"), Request[Scale])
    assert_type(PODS.ephemeral_containers.get("p"), Request[Pod])
    assert_type(PODS.resize.merge_patch("p", {}), Request[Pod])


def test_other_depths_reveal_themselves() -> None:
    metadata = kp.Api(kp.Metadata[Gadget])
    assert_type(metadata.list(), Request[kp.ObjectList[kp.Metadata[Gadget]]])
    assert_type(metadata.merge_patch("g", {}), Request[kp.Metadata[Gadget]])
    dynamic = kp.Api(kp.Dynamic, resource=Gadget.resource)
    assert_type(dynamic.watch(), StreamRequest[kp.WatchEvent[kp.Dynamic]])
    assert_type(dynamic.scale.get("g"), Request[Scale])
    assert_type(metadata.status, Subresource[kp.Metadata[Gadget]])
    assert_type(kp.Api(kp.Metadata[Pod]).log("p"), Request[str])
    assert_type(GADGETS.as_table(), Tables[Gadget])
    assert_type(GADGETS.as_table(include_object="None").list(limit=5), Request[Table])
    assert_type(GADGETS.as_table().get("g"), Request[Table])


def test_the_verbs_of_pods_reveal_their_types() -> None:
    assert_type(PODS.log("p", tail_lines=5), Request[str])
    assert_type(PODS.follow_log("p"), StreamRequest[bytes])
    assert_type(PODS.follow_log("p").open(200, ()), Decoder[bytes])
    assert_type(PODS.exec("p", ["ls"]), UpgradeRequest)
    assert_type(PODS.attach("p"), UpgradeRequest)
    assert_type(PODS.port_forward("p", [80]), UpgradeRequest)
    assert_type(PODS.exec("p", ["ls"]).refused(403, (), b""), kp.ApiError)
    assert_type(PODS.evict("p"), Request[kp.Status])
    assert_type(PODS.bind("p", "n"), Request[kp.Status])
    assert_type(kp.Api(ServiceAccount).create_token("s"), Request[TokenRequest])


def test_a_slim_class_with_declared_capabilities_has_their_verbs() -> None:
    assert PODS.log("p").target == "/api/v1/namespaces/default/pods/p/log"
    assert PODS.resize.get("p").target == "/api/v1/namespaces/default/pods/p/resize"
    bare: kp.Api[BarePod] = kp.Api(BarePod)
    assert_type(bare.subresource("resize"), Subresource[BarePod])
    assert bare.subresource("resize").get("p").target == PODS.resize.get("p").target


def test_requests_about_the_server_reveal_their_types() -> None:
    assert_type(version(), Request[ServerVersion])
    assert_type(health(), Request[Health])
    assert_type(openapi_index(), Request[dict[str, str]])
    assert_type(openapi_document("api/v1"), Request[dict[str, Any]])
    assert_type(DiscoveryProgress().result, Discovery | None)
