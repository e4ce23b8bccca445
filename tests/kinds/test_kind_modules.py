"""The generated modules are what the table says: names, resources, fields, and where to find them."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import msgspec
import pytest
from kind_samples import class_of, full

import kubeproto as kp
from kubeproto import kinds
from kubeproto.kinds import BuiltinResource, kind_table
from kubeproto.kinds._python_names import attribute_name, camel_case, module_name
from kubeproto.objects import (
    GroupVersionKind,
    HasApproval,
    HasFinalize,
    HasScale,
    HasStatus,
    HasToken,
    RunsContainers,
    encode,
)
from kubeproto.objects._json_hooks import dec_hook

OWN = {"meta_v1.ManagedFieldsEntry", "meta_v1.ObjectMeta", "meta_v1.OwnerReference"}
TYPES = sorted(set(kind_table().types) - OWN)
NULLABLE = [
    (name, wire)
    for name in TYPES
    for wire, field in kind_table().types[name].fields.items()
    if field.required and (field.form or field.type == "bytes")
]


def read(data: bytes, type_: Any) -> Any:
    return msgspec.json.decode(data, type=type_, dec_hook=dec_hook)


def test_there_are_the_kinds_of_kubernetes_1_36() -> None:
    found = {facts.resource.api_version for facts in kind_table().resources}
    assert kind_table().kubernetes == "1.36.3"
    assert len(kind_table().resources) == 68
    assert {"v1", "apps/v1", "autoscaling/v1", "autoscaling/v2", "rbac.authorization.k8s.io/v1"} < found
    assert len(found) == 22


@pytest.mark.parametrize("facts", kind_table().resources, ids=lambda facts: str(facts.resource))
def test_each_kind_of_the_discovery_knows_its_resource(facts: BuiltinResource) -> None:
    kind = class_of(facts.type)
    assert kind.resource == facts.resource
    assert facts.type == f"{module_name(facts.resource.group, facts.resource.version)}.{kind.__name__}"
    assert kind.__name__ == facts.resource.kind
    namespace = "shelf" if facts.resource.namespaced else ""
    assert kp.Api(kind, namespace=namespace).resource is kind.resource


CAPABILITIES: dict[type[kp.KubeObject], tuple[str, ...]] = {
    HasApproval: ("approval",),
    HasFinalize: ("finalize",),
    HasScale: ("scale",),
    HasStatus: ("status",),
    HasToken: ("token",),
    RunsContainers: (
        "attach", "binding", "ephemeralcontainers", "eviction", "exec", "log", "portforward", "resize",
    ),
}  # fmt: skip


@pytest.mark.parametrize("facts", kind_table().resources, ids=lambda facts: str(facts.resource))
def test_each_kind_can_do_what_its_subresources_say(facts: BuiltinResource) -> None:
    kind = class_of(facts.type)
    able = {name for base, names in CAPABILITIES.items() if issubclass(kind, base) for name in names}
    every = {name for names in CAPABILITIES.values() for name in names}
    assert able == every & set(facts.resource.subresources)


@pytest.mark.parametrize("name", TYPES)
def test_each_field_of_each_type_has_its_attribute_and_its_name_on_the_wire(name: str) -> None:
    class_ = class_of(name)
    attributes = dict(zip(class_.__struct_encode_fields__, class_.__struct_fields__, strict=True))
    assert len(attributes) == len(class_.__struct_fields__)
    dropped = {
        path.removeprefix(f"{name}.")
        for release in kind_table().releases.values()
        for path in release.dropped_fields
        if path.startswith(f"{name}.")
    }
    assert set(attributes) == set(kind_table().types[name].fields) | dropped
    assert attributes == {wire: attribute_name(wire) for wire in attributes}


@pytest.mark.parametrize(
    ("wire", "python"),
    [
        ("clusterIP", "cluster_ip"),
        ("podIPs", "pod_ips"),
        ("nonResourceURLs", "non_resource_urls"),
        ("hostIPC", "host_ipc"),
        ("setHostnameAsFQDN", "set_hostname_as_fqdn"),
        ("openAPIV3Schema", "open_api_v3_schema"),
        ("x-kubernetes-list-type", "x_kubernetes_list_type"),
        ("$ref", "ref"),
        ("from", "from_"),
        ("int", "int_"),
        ("3d", "x_3d"),
        ("", "x_"),
    ],
)
def test_attributes_are_what_one_would_guess(wire: str, python: str) -> None:
    assert attribute_name(wire) == python


@pytest.mark.parametrize("name", ["a_b", "continue_", "fields_v1", "x_3d", "a_1b", "openapi_v3x"])
def test_the_camel_rule_is_the_one_of_msgspec(name: str) -> None:
    made = msgspec.defstruct("Made", [(name, int)], rename="camel")
    assert made.__struct_encode_fields__ == (camel_case(name),)


@pytest.mark.parametrize(("name", "wire"), NULLABLE)
def test_a_null_where_a_list_is_required_is_read_as_empty(name: str, wire: str) -> None:
    made = read(msgspec.json.encode(full(name) | {wire: None}), class_of(name))
    form = kind_table().types[name].fields[wire].form
    empties: dict[str, Any] = {"list": [], "map": {}}
    empty = empties[form[0]] if form else b""
    assert getattr(made, attribute_name(wire)) == empty
    assert msgspec.json.decode(encode(made))[wire] == (empty if form else "")


def test_a_list_that_is_given_stays_the_callers_own() -> None:
    containers: list[Any] = []
    spec = class_of("core_v1.PodSpec")(containers=containers)
    assert spec.containers is containers


def test_a_bookmark_of_a_pod_and_a_zero_time_can_be_read() -> None:
    bookmark = b'{"kind":"Pod","apiVersion":"v1","metadata":{},"spec":{"containers":null},"status":{}}'
    assert read(bookmark, class_of("core_v1.Pod")).spec.containers == []
    event = b'{"metadata":{"name":"e"},"eventTime":null,"series":{"count":1,"lastObservedTime":null}}'
    assert read(event, class_of("events_v1.Event")).series.last_observed_time is None


def test_a_spec_is_never_none() -> None:
    namespace = read(b'{"apiVersion":"v1","kind":"Namespace"}', class_of("core_v1.Namespace"))
    assert namespace.spec.finalizers is None
    with pytest.raises(msgspec.ValidationError, match="spec"):
        read(b'{"apiVersion":"v1","kind":"Pod"}', class_of("core_v1.Pod"))


def test_another_kind_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError, match="kind"):
        read(b'{"apiVersion":"v1","kind":"Secret"}', class_of("core_v1.ConfigMap"))


def test_fields_of_a_newer_server_are_skipped() -> None:
    made = read(b'{"kind":"ConfigMap","data":{"a":"1"},"newer":[1]}', class_of("core_v1.ConfigMap"))
    assert made.data == {"a": "1"}


def test_the_repr_of_a_secret_does_not_show_it() -> None:
    kind = class_of("core_v1.Secret")
    secret = kind(data={"a": b"hunter2"}, string_data={"b": "hunter2"}, type="Opaque")
    assert "hunter2" not in repr(secret)
    assert "data=…, immutable=None, string_data=…, type='Opaque'" in repr(secret)
    token = class_of("authentication_v1.TokenRequestStatus")(token="hunter2")
    review = class_of("authentication_v1.TokenReviewSpec")(token="hunter2")
    assert "hunter2" not in repr(token) + repr(review)


def test_kinds_that_only_subresources_speak_in_have_no_address() -> None:
    for name in ("autoscaling_v1.Scale", "policy_v1.Eviction", "authentication_v1.TokenRequest"):
        kind = class_of(name)
        assert kind.abstract
        with pytest.raises(kp.InvalidRequest, match="resource="):
            kp.Api(kind)
    scale = class_of("autoscaling_v1.Scale")()
    assert (scale.kind, scale.api_version) == ("Scale", "autoscaling/v1")


def test_the_package_says_where_a_kind_is() -> None:
    with pytest.raises(ImportError, match=r"^Deployment is in kubeproto\.kinds\.apps_v1$"):
        exec("from kubeproto.kinds import Deployment")
    with pytest.raises(ImportError, match=r"kinds\.core_v1 and in kubeproto\.kinds\.events_v1$"):
        getattr(kinds, "Event")  # noqa: B009 # the checkers know that it is not there
    with pytest.raises(AttributeError, match="Deplyoment"):
        getattr(kinds, "Deplyoment")  # noqa: B009 # the same


def test_the_table_tells_how_a_list_is_merged() -> None:
    types = kind_table().types
    containers = types["core_v1.PodSpec"].fields["containers"]
    assert (containers.type, containers.form, containers.required) == ("core_v1.Container", ("list",), True)
    assert (containers.list_type, containers.list_map_keys) == ("map", ("name",))
    assert (containers.patch_strategy, containers.patch_merge_key) == (("merge",), "name")
    ports = types["core_v1.Container"].fields["ports"]
    assert (ports.list_map_keys, ports.patch_merge_key) == (("containerPort", "protocol"), "containerPort")
    assert types["core_v1.ContainerPort"].fields["protocol"].default == "TCP"
    assert types["core_v1.PodSpec"].fields["volumes"].patch_strategy == ("merge", "retainKeys")
    assert types["meta_v1.LabelSelector"].map_type == "atomic"
    assert types["meta_v1.ObjectMeta"].fields["finalizers"].list_type == "set"


def test_the_table_tells_what_subresources_speak_in() -> None:
    (pods,) = (facts for facts in kind_table().resources if facts.resource.plural == "pods")
    spoken = {each.name: each for each in pods.subresources}
    assert tuple(spoken) == pods.resource.subresources
    assert spoken["eviction"].kind == GroupVersionKind("policy", "v1", "Eviction")
    assert spoken["status"].kind == GroupVersionKind("", "v1", "Pod")
    assert spoken["log"].verbs == ("get",)
    assert kind_table().type_of(GroupVersionKind("policy", "v1", "Eviction")) == "policy_v1.Eviction"
    with pytest.raises(KeyError, match="not a built-in kind"):
        kind_table().type_of(GroupVersionKind("policy", "v1", "Nothing"))


def test_a_module_is_imported_alone_and_the_table_only_when_asked_for() -> None:
    script = (
        "import sys, kubeproto.kinds.networking_v1\n"
        "print(*sorted(name for name in sys.modules if name.startswith('kubeproto.kinds.')))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = {name.removeprefix("kubeproto.kinds.") for name in done.stdout.split()}
    assert "networking_v1" in loaded
    assert loaded <= {"_generated_base", "core_v1", "meta_v1", "networking_v1"}


def test_a_replace_keeps_a_field_that_only_older_releases_have() -> None:
    claim = {"name": "gpu", "source": {"resourceClaimName": "mine"}}
    sent = {"metadata": {"name": "one"}, "spec": {"containers": [{"name": "c"}], "resourceClaims": [claim]}}
    pod = read(msgspec.json.encode(sent), class_of("core_v1.Pod"))
    assert msgspec.json.decode(encode(pod))["spec"]["resourceClaims"] == [claim]
