"""The rules of Jobs: completions, policies, and immutable fields."""

from __future__ import annotations

import re
from typing import Any, Final

from kubeproto.crd import Violation
from kubeproto.objects import dns_label_errors, json_equal

from ..storage._json_values import go_list, member, objects_in, quoted
from ._rule_violations import Json, Violations, duplicate, invalid, required, unsupported

_ACTIONS: Final = ("Count", "FailIndex", "FailJob", "Ignore")
_OPERATORS: Final = ("In", "NotIn")
_MAX_RULES: Final = 20
_MAX_PARALLELISM: Final = 100_000  # of an Indexed Job
_NOT_NEGATIVE: Final = "must be greater than or equal to 0"
_FIXED: Final = "field is immutable"
_FIXED_FIELDS: Final = (
    "completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy",
)  # fmt: skip
_PAIR: Final = 2
_INDEX: Final = re.compile(r"\d+")
_UID: Final = "batch.kubernetes.io/controller-uid"
# Fields of the template that a suspended Job without pods may change, besides resources and node affinity.
_SCHEDULING: Final = ("nodeSelector", "tolerations", "schedulingGates")


def check_job(obj: Json) -> Violations:
    """Check a Job."""
    spec = member(obj, "spec")
    if spec.get("manualSelector") and spec.get("selector") is None:
        yield required("spec.selector")
    labels = member(member(spec, "selector"), "matchLabels")
    if not spec.get("manualSelector") and labels.keys() - {_UID}:
        yield invalid("spec.selector", spec["selector"], "`selector` not auto-generated")
    yield from check_job_spec(spec, "spec")
    count = spec.get("completions")
    if spec.get("completionMode") == "Indexed" and count:
        last = f"{obj['metadata'].get('name', '')}-{count - 1}"
        if dns_label_errors(last):
            text = f"will not able to create pod with invalid DNS label: {last}"
            yield invalid("metadata.name", obj["metadata"].get("name", ""), text)


def check_job_spec(spec: Json, path: str) -> Violations:
    """Check the spec of a Job or of the Jobs of a CronJob."""
    yield from _completions(spec, path)
    if "podFailurePolicy" in spec:
        yield from _failure_policy(spec, f"{path}.podFailurePolicy.rules")
    if "successPolicy" in spec:
        if spec.get("completionMode") == "Indexed":
            yield from _success_policy(spec, f"{path}.successPolicy.rules")
        else:
            yield invalid(f"{path}.successPolicy", spec["successPolicy"], "requires indexed completion mode")
    replacement = spec.get("podReplacementPolicy")
    if "podFailurePolicy" in spec and replacement == "TerminatingOrFailed":
        yield unsupported(f"{path}.podReplacementPolicy", replacement, ("Failed",))
    policy = member(member(spec, "template"), "spec").get("restartPolicy")
    if "podFailurePolicy" in spec and policy == "OnFailure":
        text = 'only "Never" is supported when podFailurePolicy is specified'
        yield invalid(f"{path}.template.spec.restartPolicy", policy, text)


def _completions(spec: Json, path: str) -> Violations:
    count, failed = spec.get("completions"), spec.get("maxFailedIndexes")
    for name in ("backoffLimitPerIndex", "maxFailedIndexes"):
        if (value := spec.get(name)) is not None and value < 0:
            yield invalid(f"{path}.{name}", value, _NOT_NEGATIVE)
    if failed is not None and spec.get("backoffLimitPerIndex") is None:
        yield required(f"{path}.backoffLimitPerIndex", "when maxFailedIndexes is specified")
    if spec.get("completionMode") == "Indexed":
        if count is None:
            yield required(f"{path}.completions", "when completion mode is Indexed")
        if (parallel := spec.get("parallelism")) is not None and parallel > _MAX_PARALLELISM:
            text = f"must be less than or equal to {_MAX_PARALLELISM} when completion mode is Indexed"
            yield invalid(f"{path}.parallelism", parallel, text)
        if count is not None and failed is not None and failed > count:
            yield invalid(f"{path}.maxFailedIndexes", failed, "must be less than or equal to completions")
        return
    for name in ("backoffLimitPerIndex", "maxFailedIndexes"):
        if (value := spec.get(name)) is not None:
            yield invalid(f"{path}.{name}", value, "requires indexed completion mode")


