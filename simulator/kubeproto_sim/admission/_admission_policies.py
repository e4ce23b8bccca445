"""ValidatingAdmissionPolicy: CEL expressions about a write, which bindings enable.

Requires the extra ``cel``. An expression that cannot be evaluated refuses the write, unless the
`failurePolicy` of its policy is Ignore.
https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec

from kubeproto.crd import Authorize, CannotEvaluate, CelFailure, evaluate_with
from kubeproto.objects import Selector

from .._rejections import Rejection, dotted, failure, status_details
from .._state import ServerState
from ..kinds._served_kinds import ServedKind
from ..storage._json_values import member, objects_in, quoted, strings_in
from ._webhook_configurations import (
    EXEMPT,
    GROUP,
    AdmittedWrite,
    ConditionFailed,
    WebhookConfigurations,
    admission_variables,
    conditions_hold,
)

_CODES: Final = {"Unauthorized": 401, "Forbidden": 403, "Invalid": 422, "RequestEntityTooLarge": 413}
Json = dict[str, Any]
_POLICIES: Final = f"validatingadmissionpolicies.{GROUP}"
_BINDINGS: Final = f"validatingadmissionpolicybindings.{GROUP}"


class Policies:
    """The policies of a cluster and their bindings, which are read again after a change."""

    def __init__(self, state: ServerState, configurations: WebhookConfigurations) -> None:
        self._state = state
        self._configurations = configurations
        self._state_key: tuple[object, ...] = ()
        self._bound_policies: list[tuple[Json, Json]] = []

    def bound(self) -> list[tuple[Json, Json]]:
        """Return each policy with each of its bindings."""
        bindings = self._state.storage.resource(_BINDINGS)
        if not bindings.objects:
            return []  # as in most clusters; each write calls this
        policies = self._state.storage.resource(_POLICIES)
        state_key = (self._state.storage, policies.end, bindings.end)
        if state_key != self._state_key:
            self._state_key = state_key
            decode = msgspec.json.decode
            decoded_bindings = [decode(bindings.objects[key].data) for key in bindings.sorted_keys()]
            self._bound_policies = [
                (policy, binding)
                for key in policies.sorted_keys()
                for policy in [decode(policies.objects[key].data)]
                for binding in decoded_bindings
                if binding["spec"].get("policyName") == policy["metadata"]["name"]
            ]
        return self._bound_policies

    def check(
        self, write: AdmittedWrite, request_for: Callable[[ServedKind], Json], authorize: Authorize,
        warnings: list[str],
    ) -> None:  # fmt: skip
        """Refuse a write that a policy denies; `request_for` returns its review in a version."""
        if write.served.full_name in EXEMPT:
            return
        for policy, binding in self.bound():
            version = self._version_for(policy["spec"], binding["spec"], write)
            if version is None:
                continue
            actions = strings_in(binding["spec"], "validationActions")
            names = f"ValidatingAdmissionPolicy '{policy['metadata']['name']}' with binding"
            names += f" '{binding['metadata']['name']}'"
            for reason, message in self._failures(
                policy["spec"], binding["spec"], request_for(version), authorize, write
            ):
                if "Warn" in actions:
                    warnings.append(f"Validation failed for {names}: {message}")
                if "Deny" in actions:
                    raise _denial(write, reason, f"{names} denied request: {message}")

    def _version_for(self, policy: Json, binding: Json, write: AdmittedWrite) -> ServedKind | None:
        for constraints in (member(policy, "matchConstraints"), member(binding, "matchResources")):
            excluded = objects_in(constraints, "excludeResourceRules")
            if excluded and self._configurations.version_for({"rules": excluded}, write) is not None:
                return None
        constraints = member(policy, "matchConstraints")
        version = self._configurations.version_for(
            {**constraints, "rules": objects_in(constraints, "resourceRules")}, write
        )
        match_resources = member(binding, "matchResources")
        if version is None or not match_resources:
            return version
        rules = objects_in(match_resources, "resourceRules") or objects_in(constraints, "resourceRules")
        return (
            version
            if self._configurations.version_for({**match_resources, "rules": rules}, write) is not None
            else None
        )

    def _failures(
        self, policy: Json, binding: Json, request: Json, authorize: Authorize, write: AdmittedWrite
    ) -> Iterator[tuple[str, str]]:
        """Yield the reason and the message of each validation that fails."""
        ignores = policy.get("failurePolicy") == "Ignore"
        try:
            params = self._params(policy, binding, write)
        except LookupError as error:
            if not ignores:
                yield "Invalid", f"failed to configure binding: {error}"
            return
        for parameter in params:
            variables = {
                **admission_variables(request),
                "params": parameter,
                "namespaceObject": self._namespace_object(write),
            }
            variables["variables"] = _variable_values(objects_in(policy, "variables"), variables, authorize)
            try:
                if not conditions_hold(objects_in(policy, "matchConditions"), request, authorize):
                    continue
            except ConditionFailed as error:
                if not ignores:
                    yield "Invalid", str(error)
                continue
            for validation in objects_in(policy, "validations"):
                if message := _failure_message(validation, variables, authorize, ignores=ignores):
                    yield validation.get("reason", "Invalid"), message

    def _params(self, policy: Json, binding: Json, write: AdmittedWrite) -> list[Any]:
        kind, ref = member(policy, "paramKind"), member(binding, "paramRef")
        if not kind or not ref:
            return [None]
        served = self._state.kinds.of_kind(kind["apiVersion"], kind["kind"])
        if served is None:
            resource = f"'{kind['apiVersion']}, Kind={kind['kind']}'"
            raise LookupError(f"failed to find resource referenced by paramKind: {resource}")
        params_namespace = (ref.get("namespace") or write.namespace) if served.namespaced else ""
        selector = Selector.from_object(ref.get("selector") or {})
        parameters = [
            msgspec.json.decode(served.encode_response(stored.data))
            for stored in served.storage.objects.values()
            if stored.namespace == params_namespace
            and (stored.name == ref["name"] if "name" in ref else selector.matches(stored.labels or {}))
        ]
        if not parameters and ref.get("parameterNotFoundAction", "Deny") == "Deny":
            raise LookupError("no params found for policy binding with `Deny` parameterNotFoundAction")
        return parameters

    def _namespace_object(self, write: AdmittedWrite) -> Any:
        stored = self._state.storage.resource("namespaces").objects.get(write.namespace)
        return None if stored is None else msgspec.json.decode(stored.data)


def _variable_values(definitions: list[Json], variables: Json, authorize: Authorize) -> Json:
    """Return the values of a policy's variables. A variable that failed is missing, so its uses fail, too."""
    values: Json = {}
    for definition in definitions:
        try:
            value = evaluate_with(definition["expression"], {**variables, "variables": values}, authorize)
        except CannotEvaluate:
            continue
        if not isinstance(value, CelFailure):
            values[definition["name"]] = value
    return values


