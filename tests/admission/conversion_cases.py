"""Requests for a custom resource whose versions a webhook converts, and the responses of a server.

The same steps run against a real server, whose webhook is served on this machine (``make admission``,
``make real``), and against the simulated server, whose webhook is a Python function.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, Protocol, TypeGuard

from admission_cases import APPLY, MERGE, Answer, Behaviour, Json, always_answer, replace_random_parts
from msgspec import Struct, structs

RECORDED: Final = Path(__file__).parent / "conversion_answers.json"
GROUP: Final = "conversion.example.com"
DEFINITIONS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
DEFINITION: Final = f"{DEFINITIONS}/widgets.{GROUP}"
NAMESPACE: Final = "conversion"
_CONTINUE: Final = re.compile(r'"continue": "[^"]+"')
# Go has several timers: the first that expires decides the error about a webhook that does not respond.
_LATE: Final = re.compile(
    r"(net/http: request canceled|context deadline exceeded)"
    r"( \(Client.Timeout exceeded while awaiting headers\))?"
)
_PATH: Final = re.compile(r"/convert-\d+\?")  # the port of the webhook differs
JSON_PATCH: Final = "application/json-patch+json"
TABLE: Final = "application/json;as=Table;v=v1;g=meta.k8s.io"
METADATA: Final = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
METADATA_LIST: Final = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"


class Step(Struct, frozen=True):
    """A request; `convert` replaces the conversion of the webhook during the request."""

    method: str  # WATCH reads a watch to its end
    target: str
    body: Any = None
    media: str = "application/json"
    accept: str = "application/json"
    convert: Behaviour | None = None


class Case(Struct, frozen=True):
    """Steps with a new definition."""

    name: str
    steps: tuple[Step, ...]
    storage: str = "v2"
    reviews: tuple[str, ...] = ("v1",)
    reachable: bool = True
    hooks: tuple[Json, ...] = ()  # validating webhooks, which allow everything


class WebhookCaller(Protocol):
    """A server with a conversion webhook: performs a step, and returns the status, body and reviews."""

    def configure(self, case: Case) -> None: ...

    def perform(self, step: Step) -> tuple[int, list[str], Any, list[Json]]: ...


# The definition, and the webhook that converts its objects.


def _version(name: str, storage: str, spec: Json) -> Json:
    number = {"type": "integer"}
    properties = {"note": {"type": "string"}, "replicas": number} | spec
    status = {"replicas": number, "ready": {"type": "boolean"}}
    schema = {
        "type": "object",
        "properties": {
            "spec": {"type": "object", "properties": properties},
            "status": {"type": "object", "properties": status},
        },
    }
    columns = [{"name": "Note", "type": "string", "jsonPath": ".spec.note"}]
    if name == "v1":
        columns.append({"name": "Size", "type": "string", "jsonPath": ".spec.size"})
    return {
        "name": name,
        "served": True,
        "storage": name == storage,
        "schema": {"openAPIV3Schema": schema},
        "additionalPrinterColumns": columns,
        "selectableFields": [{"jsonPath": ".spec.size" if name == "v1" else ".spec.note"}],
        "subresources": {
            "status": {},
            "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"},
        },
    }


def definition(case: Case, client: Json) -> Json:
    """Return the definition of a case with its webhook at `client`."""
    width_and_height = {"width": {"type": "integer"}, "height": {"type": "integer"}}
    color = {"color": {"type": "string", "default": "red"}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"widgets.{GROUP}"},
        "spec": {
            "group": GROUP,
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
            "scope": "Namespaced",
            "versions": [
                _version("v1", case.storage, {"size": {"type": "string"}}),
                _version("v2", case.storage, width_and_height),
                _version("v3", case.storage, width_and_height | color),
            ],
            "conversion": {
                "strategy": "Webhook",
                "webhook": {"clientConfig": client, "conversionReviewVersions": list(case.reviews)},
            },
        },
    }


def convert_widget(obj: Json, version: str) -> Json:
    """Convert the object: v1 has ``size: 2x3``, the other versions have ``width: 2`` and ``height: 3``."""
    converted = copy.deepcopy(obj)
    converted["apiVersion"] = version
    spec = converted.get("spec", {})
    if version.endswith("/v1") and ("width" in spec or "height" in spec):
        spec["size"] = f"{spec.pop('width', 0)}x{spec.pop('height', 0)}"
    if not version.endswith("/v1") and "size" in spec:
        spec["width"], spec["height"] = map(int, spec.pop("size").split("x"))
    return converted


def answer_conversion(request: Json) -> Answer:
    """Answer a review correctly."""
    objects = [convert_widget(obj, request["desiredAPIVersion"]) for obj in request["objects"]]
    return {"convertedObjects": objects, "result": {"status": "Success"}}


def convert_and_change(change: Callable[[Json], object]) -> Behaviour:
    """Convert, then change each object."""

    def behave(request: Json) -> Answer:
        answer = answer_conversion(request)
        assert isinstance(answer, dict)
        for obj in answer["convertedObjects"]:
            change(obj)
        return answer

    return behave


def convert_list(change: Callable[[list[Json]], list[Any]]) -> Behaviour:
    """Convert, then return another list of objects."""

    def behave(request: Json) -> Answer:
        answer = answer_conversion(request)
        assert isinstance(answer, dict)
        return answer | {"convertedObjects": change(answer["convertedObjects"])}

    return behave


def convert_to_version_only(version: str) -> Behaviour:
    """Convert to a single version only."""

    def behave(request: Json) -> Answer:
        if request["desiredAPIVersion"] == f"{GROUP}/{version}":
            return answer_conversion(request)
        return {"result": {"status": "Failure", "message": f"only to {version}"}}

    return behave


def convert_and_set_labels(value: Any) -> Behaviour:
    return convert_and_change(lambda obj: obj["metadata"].__setitem__("labels", value))


def _reviews(kind: str, version: str, uid: str | None = "x") -> Behaviour:
    """Return a review of any kind, whose response has any uid."""
    review: Json = {"kind": kind, "apiVersion": f"apiextensions.k8s.io/{version}"}
    return always_answer(
        (200, json.dumps(review | ({} if uid is None else {"response": {"uid": uid}})).encode())
    )


_BROKEN: Final[tuple[Behaviour, ...]] = (
    always_answer((500, b"boom")),
    always_answer((500, b'{"kind":"Status","apiVersion":"v1","status":"Failure","message":"m","code":500}')),
    always_answer((404, b"nope")),
    always_answer((422, b"nope")),
    always_answer((200, b'{"hello":"world"}')),
    always_answer((200, b"hello")),
    always_answer((200, b"")),
    _reviews("ConversionReview", "v1", None),
    _reviews("ConversionReview", "v2"),
    _reviews("ConversionReview", "v1beta1"),
    _reviews("Foo", "v1"),
    _reviews("ConversionReview", "v1"),
    always_answer({
        "result": {"status": "Failure", "message": "cannot do that", "code": 400, "reason": "BadRequest"},
    }),
    always_answer({"result": {"status": "Failure"}}),
    always_answer({"result": {}}),
    always_answer({}),
    convert_list(lambda _: []),
    convert_list(lambda objects: objects * 2),
    convert_list(lambda _: ["text"]),
    convert_list(lambda _: [None]),
    convert_list(lambda _: [{}]),
    convert_list(lambda _: [{"kind": "Widget"}]),
    convert_and_change(lambda obj: obj.__setitem__("apiVersion", f"{GROUP}/v3")),
    convert_and_change(lambda obj: obj.pop("apiVersion")),
    convert_and_change(lambda obj: obj.__setitem__("kind", "Gadget")),
    convert_and_change(lambda obj: obj["metadata"].__setitem__("name", "other")),
    convert_and_change(lambda obj: obj["metadata"].__setitem__("namespace", "other")),
    convert_and_change(lambda obj: obj["metadata"].__setitem__("uid", "other")),
    convert_and_change(lambda obj: obj["metadata"].pop("uid")),
    convert_and_change(lambda obj: obj.pop("metadata")),
    convert_and_change(lambda obj: obj.__setitem__("metadata", "text")),
    convert_and_change(lambda obj: obj["metadata"].__setitem__("generation", 77)),
    convert_and_change(lambda obj: obj["metadata"].__setitem__("creationTimestamp", None)),
    convert_and_change(lambda obj: obj["metadata"].__setitem__("finalizers", ["a.b/c"])),
    convert_and_change(lambda obj: obj["metadata"].pop("managedFields", None)),
    convert_and_change(lambda obj: obj["metadata"].__setitem__("resourceVersion", "7")),
    convert_and_set_labels({"a": "b"}),
    convert_and_set_labels({}),
    convert_and_set_labels(None),
    convert_and_set_labels("text"),
    convert_and_set_labels({"a": 1}),
    convert_and_set_labels({"a": "not good!"}),
    convert_and_set_labels({"not good!": "a"}),
    convert_and_change(lambda obj: obj["metadata"].__setitem__("annotations", {"not good!": "a"})),
    convert_and_change(lambda obj: obj["metadata"].__setitem__("annotations", {"a": "any text, too"})),
    convert_and_change(lambda obj: obj.__setitem__("unknown", 1)),
    convert_and_change(lambda obj: obj["spec"].__setitem__("unknown", 1)),
    convert_and_change(lambda obj: obj["spec"].__setitem__("note", 7)),
    convert_and_change(lambda obj: obj.__setitem__("spec", "text")),
)  # fmt: skip


# Requests.


def _target(version: str, name: str = "", query: str = "") -> str:
    path = f"/apis/{GROUP}/{version}/namespaces/{NAMESPACE}/widgets"
    return (f"{path}/{name}" if name else path) + (f"?{query}" if query else "")


def _widget(version: str, name: str, **spec: Any) -> Json:
    return {
        "apiVersion": f"{GROUP}/{version}",
        "kind": "Widget",
        "metadata": {"name": name},
        "spec": spec or ({"size": "1x2"} if version == "v1" else {"width": 1, "height": 2}),
    }


def _make(version: str, name: str, query: str = "fieldManager=me", **spec: Any) -> Step:
    return Step("POST", _target(version, query=query), _widget(version, name, **spec))


def _get(version: str, name: str = "", query: str = "", accept: str = "application/json") -> Step:
    return Step("GET", _target(version, name, query), accept=accept)


def _apply(version: str, name: str, manager: str, query: str = "", **spec: Any) -> Step:
    target = _target(version, name, f"fieldManager={manager}{query}")
    return Step("PATCH", target, _widget(version, name, **spec), APPLY)


def _merge(version: str, name: str, change: Json, query: str = "fieldManager=me") -> Step:
    return Step("PATCH", _target(version, name, query), change, MERGE)


def _steps_without_conversion(*steps: Step) -> Iterator[Step]:
    """Return steps during which the webhook converts nothing."""
    for step in steps:
        yield structs.replace(step, convert=always_answer({"result": {"message": "no"}}))


CASES: Final = (
    Case(
        "reads",
        (
            _make("v2", "a", note="first", width=1, height=2),
            _make("v2", "b", note="second", width=3, height=4),
            *(_get(version, "a") for version in ("v1", "v2", "v3")),
            *(_get(version) for version in ("v1", "v2")),
            _get("v1", "missing"),
            _get("v1", query="limit=1"),
            _get("v1", query="fieldSelector=spec.size%3D3x4"),
            _get("v2", query="fieldSelector=spec.note%3Dfirst"),
            _get("v1", query="labelSelector=x"),
            _get("v1", "a", accept=TABLE),
            _get("v1", accept=TABLE),
            _get("v1", "a", accept=METADATA),
            _get("v1", accept=METADATA_LIST),
        ),
    ),
    Case(
        "writes",
        (
            _make("v1", "a"),
            _make("v1", "tried", "dryRun=All"),
            _make("v3", "c", width=7),
            _get("v2", "a"),
            _merge("v1", "a", {"spec": {"size": "5x6"}}),
            _merge("v1", "a", {"spec": {"size": "5x6"}}),
            _merge("v1", "a", {"metadata": {"labels": {"l": "1"}}}, "dryRun=All"),
            Step(
                "PATCH", _target("v1", "a"), [{"op": "add", "path": "/spec/note", "value": "n"}], JSON_PATCH
            ),
            _merge("v2", "a", {"spec": {"width": 9}}),
            _merge("v1", "a/status", {"status": {"ready": True}}),
            _get("v1", "a/scale"),
            _get("v2", "a"),
            Step("DELETE", _target("v1", "a")),
            _make("v2", "f"),
            _merge("v2", "f", {"metadata": {"finalizers": ["x.io/y"]}}),
            Step("DELETE", _target("v1", "f")),
            _merge("v1", "f", {"metadata": {"finalizers": None}}),
            _make("v2", "g"),
            Step("DELETE", _target("v1")),
            _get("v1"),
        ),
    ),
    Case(
        "scale",
        (
            _make("v2", "a", replicas=1),
            _get("v1", "a/scale"),
            _merge("v1", "a/scale", {"spec": {"replicas": 3}}),
            _get("v2", "a"),
            _get("v1", "a"),
        ),
    ),
    Case(
        "field managers of several versions",
        (
            _apply("v1", "a", "one", size="1x2"),
            _apply("v2", "a", "two", note="n"),
            _apply("v2", "a", "two", note="n", width=5),
            _apply("v2", "a", "two", "&force=true", note="n", width=5),
            _apply("v2", "a", "two", note="n"),
            _apply("v1", "a", "one", note="m", size="1x2"),
            _apply("v1", "a", "one", size="3x4"),
            _merge("v2", "a", {"spec": {"height": 9}}, "fieldManager=three"),
            _apply("v1", "a", "one", note="n"),
            _apply("v2", "a", "one", note="n", width=7),
            _get("v1", "a"),
            _apply("v1", "p", "one", size="1x2"),
            _apply("v2", "p", "one", note="m"),
        ),
    ),
    Case(
        "a webhook that is broken",
        (
            _make("v2", "a", note="n", width=1, height=2),
            *(Step("GET", _target("v1", "a"), convert=behave) for behave in _BROKEN),
            *(
                Step("POST", _target("v1", query="dryRun=All"), _widget("v1", "b"), convert=behave)
                for behave in (*_BROKEN[:3], *_BROKEN[12:])
            ),
        ),
    ),
    Case(
        "requests that fail with it",
        (
            *_steps_without_conversion(
                _make("v1", "a"),
                _get("v1"),
                Step("DELETE", _target("v1", "a")),
            ),
            _make("v2", "a"),
            _make("v2", "b"),
            *_steps_without_conversion(
                _get("v1"),
                _get("v1", query="limit=1"),
                _get("v1", query="resourceVersion=0"),
                _merge("v1", "a", {"spec": {"note": "n"}}),
                _merge("v1", "a/status", {"status": {"ready": True}}),
                _merge("v1", "a/scale", {"spec": {"replicas": 3}}),
                _get("v1", "a/scale"),
                _apply("v1", "a", "one", size="1x2"),
                _merge("v2", "a", {"spec": {"note": "n"}}),
                Step("DELETE", _target("v1", "a")),
                Step("DELETE", _target("v1")),
            ),
            Step("POST", _target("v1"), _widget("v1", "half"), convert=convert_to_version_only("v2")),
            _get("v2", "half"),
            Step(
                "PATCH", _target("v1", "half"), {"spec": {"note": "n"}}, MERGE,
                convert=convert_to_version_only("v1"),
            ),
            Step("GET", _target("v1", "a", "timeout=1s"), convert=always_answer("timeout")),
            Step("GET", _target("v1", query="timeout=1s"), convert=always_answer("timeout")),
            Step("GET", _target("v1", "a"), convert=always_answer("silence")),
        ),
    ),
    Case(
        "watches",
        (
            _make("v2", "a"),
            _make("v1", "b"),
            _merge("v2", "a", {"spec": {"width": 7}}),
            Step("DELETE", _target("v2", "b")),
            Step("WATCH", _target("v1", query="watch=1&timeoutSeconds=5&resourceVersion={before}")),
            Step("WATCH", _target("v1", query="watch=1&timeoutSeconds=5&resourceVersion=0")),
            Step("WATCH", _target("v1", query="watch=1&timeoutSeconds=5"), accept=TABLE),
            Step(
                "WATCH", _target("v1", query="watch=1&timeoutSeconds=5&resourceVersion={before}"),
                convert=always_answer({"result": {"message": "no"}}),
            ),
            Step(
                "WATCH", _target("v1", query="watch=1&timeoutSeconds=5"),
                convert=always_answer({"result": {"message": "no"}}),
            ),
        ),
    ),
    Case("reviews of v1beta1", (_make("v1", "a"), _get("v1", "a")), reviews=("v1beta1", "v1")),
    Case(
        "reviews of unknown versions",
        (_make("v2", "a"), _get("v1", "a"), _make("v1", "b")),
        reviews=("v7", "v1"),
    ),
    Case(
        "a webhook that refuses connections",
        (_make("v2", "a"), _get("v1", "a"), _get("v1")),
        reachable=False,
    ),
    Case(
        "another storage version",
        (
            _make("v1", "a"),
            _make("v2", "b"),
            Step("GET", DEFINITION),
            Step("PATCH", DEFINITION, [
                {"op": "replace", "path": "/spec/versions/0/storage", "value": False},
                {"op": "replace", "path": "/spec/versions/1/storage", "value": True},
            ], JSON_PATCH),
            Step("GET", DEFINITION),
            *(_get(version, "a") for version in ("v1", "v2")),
            _make("v1", "c"),
            _get("v1"),
            _get("v2"),
            _merge("v1", "a", {"spec": {"note": "n"}}),
            _get("v1", "a"),
        ),
        storage="v1",
    ),
    Case(
        "admission in another version",
        (_make("v2", "a"), _merge("v2", "a", {"spec": {"width": 7}}), Step("DELETE", _target("v2", "a"))),
        hooks=(
            {
                "operations": ["*"], "apiGroups": [GROUP], "apiVersions": ["v1"], "resources": ["widgets"],
            },
        ),
    ),
)  # fmt: skip


def run_case(caller: WebhookCaller, case: Case) -> list[Any]:
    """Return the outcomes of the steps of a case; the calls of a step are its distinct reviews, sorted."""
    caller.configure(case)
    outcomes: list[Any] = []
    for step in case.steps:
        status, warnings, body, calls = caller.perform(step)
        outcomes.append(
            {
                "step": f"{step.method} {step.target}",
                "status": status,
                "warnings": warnings,
                "body": _without_random_parts(body),
                "calls": _distinct_calls(step, calls),
            }
        )
    return outcomes


def _distinct_calls(step: Step, calls: list[Json]) -> list[Any]:
    """Return the distinct requested conversions, and the admission reviews.

    Controllers of a real control plane watch the preferred version, v3. The resourceVersion of an
    object that is converted for managedFields is irrelevant.
    """
    distinct: list[Any] = []
    for call in calls:
        if "objects" not in call:
            content = [call["kind"]["version"], call["object"], call["oldObject"]]
        elif call["desiredAPIVersion"].endswith("/v3") and "/v3/" not in step.target:
            continue
        else:
            content = [call["desiredAPIVersion"], *call["objects"]]
        for obj in content:
            if _is_map(obj):
                for drawn in ("resourceVersion", "managedFields"):
                    obj.get("metadata", {}).pop(drawn, None)
        if (comparable := _without_random_parts(content)) not in distinct:
            distinct.append(comparable)
    return sorted(distinct, key=json.dumps)


def _without_random_parts(value: Any) -> Any:
    if _is_map(value) and value.get("kind") == "CustomResourceDefinition":
        value = value["status"]["storedVersions"]
    _sort_managed_fields(value)
    text = _LATE.sub("<too late>", _PATH.sub("/convert?", json.dumps(value)))
    return replace_random_parts(json.loads(_CONTINUE.sub('"continue": "<token>"', text)))


def _sort_managed_fields(value: Any) -> None:
    """Sort managedFields: a server sorts them by times, which the comparison ignores."""
    if _is_list(value):
        for element in value:
            _sort_managed_fields(element)
    elif _is_map(value):
        for name, member in value.items():
            if name == "managedFields":
                member.sort(key=_without_time)
            else:
                _sort_managed_fields(member)


def _without_time(entry: Json) -> str:
    return json.dumps({**entry, "time": ""}, sort_keys=True)


def _is_map(value: Any) -> TypeGuard[Json]:
    return isinstance(value, dict)


def _is_list(value: Any) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def find_differences(simulated: list[Any], real: list[Any]) -> list[Any]:
    """Return the differences between the simulated server and a real server.

    A real server writes an object before it marks the object as deleted, and converts more often than needed
    to compare managedFields. Conversions of the real server may be missing here, but there are no others.
    """
    differences: list[Any] = []
    for simulated_step, real_step in zip(simulated, real, strict=True):
        if simulated_step["step"].startswith("DELETE") or "fieldManager=" in simulated_step["step"]:
            my_calls, their_calls = (
                [_without_metadata(call) for call in step["calls"]] for step in (simulated_step, real_step)
            )
            missing = [call for call in my_calls if call not in their_calls]
            is_equal = not missing and simulated_step | {"calls": []} == real_step | {"calls": []}
        else:
            is_equal = simulated_step == real_step
        if not is_equal:
            differences.append((simulated_step, real_step))
    return differences


def _without_metadata(call: list[Any]) -> list[Any]:
    """Remove the metadata of a conversion, which depends on the time of the conversion."""
    return [
        {name: value for name, value in obj.items() if name != "metadata"} if _is_map(obj) else obj
        for obj in call
    ]
