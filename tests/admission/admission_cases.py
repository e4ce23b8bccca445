"""Webhook configurations and writes, and the calls of webhooks and responses of a server.

The same steps run against a real server, whose webhooks are served on this machine (``make admission``,
``make real``), and against the simulated server, whose webhooks are Python functions.
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
# The answer of a webhook to a review: a response, a status and a body, or the name of a failure.
Answer = Json | tuple[int, bytes] | str
Behaviour = Callable[[Json], Answer]


class Step(Struct, frozen=True):
    """A request, and the behaviour of webhooks by path during the request; others allow everything."""

    method: str
    target: str
    body: Any = None
    media: str = "application/json"
    webhooks: Mapping[str, Behaviour] = {}


class Case(Struct, frozen=True):
    """Webhook configurations, and steps with these configurations."""

    name: str
    mutating: tuple[Json, ...]
    validating: tuple[Json, ...]
    steps: tuple[Step, ...]
    objects: tuple[tuple[str, Json], ...] = ()  # created before the steps, deleted after them


class WebhookCaller(Protocol):
    """A server with webhooks: performs a step, and returns the status, warnings, body and calls."""

    def configure(self, case: Case) -> None: ...

    def perform(self, step: Step) -> tuple[int, list[str], Any, list[tuple[str, Json]]]: ...


# Behaviours of webhooks.


def patch(*operations: Json) -> Json:
    data = base64.b64encode(json.dumps(operations).encode()).decode()
    return {"allowed": True, "patchType": "JSONPatch", "patch": data}


def add_key(key: str, value: str = "x") -> Behaviour:
    """Add a key to the data of a ConfigMap without that key."""

    def behave(request: Json) -> Answer:
        if request["object"] is None or key in request["object"].get("data", {}):
            return {"allowed": True}
        return patch({"op": "add", "path": f"/data/{key}", "value": value})

    return behave


def always_answer(answer: Answer) -> Behaviour:
    return lambda _: answer


def deny(**status: Any) -> Behaviour:
    return always_answer({"allowed": False, "status": status} if status else {"allowed": False})


# Configurations and steps.


def webhook_configuration(path: str, *resources: str, **more: Any) -> Json:
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


def create_config_map(
    name: str, query: str = "", *, data: Json | None = None, labels: Json | None = None, **webhooks: Behaviour
) -> Step:
    meta = {"name": name} | ({"labels": labels} if labels else {})
    body = {"metadata": meta, "data": {"a": "1"} if data is None else data}
    return Step("POST", f"{MAPS}?fieldManager=me{query}", body, webhooks=webhooks)


def try_to_create(**webhooks: Behaviour) -> Step:
    return create_config_map("tried", "&dryRun=All", data=None, labels=None, **webhooks)


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
        (webhook_configuration("m1"), webhook_configuration("m2", reinvocationPolicy="IfNeeded")),
        (webhook_configuration("v1"), webhook_configuration("v2")),
        (
            create_config_map(
                "one", m1=add_key("m"), m2=always_answer({"allowed": True, "warnings": ['w "2"']})
            ),
            Step("PATCH", f"{MAPS}/one?fieldValidation=Strict", {"data": {"b": "1"}}, MERGE),
            Step(
                "PUT",
                f"{MAPS}/one",
                {"metadata": {"name": "one"}, "data": {"c": "1"}},
                webhooks={"m1": add_key("m")},
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
                {"m1": add_key("n")},
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
                {"m1": add_key("n")},
            ),
            Step(
                "DELETE",
                f"{MAPS}/one",
                webhooks={"m1": always_answer(patch({"op": "add", "path": "/data/x", "value": "1"}))},
            ),
            Step(
                "DELETE",
                f"{MAPS}/one",
                webhooks={"v1": deny(message="stays", code=403, reason="Forbidden")},
            ),
            Step("DELETE", f"{MAPS}/one?gracePeriodSeconds=0"),
            Step("DELETE", f"{MAPS}/one"),
            create_config_map("two", v1=deny(message="never asked twice")),
            create_config_map("two"),
        ),
    ),
    Case(
        "reinvocation",
        (
            webhook_configuration("a", reinvocationPolicy="IfNeeded"),
            webhook_configuration("b", reinvocationPolicy="Never"),
            webhook_configuration("c", reinvocationPolicy="IfNeeded"),
        ),
        (),
        (
            create_config_map("r1"),
            create_config_map("r2", a=add_key("a")),
            create_config_map("r3", b=add_key("b")),
            create_config_map("r4", c=add_key("c")),
            create_config_map("r5", a=add_key("a"), b=add_key("b"), c=add_key("c")),
            create_config_map(
                "r6",
                b=add_key("b"),
                a=always_answer(patch({"op": "add", "path": "/data/again", "value": "1"})),
            ),
        ),
    ),
    Case(
        "denials",
        (webhook_configuration("m1"),),
        (webhook_configuration("v1"),),
        (
            try_to_create(v1=deny()),
            try_to_create(
                v1=deny(message="no", code=418, reason="Teapot", details={"causes": [{"message": "m"}]})
            ),
            try_to_create(v1=deny(reason="Because", code=200, status="Success")),
            try_to_create(v1=deny(message="no", code=302)),
            try_to_create(m1=deny(message="at once", code=403)),
            try_to_create(m1=deny(code=404)),
            try_to_create(
                m1=always_answer({"allowed": True, "warnings": ["from m"]}),
                v1=always_answer({"allowed": False, "warnings": ["from v"]}),
            ),
            try_to_create(v1=always_answer(patch({"op": "add", "path": "/data/x", "value": "1"}))),
        ),
    ),
    Case(
        "broken webhooks that must be asked",
        (),
        (webhook_configuration("v1"),),
        tuple(try_to_create(v1=always_answer(answer)) for answer in _BROKEN),
    ),
    Case(
        "broken webhooks that need not be asked",
        (webhook_configuration("m1", failurePolicy="Ignore"),),
        (webhook_configuration("v1", failurePolicy="Ignore"),),
        (
            *(try_to_create(v1=always_answer(answer)) for answer in _BROKEN[::3]),
            try_to_create(m1=always_answer((500, b"x"))),
            try_to_create(m1=always_answer({"allowed": False})),
        ),
    ),
    Case(
        "patches",
        (webhook_configuration("m1"),),
        (),
        tuple(try_to_create(m1=always_answer(answer)) for answer in _PATCHES),
    ),
    Case(
        "dry run",
        (webhook_configuration("m1", sideEffects="NoneOnDryRun"),),
        (webhook_configuration("v1", sideEffects="None"),),
        (try_to_create(), try_to_create(m1=add_key("m"))),
    ),
    Case(
        "selectors",
        (),
        (
            webhook_configuration("v1", objectSelector={"matchLabels": {"app": "x"}}),
            webhook_configuration(
                "v2", namespaceSelector={"matchLabels": {"kubernetes.io/metadata.name": "other"}}
            ),
            webhook_configuration(
                "v3", objectSelector={"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}
            ),
        ),
        (
            create_config_map("s1", labels={"app": "x"}),
            create_config_map("s2"),
            create_config_map("s3", labels={"app": "y"}),
            Step("PATCH", f"{MAPS}/s2", {"metadata": {"labels": {"app": "x"}}}, MERGE),
            Step("PATCH", f"{MAPS}/s1", {"metadata": {"labels": {"app": None}}}, MERGE),
        ),
    ),
    Case(
        "match conditions",
        (webhook_configuration("m1", matchConditions=[{"name": "seen", "expression": _SEES}]),),
        (
            webhook_configuration(
                "v1", matchConditions=[{"name": "a", "expression": "object.metadata.labels.foo == 'a'"}]
            ),
            webhook_configuration(
                "v2",
                failurePolicy="Ignore",
                matchConditions=[{"name": "a", "expression": "object.metadata.labels.foo == 'a'"}],
            ),
            webhook_configuration(
                "v3",
                matchConditions=[
                    {"name": "a", "expression": "request.operation == 'CREATE'"},
                    {"name": "b", "expression": "request.userInfo.username == 'admin' && request.dryRun"},
                ],
            ),
        ),
        (
            create_config_map("seen", labels={"foo": "a"}),
            create_config_map("unseen", labels={"foo": "b"}),
            try_to_create(),
            create_config_map("dry", "&dryRun=All", labels={"foo": "a"}),
        ),
    ),
    Case(
        "versions of a kind",
        (
            webhook_configuration(
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
            webhook_configuration(
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
                webhooks={
                    "m1": always_answer(patch({"op": "replace", "path": "/spec/maxReplicas", "value": 7}))
                },
            ),
        ),
    ),
    Case(
        "subresources and operations",
        (),
        (
            webhook_configuration("v1", "pods/status"),
            webhook_configuration("v2", "pods/*"),
            webhook_configuration("v3", "*/*"),
            webhook_configuration(
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
            webhook_configuration(
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


# Policies instead of webhooks.

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


def _policy_steps() -> tuple[Step, ...]:
    return (
        create_config_map("p1", "&dryRun=All", data={"bad": "1"}),
        create_config_map("p1", "&dryRun=All", data={"a": "1", "b": "1", "c": "1"}),
        create_config_map("x", "&dryRun=All"),
        create_config_map("y", "&dryRun=All"),
        create_config_map("fine", "&dryRun=All"),
    )


POLICIES: Final = (
    Case("a policy denies", (), (), _policy_steps(), _policy("Deny")),
    Case("a policy warns", (), (), _policy_steps(), _policy("Warn")),
    Case("a policy that ignores failures", (), (), _policy_steps(), _policy("Deny", failurePolicy="Ignore")),
    Case("a policy without its parameters", (), (), _policy_steps()[-1:], _policy("Deny", params="none")),
)


# Comparable outcomes.

_RANDOM_PARTS: Final = (
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "<uid>"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"), "<time>"),
    (re.compile(r"127\.0\.0\.1:\d+"), "127.0.0.1:<port>"),
    (re.compile(r'"resourceVersion": "\d+"'), '"resourceVersion": "<version>"'),
    (re.compile(r'"p-[a-z0-9]{5}"'), '"p-<drawn>"'),
)


def replace_random_parts(value: Any) -> Any:
    """Replace the parts of a value that each server generates, and sort the keys."""
    text = json.dumps(value, sort_keys=True)
    for pattern, name in _RANDOM_PARTS:
        text = pattern.sub(name, text)
    return json.loads(text)


def run_case(caller: WebhookCaller, case: Case) -> list[Any]:
    """Perform the steps of a case, and return their outcomes."""
    caller.configure(case)
    outcomes: list[Any] = []
    for step in case.steps:
        status, warnings, body, calls = caller.perform(step)
        validating = sorted(
            (call for call in calls if call[0].startswith("v")), key=lambda call: call[0]
        )  # validating webhooks are called in parallel
        mutating = [call for call in calls if not call[0].startswith("v")]
        outcomes.append(
            {
                "step": f"{step.method} {step.target}",
                "status": status,
                "warnings": warnings,
                "body": replace_random_parts(body),
                "calls": replace_random_parts(
                    [[path, _comparable_review(request)] for path, request in [*mutating, *validating]]
                ),
            }
        )
    return outcomes


_BODIES: Final = ("Binding", "Scale", "TokenRequest")


def _comparable_review(request: Json) -> Json:
    """Remove the parts of a review that differ for other reasons, such as built-in defaults."""
    fields = dict(request)
    if fields["kind"]["kind"] == "Pod":
        fields["object"] = fields["oldObject"] = None
    if fields["kind"]["kind"] in _BODIES:
        # A real server sets managedFields in these objects too, which are never stored.
        for name in ("object", "oldObject"):
            body: Json = fields[name] or Json()
            metadata: Json = body.get("metadata") or Json()
            metadata.pop("managedFields", None)
    return fields
