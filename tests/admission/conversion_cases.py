"""A custom resource whose versions a webhook converts: requests, and what a server makes of them.

The same steps are taken with a real server, whose webhook is answered on this machine (``make admission``,
``make real``), and with the simulated one, whose webhook is a Python function.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, Protocol, TypeGuard

from admission_cases import APPLY, MERGE, Answer, Behaviour, Json, says, scrubbed
from msgspec import Struct, structs

RECORDED: Final = Path(__file__).parent / "conversion_answers.json"
GROUP: Final = "conversion.example.com"
DEFINITIONS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
DEFINITION: Final = f"{DEFINITIONS}/widgets.{GROUP}"
NAMESPACE: Final = "conversion"
_CONTINUE: Final = re.compile(r'"continue": "[^"]+"')
# Which of its timers runs out first decides what Go says of a webhook that does not respond.
_LATE: Final = re.compile(
    r"(net/http: request canceled|context deadline exceeded)"
    r"( \(Client.Timeout exceeded while awaiting headers\))?"
)
_PATH: Final = re.compile(r"/convert-\d+\?")  # a webhook has another one in each case
JSON_PATCH: Final = "application/json-patch+json"
TABLE: Final = "application/json;as=Table;v=v1;g=meta.k8s.io"
METADATA: Final = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
METADATA_LIST: Final = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"


class Step(Struct, frozen=True):
    """One request; `convert` is what the webhook does meanwhile instead of converting."""

    method: str  # WATCH reads a watch to its end
    target: str
    body: Any = None
    media: str = "application/json"
    accept: str = "application/json"
    convert: Behaviour | None = None


class Case(Struct, frozen=True):
    """Steps with a definition of their own."""

    name: str
    steps: tuple[Step, ...]
    storage: str = "v2"
    reviews: tuple[str, ...] = ("v1",)
    reachable: bool = True
    hooks: tuple[Json, ...] = ()  # validating webhooks, which allow everything


class Taker(Protocol):
    """A server with a conversion webhook: takes a step, and returns the status, the body and the reviews."""

    def configure(self, case: Case) -> None: ...

    def take(self, step: Step) -> tuple[int, list[str], Any, list[Json]]: ...


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
    """The definition of a case; its webhook is at `client`."""
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


def converted(obj: Json, version: str) -> Json:
    """The object in another version: ``size: 2x3`` in v1, ``width: 2`` and ``height: 3`` in the others."""
    copied = copy.deepcopy(obj)
    copied["apiVersion"] = version
    spec = copied.get("spec", {})
    if version.endswith("/v1") and ("width" in spec or "height" in spec):
        spec["size"] = f"{spec.pop('width', 0)}x{spec.pop('height', 0)}"
    if not version.endswith("/v1") and "size" in spec:
        spec["width"], spec["height"] = map(int, spec.pop("size").split("x"))
    return copied


def converts(request: Json) -> Answer:
    """Answer a review as a good webhook does."""
    objects = [converted(obj, request["desiredAPIVersion"]) for obj in request["objects"]]
    return {"convertedObjects": objects, "result": {"status": "Success"}}


def spoils(change: Callable[[Json], object]) -> Behaviour:
    """Convert, then spoil each object."""

    def behave(request: Json) -> Answer:
        answer = converts(request)
        assert isinstance(answer, dict)
        for obj in answer["convertedObjects"]:
            change(obj)
        return answer

    return behave


def lists(change: Callable[[list[Json]], list[Any]]) -> Behaviour:
    """Convert, then return another list of objects."""

    def behave(request: Json) -> Answer:
        answer = converts(request)
        assert isinstance(answer, dict)
        return answer | {"convertedObjects": change(answer["convertedObjects"])}

    return behave


def only_to(version: str) -> Behaviour:
    """Convert to one version alone."""

    def behave(request: Json) -> Answer:
        if request["desiredAPIVersion"] == f"{GROUP}/{version}":
            return converts(request)
        return {"result": {"status": "Failure", "message": f"only to {version}"}}

    return behave


def labels(value: Any) -> Behaviour:
    return spoils(lambda obj: obj["metadata"].__setitem__("labels", value))


def _reviews(kind: str, version: str, uid: str | None = "x") -> Behaviour:
    """Return a review of any kind, whose response has any uid."""
    review: Json = {"kind": kind, "apiVersion": f"apiextensions.k8s.io/{version}"}
    return says((200, json.dumps(review | ({} if uid is None else {"response": {"uid": uid}})).encode()))


_BROKEN: Final[tuple[Behaviour, ...]] = (
    says((500, b"boom")),
    says((500, b'{"kind":"Status","apiVersion":"v1","status":"Failure","message":"m","code":500}')),
    says((404, b"nope")),
    says((422, b"nope")),
    says((200, b'{"hello":"world"}')),
    says((200, b"hello")),
    says((200, b"")),
    _reviews("ConversionReview", "v1", None),
    _reviews("ConversionReview", "v2"),
    _reviews("ConversionReview", "v1beta1"),
    _reviews("Foo", "v1"),
    _reviews("ConversionReview", "v1"),
    says({"result": {"status": "Failure", "message": "cannot do that", "code": 400, "reason": "BadRequest"}}),
    says({"result": {"status": "Failure"}}),
    says({"result": {}}),
    says({}),
    lists(lambda _: []),
    lists(lambda objects: objects * 2),
    lists(lambda _: ["text"]),
    lists(lambda _: [None]),
    lists(lambda _: [{}]),
    lists(lambda _: [{"kind": "Widget"}]),
    spoils(lambda obj: obj.__setitem__("apiVersion", f"{GROUP}/v3")),
    spoils(lambda obj: obj.pop("apiVersion")),
    spoils(lambda obj: obj.__setitem__("kind", "Gadget")),
    spoils(lambda obj: obj["metadata"].__setitem__("name", "other")),
    spoils(lambda obj: obj["metadata"].__setitem__("namespace", "other")),
    spoils(lambda obj: obj["metadata"].__setitem__("uid", "other")),
    spoils(lambda obj: obj["metadata"].pop("uid")),
    spoils(lambda obj: obj.pop("metadata")),
    spoils(lambda obj: obj.__setitem__("metadata", "text")),
    spoils(lambda obj: obj["metadata"].__setitem__("generation", 77)),
    spoils(lambda obj: obj["metadata"].__setitem__("creationTimestamp", None)),
    spoils(lambda obj: obj["metadata"].__setitem__("finalizers", ["a.b/c"])),
    spoils(lambda obj: obj["metadata"].pop("managedFields", None)),
    spoils(lambda obj: obj["metadata"].__setitem__("resourceVersion", "7")),
    labels({"a": "b"}),
    labels({}),
    labels(None),
    labels("text"),
    labels({"a": 1}),
    labels({"a": "not good!"}),
    labels({"not good!": "a"}),
    spoils(lambda obj: obj["metadata"].__setitem__("annotations", {"not good!": "a"})),
    spoils(lambda obj: obj["metadata"].__setitem__("annotations", {"a": "any text, too"})),
    spoils(lambda obj: obj.__setitem__("unknown", 1)),
    spoils(lambda obj: obj["spec"].__setitem__("unknown", 1)),
    spoils(lambda obj: obj["spec"].__setitem__("note", 7)),
    spoils(lambda obj: obj.__setitem__("spec", "text")),
)  # fmt: skip


# Requests.


def _at(version: str, name: str = "", query: str = "") -> str:
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
    return Step("POST", _at(version, query=query), _widget(version, name, **spec))


def _get(version: str, name: str = "", query: str = "", accept: str = "application/json") -> Step:
    return Step("GET", _at(version, name, query), accept=accept)


def _apply(version: str, name: str, manager: str, query: str = "", **spec: Any) -> Step:
    target = _at(version, name, f"fieldManager={manager}{query}")
    return Step("PATCH", target, _widget(version, name, **spec), APPLY)


def _merge(version: str, name: str, change: Json, query: str = "fieldManager=me") -> Step:
    return Step("PATCH", _at(version, name, query), change, MERGE)


def _failing(*steps: Step) -> Iterator[Step]:
    """The same requests, while the webhook converts nothing."""
    for step in steps:
        yield structs.replace(step, convert=says({"result": {"message": "no"}}))


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
            Step("PATCH", _at("v1", "a"), [{"op": "add", "path": "/spec/note", "value": "n"}], JSON_PATCH),
            _merge("v2", "a", {"spec": {"width": 9}}),
            _merge("v1", "a/status", {"status": {"ready": True}}),
            _get("v1", "a/scale"),
            _get("v2", "a"),
            Step("DELETE", _at("v1", "a")),
            _make("v2", "f"),
            _merge("v2", "f", {"metadata": {"finalizers": ["x.io/y"]}}),
            Step("DELETE", _at("v1", "f")),
            _merge("v1", "f", {"metadata": {"finalizers": None}}),
            _make("v2", "g"),
            Step("DELETE", _at("v1")),
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
            *(Step("GET", _at("v1", "a"), convert=one) for one in _BROKEN),
            *(
                Step("POST", _at("v1", query="dryRun=All"), _widget("v1", "b"), convert=one)
                for one in (*_BROKEN[:3], *_BROKEN[12:])
            ),
        ),
    ),
    Case(
        "requests that fail with it",
        (
            *_failing(
                _make("v1", "a"),
                _get("v1"),
                Step("DELETE", _at("v1", "a")),
            ),
            _make("v2", "a"),
            _make("v2", "b"),
            *_failing(
                _get("v1"),
                _get("v1", query="limit=1"),
                _get("v1", query="resourceVersion=0"),
                _merge("v1", "a", {"spec": {"note": "n"}}),
                _merge("v1", "a/status", {"status": {"ready": True}}),
                _merge("v1", "a/scale", {"spec": {"replicas": 3}}),
                _get("v1", "a/scale"),
                _apply("v1", "a", "one", size="1x2"),
                _merge("v2", "a", {"spec": {"note": "n"}}),
                Step("DELETE", _at("v1", "a")),
                Step("DELETE", _at("v1")),
            ),
            Step("POST", _at("v1"), _widget("v1", "half"), convert=only_to("v2")),
            _get("v2", "half"),
            Step("PATCH", _at("v1", "half"), {"spec": {"note": "n"}}, MERGE, convert=only_to("v1")),
            Step("GET", _at("v1", "a", "timeout=1s"), convert=says("timeout")),
            Step("GET", _at("v1", query="timeout=1s"), convert=says("timeout")),
            Step("GET", _at("v1", "a"), convert=says("silence")),
        ),
    ),
    Case(
        "watches",
        (
            _make("v2", "a"),
            _make("v1", "b"),
            _merge("v2", "a", {"spec": {"width": 7}}),
            Step("DELETE", _at("v2", "b")),
            Step("WATCH", _at("v1", query="watch=1&timeoutSeconds=5&resourceVersion={before}")),
            Step("WATCH", _at("v1", query="watch=1&timeoutSeconds=5&resourceVersion=0")),
            Step("WATCH", _at("v1", query="watch=1&timeoutSeconds=5"), accept=TABLE),
            Step(
                "WATCH", _at("v1", query="watch=1&timeoutSeconds=5&resourceVersion={before}"),
                convert=says({"result": {"message": "no"}}),
            ),
            Step(
                "WATCH", _at("v1", query="watch=1&timeoutSeconds=5"),
                convert=says({"result": {"message": "no"}}),
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
        (_make("v2", "a"), _merge("v2", "a", {"spec": {"width": 7}}), Step("DELETE", _at("v2", "a"))),
        hooks=(
            {
                "operations": ["*"], "apiGroups": [GROUP], "apiVersions": ["v1"], "resources": ["widgets"],
            },
        ),
    ),
)  # fmt: skip


def outcome(taker: Taker, case: Case) -> list[Any]:
    """What comes of the steps of a case; the calls of a step are its distinct reviews, in any order."""
    taker.configure(case)
    outcomes: list[Any] = []
    for step in case.steps:
        status, warnings, body, calls = taker.take(step)
        outcomes.append(
            {
                "step": f"{step.method} {step.target}",
                "status": status,
                "warnings": warnings,
                "body": _scrubbed(body),
                "calls": _distinct(step, calls),
            }
        )
    return outcomes


def _distinct(step: Step, calls: list[Json]) -> list[Any]:
    """The conversions that were asked for, each once, and the reviews of admission.

    Controllers of a real control plane watch the preferred version, v3. An object that is written back to a
    managed field's version comes with its resourceVersion, which says nothing about the conversion.
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
        if (scrubbed := _scrubbed(content)) not in distinct:
            distinct.append(scrubbed)
    return sorted(distinct, key=json.dumps)


