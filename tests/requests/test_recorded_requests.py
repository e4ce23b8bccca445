"""What a real server was asked and answered: Api asks the same, and reads the answers as what they mean."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import msgspec
import pytest
from recorded import NAMES, Recording, body_of, recording
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


class Fails(msgspec.Struct):
    """The response is this error, with this reason; its message is the server's."""

    kind: type[kp.ApiError]
    reason: str = ""


class Gives(msgspec.Struct):
    """The response is a value; what `look` sees of it is `seen`."""

    look: Callable[[Any], Any]
    seen: Any


class Streams(msgspec.Struct):
    """The response is a stream of these events."""

    events: str


class Refused(msgspec.Struct):
    """The response to an upgrade is this error."""

    kind: type[kp.ApiError]
    reason: str


class Row(msgspec.Struct):
    ask: Callable[[], kp.RawRequest]
    answer: Fails | Gives | Streams | Refused
    differs: str = ""  # why our body is not the recorded one
    asks_more: bool = False  # our Accept has other forms before the recorded one


def config_map(name: str, data: dict[str, str] | None = None, **metadata: Any) -> ConfigMap:
    return ConfigMap(metadata=kp.ObjectMeta(name=name, **metadata), data=data)


def loose(recorded: str) -> kp.Dynamic:
    """The recorded body as an object that no class describes."""
    return decode(json.dumps(body_of(recording(recorded))).encode(), kp.Dynamic)


def patch_of(recorded: str) -> Any:
    return body_of(recording(recorded))


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
TOO_OLD = "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6ODM0LCJzdGFydCI6ImFwXHUwMDAwIn0"
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
    """The request for the resources of wire.test/v1 in a discovery without the aggregated form."""
    group = {"name": "wire.test", "versions": [{"version": "v1"}]}
    document = {"kind": "APIGroupList", "groups": [group]}
    state = DiscoveryProgress()
    return state.receive(state.requests[1], 200, (), msgspec.json.encode(document)).requests[1]