def _failure_message(validation: Json, variables: Json, authorize: Authorize, *, ignores: bool) -> str:
    """Return the message of a failed validation; empty if it holds."""
    expression: str = validation["expression"].strip()
    try:
        result = evaluate_with(expression, variables, authorize)
        problem = f"resulted in error: {result.reason}" if isinstance(result, CelFailure) else ""
    except CannotEvaluate as error:
        result, problem = None, f"was not evaluated: {error}"
    if problem:
        return "" if ignores else f"expression '{expression}' {problem}"
    if result is True:
        return ""
    if computed := validation.get("messageExpression"):
        without_authorizer = {name: value for name, value in variables.items() if name != "authorizer"}
        try:
            text = evaluate_with(computed, without_authorizer)
        except CannotEvaluate:
            text = None
        if isinstance(text, str) and text.strip() and "\n" not in text.strip():
            return text.strip()
    return validation.get("message", "").strip() or f"failed expression: {expression}"


def _denial(write: AdmittedWrite, reason: str, message: str) -> Rejection:
    served = write.served
    text = f"{dotted(served.plural, served.group)} {quoted(write.name)} is forbidden: {message}"
    details = status_details(write.name, served.group, served.plural, [{"message": message}])
    return Rejection(failure(_CODES.get(reason, 422), text, details, reason=reason))