def _failure_policy(spec: Json, path: str) -> Violations:
    rules = objects_in(member(spec, "podFailurePolicy"), "rules")
    if len(rules) > _MAX_RULES:
        yield _too_many(path, len(rules))
    pod = member(member(spec, "template"), "spec")
    names = {
        container.get("name")
        for field in ("containers", "initContainers")
        for container in objects_in(pod, field)
    }
    for index, rule in enumerate(rules):
        rule_path, action = f"{path}[{index}]", rule.get("action")
        if action == "FailIndex" and spec.get("backoffLimitPerIndex") is None:
            yield invalid(f"{rule_path}.action", action, "requires the backoffLimitPerIndex to be set")
        elif not action:
            yield required(f"{rule_path}.action", f"valid values: {go_list(_ACTIONS)}")
        elif action not in _ACTIONS:
            yield unsupported(f"{rule_path}.action", action, _ACTIONS)
        codes, conditions = rule.get("onExitCodes"), objects_in(rule, "onPodConditions")
        if codes is not None:
            yield from _exit_codes(codes, f"{rule_path}.onExitCodes", names)
        yield from _conditions(conditions, f"{rule_path}.onPodConditions")
        if (codes is not None) == bool(conditions):
            quantifier, verb = ("both", "not supported") if conditions else ("one of", "required")
            text = f"specifying {quantifier} OnExitCodes and OnPodConditions is {verb}"
            yield Violation("FieldValueInvalid", rule_path, detail=text)


def _exit_codes(codes: Json, path: str, names: set[Any]) -> Violations:
    operator = codes.get("operator")
    values: list[int] = codes.get("values") or []
    if not operator:
        yield required(f"{path}.operator", f"valid values: {go_list(_OPERATORS)}")
    elif operator not in _OPERATORS:
        yield unsupported(f"{path}.operator", operator, _OPERATORS)
    if (name := codes.get("containerName")) is not None and name not in names:
        text = "must be one of the container or initContainer names in the pod template"
        yield invalid(f"{path}.containerName", name, text)
    if not values:
        yield invalid(f"{path}.values", values, "at least one value is required")
    for index, value in enumerate(values):
        if operator == "In" and value == 0:
            yield invalid(f"{path}.values[{index}]", value, "must not be 0 for the In operator")
        if value in values[:index]:
            yield duplicate(f"{path}.values[{index}]", value)
    if sorted(values) != values:
        yield invalid(f"{path}.values", values, "must be ordered")


def _conditions(patterns: list[Json], path: str) -> Violations:
    if len(patterns) > _MAX_RULES:
        yield _too_many(path, len(patterns))
    for index, pattern in enumerate(patterns):
        status = pattern.get("status")
        if status not in (None, "", "True", "False", "Unknown"):
            yield unsupported(f"{path}[{index}].status", status, ("False", "True", "Unknown"))


def _success_policy(spec: Json, path: str) -> Violations:
    rules, completions = objects_in(member(spec, "successPolicy"), "rules"), spec.get("completions") or 0
    if not rules:
        yield required(path, "at least one rules must be specified when the successPolicy is specified")
    if len(rules) > _MAX_RULES:
        yield _too_many(path, len(rules))
    for index, rule in enumerate(rules):
        rule_path = f"{path}[{index}]"
        count, indexes = rule.get("succeededCount"), rule.get("succeededIndexes")
        if count is None and indexes is None:
            text = "at least one of succeededCount or succeededIndexes must be specified"
            yield required(rule_path, text)
        total = 0
        if indexes is not None:
            try:
                total = _count_indexes(indexes, completions)
            except ValueError as error:
                text = f"error parsing succeededIndexes: {error}"
                yield invalid(f"{rule_path}.succeededIndexes", indexes, text)
        if count is None:
            continue
        if count < 0:
            yield invalid(f"{rule_path}.succeededCount", count, _NOT_NEGATIVE)
        for maximum, maximum_name in ((completions, "specified completions"), (total, _SPECIFIED)):
            if count > maximum and (maximum_name != _SPECIFIED or indexes is not None):
                text = f"must be less than or equal to {maximum} (the number of {maximum_name})"
                yield invalid(f"{rule_path}.succeededCount", count, text)


