"""Only legal combinations of parameters are sent; the error for any other names the rule."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from request_kinds import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    FOOS,
    NAMESPACES,
    PODS,
    SERVICE_ACCOUNTS,
    ConfigMap,
    Foo,
    FooSpec,
    Namespace,
    Pod,
    dynamic,
)

import kubeproto as kp
from kubeproto.kinds import core_v1
from kubeproto.kinds.authentication_v1 import TokenReview, TokenReviewSpec
from kubeproto.objects import Duration, FieldSelector, Scale, Selector
from kubeproto.requests import health

EVERYWHERE = kp.Api(ConfigMap, namespace=kp.ALL)
ANYTHING: Any = object()


KNOWN = kp.Resource("wire.test", "v1", "Known", "knowns", subresources=("scale",), verbs=("get", "list"))


class Shelf(kp.Object[FooSpec, None], group="wire.test", version="v1", definition=kp.Definition()):
    pass


class Scaled(
    kp.Object[FooSpec, None],
    group="wire.test",
    version="v1",
    definition=kp.Definition(status=True, scale=Scale()),
):
    pass


def config_map_named(name: str, **metadata: Any) -> ConfigMap:
    return ConfigMap(metadata=kp.ObjectMeta(name=name, **metadata))


def untyped(value: Any) -> Any:
    """Hide the type of an illegal argument from type checkers."""
    return value


REFUSED: list[tuple[str, Callable[[], object]]] = [
    # lists
    ("needs a resource_version", lambda: CONFIG_MAPS.list(resource_version_match="Exact")),
    ("needs a resource_version", lambda: CONFIG_MAPS.list(resource_version_match="NotOlderThan")),
    (
        "omit resource_version_match",
        lambda: CONFIG_MAPS.list(continue_="x", resource_version="7", resource_version_match="Exact"),
    ),
    ("any version", lambda: CONFIG_MAPS.list(resource_version="0", resource_version_match="Exact")),
    ("omit resource_version", lambda: CONFIG_MAPS.list(continue_="x", resource_version="7")),
    (
        "must be one of NotOlderThan",
        lambda: CONFIG_MAPS.list(resource_version="7", resource_version_match=untyped("Newest")),
    ),
    ("limit", lambda: CONFIG_MAPS.list(limit=-1)),
    ("limit", lambda: CONFIG_MAPS.list(limit=untyped("5"))),
    ("limit", lambda: CONFIG_MAPS.list(limit=True)),
    ("not a selector", lambda: CONFIG_MAPS.list(label_selector=untyped({"app": "web"}))),
    ("not a selector", lambda: CONFIG_MAPS.watch(field_selector=untyped(None))),
    ("shardRange", lambda: CONFIG_MAPS.list(shard_selector="uid % 2")),
    ("must be positive", lambda: CONFIG_MAPS.list(timeout=0)),
    ("must be positive", lambda: CONFIG_MAPS.list(timeout=-1.5)),
    ("timeout", lambda: CONFIG_MAPS.list(timeout=float("nan"))),
    # watches
    ("needs bookmarks", lambda: CONFIG_MAPS.watch(send_initial_events=True, bookmarks=False)),
    ("timeout_seconds", lambda: CONFIG_MAPS.watch(timeout_seconds=0)),
    ("timeout_seconds", lambda: CONFIG_MAPS.watch(timeout_seconds=untyped(1.5))),
    # writes
    ("resource version", lambda: CONFIG_MAPS.create(config_map_named("a", resource_version="5"))),
    ("'other'", lambda: CONFIG_MAPS.create(config_map_named("a", namespace="other"))),
    ("no namespace", lambda: NAMESPACES.create(Namespace(metadata=kp.ObjectMeta(name="a", namespace="b")))),
    ("has no name", lambda: CONFIG_MAPS.replace(config_map_named(""))),
    ("'other'", lambda: CONFIG_MAPS.replace(config_map_named("a", namespace="other"))),
    (
        "must be one of Ignore",
        lambda: CONFIG_MAPS.create(config_map_named("a"), field_validation=untyped("strict")),
    ),
    ("128 bytes", lambda: CONFIG_MAPS.create(config_map_named("a"), field_manager="m" * 129)),
    ("not v1 ConfigMap", lambda: CONFIG_MAPS.create(untyped(Foo(spec=FooSpec())))),
    (
        "not apps/v1 Deployment",
        lambda: DEPLOYMENTS.replace(kp.Dynamic(kind="Pod", metadata=kp.ObjectMeta(name="a"))),
    ),
    ("only the metadata", lambda: kp.Api(kp.Metadata[Foo]).create(kp.Metadata())),
    (
        "only the metadata",
        lambda: kp.Api(kp.Metadata[Foo]).replace(kp.Metadata(metadata=kp.ObjectMeta(name="a"))),
    ),
    ("as JSON", lambda: CONFIG_MAPS.merge_patch("a", {"data": ANYTHING})),
    ("must be an object", lambda: CONFIG_MAPS.merge_patch("a", untyped(None))),
    ("must be an object", lambda: FOOS.strategic_patch("a", untyped([]))),
    ("list of operations", lambda: CONFIG_MAPS.json_patch("a", untyped({"op": "remove"}))),
    ("operation 1", lambda: CONFIG_MAPS.json_patch("a", [{"op": "remove", "path": "/a"}, {"op": "delete"}])),
    ("needs 'value'", lambda: CONFIG_MAPS.json_patch("a", [{"op": "add", "path": "/a"}])),
    ("10000", lambda: CONFIG_MAPS.json_patch("a", [{"op": "remove", "path": "/a"}] * 10_001)),
    ("needs a field_manager", lambda: CONFIG_MAPS.apply(config_map_named("a"), field_manager="")),
    (
        "the name of the object is 'b'",
        lambda: CONFIG_MAPS.apply(config_map_named("b"), name="a", field_manager="m"),
    ),
    ("'other'", lambda: CONFIG_MAPS.apply(config_map_named("a", namespace="other"), field_manager="m")),
    (
        "managedFields",
        lambda: CONFIG_MAPS.apply({"metadata": {"name": "a", "managedFields": []}}, field_manager="m"),
    ),
    (
        "not v1 ConfigMap",
        lambda: CONFIG_MAPS.apply({"kind": "Secret", "metadata": {"name": "a"}}, field_manager="m"),
    ),
    ("needs an object", lambda: CONFIG_MAPS.apply(untyped([]), field_manager="m")),
    ("unexpected keyword", lambda: CONFIG_MAPS.merge_patch("a", {}, force=True)),  # type: ignore[call-arg] # pyright: ignore
    # deletions
    ("grace_period", lambda: CONFIG_MAPS.delete("a", grace_period=-1)),
    ("must be one of Background", lambda: CONFIG_MAPS.delete("a", propagation=untyped("Later"))),
    # namespaces
    ("only list and watch", lambda: EVERYWHERE.get("a")),
    ("only list and watch", lambda: EVERYWHERE.create(config_map_named("a"))),
    ("only list and watch", lambda: EVERYWHERE.replace(config_map_named("a"))),
    ("only list and watch", lambda: EVERYWHERE.delete("a")),
    ("only list and watch", lambda: EVERYWHERE.delete_collection()),
    ("only list and watch", lambda: kp.Api(Foo, namespace=kp.ALL).status.get("a")),
    ("cluster-scoped", lambda: kp.Api(Namespace, namespace="w")),
    ("cluster-scoped", lambda: kp.Api(Namespace, namespace=kp.ALL)),
    ("resource=", lambda: kp.Api(kp.Dynamic)),
    ("resource=", lambda: kp.Api(kp.KubeObject)),
    # subresources
    ("the subresource is empty", lambda: FOOS.subresource("")),
    ("subresource of pods", lambda: untyped(CONFIG_MAPS).log("a")),
    ("subresource of serviceaccounts", lambda: untyped(PODS).create_token("a")),
    # rules that depend on the definition or resource, which no type checker reads
    ("has no subresource 'status'", lambda: kp.Api(Shelf).status),
    ("has no subresource 'scale'", lambda: kp.Api(Shelf).scale),
    ("has no subresource 'scale'", lambda: kp.Api(kp.Metadata[Shelf]).scale),
    ("has no subresource 'status'", lambda: dynamic(KNOWN).status),
    ("subresource of pods", lambda: dynamic(KNOWN).exec("a", ["ls"])),
    ("no verb 'list': it has create", lambda: kp.Api(TokenReview).list()),
    ("no verb 'watch'", lambda: kp.Api(TokenReview).watch()),
    ("no verb 'get'", lambda: kp.Api(TokenReview).get("a")),
    ("no verb 'update'", lambda: kp.Api(TokenReview).replace(TokenReview(spec=TokenReviewSpec(token="")))),
    ("no verb 'patch'", lambda: kp.Api(TokenReview).merge_patch("a", {})),
    ("no verb 'delete'", lambda: kp.Api(TokenReview).delete("a")),
    ("no verb 'deletecollection'", lambda: kp.Api(core_v1.Namespace).delete_collection()),
    ("no verb 'create'", lambda: dynamic(KNOWN).create(kp.Dynamic())),
    ("integer of at least 600", lambda: SERVICE_ACCOUNTS.create_token("a", expiration_seconds=599)),
    ("list of strings", lambda: SERVICE_ACCOUNTS.create_token("a", audiences="vault")),
    ("not both", lambda: PODS.log("p", since_seconds=1, since_time=datetime.now(UTC))),
    ("since_seconds", lambda: PODS.log("p", since_seconds=0)),
    ("no time zone", lambda: PODS.log("p", since_time=datetime(2026, 1, 1))),
    ("tail_lines", lambda: PODS.follow_log("p", tail_lines=-1)),
    ("all streams", lambda: PODS.log("p", tail_lines=5, stream="Stderr")),
    ("limit_bytes", lambda: PODS.log("p", limit_bytes=0)),
    ("must be one of All", lambda: PODS.log("p", stream=untyped("stdout"))),
    ("the command is empty", lambda: PODS.exec("p", [])),
    ("list of words", lambda: PODS.exec("p", "ls -l")),
    ("tty without stderr", lambda: PODS.exec("p", ["sh"], tty=True, stderr=True)),
    ("at least one", lambda: PODS.attach("p", stdout=False, stderr=False)),
    ("1 to 128", lambda: PODS.port_forward("p", [])),
    ("1 to 128", lambda: PODS.port_forward("p", range(1, 130))),
    ("different ports", lambda: PODS.port_forward("p", [80, 80])),
    ("not a port", lambda: PODS.port_forward("p", [0])),
    ("not a port", lambda: PODS.port_forward("p", [65536])),
    ("must be one of None", lambda: CONFIG_MAPS.as_table(include_object=untyped("All"))),
    # the server
    ("exclude cannot be combined", lambda: health("livez", check="etcd", exclude=["ping"])),
    ("must be one of livez", lambda: health(untyped("metrics"))),
]


@pytest.mark.parametrize(("sentence", "ask"), REFUSED, ids=[f"{n} {row[0]}" for n, row in enumerate(REFUSED)])
def test_an_illegal_request_is_refused(sentence: str, ask: Callable[[], object]) -> None:
    with pytest.raises((kp.InvalidRequest, TypeError)) as caught:
        ask()
    assert sentence in str(caught.value)
    assert isinstance(caught.value, TypeError) is (sentence == "unexpected keyword")


def test_a_subresource_that_is_declared_in_either_way_can_be_requested() -> None:
    assert kp.Api(Scaled).status.get("a").target.endswith("/scaleds/a/status")
    assert kp.Api(Scaled).scale.get("a").target.endswith("/scaleds/a/scale")
    assert dynamic(KNOWN).scale.get("a").target.endswith("/knowns/a/scale")
    logged = kp.Resource("wire.test", "v1", "Logged", "loggeds", subresources=("log",))
    assert dynamic(logged).log("a").target.endswith("/loggeds/a/log")


def test_an_undeclared_subresource_can_be_requested_by_name() -> None:
    assert kp.Api(Shelf).subresource("status").get("a").target.endswith("/shelfs/a/status")
    assert kp.Api(core_v1.ConfigMap).subresource("status").get("a").target.endswith("/configmaps/a/status")


def query(request: kp.RawRequest) -> dict[str, list[str]]:
    return parse_qs(urlsplit(request.target).query, strict_parsing=True)


LEGAL: list[tuple[Callable[[], kp.RawRequest], dict[str, list[str]]]] = [
    (
        lambda: CONFIG_MAPS.list(
            label_selector=Selector.parse("app in (a,b),!old"),
            field_selector=FieldSelector.of({"metadata.name": "a,b"}),
            limit=5,
            resource_version="7",
            resource_version_match="NotOlderThan",
            timeout=timedelta(seconds=90),
        ),
        {
            "labelSelector": ["app in (a,b),!old"],
            "fieldSelector": ["metadata.name=a\\,b"],
            "limit": ["5"],
            "resourceVersion": ["7"],
            "resourceVersionMatch": ["NotOlderThan"],
            "timeout": ["1m30s"],
        },
    ),
    (
        lambda: CONFIG_MAPS.list(continue_="x", resource_version="0", timeout=Duration.parse("2s")),
        {"continue": ["x"], "resourceVersion": ["0"], "timeout": ["2s"]},
    ),
    (
        lambda: CONFIG_MAPS.watch(send_initial_events=True),
        {
            "watch": ["true"],
            "allowWatchBookmarks": ["true"],
            "sendInitialEvents": ["true"],
            "resourceVersionMatch": ["NotOlderThan"],
        },
    ),
    (
        lambda: CONFIG_MAPS.watch(send_initial_events=False, bookmarks=False),
        {"watch": ["true"], "sendInitialEvents": ["false"], "resourceVersionMatch": ["NotOlderThan"]},
    ),
    (
        lambda: CONFIG_MAPS.create(
            config_map_named("a"), dry_run=True, field_manager="m", field_validation="Strict", timeout=1
        ),
        {"dryRun": ["All"], "fieldManager": ["m"], "fieldValidation": ["Strict"], "timeout": ["1s"]},
    ),
    (
        lambda: CONFIG_MAPS.apply(config_map_named("a"), field_manager="m", force=True),
        {"fieldManager": ["m"], "force": ["true"]},
    ),
    (
        lambda: PODS.log("p", container="c", previous=True, tail_lines=0, limit_bytes=9, timestamps=True),
        {
            "container": ["c"],
            "previous": ["true"],
            "tailLines": ["0"],
            "limitBytes": ["9"],
            "timestamps": ["true"],
        },
    ),
    (
        lambda: PODS.follow_log("p", since_time=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), stream="Stderr"),
        {"follow": ["true"], "sinceTime": ["2026-01-02T03:04:05Z"], "stream": ["Stderr"]},
    ),
    (
        lambda: PODS.exec("p", ["sh", "-c", "a b"], stdin=True, tty=True),
        {"command": ["sh", "-c", "a b"], "stdin": ["true"], "stdout": ["true"], "tty": ["true"]},
    ),
    (lambda: PODS.attach("p"), {"stdout": ["true"], "stderr": ["true"]}),
    (lambda: PODS.port_forward("p", [80, 8080]), {"ports": ["80", "8080"]}),
    (
        lambda: CONFIG_MAPS.as_table(include_object="None").list(limit=2),
        {"limit": ["2"], "includeObject": ["None"]},
    ),
    (lambda: CONFIG_MAPS.as_table(include_object="Object").get("a"), {"includeObject": ["Object"]}),
    (lambda: health("livez", verbose=True, exclude=["a", "b"]), {"verbose": ["true"], "exclude": ["a", "b"]}),
    (lambda: PODS.evict("p", dry_run=True), {"dryRun": ["All"]}),
    (lambda: kp.Api(Pod, namespace="w").bind("p", "n", dry_run=True), {"dryRun": ["All"]}),
]


@pytest.mark.parametrize(("ask", "message"), LEGAL, ids=[str(n) for n in range(len(LEGAL))])
def test_parameters_become_the_query(ask: Callable[[], kp.RawRequest], message: dict[str, list[str]]) -> None:
    assert query(ask()) == message


def test_a_continuation_has_no_resource_version_and_no_match_as_in_kube_rs() -> None:
    assert query(CONFIG_MAPS.list(limit=5, continue_="x")) == {"limit": ["5"], "continue": ["x"]}


@pytest.mark.parametrize(
    ("ask", "target"),
    [
        (lambda: EVERYWHERE.list(), "/api/v1/configmaps"),
        (lambda: EVERYWHERE.watch(bookmarks=False), "/api/v1/configmaps?watch=true"),
        (lambda: EVERYWHERE.as_table().list(), "/api/v1/configmaps"),
        (lambda: EVERYWHERE.get("a"), ""),
        (lambda: EVERYWHERE.create(config_map_named("a", namespace="w")), ""),
        (lambda: EVERYWHERE.replace(config_map_named("a", namespace="w")), ""),
        (lambda: EVERYWHERE.merge_patch("a", {}), ""),
        (lambda: EVERYWHERE.apply(config_map_named("a"), field_manager="m"), ""),
        (lambda: EVERYWHERE.delete("a"), ""),
        (lambda: EVERYWHERE.delete_collection(), ""),
        (lambda: kp.Api(Pod, namespace=kp.ALL).log("p"), ""),
        (lambda: kp.Api(Pod, namespace=kp.ALL).exec("p", ["ls"]), ""),
        (lambda: NAMESPACES.get("a"), "/api/v1/namespaces/a"),
        (lambda: CONFIG_MAPS.get(""), ""),
        (lambda: CONFIG_MAPS.delete(""), ""),
        (lambda: CONFIG_MAPS.merge_patch("", {}), ""),
    ],
)
def test_rq_29_a_verb_on_one_object_needs_its_namespace_and_its_name(
    ask: Callable[[], kp.RawRequest], target: str
) -> None:
    if target:
        assert ask().target == target
        return
    with pytest.raises(kp.InvalidRequest):
        ask()
