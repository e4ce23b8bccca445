"""The wording of violations in older releases: texts and values that differ from the newest release.

The texts of the simulated server were compared with the sources of each release.
"""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec
from msgspec import structs

from kubeproto.crd import Violation
from kubeproto.objects import is_list, is_object

from ..storage._json_values import member, objects_in, quoted

_GO_VALUES_UNTIL: Final = 33  # later releases print non-string values as JSON
_OTHER_LENGTHS_UNTIL: Final = 31
# The last release with a text, the reason, the text of the newest release, and that of older releases.
_TEXTS: Final = (
    (34, "FieldValueInvalid", re.compile(r"(.*must be no more than \d+) bytes"), r"\1 characters"),
    (33, "FieldValueTooLong", re.compile(r"(may not be more than 1) byte"), r"\1 bytes"),
    (33, "FieldValueTooMany", re.compile(r"(must have at most 1) item"), r"\1 items"),
)
_LENGTH: Final = re.compile(r"may not be more than (\d+) bytes?")
_OWNERS: Final = "metadata.ownerReferences."
_NO_REQUIREMENTS: Final = "[]v1.LabelSelectorRequirement(nil)"


def in_release_wording(violation: Violation, minor: int, group: str) -> Violation:
    """Return a violation in the wording of a release; `group` is that of the kind."""
    built_in = "." not in group or group.endswith(".k8s.io")
    detail, value = violation.detail, violation.value
    if minor <= _OTHER_LENGTHS_UNTIL and violation.reason == "FieldValueTooLong":
        is_schema_violation = not built_in and not violation.field.startswith("metadata.")
        detail = _LENGTH.sub(
            r"may not be longer than \1" if is_schema_violation else r"must have at most \1 bytes", detail
        )
    for last_minor, reason, newest_pattern, older_text in _TEXTS:
        if minor <= last_minor and violation.reason == reason and newest_pattern.fullmatch(detail):
            detail = newest_pattern.sub(older_text, detail)
    if minor <= _GO_VALUES_UNTIL:
        if violation.field.startswith(_OWNERS) and detail == "must not be empty":
            detail = f"{violation.field.removeprefix(_OWNERS)} {detail}"
        go_value = _built_in_value(violation.field, value) if built_in else _custom_value(value)
        value = msgspec.Raw(go_value.encode()) if go_value else value
    return structs.replace(violation, detail=detail, value=value)


def _custom_value(value: Any) -> str:
    """Return a map or a list of a custom resource in Go's form; empty for other values."""
    return _go_value(value) if is_object(value) or is_list(value) else ""


def _go_value(value: Any) -> str:
    if is_object(value):
        members = ", ".join(f"{quoted(name)}:{_go_value(value[name])}" for name in sorted(value))
        return f"map[string]interface {{}}{{{members}}}"
    if is_list(value):
        return f"[]interface {{}}{{{', '.join(map(_go_value, value))}}}"
    return "interface {}(nil)" if value is None else quoted(value)


def _built_in_value(field: str, value: Any) -> str:
    """Return labels, a selector or texts in Go's form; empty for other values."""
    if value is None and field.endswith(".labels"):
        return _labels({})
    if is_object(value) and field.rpartition(".")[2].lower().endswith("selector"):
        labels = member(value, "matchLabels")
        requirements = ", ".join(
            f"v1.LabelSelectorRequirement{{Key:{quoted(entry.get('key', ''))},"
            f" Operator:{quoted(entry.get('operator', ''))}, Values:{_texts(objects_in(entry, 'values'))}}}"
            for entry in objects_in(value, "matchExpressions")
        )
        go_requirements = (
            f"[]v1.LabelSelectorRequirement{{{requirements}}}" if requirements else _NO_REQUIREMENTS
        )
        return f"v1.LabelSelector{{MatchLabels:{_labels(labels)}, MatchExpressions:{go_requirements}}}"
    if is_object(value) and value and all(isinstance(entry, str) for entry in value.values()):
        return _labels(value)
    if is_list(value) and value and all(isinstance(entry, str) for entry in value):
        return _texts(value)
    return ""


def _labels(labels: dict[str, Any]) -> str:
    members = ", ".join(f"{quoted(name)}:{quoted(labels[name])}" for name in sorted(labels))
    return f"map[string]string{{{members}}}" if labels else "map[string]string(nil)"


def _texts(texts: list[Any]) -> str:
    return f"[]string{{{', '.join(map(quoted, texts))}}}" if texts else "[]string(nil)"