_SPECIFIED: Final = "indexes in the specified succeededIndexes field"


def _count_indexes(text: str, completions: int) -> int:
    """Return the number of indexes in a text; raise ValueError with the message of a server."""
    total, last = 0, -1
    for part in text.split(",") if text else ():
        bounds = part.split("-")
        if len(bounds) > _PAIR:
            requirement = "an index interval can have at most two parts separated by '-'"
            raise ValueError(f"the fragment {quoted(part)} violates the requirement that {requirement}")
        first, end = (_index(bound, completions) for bound in (bounds[0], bounds[-1]))
        if len(bounds) == _PAIR and first >= end:
            raise ValueError(f"non-increasing order, previous: {first}, current: {end}")
        if first <= last:
            raise ValueError(f"non-increasing order, previous: {last}, current: {first}")
        total, last = total + end - first + 1, end
    return total


def _index(text: str, completions: int) -> int:
    if _INDEX.fullmatch(text) is None:
        raise ValueError(f"cannot convert string to integer for index: {quoted(text)}")
    if int(text) >= completions:
        raise ValueError(f"too large index: {quoted(text)}")
    return int(text)


def _too_many(path: str, count: int) -> Violation:
    return Violation("FieldValueTooMany", path, count, f"must have at most {_MAX_RULES} items")


def check_immutable(previous: Json, obj: Json) -> Violations:
    """Check the immutable fields of a Job."""
    old, new = member(previous, "spec"), member(obj, "spec")
    count = new.get("completions")
    if new.get("completionMode") != "Indexed":
        yield from _same("completions", old, new)
    elif count is not None and count not in (old.get("completions"), new.get("parallelism")):
        yield invalid("spec.completions", count, "can only be modified in tandem with spec.parallelism")
    yield from _same("selector", old, new)
    if not json_equal(*(_immutable_template(spec, previous) for spec in (old, new))):
        field = "spec.template.spec" if _has_mutable_template(previous) else "spec.template"
        yield invalid(field, new.get("template"), _FIXED)
    for name in _FIXED_FIELDS:
        yield from _same(name, old, new)


def _same(name: str, old: Json, new: Json) -> Violations:
    if not json_equal(old.get(name), new.get(name)):
        yield invalid(f"spec.{name}", new.get(name), _FIXED)


def _has_mutable_template(job: Json) -> bool:
    """Return whether a Job is suspended and has no pods: then its template may still change."""
    status = member(job, "status")
    is_suspended = any(
        condition.get("type") == "Suspended" and condition.get("status") == "True"
        for condition in objects_in(status, "conditions")
    )
    is_new = "startTime" not in status
    return bool(member(job, "spec").get("suspend")) and (is_new or is_suspended) and not status.get("active")


def _immutable_template(spec: Json, previous: Json) -> Json:
    """Return the immutable part of a template."""
    template = member(spec, "template")
    if not _has_mutable_template(previous):
        return template
    pod = {name: value for name, value in member(template, "spec").items() if name not in _SCHEDULING}
    affinity = {
        name: container for name, container in member(pod, "affinity").items() if name != "nodeAffinity"
    }
    pod.pop("affinity", None)
    for field in ("containers", "initContainers"):
        pod[field] = [
            {name: value for name, value in container.items() if name != "resources"}
            for container in objects_in(pod, field)
        ]
    return {**pod, "affinity": affinity}
