"""Webhook configurations: the webhooks of a cluster, and the webhooks that a write must pass."""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec
from msgspec import Struct

from kubeproto.crd import Authorize, CannotEvaluate, CelFailure, authorizer_value, evaluate_with
from kubeproto.objects import Selector

from .._state import ServerState
from ..kinds._served_kinds import ServedKind
from ..storage._json_values import member, objects_in, strings_in

Phase = Literal["mutating", "validating"]
GROUP: Final = "admissionregistration.k8s.io"
_CONFIGURATIONS: Final[dict[Phase, str]] = {
    "mutating": f"mutatingwebhookconfigurations.{GROUP}",
    "validating": f"validatingwebhookconfigurations.{GROUP}",
}
# A broken webhook must not prevent anybody from repairing its configuration.
EXEMPT: Final = frozenset(
    f"{plural}.{GROUP}"
    for plural in (
        "mutatingwebhookconfigurations", "validatingwebhookconfigurations", "validatingadmissionpolicies",
        "validatingadmissionpolicybindings", "mutatingadmissionpolicies", "mutatingadmissionpolicybindings",
    )
)  # fmt: skip
Json = dict[str, Any]


class Webhook(Struct, frozen=True):
    """A webhook; `spec` is its entry in the configuration."""

    key: str
    spec: Json

    @property
    def name(self) -> str:
        """The name of the webhook in errors."""
        name: str = self.spec["name"]
        return name

    @property
    def ignores_failures(self) -> bool:
        """Whether a write continues when the webhook cannot be called."""
        return self.spec.get("failurePolicy") == "Ignore"

    @property
    def timeout(self) -> int:
        """The timeout of a call, in seconds."""
        seconds: int = self.spec.get("timeoutSeconds", 10)
        return seconds


class AdmittedWrite(Struct, frozen=True, kw_only=True):
    """A write for admission: its resource, the operation, and the object before and after."""

    served: ServedKind
    operation: str
    name: str
    namespace: str
    subresource: str = ""
    obj: Json | None
    old: Json | None
    dry_run: bool = False
    options: Json | None
    kind: Json | None = None  # that of the body, if a subresource has a body of another kind


class WebhookConfigurations:
    """The webhooks of the configurations, which are read again after a change."""

    def __init__(self, state: ServerState) -> None:
        self.state = state
        self._state_keys: dict[Phase, tuple[object, int]] = {}
        self._hooks: dict[Phase, list[Webhook]] = {}

    def webhooks(self, phase: Phase) -> list[Webhook]:
        """Return the webhooks of a phase in the order of their calls: by configuration, then as listed."""
        storage = self.state.storage.resource(_CONFIGURATIONS[phase])
        if not storage.objects:
            return []  # as in most clusters; each write calls this several times
        state_key = (self.state.storage, storage.end)
        if self._state_keys.get(phase) != state_key:
            self._state_keys[phase] = state_key
            self._hooks[phase] = [
                Webhook(f"{name}/{number}", spec)
                for name in storage.sorted_keys()
                for number, spec in enumerate(
                    objects_in(msgspec.json.decode(storage.objects[name].data), "webhooks")
                )
            ]
        return self._hooks[phase]

    def matching_version(self, hook: Webhook, write: AdmittedWrite) -> ServedKind | None:
        """Return the version in which a webhook receives a write; None if it does not match."""
        return None if write.served.full_name in EXEMPT else self.version_for(hook.spec, write)

    def version_for(self, spec: Json, write: AdmittedWrite) -> ServedKind | None:
        """Return the version in which a webhook or policy receives a write; None if it does not match."""
        served = self._matching(objects_in(spec, "rules"), spec.get("matchPolicy", "Equivalent"), write)
        if served is None or not self.in_namespaces(member(spec, "namespaceSelector"), write):
            return None
        return served if selects(member(spec, "objectSelector"), write) else None

    def _matching(self, rules: list[Json], policy: str, write: AdmittedWrite) -> ServedKind | None:
        served = write.served
        if any(_fits(rule, served, write) for rule in rules):
            return served
        if policy == "Equivalent":
            for other in self.state.kinds:
                same = other.storage is served.storage and other is not served
                if same and any(_fits(rule, other, write) for rule in rules):
                    return other
        return None

    def in_namespaces(self, selector: Json, write: AdmittedWrite) -> bool:
        """Return whether the namespace of a write is selected; cluster-scoped objects always are."""
        parsed = Selector.from_object(selector)
        if not parsed:
            return True
        if write.served.full_name == "namespaces":
            obj = write.obj if write.obj is not None else write.old
            return parsed.matches(member(member(obj or {}, "metadata"), "labels"))
        if not write.namespace:
            return True
        stored = self.state.storage.resource("namespaces").objects.get(write.namespace)
        return stored is not None and parsed.matches(stored.labels or {})


def selects(selector: Json, write: AdmittedWrite) -> bool:
    """Return whether a selector matches the object before or after the write."""
    parsed = Selector.from_object(selector)
    return not parsed or any(
        parsed.matches(member(member(obj, "metadata"), "labels"))
        for obj in (write.obj, write.old)
        if obj is not None
    )


def _fits(rule: Json, served: ServedKind, write: AdmittedWrite) -> bool:
    """Return whether a rule matches this resource, in this version, and the operation."""
    scope = rule.get("scope", "*")
    namespaced = served.namespaced
    return (
        _contains(rule, "operations", write.operation)
        and _contains(rule, "apiGroups", served.group)
        and _contains(rule, "apiVersions", served.version)
        and (scope == "*" or (scope == "Namespaced") == namespaced)
        and any(
            _names(resource, served.plural, write.subresource) for resource in strings_in(rule, "resources")
        )
        and (not (names := strings_in(rule, "resourceNames")) or write.name in names)
    )


def _contains(rule: Json, field: str, value: str) -> bool:
    values = strings_in(rule, field)
    return "*" in values or value in values


def _names(resource: str, plural: str, subresource: str) -> bool:
    rule_plural, slash, rule_subresource = resource.partition("/")
    if rule_plural not in ("*", plural):
        return False
    return (not subresource) if not slash else rule_subresource in ("*", subresource)


class ConditionFailed(Exception):
    """A match condition could not be evaluated."""


def conditions_hold(conditions: list[Json], request: Json, authorize: Authorize) -> bool:
    """Return whether all conditions hold.

    A false condition takes precedence over a condition that cannot be evaluated.
    """
    variables = admission_variables(request)
    errors: list[str] = []
    for condition in conditions:
        expression: str = condition["expression"]
        try:
            result = evaluate_with(expression, variables, authorize)
        except CannotEvaluate as error:
            errors.append(f"expression '{expression}' was not evaluated: {error}")
            continue
        if isinstance(result, CelFailure):
            errors.append(f"expression '{expression}' resulted in error: {result.reason}")
        elif result is not True:
            return False
    if errors:
        raise ConditionFailed(errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]")
    return True


def admission_variables(request: Json) -> Json:
    """Return the variables of expressions about a write."""
    request_variables = {
        name: value for name, value in request.items() if name not in ("object", "oldObject")
    }
    resource = request["resource"]
    attributes = {
        "group": resource["group"],
        "resource": resource["resource"],
        "subresource": request.get("subResource", ""),
        "namespace": request.get("namespace", ""),
        "name": request.get("name", ""),
    }
    return {
        "object": request["object"],
        "oldObject": request["oldObject"],
        "request": request_variables,
        "authorizer": authorizer_value(attributes),
    }
