"""Expressions about a write that ask the authorizer, with the values that a real Kubernetes 1.36 computes.

`tests/realserver/test_real_authorizer.py` asks a real server again. A policy
refuses the creation of a ConfigMap if the expression has the value.
"""

from __future__ import annotations

import json
from typing import Any, Final

import kubeproto as kp

POLICIES: Final = "admissionregistration.k8s.io/v1"
GROUP: Final = "rbac.authorization.k8s.io"
READ_PODS: Final = "authorizer.group('').resource('pods').namespace('default')"
ACCOUNT: Final = "authorizer.serviceAccount('default', 'reader')"

# An error of a function refuses the write.
BAD_ACCOUNT: Final = "authorizer.serviceAccount('Bad', 'reader').path('/').check('get').reason()"
BAD_ACCOUNT_ERROR: Final = "resulted in error: Invalid service account namespace"

# As the user of the group robots, who may create, and read pods with the name `mine` in one namespace.
VALUES: Final[dict[str, str]] = {
    "string(authorizer.requestResource.check('create').allowed())": "true",
    "string(authorizer.requestResource.check('delete').allowed())": "false",
    "authorizer.requestResource.check('create').reason()": (
        'RBAC: allowed by RoleBinding "robots/default" of Role "robots" to Group "robots"'
    ),
    "'[' + authorizer.requestResource.check('delete').reason() + ']'": "[]",
    "string(authorizer.requestResource.check('create').errored())": "false",
    "'[' + authorizer.requestResource.check('create').error() + ']'": "[]",
    f"string({READ_PODS}.check('get').allowed())": "false",
    f"string({READ_PODS}.name('mine').check('get').allowed())": "true",
    f"string({READ_PODS}.name('other').check('get').allowed())": "false",
    f"string({READ_PODS}.name('mine').subresource('log').check('get').allowed())": "false",
    f"string({READ_PODS}.subresource('status').name('mine').check('get').allowed())": "true",
    "string(authorizer.group('').resource('pods').name('mine').check('get').allowed())": "false",
    "string(authorizer.group('apps').resource('deployments').check('list').allowed())": "false",
    "string(authorizer.path('/healthz').check('get').allowed())": "true",
    "string(authorizer.path('/metrics').check('get').allowed())": "false",
    f"string({ACCOUNT}.group('').resource('secrets').namespace('default').check('list').allowed())": "true",
    f"string({ACCOUNT}.group('').resource('secrets').namespace('other').check('list').allowed())": "false",
    f"{ACCOUNT}.group('').resource('secrets').namespace('default').check('list').reason()": (
        'RBAC: allowed by RoleBinding "reader/default" of Role "reader" to ServiceAccount "reader/default"'
    ),
    f"string({READ_PODS}.fieldSelector('a=b').labelSelector('a=b').check('list').allowed())": "false",
}


def role(name: str, rules: list[dict[str, Any]], subject: dict[str, str]) -> list[dict[str, Any]]:
    """Return a role in the namespace default, and its binding."""
    metadata = {"name": name, "namespace": "default"}
    api = {"apiVersion": f"{GROUP}/v1"}
    ref = {"apiGroup": GROUP, "kind": "Role", "name": name}
    return [
        {**api, "kind": "Role", "metadata": metadata, "rules": rules},
        {**api, "kind": "RoleBinding", "metadata": metadata, "roleRef": ref, "subjects": [subject]},
    ]


ROLES: Final = [
    *role(
        "robots",
        [
            {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create"]},
            {
                "apiGroups": [""], "resources": ["pods", "pods/status"], "resourceNames": ["mine"],
                "verbs": ["get"],
            },
        ],
        {"apiGroup": GROUP, "kind": "Group", "name": "robots"},
    ),
    *role(
        "reader",
        [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["list"]}],
        {"kind": "ServiceAccount", "name": "reader", "namespace": "default"},
    ),
]  # fmt: skip


def policy(expression: str, value: str, message: str) -> list[dict[str, Any]]:
    """Return a policy that refuses each ConfigMap if an expression has a value, and its binding."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
    # Not as a `messageExpression`, which has no authorizer.
    validation = {"expression": f"({expression}) != variables.value", "message": message}
    spec = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [rule]},
        "matchConditions": [
            {"name": "asks", "expression": "!authorizer.path('/none').check('get').errored()"}
        ],
        "variables": [{"name": "value", "expression": json.dumps(value)}],
        "validations": [validation],
    }
    binding = {"policyName": "asks", "validationActions": ["Deny"]}
    kind = "ValidatingAdmissionPolicy"
    return [
        {"apiVersion": POLICIES, "kind": kind, "metadata": {"name": "asks"}, "spec": spec},
        {"apiVersion": POLICIES, "kind": f"{kind}Binding", "metadata": {"name": "asks"}, "spec": binding},
    ]


async def refusal_of(api: Any) -> str:
    """Return the message with which the creation of a ConfigMap is refused; empty if it is accepted."""
    config = kp.decode(
        b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"default"}}', kp.Dynamic
    )
    try:
        await api.create(config, dry_run=True)
    except kp.ApiError as error:
        return str(error.status.message).partition("denied request: ")[2]
    return ""