ROWS: dict[str, Row] = {
    "add-finalizer-while-deleting-422": Row(
        lambda: CONFIG_MAPS.merge_patch("fi", patch_of("add-finalizer-while-deleting-422")),
        Fails(kp.Invalid, "Invalid"),
    ),
    "admission-policy-denied-422": Row(
        lambda: CONFIG_MAPS.create(config_map("vv", {"bad": "1"}), dry_run=True),
        Fails(kp.Invalid, "Invalid"),
    ),
    "apply-conflict-409": Row(
        lambda: CONFIG_MAPS.apply(config_map("ap", {"a": "2", "b": "1"}), field_manager="m2"),
        Fails(kp.Conflict, "Conflict"),
    ),
    "apply-conflicts-409": Row(
        lambda: CONFIG_MAPS.apply(config_map("ap", {"a": "2", "b": "2"}), field_manager="m3"),
        Fails(kp.Conflict, "Conflict"),
    ),
    "apply-create-201": Row(
        lambda: CONFIG_MAPS.apply(config_map("ap", {"a": "1"}), field_manager="m1"),
        Gives(lambda obj: obj.data, {"a": "1"}),
    ),
    "apply-status-conflict-409": Row(
        lambda: FOOS.status.apply(
            {"metadata": {"name": "ff"}, "status": {"note": "n2"}}, field_manager="ctl2"
        ),
        Fails(kp.Conflict, "Conflict"),
    ),
    "cr-create-201": Row(
        lambda: FOOS.create(foo("okcr", color="red")), Gives(lambda obj: obj.spec.color, "red")
    ),
    "cr-list-page": Row(lambda: FOOS.list(limit=1), Gives(lambda page: [obj.kind for obj in page], ["Foo"])),
    "cr-pruned-field-201": Row(
        lambda: dynamic(Foo.resource).create(loose("cr-pruned-field-201")), Gives(name_of, "uf3")
    ),
    "cr-update-without-rv-422": Row(
        lambda: dynamic(Foo.resource).replace(loose("cr-update-without-rv-422")),
        Fails(kp.Invalid, "Invalid"),
    ),
    "cr-validation-422": Row(
        lambda: FOOS.create(foo("v", mode="C", size=0), dry_run=True), Fails(kp.Invalid, "Invalid")
    ),
    "cr-validation-rule-422": Row(
        lambda: FOOS.create(foo("v", color="r", mode="B", size=2), dry_run=True),
        Fails(kp.Invalid, "Invalid"),
    ),
    "crd-create-201": Row(lambda: CRDS.create(loose("crd-create-201")), Gives(name_of, "quxs.wire.test")),
    "create-already-exists-409": Row(create({"a": "1"}, "a"), Fails(kp.AlreadyExists, "AlreadyExists")),
    "create-configmap-201": Row(create({"a": "1"}, "a"), Gives(lambda obj: obj.data, {"a": "1"})),
    "create-generate-name-201": Row(
        lambda: CONFIG_MAPS.create(config_map("", generate_name="gn-")), Gives(name_of, "gn-2vqnv")
    ),
    "create-in-missing-namespace-404": Row(
        lambda: kp.Api(ConfigMap, namespace="none").create(config_map("x", {"a": "1"})),
        Fails(kp.NotFound, "NotFound"),
    ),
    "create-in-terminating-namespace-403": Row(
        lambda: kp.Api(ConfigMap, namespace="t1").create(config_map("x", {"a": "1"})),
        Fails(kp.Forbidden, "Forbidden"),
    ),
    "create-invalid-causes-422": Row(
        lambda: DEPLOYMENTS.create(loose("create-invalid-causes-422")), Fails(kp.Invalid, "Invalid")
    ),
    "create-invalid-name-422": Row(create({"a": "1"}, "A"), Fails(kp.Invalid, "Invalid")),
    "create-strict-400": Row(
        lambda: LOOSE_CONFIG_MAPS.create(loose("create-strict-400"), field_validation="Strict"),
        Fails(kp.BadRequest, "BadRequest"),
        differs=NO_DUPLICATES,
    ),
    "create-unknown-field-warnings-201": Row(
        lambda: LOOSE_CONFIG_MAPS.create(loose("create-unknown-field-warnings-201")),
        Gives(name_of, "uf"),
        differs=NO_DUPLICATES,
    ),
    "create-while-deleting-409": Row(create({"a": "1"}, "fi"), Fails(kp.AlreadyExists, "AlreadyExists")),
    "custom-resource-storage-initializing-429": Row(
        lambda: dynamic(resource("wire.test", "Qub", "qubs")).list(),
        Fails(kp.TooManyRequests, "TooManyRequests"),
    ),
    "delete-foreground-200": Row(
        lambda: CONFIG_MAPS.delete("own", propagation="Foreground"),
        Gives(lambda obj: obj.metadata.finalizers, ["foregroundDeletion"]),
    ),
    "delete-immediate-200": Row(
        lambda: CONFIG_MAPS.delete("tm2"), Gives(lambda status: status.success, True)
    ),
    "delete-namespace-200": Row(lambda: NAMESPACES.delete("t1"), Gives(name_of, "t1")),
    "delete-pod-graceful-200": Row(
        lambda: PODS.delete("po2"), Gives(lambda pod: pod.metadata.deletion_timestamp is None, False)
    ),
    "delete-uid-precondition-409": Row(
        lambda: CONFIG_MAPS.delete("pre", uid="nope"), Fails(kp.Conflict, "Conflict")
    ),
    "delete-with-finalizer-200": Row(lambda: CONFIG_MAPS.delete("fi"), Gives(name_of, "fi")),
    "deletecollection-200": Row(
        lambda: CONFIG_MAPS.delete_collection(label_selector="dc=1"),
        Gives(lambda page: (names_of(page)[0], page.items[0].kind), ("dc0", "ConfigMap")),
    ),
    "deprecated-api-warning-200": Row(lambda: ENDPOINTS.get("pc"), Gives(name_of, "pc")),
    "discovery-aggregated-304": Row(
        lambda: DiscoveryProgress(PREVIOUS).requests[1],
        Gives(lambda root: type(root).__name__, "NotModified"),
    ),
    "discovery-legacy-api": Row(
        lambda: DiscoveryProgress().requests[0],
        Gives(lambda root: [(group.name, group.preferred) for group in root.groups], [("", "v1")]),
        asks_more=True,
    ),
    "discovery-legacy-resources": Row(
        legacy_resources,
        Gives(
            lambda resources: [(resource.kind, resource.subresources) for resource in resources],
            [("Foo", ("status", "scale")), ("Bar", ())],
        ),
    ),
    "eviction-429": Row(
        lambda: PODS.evict("ev1"),
        Fails(kp.TooManyRequests, "TooManyRequests"),
        differs="ours names the namespace too",
    ),
    "exec-needs-create-403": Row(
        lambda: PODS.exec("pq", ["ls"], stderr=False), Refused(kp.Forbidden, "Forbidden")
    ),
    "exec-unscheduled-pod-400": Row(
        lambda: PODS.exec("po3", ["ls"], stderr=False), Refused(kp.BadRequest, "BadRequest")
    ),
    "get-404": Row(lambda: CONFIG_MAPS.get("zz"), Fails(kp.NotFound, "NotFound")),
    "get-gzip": Row(lambda: CONFIG_MAPS.get("bigz"), Gives(name_of, "bigz")),
    "json-patch-test-failed-422": Row(
        lambda: CONFIG_MAPS.json_patch("a", patch_of("json-patch-test-failed-422")),
        Fails(kp.Invalid, "Invalid"),
    ),
    "list-as-partial-object-metadata": Row(
        lambda: kp.Api(kp.Metadata[ConfigMap], namespace="w").list(limit=1), Gives(names_of, ["a"])
    ),
    "list-as-table": Row(
        lambda: CONFIG_MAPS.as_table().list(limit=1),
        Gives(
            lambda table: (table.columns, [row.cells for row in table.rows]),
            (("Name", "Data", "Age"), [["a", 1, "12m"]]),
        ),
    ),
    "list-bad-continue-400": Row(
        lambda: CONFIG_MAPS.list(continue_="abc"), Fails(kp.BadRequest, "BadRequest")
    ),
    "list-continue-410": Row(lambda: CONFIG_MAPS.list(limit=2, continue_=TOO_OLD), Fails(kp.Gone, "Expired")),
    "list-empty": Row(lambda: LEASES.list(), Gives(lambda page: (page.items, page.version), ([], "300"))),
    "list-exact-410": Row(
        lambda: CONFIG_MAPS.list(resource_version="834", resource_version_match="Exact"),
        Fails(kp.Gone, "Expired"),
    ),
    "list-inconsistent-continue": Row(
        lambda: CONFIG_MAPS.list(limit=2, continue_=FROM_410), Gives(lambda page: len(page), 2)
    ),
    "list-last-page": Row(
        lambda: CONFIG_MAPS.list(limit=10, continue_=LAST_PAGE), Gives(lambda page: page.next_page, "")
    ),
    "list-page-1": Row(
        lambda: CONFIG_MAPS.list(limit=2),
        Gives(lambda page: (page.version, page.next_page, page.items[0].kind), ("294", PAGE_2, "ConfigMap")),
    ),
    "list-page-2": Row(
        lambda: CONFIG_MAPS.list(limit=2, continue_=PAGE_2), Gives(lambda page: page.version, "294")
    ),
    "list-sharded": Row(
        lambda: CONFIG_MAPS.list(
            limit=1,
            shard_selector="shardRange(object.metadata.uid,'0x0000000000000000','0x8000000000000000')",
        ),
        Gives(
            lambda page: (
                Shard.of(0, 2).confirmed_by(page.metadata),
                [Shard.of(0, 2).contains(obj.metadata) for obj in page],
            ),
            (True, [True]),
        ),
    ),
    "list-too-large-rv-504": Row(
        lambda: CONFIG_MAPS.list(resource_version="1294"), Fails(kp.Timeout, "Timeout")
    ),
    "list-unsupported-field-selector-400": Row(
        lambda: CONFIG_MAPS.list(field_selector="foo=bar"), Fails(kp.BadRequest, "BadRequest")
    ),
    "patch-rv-conflict-409": Row(
        lambda: CONFIG_MAPS.merge_patch("a", patch_of("patch-rv-conflict-409")),
        Fails(kp.Conflict, "Conflict"),
    ),
    "patch-strategic-on-custom-resource-415": Row(
        lambda: FOOS.strategic_patch("f1", {"spec": {"size": 4}}),
        Fails(kp.UnsupportedMediaType, "UnsupportedMediaType"),
    ),
    "patch-wrong-type-422": Row(
        lambda: CONFIG_MAPS.merge_patch("a", {"data": {"a": 5}}), Fails(kp.Invalid, "Invalid")
    ),
    "quota-exceeded-403": Row(create({"a": "1"}, "overq"), Fails(kp.Forbidden, "Forbidden")),
    "rbac-list-403": Row(lambda: CONFIG_MAPS.list(), Fails(kp.Forbidden, "Forbidden")),
    "remove-last-finalizer-200": Row(
        lambda: CONFIG_MAPS.merge_patch("fi", {"metadata": {"finalizers": None}}), Gives(name_of, "fi")
    ),
    "request-timeout-504": Row(
        lambda: CONFIG_MAPS.create(config_map("tm", {"a": "1"}), timeout=1e-6), Fails(kp.Timeout, "Timeout")
    ),
    "scale-get": Row(
        lambda: DEPLOYMENTS.scale.get("d1"),
        Gives(lambda scale: (scale.spec.replicas, scale.status.selector), (None, "a=b")),
    ),
    "status-subresource-patch-200": Row(
        lambda: FOOS.status.merge_patch("u2", patch_of("status-subresource-patch-200")),
        Gives(lambda obj: (obj.status.note, obj.spec.size), ("q", 5)),
    ),
    "token-request-201": Row(
        lambda: SERVICE_ACCOUNTS.create_token("sa1", audiences=["x"], expiration_seconds=600),
        Gives(lambda token: token.status.expiration_timestamp.minute, 5),
    ),
    "too-many-requests-429": Row(lambda: CONFIG_MAPS.list(), Fails(kp.TooManyRequests, "TooManyRequests")),
    "unauthorized-401": Row(lambda: CONFIG_MAPS.list(), Fails(kp.Unauthorized, "Unauthorized")),
    "unknown-group-404": Row(
        lambda: dynamic(resource("none.such", "Foo", "foos", namespaced=False)).list(),
        Fails(kp.NotFound, "NotFound"),
    ),
    "unknown-resource-404": Row(
        lambda: dynamic(resource("", "Nonesuch", "nonesuch", namespaced=False)).list(),
        Fails(kp.NotFound, "NotFound"),
    ),
    "update-conflict-409": Row(
        lambda: CONFIG_MAPS.replace(config_map("a", {"a": "u"}, resource_version="434")),
        Fails(kp.Conflict, "Conflict"),
    ),
    "update-uid-mismatch-409": Row(
        lambda: CONFIG_MAPS.replace(config_map("a", {"a": "u"}, uid="xx")), Fails(kp.Conflict, "Conflict")
    ),
    "version": Row(
        lambda: version(), Gives(lambda server: (server.release, server.platform), ((1, 36), "linux/amd64"))
    ),
    "watch-bad-rv-500": Row(
        lambda: CONFIG_MAPS.watch(resource_version="abc", bookmarks=False), Streams("WatchFailed")
    ),
    "watch-bookmark-before-timeout": Row(
        lambda: CONFIG_MAPS.watch(
            resource_version="386", timeout_seconds=6, field_selector="metadata.name=zz"
        ),
        Streams("Bookmark"),
    ),
    "watch-bookmark-custom-resource": Row(lambda: FOOS.watch(timeout_seconds=1), Streams("Bookmark")),
    "watch-bookmark-pod": Row(lambda: PODS.watch(timeout_seconds=1), Streams("Bookmark")),
    "watch-custom-resource": Row(
        lambda: FOOS.watch(resource_version="1180", timeout_seconds=3, bookmarks=False),
        Streams("Added Modified Deleted"),
    ),
    "watch-idle-clean-end": Row(
        lambda: CONFIG_MAPS.watch(
            resource_version="386", timeout_seconds=4, field_selector="metadata.name=nope", bookmarks=False
        ),
        Streams(""),
    ),
    "watch-legacy-start-gets-end-bookmark": Row(
        lambda: CONFIG_MAPS.watch(timeout_seconds=1, field_selector=ONE_A), Streams("Added Bookmark")
    ),
    "watch-legacy-start-no-marker": Row(
        lambda: CONFIG_MAPS.watch(timeout_seconds=2, field_selector=ONE_A), Streams("Added")
    ),
    "watch-list-start": Row(
        lambda: CONFIG_MAPS.watch(timeout_seconds=1, send_initial_events=True, field_selector=ONE_A),
        Streams("Added Bookmark"),
    ),
    "watch-list-too-large-rv": Row(
        lambda: CONFIG_MAPS.watch(
            timeout_seconds=10, send_initial_events=True, resource_version="1335", field_selector=ONE_A
        ),
        Streams("WatchFailed"),
    ),
    "watch-list-unsupported-422": Row(
        lambda: CONFIG_MAPS.watch(timeout_seconds=1, send_initial_events=True), Streams("WatchFailed")
    ),
    "watch-metadata-only": Row(
        lambda: kp.Api(kp.Metadata[ConfigMap], namespace="w").watch(timeout_seconds=1, field_selector=ONE_A),
        Streams("Added Bookmark"),
    ),
    "watch-selector-transitions": Row(
        lambda: CONFIG_MAPS.watch(
            resource_version="386", timeout_seconds=4, label_selector="app=x", bookmarks=False
        ),
        Streams("Added Modified Deleted Added Deleted"),
    ),
    "watch-start-410-in-stream": Row(
        lambda: CONFIG_MAPS.watch(resource_version="1", timeout_seconds=2, bookmarks=False),
        Streams("WatchFailed"),
    ),
    "watch-start-compacted-410-in-stream": Row(
        lambda: CONFIG_MAPS.watch(resource_version="834", timeout_seconds=2, bookmarks=False),
        Streams("WatchFailed"),
    ),
    "webhook-unreachable-500": Row(create({"a": "1"}, "whk0"), Fails(kp.InternalError, "InternalError")),
}


