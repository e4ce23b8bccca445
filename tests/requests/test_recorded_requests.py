"""`Api` builds the recorded requests to a real server, and reads the recorded responses."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import msgspec
import pytest
from recorded import NAMES, Recording, read_recording, request_body
from request_kinds import (
    CONFIG_MAPS,
    CRDS,
    DEPLOYMENTS,
    ENDPOINTS,
    FOOS,
    LEASES,
    LOOSE_CONFIG_MAPS,
    NAMESPACES,
    PODS,
    SERVICE_ACCOUNTS,
    ConfigMap,
    Foo,
    FooSpec,
    dynamic,
    resource,
)

import kubeproto as kp
from kubeproto.objects import decode
from kubeproto.requests import (
    Discovery,
    DiscoveryProgress,
    Request,
    Shard,
    version,
)
from kubeproto.wire import UpgradeRequest


class ExpectedError(msgspec.Struct):
    """The response is an error of this kind and reason with the message of the server."""

    kind: type[kp.ApiError]
    reason: str = ""


class ExpectedValue(msgspec.Struct):
    """The response is a value from which `extract` returns `extracted`."""

    extract: Callable[[Any], Any]
    extracted: Any


class ExpectedEvents(msgspec.Struct):
    """The response is a stream of these events."""

    events: str


class ExpectedRefusal(msgspec.Struct):
    """The response to an upgrade is an error of this kind and reason."""

    kind: type[kp.ApiError]
    reason: str


class Case(msgspec.Struct):
    build: Callable[[], kp.RawRequest]
    outcome: ExpectedError | ExpectedValue | ExpectedEvents | ExpectedRefusal
    body_difference: str = ""  # the reason if our body differs from the recorded body
    accepts_more: bool = False  # our Accept has other media types before the recorded type


def config_map(name: str, data: dict[str, str] | None = None, **metadata: Any) -> ConfigMap:
    return ConfigMap(metadata=kp.ObjectMeta(name=name, **metadata), data=data)


def dynamic_body(recorded: str) -> kp.Dynamic:
    """Return the recorded request body as a dynamic object."""
    return decode(json.dumps(request_body(read_recording(recorded))).encode(), kp.Dynamic)


def patch_of(recorded: str) -> Any:
    return request_body(read_recording(recorded))


def name_of(obj: kp.KubeObject) -> str:
    return obj.metadata.name


def names_of(page: kp.ObjectList[Any]) -> list[str]:
    return [obj.metadata.name for obj in page]


def create(data: dict[str, str], name: str) -> Callable[[], kp.RawRequest]:
    return lambda: CONFIG_MAPS.create(config_map(name, data))


def foo(name: str, **spec: Any) -> Foo:
    return Foo(metadata=kp.ObjectMeta(name=name), spec=FooSpec(**spec))


ONE_A = "metadata.name=a"
NO_DUPLICATES = "our JSON never holds a key twice"
PAGE_2 = "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6Mjk0LCJzdGFydCI6Ii9rdWJlLXJvb3QtY2EuY3J0XHUwMDAwIn0"
LAST_PAGE = "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6Mjk0LCJzdGFydCI6Ii9wMVx1MDAwMCJ9"
EXPIRED_PAGE = "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6ODM0LCJzdGFydCI6ImFwXHUwMDAwIn0"
FROM_410 = "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6LTEsInN0YXJ0IjoiYXBcdTAwMDAifQ"
ETAG = (
    '"50780421D4EEAEE66E4429BC5A152EC9D79B34BFBC9FB85771C86E82E3EEC771'
    'EEC6A8482B72D9AC01E812540EA8A35D05F7EDFEEEC2F4CCE82E792072D2882E"'
)
PREVIOUS = msgspec.convert(
    {
        "core": {"groups": []},
        "apis": {"groups": [{"name": "apps", "versions": [], "preferred": "v1"}], "etag": ETAG},
    },
    Discovery,
)


def legacy_resources() -> Request[Any]:
    """Return the request for the resources of wire.test/v1 in a legacy discovery."""
    group = {"name": "wire.test", "versions": [{"version": "v1"}]}
    document = {"kind": "APIGroupList", "groups": [group]}
    state = DiscoveryProgress()
    return state.receive(state.requests[1], 200, (), msgspec.json.encode(document)).requests[1]


ROWS: dict[str, Case] = {
    "add-finalizer-while-deleting-422": Case(
        lambda: CONFIG_MAPS.merge_patch("fi", patch_of("add-finalizer-while-deleting-422")),
        ExpectedError(kp.Invalid, "Invalid"),
    ),
    "admission-policy-denied-422": Case(
        lambda: CONFIG_MAPS.create(config_map("vv", {"bad": "1"}), dry_run=True),
        ExpectedError(kp.Invalid, "Invalid"),
    ),
    "apply-conflict-409": Case(
        lambda: CONFIG_MAPS.apply(config_map("ap", {"a": "2", "b": "1"}), field_manager="m2"),
        ExpectedError(kp.Conflict, "Conflict"),
    ),
    "apply-conflicts-409": Case(
        lambda: CONFIG_MAPS.apply(config_map("ap", {"a": "2", "b": "2"}), field_manager="m3"),
        ExpectedError(kp.Conflict, "Conflict"),
    ),
    "apply-create-201": Case(
        lambda: CONFIG_MAPS.apply(config_map("ap", {"a": "1"}), field_manager="m1"),
        ExpectedValue(lambda obj: obj.data, {"a": "1"}),
    ),
    "apply-status-conflict-409": Case(
        lambda: FOOS.status.apply(
            {"metadata": {"name": "ff"}, "status": {"note": "n2"}}, field_manager="ctl2"
        ),
        ExpectedError(kp.Conflict, "Conflict"),
    ),
    "cr-create-201": Case(
        lambda: FOOS.create(foo("okcr", color="red")), ExpectedValue(lambda obj: obj.spec.color, "red")
    ),
    "cr-list-page": Case(
        lambda: FOOS.list(limit=1), ExpectedValue(lambda page: [obj.kind for obj in page], ["Foo"])
    ),
    "cr-pruned-field-201": Case(
        lambda: dynamic(Foo.resource).create(dynamic_body("cr-pruned-field-201")),
        ExpectedValue(name_of, "uf3"),
    ),
    "cr-update-without-rv-422": Case(
        lambda: dynamic(Foo.resource).replace(dynamic_body("cr-update-without-rv-422")),
        ExpectedError(kp.Invalid, "Invalid"),
    ),
    "cr-validation-422": Case(
        lambda: FOOS.create(foo("v", mode="C", size=0), dry_run=True), ExpectedError(kp.Invalid, "Invalid")
    ),
    "cr-validation-rule-422": Case(
        lambda: FOOS.create(foo("v", color="r", mode="B", size=2), dry_run=True),
        ExpectedError(kp.Invalid, "Invalid"),
    ),
    "crd-create-201": Case(
        lambda: CRDS.create(dynamic_body("crd-create-201")), ExpectedValue(name_of, "quxs.wire.test")
    ),
    "create-already-exists-409": Case(
        create({"a": "1"}, "a"), ExpectedError(kp.AlreadyExists, "AlreadyExists")
    ),
    "create-configmap-201": Case(create({"a": "1"}, "a"), ExpectedValue(lambda obj: obj.data, {"a": "1"})),
    "create-generate-name-201": Case(
        lambda: CONFIG_MAPS.create(config_map("", generate_name="gn-")), ExpectedValue(name_of, "gn-2vqnv")
    ),
    "create-in-missing-namespace-404": Case(
        lambda: kp.Api(ConfigMap, namespace="none").create(config_map("x", {"a": "1"})),
        ExpectedError(kp.NotFound, "NotFound"),
    ),
    "create-in-terminating-namespace-403": Case(
        lambda: kp.Api(ConfigMap, namespace="t1").create(config_map("x", {"a": "1"})),
        ExpectedError(kp.Forbidden, "Forbidden"),
    ),
    "create-invalid-causes-422": Case(
        lambda: DEPLOYMENTS.create(dynamic_body("create-invalid-causes-422")),
        ExpectedError(kp.Invalid, "Invalid"),
    ),
    "create-invalid-name-422": Case(create({"a": "1"}, "A"), ExpectedError(kp.Invalid, "Invalid")),
    "create-strict-400": Case(
        lambda: LOOSE_CONFIG_MAPS.create(dynamic_body("create-strict-400"), field_validation="Strict"),
        ExpectedError(kp.BadRequest, "BadRequest"),
        body_difference=NO_DUPLICATES,
    ),
    "create-unknown-field-warnings-201": Case(
        lambda: LOOSE_CONFIG_MAPS.create(dynamic_body("create-unknown-field-warnings-201")),
        ExpectedValue(name_of, "uf"),
        body_difference=NO_DUPLICATES,
    ),
    "create-while-deleting-409": Case(
        create({"a": "1"}, "fi"), ExpectedError(kp.AlreadyExists, "AlreadyExists")
    ),
    "custom-resource-storage-initializing-429": Case(
        lambda: dynamic(resource("wire.test", "Qub", "qubs")).list(),
        ExpectedError(kp.TooManyRequests, "TooManyRequests"),
    ),
    "delete-foreground-200": Case(
        lambda: CONFIG_MAPS.delete("own", propagation="Foreground"),
        ExpectedValue(lambda obj: obj.metadata.finalizers, ["foregroundDeletion"]),
    ),
    "delete-immediate-200": Case(
        lambda: CONFIG_MAPS.delete("tm2"), ExpectedValue(lambda status: status.success, True)
    ),
    "delete-namespace-200": Case(lambda: NAMESPACES.delete("t1"), ExpectedValue(name_of, "t1")),
    "delete-pod-graceful-200": Case(
        lambda: PODS.delete("po2"), ExpectedValue(lambda pod: pod.metadata.deletion_timestamp is None, False)
    ),
    "delete-uid-precondition-409": Case(
        lambda: CONFIG_MAPS.delete("pre", uid="nope"), ExpectedError(kp.Conflict, "Conflict")
    ),
    "delete-with-finalizer-200": Case(lambda: CONFIG_MAPS.delete("fi"), ExpectedValue(name_of, "fi")),
    "deletecollection-200": Case(
        lambda: CONFIG_MAPS.delete_collection(label_selector="dc=1"),
        ExpectedValue(lambda page: (names_of(page)[0], page.items[0].kind), ("dc0", "ConfigMap")),
    ),
    "deprecated-api-warning-200": Case(lambda: ENDPOINTS.get("pc"), ExpectedValue(name_of, "pc")),
    "discovery-aggregated-304": Case(
        lambda: DiscoveryProgress(PREVIOUS).requests[1],
        ExpectedValue(lambda root: type(root).__name__, "NotModified"),
    ),
    "discovery-legacy-api": Case(
        lambda: DiscoveryProgress().requests[0],
        ExpectedValue(lambda root: [(group.name, group.preferred) for group in root.groups], [("", "v1")]),
        accepts_more=True,
    ),
    "discovery-legacy-resources": Case(
        legacy_resources,
        ExpectedValue(
            lambda resources: [(resource.kind, resource.subresources) for resource in resources],
            [("Foo", ("status", "scale")), ("Bar", ())],
        ),
    ),
    "eviction-429": Case(
        lambda: PODS.evict("ev1"),
        ExpectedError(kp.TooManyRequests, "TooManyRequests"),
        body_difference="ours names the namespace too",
    ),
    "exec-needs-create-403": Case(
        lambda: PODS.exec("pq", ["ls"], stderr=False), ExpectedRefusal(kp.Forbidden, "Forbidden")
    ),
    "exec-unscheduled-pod-400": Case(
        lambda: PODS.exec("po3", ["ls"], stderr=False), ExpectedRefusal(kp.BadRequest, "BadRequest")
    ),
    "get-404": Case(lambda: CONFIG_MAPS.get("zz"), ExpectedError(kp.NotFound, "NotFound")),
    "get-gzip": Case(lambda: CONFIG_MAPS.get("bigz"), ExpectedValue(name_of, "bigz")),
    "json-patch-test-failed-422": Case(
        lambda: CONFIG_MAPS.json_patch("a", patch_of("json-patch-test-failed-422")),
        ExpectedError(kp.Invalid, "Invalid"),
    ),
    "list-as-partial-object-metadata": Case(
        lambda: kp.Api(kp.Metadata[ConfigMap], namespace="w").list(limit=1), ExpectedValue(names_of, ["a"])
    ),
    "list-as-table": Case(
        lambda: CONFIG_MAPS.as_table().list(limit=1),
        ExpectedValue(
            lambda table: (table.columns, [row.cells for row in table.rows]),
            (("Name", "Data", "Age"), [["a", 1, "12m"]]),
        ),
    ),
    "list-bad-continue-400": Case(
        lambda: CONFIG_MAPS.list(continue_="abc"), ExpectedError(kp.BadRequest, "BadRequest")
    ),
    "list-continue-410": Case(
        lambda: CONFIG_MAPS.list(limit=2, continue_=EXPIRED_PAGE), ExpectedError(kp.Gone, "Expired")
    ),
    "list-empty": Case(
        lambda: LEASES.list(), ExpectedValue(lambda page: (page.items, page.version), ([], "300"))
    ),
    "list-exact-410": Case(
        lambda: CONFIG_MAPS.list(resource_version="834", resource_version_match="Exact"),
        ExpectedError(kp.Gone, "Expired"),
    ),
    "list-inconsistent-continue": Case(
        lambda: CONFIG_MAPS.list(limit=2, continue_=FROM_410), ExpectedValue(lambda page: len(page), 2)
    ),
    "list-last-page": Case(
        lambda: CONFIG_MAPS.list(limit=10, continue_=LAST_PAGE),
        ExpectedValue(lambda page: page.next_page, ""),
    ),
    "list-page-1": Case(
        lambda: CONFIG_MAPS.list(limit=2),
        ExpectedValue(
            lambda page: (page.version, page.next_page, page.items[0].kind), ("294", PAGE_2, "ConfigMap")
        ),
    ),
    "list-page-2": Case(
        lambda: CONFIG_MAPS.list(limit=2, continue_=PAGE_2), ExpectedValue(lambda page: page.version, "294")
    ),
    "list-sharded": Case(
        lambda: CONFIG_MAPS.list(
            limit=1,
            shard_selector="shardRange(object.metadata.uid,'0x0000000000000000','0x8000000000000000')",
        ),
        ExpectedValue(
            lambda page: (
                Shard.of(0, 2).confirmed_by(page.metadata),
                [Shard.of(0, 2).contains(obj.metadata) for obj in page],
            ),
            (True, [True]),
        ),
    ),
    "list-too-large-rv-504": Case(
        lambda: CONFIG_MAPS.list(resource_version="1294"), ExpectedError(kp.Timeout, "Timeout")
    ),
    "list-unsupported-field-selector-400": Case(
        lambda: CONFIG_MAPS.list(field_selector="foo=bar"), ExpectedError(kp.BadRequest, "BadRequest")
    ),
    "patch-rv-conflict-409": Case(
        lambda: CONFIG_MAPS.merge_patch("a", patch_of("patch-rv-conflict-409")),
        ExpectedError(kp.Conflict, "Conflict"),
    ),
    "patch-strategic-on-custom-resource-415": Case(
        lambda: FOOS.strategic_patch("f1", {"spec": {"size": 4}}),
        ExpectedError(kp.UnsupportedMediaType, "UnsupportedMediaType"),
    ),
    "patch-wrong-type-422": Case(
        lambda: CONFIG_MAPS.merge_patch("a", {"data": {"a": 5}}), ExpectedError(kp.Invalid, "Invalid")
    ),
    "quota-exceeded-403": Case(create({"a": "1"}, "overq"), ExpectedError(kp.Forbidden, "Forbidden")),
    "rbac-list-403": Case(lambda: CONFIG_MAPS.list(), ExpectedError(kp.Forbidden, "Forbidden")),
    "remove-last-finalizer-200": Case(
        lambda: CONFIG_MAPS.merge_patch("fi", {"metadata": {"finalizers": None}}),
        ExpectedValue(name_of, "fi"),
    ),
    "request-timeout-504": Case(
        lambda: CONFIG_MAPS.create(config_map("tm", {"a": "1"}), timeout=1e-6),
        ExpectedError(kp.Timeout, "Timeout"),
    ),
    "scale-get": Case(
        lambda: DEPLOYMENTS.scale.get("d1"),
        ExpectedValue(lambda scale: (scale.spec.replicas, scale.status.selector), (None, "a=b")),
    ),
    "status-subresource-patch-200": Case(
        lambda: FOOS.status.merge_patch("u2", patch_of("status-subresource-patch-200")),
        ExpectedValue(lambda obj: (obj.status.note, obj.spec.size), ("q", 5)),
    ),
    "token-request-201": Case(
        lambda: SERVICE_ACCOUNTS.create_token("sa1", audiences=["x"], expiration_seconds=600),
        ExpectedValue(lambda token: token.status.expiration_timestamp.minute, 5),
    ),
    "too-many-requests-429": Case(
        lambda: CONFIG_MAPS.list(), ExpectedError(kp.TooManyRequests, "TooManyRequests")
    ),
    "unauthorized-401": Case(lambda: CONFIG_MAPS.list(), ExpectedError(kp.Unauthorized, "Unauthorized")),
    "unknown-group-404": Case(
        lambda: dynamic(resource("none.such", "Foo", "foos", namespaced=False)).list(),
        ExpectedError(kp.NotFound, "NotFound"),
    ),
    "unknown-resource-404": Case(
        lambda: dynamic(resource("", "Nonesuch", "nonesuch", namespaced=False)).list(),
        ExpectedError(kp.NotFound, "NotFound"),
    ),
    "update-conflict-409": Case(
        lambda: CONFIG_MAPS.replace(config_map("a", {"a": "u"}, resource_version="434")),
        ExpectedError(kp.Conflict, "Conflict"),
    ),
    "update-uid-mismatch-409": Case(
        lambda: CONFIG_MAPS.replace(config_map("a", {"a": "u"}, uid="xx")),
        ExpectedError(kp.Conflict, "Conflict"),
    ),
    "version": Case(
        lambda: version(),
        ExpectedValue(lambda server: (server.release, server.platform), ((1, 36), "linux/amd64")),
    ),
    "watch-bad-rv-500": Case(
        lambda: CONFIG_MAPS.watch(resource_version="abc", bookmarks=False), ExpectedEvents("WatchFailed")
    ),
    "watch-bookmark-before-timeout": Case(
        lambda: CONFIG_MAPS.watch(
            resource_version="386", timeout_seconds=6, field_selector="metadata.name=zz"
        ),
        ExpectedEvents("Bookmark"),
    ),
    "watch-bookmark-custom-resource": Case(lambda: FOOS.watch(timeout_seconds=1), ExpectedEvents("Bookmark")),
    "watch-bookmark-pod": Case(lambda: PODS.watch(timeout_seconds=1), ExpectedEvents("Bookmark")),
    "watch-custom-resource": Case(
        lambda: FOOS.watch(resource_version="1180", timeout_seconds=3, bookmarks=False),
        ExpectedEvents("Added Modified Deleted"),
    ),
    "watch-idle-clean-end": Case(
        lambda: CONFIG_MAPS.watch(
            resource_version="386", timeout_seconds=4, field_selector="metadata.name=nope", bookmarks=False
        ),
        ExpectedEvents(""),
    ),
    "watch-legacy-start-gets-end-bookmark": Case(
        lambda: CONFIG_MAPS.watch(timeout_seconds=1, field_selector=ONE_A), ExpectedEvents("Added Bookmark")
    ),
    "watch-legacy-start-no-marker": Case(
        lambda: CONFIG_MAPS.watch(timeout_seconds=2, field_selector=ONE_A), ExpectedEvents("Added")
    ),
    "watch-list-start": Case(
        lambda: CONFIG_MAPS.watch(timeout_seconds=1, send_initial_events=True, field_selector=ONE_A),
        ExpectedEvents("Added Bookmark"),
    ),
    "watch-list-too-large-rv": Case(
        lambda: CONFIG_MAPS.watch(
            timeout_seconds=10, send_initial_events=True, resource_version="1335", field_selector=ONE_A
        ),
        ExpectedEvents("WatchFailed"),
    ),
    "watch-list-unsupported-422": Case(
        lambda: CONFIG_MAPS.watch(timeout_seconds=1, send_initial_events=True), ExpectedEvents("WatchFailed")
    ),
    "watch-metadata-only": Case(
        lambda: kp.Api(kp.Metadata[ConfigMap], namespace="w").watch(timeout_seconds=1, field_selector=ONE_A),
        ExpectedEvents("Added Bookmark"),
    ),
    "watch-selector-transitions": Case(
        lambda: CONFIG_MAPS.watch(
            resource_version="386", timeout_seconds=4, label_selector="app=x", bookmarks=False
        ),
        ExpectedEvents("Added Modified Deleted Added Deleted"),
    ),
    "watch-start-410-in-stream": Case(
        lambda: CONFIG_MAPS.watch(resource_version="1", timeout_seconds=2, bookmarks=False),
        ExpectedEvents("WatchFailed"),
    ),
    "watch-start-compacted-410-in-stream": Case(
        lambda: CONFIG_MAPS.watch(resource_version="834", timeout_seconds=2, bookmarks=False),
        ExpectedEvents("WatchFailed"),
    ),
    "webhook-unreachable-500": Case(
        create({"a": "1"}, "whk0"), ExpectedError(kp.InternalError, "InternalError")
    ),
}


class InvalidCase(msgspec.Struct):
    """An invalid request, which is never built, and a valid request that reads the recorded response."""

    build: Callable[[], object]
    reader: Callable[[], Request[Any]]
    outcome: ExpectedError


def get_request() -> Request[Any]:
    return CONFIG_MAPS.get("a")


REFUSED_LOCALLY: dict[str, InvalidCase] = {
    "apply-without-field-manager-422": InvalidCase(
        lambda: CONFIG_MAPS.apply(config_map("ap"), field_manager=""),
        get_request,
        ExpectedError(kp.Invalid, "Invalid"),
    ),
    "create-namespace-mismatch-400": InvalidCase(
        lambda: CONFIG_MAPS.create(config_map("q", namespace="other")),
        get_request,
        ExpectedError(kp.BadRequest, "BadRequest"),
    ),
    "create-with-rv-500": InvalidCase(
        lambda: CONFIG_MAPS.create(config_map("rv1", resource_version="5")),
        get_request,
        ExpectedError(kp.ApiError),
    ),
    "list-bad-shard-selector-500": InvalidCase(
        lambda: CONFIG_MAPS.list(shard_selector="shardRange(object.metadata.uid,'0x0','0x8000000000000000')"),
        CONFIG_MAPS.list,
        ExpectedError(kp.ApiError),
    ),
    "list-match-without-rv-422": InvalidCase(
        lambda: CONFIG_MAPS.list(resource_version_match="Exact"),
        CONFIG_MAPS.list,
        ExpectedError(kp.Invalid, "Invalid"),
    ),
}

# The reasons for the lack of a request for these recordings.
NOT_SUPPORTED = {
    "exec-v5-kubelet-unreachable": "a 101: its frames are for the channels of exec",
    "get-named-with-watch-param-200": "a get has no watch parameter: to watch one object, select its name",
    "method-not-allowed-405": "replace needs a name, so no PUT goes to a collection",
    "micro-time-without-fraction-400": "a MicroTime always has six digits",
    "not-acceptable-406": "no verb accepts text/html",
    "patch-unsupported-type-415": "each patch sets its own content type",
    "watch-as-table": "watches are not offered as tables",
    "watch-send-initial-events-without-match-422": "send_initial_events sets the match",
}


def test_every_recording_is_tested() -> None:
    assert sorted(ROWS.keys() | REFUSED_LOCALLY.keys() | NOT_SUPPORTED.keys()) == NAMES


def request_identity(method: str, target: str) -> tuple[str, str, list[tuple[str, str]]]:
    parts = urlsplit(target)
    return (
        method,
        parts.path,
        sorted(parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))),
    )


def media_parameters(accept: str) -> set[str]:
    """Return a media type and its parameters as a set."""
    return set(accept.split(";"))


def without_empty_metadata(body: Any) -> Any:
    if isinstance(body, dict) and "metadata" in body and not body["metadata"]:
        del body["metadata"]
    return body  # pyright: ignore[reportUnknownVariableType] # JSON


@pytest.mark.parametrize("name", ROWS)
def test_api_builds_the_recorded_request(name: str) -> None:
    recorded_request, row = read_recording(name).request, ROWS[name]
    built_request = row.build()
    assert request_identity(built_request.method, built_request.target) == request_identity(
        recorded_request.method, recorded_request.target
    )
    headers = dict(built_request.headers)
    assert headers.get("Content-Type") == recorded_request.headers.get("Content-Type")
    if not isinstance(built_request, UpgradeRequest):
        expected_request = headers["Accept"].split(",")
        assert media_parameters(expected_request[-1 if row.accepts_more else 0]) == media_parameters(
            recorded_request.headers["Accept"].split(",")[0]
        )
    if not row.body_difference:
        assert without_empty_metadata(json.loads(built_request.body or b"null")) == request_body(
            read_recording(name)
        )


@pytest.mark.parametrize("name", ROWS)
def test_the_recorded_response_is_read_as_its_outcome(name: str) -> None:
    recorded, row = read_recording(name), ROWS[name]
    answer: Any = recorded.response
    built_request: Any = row.build()
    match row.outcome:
        case ExpectedValue(extract, decoded):
            reply = built_request.parse(answer.status, answer.header_pairs, answer.content)
            assert extract(reply.value) == decoded
            assert reply.status == answer.status
            assert reply.created is (answer.status == 201)
        case ExpectedError() as expected_error:
            with pytest.raises(kp.ApiError) as raised:
                built_request.parse(answer.status, answer.header_pairs, answer.content)
            check_failure(raised.value, expected_error, recorded)
        case ExpectedRefusal(kind, reason):
            error = built_request.refused(answer.status, answer.header_pairs, answer.content)
            check_failure(error, ExpectedError(kind, reason), recorded)
        case ExpectedEvents(events):
            decoder = built_request.open(answer.status, answer.header_pairs)
            decoded = [
                event for chunk in answer.body_chunks for event in decoder.feed(chunk)
            ] + decoder.finish()
            assert [type(event).__name__ for event in decoded] == events.split()


@pytest.mark.parametrize("name", REFUSED_LOCALLY)
def test_a_request_that_a_server_refuses_is_refused_locally(name: str) -> None:
    row, recorded = REFUSED_LOCALLY[name], read_recording(name)
    with pytest.raises(kp.InvalidRequest):
        row.build()
    with pytest.raises(kp.ApiError) as raised:
        row.reader().parse(
            recorded.response.status, recorded.response.header_pairs, recorded.response.content
        )
    check_failure(raised.value, row.outcome, recorded)


def check_failure(error: kp.ApiError, expected: ExpectedError, recorded: Recording) -> None:
    text = recorded.response.content.decode()
    assert type(error) is expected.kind
    assert error.reason == expected.reason
    assert error.code == recorded.response.status
    assert error.status.message == (json.loads(text)["message"] if text.startswith("{") else text.strip())


def test_rq_31_warnings_reach_the_caller() -> None:
    recorded = read_recording("create-unknown-field-warnings-201").response
    reply = LOOSE_CONFIG_MAPS.get("uf").parse(recorded.status, recorded.header_pairs, recorded.content)
    assert reply.warnings == ('unknown field "dta"', 'duplicate field "data.a"')


def test_unchanged_discovery_is_not_read_again() -> None:
    not_modified = read_recording("discovery-aggregated-304").response
    state = DiscoveryProgress(PREVIOUS)
    core, apis = state.requests
    state = state.receive(apis, not_modified.status, not_modified.header_pairs, not_modified.content)
    legacy = read_recording("discovery-legacy-api").response
    state = state.receive(core, legacy.status, legacy.header_pairs, legacy.content)
    (last,) = state.requests
    assert last.target == "/api/v1"
    state = state.receive(last, 200, (), b'{"kind":"APIResourceList","resources":[]}')
    assert state.result is not None
    assert state.result.apis == PREVIOUS.apis
