"""Webhook configurations and writes, and what a server makes of them: which webhooks it calls with what, and
what it answers.

The same steps are taken with a real server, whose webhooks are answered on this machine (``make admission``,
``make real``), and with the simulated one, whose webhooks are Python functions.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, Protocol

from msgspec import Struct

RECORDED: Final = Path(__file__).parent / "admission_answers.json"
HOOKS: Final = "/apis/admissionregistration.k8s.io/v1"
NAMESPACE: Final = "hooks"
MAPS: Final = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
MERGE: Final = "application/merge-patch+json"
APPLY: Final = "application/apply-patch+yaml"
Json = dict[str, Any]
# What a webhook answers to a review: a response, a status and other bytes, or a word for silence.
Answer = Json | tuple[int, bytes] | str
Behaviour = Callable[[Json], Answer]


class Step(Struct, frozen=True):
    """One request, and how the webhooks behave meanwhile, by path; the others allow everything."""

    method: str
    target: str
    body: Any = None
    media: str = "application/json"
    webhooks: Mapping[str, Behaviour] = {}


class Case(Struct, frozen=True):
    """Configurations, and the steps that are taken under them."""

    name: str
    mutating: tuple[Json, ...]
    validating: tuple[Json, ...]
    steps: tuple[Step, ...]
    objects: tuple[tuple[str, Json], ...] = ()  # what is made before, and removed after


class Taker(Protocol):
    """A server with webhooks: takes a step and returns the status, the warnings, the body and the calls."""

    def configure(self, case: Case) -> None: ...

    def take(self, step: Step) -> tuple[int, list[str], Any, list[tuple[str, Json]]]: ...


# What webhooks do.


def patch(*operations: Json) -> Json:
    data = base64.b64encode(json.dumps(operations).encode()).decode()
    return {"allowed": True, "patchType": "JSONPatch", "patch": data}


def adds(key: str, value: str = "x") -> Behaviour:
    """Add a key to the data of a map, unless it is there."""

    def behave(request: Json) -> Answer:
        if request["object"] is None or key in request["object"].get("data", {}):
            return {"allowed": True}
        return patch({"op": "add", "path": f"/data/{key}", "value": value})

    return behave


def says(answer: Answer) -> Behaviour:
    return lambda _: answer


def denies(**status: Any) -> Behaviour:
    return says({"allowed": False, "status": status} if status else {"allowed": False})


# Configurations and steps.


def hook(path: str, *resources: str, **more: Any) -> Json:
    rule = {
        "operations": ["*"],
        "apiGroups": ["*"],
        "apiVersions": ["*"],
        "resources": list(resources or ("configmaps",)),
    }
    return {
        "name": f"{path}.x.io",
        "path": path,
        "rules": [rule],
        "sideEffects": "None",
        "timeoutSeconds": 1,
        "admissionReviewVersions": ["v1"],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": NAMESPACE}},
        **more,
    }


def make(
    name: str, query: str = "", *, data: Json | None = None, labels: Json | None = None, **webhooks: Behaviour
) -> Step:
    meta = {"name": name} | ({"labels": labels} if labels else {})
    body = {"metadata": meta, "data": {"a": "1"} if data is None else data}
    return Step("POST", f"{MAPS}?fieldManager=me{query}", body, webhooks=webhooks)


def tried(**webhooks: Behaviour) -> Step:
    return make("tried", "&dryRun=All", data=None, labels=None, **webhooks)


_BROKEN: Final[tuple[Answer, ...]] = (
    (500, b"boom"),
    (500, b'{"kind":"Status","apiVersion":"v1","status":"Failure","message":"m","code":500}'),
    (404, b"nope"),
    (200, b'{"hello":"world"}'),
    (200, b"hello"),
    (200, b""),
    (
        200,
        b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":"x","allowed":true}}',
    ),
    (200, b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}'),
    (200, b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1beta1","response":{"uid":"x"}}'),
    (200, b'{"kind":"Foo","apiVersion":"admission.k8s.io/v1","response":{"uid":"x"}}'),
    "refused",
    "timeout",
)
_PATCHES: Final[tuple[Json, ...]] = (
    patch({"op": "add", "path": "/data/a b", "value": "1"}),
    patch({"op": "add", "path": "/data", "value": 7}),
    patch({"op": "add", "path": "/zzz", "value": 7}),
    patch({"op": "replace", "path": "/metadata/name", "value": "other"}),
    patch({"op": "replace", "path": "/metadata/namespace", "value": "default"}),
    patch(),
    patch({"op": "add", "path": "/metadata/labels", "value": {"l": "1"}}),
    {"allowed": True, "patchType": "JSONPatch", "patch": "ew=="},
    {"allowed": True, "patch": "W10="},
    {"allowed": True, "patchType": "JSONPatch"},
    {"allowed": True, "patchType": "Merge", "patch": "e30="},
)
_HPAS: Final = f"/apis/autoscaling/v1/namespaces/{NAMESPACE}/horizontalpodautoscalers"
_HPA: Final[Json] = {
    "metadata": {"name": "h"},
    "spec": {
        "maxReplicas": 3,
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"},
    },
}
_SEES: Final = "object.metadata.name == 'seen'"

CASES: Final[tuple[Case, ...]] = (
    Case(
        "the life of an object",
        (hook("m1"), hook("m2", reinvocationPolicy="IfNeeded")),
        (hook("v1"), hook("v2")),
        (
            make("one", m1=adds("m"), m2=says({"allowed": True, "warnings": ['w "2"']})),
            Step("PATCH", f"{MAPS}/one?fieldValidation=Strict", {"data": {"b": "1"}}, MERGE),
            Step(
                "PUT",
                f"{MAPS}/one",
                {"metadata": {"name": "one"}, "data": {"c": "1"}},
                webhooks={"m1": adds("m")},
            ),
            Step("PUT", f"{MAPS}/one", {"metadata": {"name": "one"}, "data": {"c": "1", "m": "x"}}),
            Step(
                "PATCH",
                f"{MAPS}/one?fieldManager=applier&force=true",
                {
                    "apiVersion": "v1",
                    "kind": "ConfigMap",
                    "metadata": {"name": "one"},
                    "data": {"d": "1"},
                },
                APPLY,
                {"m1": adds("n")},
            ),
            Step(
                "PATCH",
                f"{MAPS}/two?fieldManager=applier",
                {
                    "apiVersion": "v1",
                    "kind": "ConfigMap",
                    "metadata": {"name": "two"},
                    "data": {"d": "1"},
                },
                APPLY,
                {"m1": adds("n")},
            ),
            Step(
                "DELETE",
                f"{MAPS}/one",
                webhooks={"m1": says(patch({"op": "add", "path": "/data/x", "value": "1"}))},
            ),
            Step(
                "DELETE",
                f"{MAPS}/one",
                webhooks={"v1": denies(message="stays", code=403, reason="Forbidden")},
            ),
            Step("DELETE", f"{MAPS}/one?gracePeriodSeconds=0"),
            Step("DELETE", f"{MAPS}/one"),
            make("two", v1=denies(message="never asked twice")),
            make("two"),
        ),
    ),
    Case(
        "reinvocation",
        (
            hook("a", reinvocationPolicy="IfNeeded"),
            hook("b", reinvocationPolicy="Never"),
            hook("c", reinvocationPolicy="IfNeeded"),
        ),
        (),
        (
            make("r1"),
            make("r2", a=adds("a")),
            make("r3", b=adds("b")),
            make("r4", c=adds("c")),
            make("r5", a=adds("a"), b=adds("b"), c=adds("c")),
            make("r6", b=adds("b"), a=says(patch({"op": "add", "path": "/data/again", "value": "1"}))),
        ),
    ),
    Case(
        "denials",
        (hook("m1"),),
        (hook("v1"),),
        (
            tried(v1=denies()),
            tried(v1=denies(message="no", code=418, reason="Teapot", details={"causes": [{"message": "m"}]})),
            tried(v1=denies(reason="Because", code=200, status="Success")),
            tried(v1=denies(message="no", code=302)),
            tried(m1=denies(message="at once", code=403)),
            tried(m1=denies(code=404)),
            tried(
                m1=says({"allowed": True, "warnings": ["from m"]}),
                v1=says({"allowed": False, "warnings": ["from v"]}),
            ),
            tried(v1=says(patch({"op": "add", "path": "/data/x", "value": "1"}))),
        ),
    ),
    Case(
        "broken webhooks that must be asked", (), (hook("v1"),), tuple(tried(v1=says(one)) for one in _BROKEN)
    ),
    Case(
        "broken webhooks that need not be asked",
        (hook("m1", failurePolicy="Ignore"),),
        (hook("v1", failurePolicy="Ignore"),),
        (
            *(tried(v1=says(one)) for one in _BROKEN[::3]),
            tried(m1=says((500, b"x"))),
            tried(m1=says({"allowed": False})),
        ),
    ),
    Case("patches", (hook("m1"),), (), tuple(tried(m1=says(one)) for one in _PATCHES)),
    Case(
        "dry run",
        (hook("m1", sideEffects="NoneOnDryRun"),),
        (hook("v1", sideEffects="None"),),
        (tried(), tried(m1=adds("m"))),
    ),
    Case(
        "selectors",
        (),
        (
            hook("v1", objectSelector={"matchLabels": {"app": "x"}}),
            hook("v2", namespaceSelector={"matchLabels": {"kubernetes.io/metadata.name": "other"}}),
            hook("v3", objectSelector={"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}),
        ),
        (
            make("s1", labels={"app": "x"}),
            make("s2"),
            make("s3", labels={"app": "y"}),
            Step("PATCH", f"{MAPS}/s2", {"metadata": {"labels": {"app": "x"}}}, MERGE),
            Step("PATCH", f"{MAPS}/s1", {"metadata": {"labels": {"app": None}}}, MERGE),
        ),
    ),
    Case(
        "match conditions",
        (hook("m1", matchConditions=[{"name": "seen", "expression": _SEES}]),),
        (
            hook("v1", matchConditions=[{"name": "a", "expression": "object.metadata.labels.foo == 'a'"}]),
            hook(
                "v2",
                failurePolicy="Ignore",
                matchConditions=[{"name": "a", "expression": "object.metadata.labels.foo == 'a'"}],
            ),
            hook(
                "v3",
                matchConditions=[
                    {"name": "a", "expression": "request.operation == 'CREATE'"},
                    {"name": "b", "expression": "request.userInfo.username == 'admin' && request.dryRun"},
                ],
            ),
        ),
        (
            make("seen", labels={"foo": "a"}),
            make("unseen", labels={"foo": "b"}),
            tried(),
            make("dry", "&dryRun=All", labels={"foo": "a"}),
        ),
    ),
    Case(
        "versions of a kind",
        (
            hook(
                "m1",
                "horizontalpodautoscalers",
                rules=[
                    {
                        "operations": ["CREATE"],
                        "apiGroups": ["autoscaling"],
                        "apiVersions": ["v2"],
                        "resources": ["horizontalpodautoscalers"],
                    }
                ],
            ),
        ),
        (
            hook(
                "v1",
                "horizontalpodautoscalers",
                matchPolicy="Exact",
                rules=[
                    {
                        "operations": ["CREATE"],
                        "apiGroups": ["autoscaling"],
                        "apiVersions": ["v2"],
                        "resources": ["horizontalpodautoscalers"],
                    }
                ],
            ),
        ),
        (
            Step(
                "POST",
                _HPAS,
                _HPA,
                webhooks={"m1": says(patch({"op": "replace", "path": "/spec/maxReplicas", "value": 7}))},
            ),
        ),
    ),
    Case(
        "subresources and operations",
        (),
        (
            hook("v1", "pods/status"),
            hook("v2", "pods/*"),
            hook("v3", "*/*"),
            hook(
                "v4",
                rules=[
                    {
                        "operations": ["DELETE"],
                        "apiGroups": [""],
                        "apiVersions": ["v1"],
                        "resources": ["pods"],
                    }
                ],
            ),
            hook(
                "v5",
                rules=[
                    {
                        "operations": ["*"],
                        "apiGroups": [""],
                        "apiVersions": ["v1"],
                        "resources": ["pods"],
                        "scope": "Cluster",
                    }
                ],
            ),
        ),
        (
            Step(
                "POST",
                f"/api/v1/namespaces/{NAMESPACE}/pods?dryRun=All",
                {"metadata": {"generateName": "p-"}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
            ),
            Step(
                "POST",
                f"/api/v1/namespaces/{NAMESPACE}/pods",
                {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
            ),
            Step(
                "PATCH", f"/api/v1/namespaces/{NAMESPACE}/pods/p/status", {"status": {"message": "m"}}, MERGE
            ),
            Step("DELETE", f"/api/v1/namespaces/{NAMESPACE}/pods/p"),
        ),
    ),
)


# Policies, which stand for what webhooks do in other cases.

_LIMITED: Final[Json] = {
    "matchConstraints": {
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": NAMESPACE}},
        "resourceRules": [
            {
                "operations": ["CREATE", "UPDATE"],
                "apiGroups": [""],
                "apiVersions": ["v1"],
                "resources": ["configmaps"],
            }
        ],
    },
    "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
    "variables": [{"name": "count", "expression": "size(object.data)"}],
    "validations": [
        {"expression": "!('bad' in object.data)", "message": "bad is bad"},
        {
            "expression": "variables.count <= int(params.data.most)",
            "messageExpression": "'at most ' + params.data.most",
            "reason": "Forbidden",
        },
        {"expression": "object.metadata.name != 'x'"},
        {"expression": "object.metadata.name != 'y' || object.metadata.labels.z == '1'"},
        {"expression": "request.operation == 'CREATE' || ('kept' in object.data)"},
        {"expression": "namespaceObject.metadata.name == 'hooks'", "message": "another namespace"},
    ],
}
_POLICY: Final = f"{HOOKS}/validatingadmissionpolicies"
_BINDING: Final = f"{HOOKS}/validatingadmissionpolicybindings"


def _policy(*actions: str, params: str = "limits", **more: Any) -> tuple[tuple[str, Json], ...]:
    reference = {"name": params, "namespace": "default", "parameterNotFoundAction": "Deny"}
    binding = {"policyName": "limited", "paramRef": reference, "validationActions": list(actions)}
    limits = {"metadata": {"name": "limits"}, "data": {"most": "2"}}
    return (
        ("/api/v1/namespaces/default/configmaps", limits),
        (_POLICY, {"metadata": {"name": "limited"}, "spec": {**_LIMITED, **more}}),
        (_BINDING, {"metadata": {"name": "bound"}, "spec": binding}),
    )


def _policed() -> tuple[Step, ...]:
    return (
        make("p1", "&dryRun=All", data={"bad": "1"}),
        make("p1", "&dryRun=All", data={"a": "1", "b": "1", "c": "1"}),
        make("x", "&dryRun=All"),
        make("y", "&dryRun=All"),
        make("fine", "&dryRun=All"),
    )


POLICIES: Final = (
    Case("a policy denies", (), (), _policed(), _policy("Deny")),
    Case("a policy warns", (), (), _policed(), _policy("Warn")),
    Case("a policy that ignores failures", (), (), _policed(), _policy("Deny", failurePolicy="Ignore")),
    Case("a policy without its parameters", (), (), _policed()[-1:], _policy("Deny", params="none")),
)


# What counts.

_SCRUBBED: Final = (
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "<uid>"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"), "<time>"),
    (re.compile(r"127\.0\.0\.1:\d+"), "127.0.0.1:<port>"),
    (re.compile(r'"resourceVersion": "\d+"'), '"resourceVersion": "<version>"'),
    (re.compile(r'"p-[a-z0-9]{5}"'), '"p-<drawn>"'),
)


def scrubbed(value: Any) -> Any:
    """A value without what each server draws for itself, and without the order of its keys."""
    text = json.dumps(value, sort_keys=True)
    for pattern, name in _SCRUBBED:
        text = pattern.sub(name, text)
    return json.loads(text)


def outcome(taker: Taker, case: Case) -> list[Any]:
    """What comes of the steps of a case."""
    taker.configure(case)
    outcomes: list[Any] = []
    for step in case.steps:
        status, warnings, body, calls = taker.take(step)
        validating = sorted(
            (call for call in calls if call[0].startswith("v")), key=lambda one: one[0]
        )  # those run side by side
        mutating = [call for call in calls if not call[0].startswith("v")]
        outcomes.append(
            {
                "step": f"{step.method} {step.target}",
                "status": status,
                "warnings": warnings,
                "body": scrubbed(body),
                "calls": scrubbed([[path, _shown(request)] for path, request in [*mutating, *validating]]),
            }
        )
    return outcomes


_BODIES: Final = ("Binding", "Scale", "TokenRequest")


def _shown(request: Json) -> Json:
    """A review without what is not of this comparison: what a kind's own admission has filled in."""
    fields = dict(request)
    if fields["kind"]["kind"] == "Pod":
        fields["object"] = fields["oldObject"] = None
    if fields["kind"]["kind"] in _BODIES:
        # A real server notes the managers of these as well, though they are never stored.
        for name in ("object", "oldObject"):
            body: Json = fields[name] or Json()
            metadata: Json = body.get("metadata") or Json()
            metadata.pop("managedFields", None)
    return fields