class Impossible(msgspec.Struct):
    """A request that is never built: what refuses it, and a request of that kind, to read the answer with."""

    ask: Callable[[], object]
    reader: Callable[[], Request[Any]]
    answer: Fails


def get_a() -> Request[Any]:
    return CONFIG_MAPS.get("a")


REFUSED_HERE: dict[str, Impossible] = {
    "apply-without-field-manager-422": Impossible(
        lambda: CONFIG_MAPS.apply(config_map("ap"), field_manager=""), get_a, Fails(kp.Invalid, "Invalid")
    ),
    "create-namespace-mismatch-400": Impossible(
        lambda: CONFIG_MAPS.create(config_map("q", namespace="other")),
        get_a,
        Fails(kp.BadRequest, "BadRequest"),
    ),
    "create-with-rv-500": Impossible(
        lambda: CONFIG_MAPS.create(config_map("rv1", resource_version="5")), get_a, Fails(kp.ApiError)
    ),
    "list-bad-shard-selector-500": Impossible(
        lambda: CONFIG_MAPS.list(shard_selector="shardRange(object.metadata.uid,'0x0','0x8000000000000000')"),
        CONFIG_MAPS.list,
        Fails(kp.ApiError),
    ),
    "list-match-without-rv-422": Impossible(
        lambda: CONFIG_MAPS.list(resource_version_match="Exact"),
        CONFIG_MAPS.list,
        Fails(kp.Invalid, "Invalid"),
    ),
}

