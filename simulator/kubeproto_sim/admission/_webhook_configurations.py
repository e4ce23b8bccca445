"""Webhook configurations: which webhooks there are, and which of them are called for a write."""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec
from msgspec import Struct

from kubeproto.crd import CannotEvaluate, CelFailure, evaluate_with
from kubeproto.objects import Selector

from .._state import ServerState
from ..kinds._kinds import Served
from ..storage._json_values import listed, member, texts

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
    """One webhook of one configuration; `spec` is as the configuration has it."""

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
        """Its timeout, in seconds."""
        seconds: int = self.spec.get("timeoutSeconds", 10)
        return seconds


class AdmittedWrite(Struct, frozen=True, kw_only=True):
    """What is to be admitted: a resource, the operation, and the object before and after."""

    served: Served
    operation: str
    name: str
    namespace: str
    subresource: str = ""
    obj: Json | None
    old: Json | None
    dry_run: bool = False
    options: Json | None
    kind: Json | None = None  # of the body of a subresource, which is not an object of the resource


class HookReader:
    """Reads the webhooks from the configurations, again whenever one has changed."""

    def __init__(self, state: ServerState) -> None:
        self.state = state
        self._seen: dict[Phase, tuple[object, int]] = {}
        self._hooks: dict[Phase, list[Webhook]] = {}

    def hooks(self, phase: Phase) -> list[Webhook]:
        """Return the webhooks of a phase in the order of their calls: by configuration, then as listed."""
        storage = self.state.storage.resource(_CONFIGURATIONS[phase])
        if not storage.objects:
            return []  # as in most clusters: each write asks several times
        seen = (self.state.storage, storage.end)
        if self._seen.get(phase) != seen:
            self._seen[phase] = seen
            self._hooks[phase] = [
                Webhook(f"{name}/{number}", spec)
                for name in storage.in_order()
                for number, spec in enumerate(
                    listed(msgspec.json.decode(storage.objects[name].data), "webhooks")
                )
            ]
        return self._hooks[phase]

    def concerned_version(self, hook: Webhook, write: AdmittedWrite) -> Served | None:
        """Return the version in which a webhook sees a write; None if its rules and selectors exclude it."""
        return None if write.served.full_name in EXEMPT else self.version_for(hook.spec, write)

    def version_for(self, spec: Json, write: AdmittedWrite) -> Served | None:
        """Return the version in which a webhook or policy sees a write; None if it does not apply."""
        served = self._matching(listed(spec, "rules"), spec.get("matchPolicy", "Equivalent"), write)
        if served is None or not self.in_namespaces(member(spec, "namespaceSelector"), write):
            return None
        return served if selects(member(spec, "objectSelector"), write) else None

    def _matching(self, rules: list[Json], policy: str, write: AdmittedWrite) -> Served | None:
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
        chosen = Selector.from_object(selector)
        if not chosen:
            return True
        if write.served.full_name == "namespaces":
            shown = write.obj if write.obj is not None else write.old
            return chosen.matches(member(member(shown or {}, "metadata"), "labels"))
        if not write.namespace:
            return True
        stored = self.state.storage.resource("namespaces").objects.get(write.namespace)
        return stored is not None and chosen.matches(stored.labels or {})


def selects(selector: Json, write: AdmittedWrite) -> bool:
    """Return whether the labels of the object are selected, before or after the write."""
    chosen = Selector.from_object(selector)
    return not chosen or any(
        chosen.matches(member(member(one, "metadata"), "labels"))
        for one in (write.obj, write.old)
        if one is not None
    )


def _fits(rule: Json, served: Served, write: AdmittedWrite) -> bool:
    """Return whether a rule matches this resource, in this version, and the operation."""
    scope = rule.get("scope", "*")
    namespaced = served.namespaced
    return (
        _holds(rule, "operations", write.operation)
        and _holds(rule, "apiGroups", served.group)
        and _holds(rule, "apiVersions", served.version)
        and (scope == "*" or (scope == "Namespaced") == namespaced)
        and any(_names(one, served.plural, write.subresource) for one in texts(rule, "resources"))
        and (not (names := texts(rule, "resourceNames")) or write.name in names)
    )


def _holds(rule: Json, field: str, value: str) -> bool:
    offered = texts(rule, field)
    return "*" in offered or value in offered


def _names(resource: str, plural: str, subresource: str) -> bool:
    wanted, slash, below = resource.partition("/")
    if wanted not in ("*", plural):
        return False
    return (not subresource) if not slash else below in ("*", subresource)


class ConditionFailed(Exception):
    """A condition could not be evaluated."""


def conditions_hold(conditions: list[Json], request: Json) -> bool:
    """Return whether all conditions hold. One that does not counts more than one that fails."""
    variables = admission_variables(request)
    errors: list[str] = []
    for condition in conditions:
        expression: str = condition["expression"]
        try:
            result = evaluate_with(expression, variables)
        except CannotEvaluate as error:
            errors.append(f"expression '{expression}' was not evaluated: {error}")
            continue
        if isinstance(result, CelFailure):
            errors.append(f"expression '{expression}' resulted in error: {result.why}")
        elif result is not True:
            return False
    if errors:
        raise ConditionFailed(errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]")
    return True


def admission_variables(request: Json) -> Json:
    """Return the names that expressions about a write may use."""
    about = {name: value for name, value in request.items() if name not in ("object", "oldObject")}
    return {"object": request["object"], "oldObject": request["oldObject"], "request": about}
