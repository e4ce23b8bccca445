"""The generated modules agree with the table: names, resources, fields and modules of kinds."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import msgspec
import pytest
from kind_samples import class_of, full_sample

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


def test_the_table_contains_the_kinds_of_kubernetes_1_36() -> None:
    api_versions = {builtin.resource.api_version for builtin in kind_table().resources}
    assert kind_table().kubernetes == "1.36.3"
    assert len(kind_table().resources) == 68
    assert {
        "v1",
        "apps/v1",
        "autoscaling/v1",
        "autoscaling/v2",
        "rbac.authorization.k8s.io/v1",
    } < api_versions
    assert len(api_versions) == 22


@pytest.mark.parametrize("builtin", kind_table().resources, ids=lambda builtin: str(builtin.resource))
def test_each_kind_has_the_resource_of_the_discovery(builtin: BuiltinResource) -> None:
    kind = class_of(builtin.type)
    assert kind.resource == builtin.resource
    assert builtin.type == f"{module_name(builtin.resource.group, builtin.resource.version)}.{kind.__name__}"
    assert kind.__name__ == builtin.resource.kind
    namespace = "shelf" if builtin.resource.namespaced else ""
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


@pytest.mark.parametrize("builtin", kind_table().resources, ids=lambda builtin: str(builtin.resource))
def test_each_kind_has_the_capabilities_of_its_subresources(builtin: BuiltinResource) -> None:
    kind = class_of(builtin.type)
    supported = {name for base, names in CAPABILITIES.items() if issubclass(kind, base) for name in names}
    all_subresources = {name for names in CAPABILITIES.values() for name in names}
    assert supported == all_subresources & set(builtin.resource.subresources)


@pytest.mark.parametrize("name", TYPES)
def test_each_field_has_an_attribute_and_a_wire_name(name: str) -> None:
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
def test_attribute_names_are_snake_case_of_wire_names(wire: str, python: str) -> None:
    assert attribute_name(wire) == python


@pytest.mark.parametrize("name", ["a_b", "continue_", "fields_v1", "x_3d", "a_1b", "openapi_v3x"])
def test_camel_case_equals_the_rule_of_msgspec(name: str) -> None:
    value = msgspec.defstruct("Made", [(name, int)], rename="camel")
    assert value.__struct_encode_fields__ == (camel_case(name),)


@pytest.mark.parametrize(("name", "wire"), NULLABLE)
def test_null_in_a_required_list_is_read_as_empty(name: str, wire: str) -> None:
    value = read(msgspec.json.encode(full_sample(name) | {wire: None}), class_of(name))
    form = kind_table().types[name].fields[wire].form
    empties: dict[str, Any] = {"list": [], "map": {}}
    empty = empties[form[0]] if form else b""
    assert getattr(value, attribute_name(wire)) == empty
    assert msgspec.json.decode(encode(value))[wire] == (empty if form else "")


def test_a_list_argument_is_not_copied() -> None:
    containers: list[Any] = []
    spec = class_of("core_v1.PodSpec")(containers=containers)
    assert spec.containers is containers


def test_a_bookmark_of_a_pod_and_a_null_time_can_be_read() -> None:
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
    value = read(b'{"kind":"ConfigMap","data":{"a":"1"},"newer":[1]}', class_of("core_v1.ConfigMap"))
    assert value.data == {"a": "1"}


def test_the_repr_of_a_secret_hides_its_values() -> None:
    kind = class_of("core_v1.Secret")
    secret = kind(data={"a": b"hunter2"}, string_data={"b": "hunter2"}, type="Opaque")
    assert "hunter2" not in repr(secret)
    assert "data=…, immutable=None, string_data=…, type='Opaque'" in repr(secret)
    token = class_of("authentication_v1.TokenRequestStatus")(token="hunter2")
    review = class_of("authentication_v1.TokenReviewSpec")(token="hunter2")
    assert "hunter2" not in repr(token) + repr(review)


def test_kinds_of_subresources_have_no_api() -> None:
    for name in ("autoscaling_v1.Scale", "policy_v1.Eviction", "authentication_v1.TokenRequest"):
        kind = class_of(name)
        assert kind.abstract
        with pytest.raises(kp.InvalidRequest, match="resource="):
            kp.Api(kind)
    scale = class_of("autoscaling_v1.Scale")()
    assert (scale.kind, scale.api_version) == ("Scale", "autoscaling/v1")


def test_an_import_error_names_the_module_of_a_kind() -> None:
    with pytest.raises(ImportError, match=r"^Deployment is in kubeproto\.kinds\.apps_v1$"):
        exec("from kubeproto.kinds import Deployment")
    with pytest.raises(ImportError, match=r"kinds\.core_v1 and in kubeproto\.kinds\.events_v1$"):
        getattr(kinds, "Event")  # noqa: B009 # type checkers would report the attribute
    with pytest.raises(AttributeError, match="Deplyoment"):
        getattr(kinds, "Deplyoment")  # noqa: B009 # as above


def test_the_table_contains_the_merge_rules_of_lists() -> None:
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


def test_the_table_contains_the_kinds_of_subresources() -> None:
    (pods,) = (builtin for builtin in kind_table().resources if builtin.resource.plural == "pods")
    subresources_by_name = {subresource.name: subresource for subresource in pods.subresources}
    assert tuple(subresources_by_name) == pods.resource.subresources
    assert subresources_by_name["eviction"].kind == GroupVersionKind("policy", "v1", "Eviction")
    assert subresources_by_name["status"].kind == GroupVersionKind("", "v1", "Pod")
    assert subresources_by_name["log"].verbs == ("get",)
    assert kind_table().type_of(GroupVersionKind("policy", "v1", "Eviction")) == "policy_v1.Eviction"
    with pytest.raises(KeyError, match="not a built-in kind"):
        kind_table().type_of(GroupVersionKind("policy", "v1", "Nothing"))


def test_a_module_imports_neither_other_modules_nor_the_table() -> None:
    script = (
        "import sys, kubeproto.kinds.networking_v1\n"
        "print(*sorted(name for name in sys.modules if name.startswith('kubeproto.kinds.')))"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = {name.removeprefix("kubeproto.kinds.") for name in result.stdout.split()}
    assert "networking_v1" in loaded
    assert loaded <= {"_generated_base", "core_v1", "meta_v1", "networking_v1"}


def test_a_replace_keeps_a_field_of_older_releases() -> None:
    claim = {"name": "gpu", "source": {"resourceClaimName": "mine"}}
    sent_pod = {
        "metadata": {"name": "one"},
        "spec": {"containers": [{"name": "c"}], "resourceClaims": [claim]},
    }
    pod = read(msgspec.json.encode(sent_pod), class_of("core_v1.Pod"))
    assert msgspec.json.decode(encode(pod))["spec"]["resourceClaims"] == [claim]