# No verb here leads to these; each says why.
NEVER_ASKED = {
    "exec-v5-kubelet-unreachable": "a 101: its frames are for the channels of exec",
    "get-named-with-watch-param-200": "a get has no watch parameter: to watch one object, select its name",
    "method-not-allowed-405": "replace needs a name, so no PUT goes to a collection",
    "micro-time-without-fraction-400": "a MicroTime always has six digits",
    "not-acceptable-406": "no verb accepts text/html",
    "patch-unsupported-type-415": "each patch sets its own content type",
    "watch-as-table": "watches are not offered as tables",
    "watch-send-initial-events-without-match-422": "send_initial_events sets the match",
}


def test_every_recording_has_its_place() -> None:
    assert sorted(ROWS.keys() | REFUSED_HERE.keys() | NEVER_ASKED.keys()) == NAMES


def question(method: str, target: str) -> tuple[str, str, list[tuple[str, str]]]:
    parts = urlsplit(target)
    return (
        method,
        parts.path,
        sorted(parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))),
    )


def media(accept: str) -> set[str]:
    """A media type, its parameters in no order."""
    return set(accept.split(";"))


def without_empty_metadata(body: Any) -> Any:
    if isinstance(body, dict) and "metadata" in body and not body["metadata"]:
        del body["metadata"]
    return body  # pyright: ignore[reportUnknownVariableType] # JSON