def _scrubbed(value: Any) -> Any:
    if _is_map(value) and value.get("kind") == "CustomResourceDefinition":
        value = value["status"]["storedVersions"]
    _in_order(value)
    text = _LATE.sub("<too late>", _PATH.sub("/convert?", json.dumps(value)))
    return scrubbed(json.loads(_CONTINUE.sub('"continue": "<token>"', text)))


def _in_order(value: Any) -> None:
    """Sort managedFields, which a server sorts by times that the comparison does not look at."""
    if _is_list(value):
        for element in value:
            _in_order(element)
    elif _is_map(value):
        for name, member in value.items():
            if name == "managedFields":
                member.sort(key=_without_time)
            else:
                _in_order(member)


def _without_time(entry: Json) -> str:
    return json.dumps({**entry, "time": ""}, sort_keys=True)


def _is_map(value: Any) -> TypeGuard[Json]:
    return isinstance(value, dict)


def _is_list(value: Any) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def different(mine: list[Any], theirs: list[Any]) -> list[Any]:
    """Where the simulated server differs from a real one.

    A real server writes an object before it marks it as deleted, and converts more often than needed to
    compare the fields of managers: a conversion that it asks for may be missing here, but none is added.
    """
    differences: list[Any] = []
    for mine_step, their_step in zip(mine, theirs, strict=True):
        if mine_step["step"].startswith("DELETE") or "fieldManager=" in mine_step["step"]:
            my_calls, their_calls = (
                [_essence(call) for call in step["calls"]] for step in (mine_step, their_step)
            )
            missing = [call for call in my_calls if call not in their_calls]
            same = not missing and mine_step | {"calls": []} == their_step | {"calls": []}
        else:
            same = mine_step == their_step
        if not same:
            differences.append((mine_step, their_step))
    return differences


def _essence(call: list[Any]) -> list[Any]:
    """A conversion without the metadata, which differs with the moment at which a server converts."""
    return [
        {name: value for name, value in obj.items() if name != "metadata"} if _is_map(obj) else obj
        for obj in call
    ]