@pytest.mark.parametrize("name", ROWS)
def test_api_asks_what_was_asked(name: str) -> None:
    requested, row = recording(name).request, ROWS[name]
    ours = row.ask()
    assert question(ours.method, ours.target) == question(requested.method, requested.target)
    headers = dict(ours.headers)
    assert headers.get("Content-Type") == requested.headers.get("Content-Type")
    if not isinstance(ours, UpgradeRequest):
        expected_request = headers["Accept"].split(",")
        assert media(expected_request[-1 if row.asks_more else 0]) == media(
            requested.headers["Accept"].split(",")[0]
        )
    if not row.differs:
        assert without_empty_metadata(json.loads(ours.body or b"null")) == body_of(recording(name))


@pytest.mark.parametrize("name", ROWS)
def test_the_response_is_read_as_what_it_means(name: str) -> None:
    recorded, row = recording(name), ROWS[name]
    answer: Any = recorded.response
    ours: Any = row.ask()
    match row.answer:
        case Gives(look, decoded):
            reply = ours.parse(answer.status, answer.head, answer.content)
            assert look(reply.value) == decoded
            assert reply.status == answer.status
            assert reply.created is (answer.status == 201)
        case Fails() as fails:
            with pytest.raises(kp.ApiError) as caught:
                ours.parse(answer.status, answer.head, answer.content)
            check_failure(caught.value, fails, recorded)
        case Refused(kind, reason):
            error = ours.refused(answer.status, answer.head, answer.content)
            check_failure(error, Fails(kind, reason), recorded)
        case Streams(events):
            decoder = ours.open(answer.status, answer.head)
            decoded = [event for chunk in answer.pieces for event in decoder.feed(chunk)] + decoder.finish()
            assert [type(event).__name__ for event in decoded] == events.split()


@pytest.mark.parametrize("name", REFUSED_HERE)
def test_what_a_server_refuses_is_refused_before(name: str) -> None:
    row, recorded = REFUSED_HERE[name], recording(name)
    with pytest.raises(kp.InvalidRequest):
        row.ask()
    with pytest.raises(kp.ApiError) as caught:
        row.reader().parse(recorded.response.status, recorded.response.head, recorded.response.content)
    check_failure(caught.value, row.answer, recorded)


def check_failure(error: kp.ApiError, expected: Fails, recorded: Recording) -> None:
    text = recorded.response.content.decode()
    assert type(error) is expected.kind
    assert error.reason == expected.reason
    assert error.code == recorded.response.status
    assert error.status.message == (json.loads(text)["message"] if text.startswith("{") else text.strip())


def test_rq_31_warnings_reach_the_caller() -> None:
    recorded = recording("create-unknown-field-warnings-201").response
    reply = LOOSE_CONFIG_MAPS.get("uf").parse(recorded.status, recorded.head, recorded.content)
    assert reply.warnings == ('unknown field "dta"', 'duplicate field "data.a"')


def test_discovery_is_not_read_again_while_nothing_changed() -> None:
    unchanged = recording("discovery-aggregated-304").response
    state = DiscoveryProgress(PREVIOUS)
    core, apis = state.requests
    state = state.receive(apis, unchanged.status, unchanged.head, unchanged.content)
    legacy = recording("discovery-legacy-api").response
    state = state.receive(core, legacy.status, legacy.head, legacy.content)
    (last,) = state.requests
    assert last.target == "/api/v1"
    state = state.receive(last, 200, (), b'{"kind":"APIResourceList","resources":[]}')
    assert state.result is not None
    assert state.result.apis == PREVIOUS.apis
