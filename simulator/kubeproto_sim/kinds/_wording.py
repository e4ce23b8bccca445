"""How older releases word what breaks a rule: the texts and values that the newest release writes otherwise.

The texts of the simulated server were compared with the sources of each release.
"""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec
from msgspec import structs

from kubeproto.crd import Violation

from ..storage._json_values import is_list, is_map, listed, member

_GO_VALUES_UNTIL: Final = 33  # since then a value that is not a text is shown as JSON
_OTHER_LENGTHS_UNTIL: Final = 31
# The last release with a text, the reason, and the text as the newest release has it and as older ones do.
_TEXTS: Final = (
    (34, "FieldValueInvalid", re.compile(r"(.*must be no more than \d+) bytes"), r"\1 characters"),
    (33, "FieldValueTooLong", re.compile(r"(may not be more than 1) byte"), r"\1 bytes"),
    (33, "FieldValueTooMany", re.compile(r"(must have at most 1) item"), r"\1 items"),
)
_LENGTH: Final = re.compile(r"may not be more than (\d+) bytes?")
_OWNERS: Final = "metadata.ownerReferences."
_NO_REQUIREMENTS: Final = "[]v1.LabelSelectorRequirement(nil)"


def worded(violation: Violation, minor: int, group: str) -> Violation:
    """Return a violation as the release with this second number writes it; `group` is that of the kind."""
    built_in = "." not in group or group.endswith(".k8s.io")
    detail, value = violation.detail, violation.value
    if minor <= _OTHER_LENGTHS_UNTIL and violation.reason == "FieldValueTooLong":
        schema = not built_in and not violation.field.startswith("metadata.")
        detail = _LENGTH.sub(
            r"may not be longer than \1" if schema else r"must have at most \1 bytes", detail
        )
    for last, reason, newest, older in _TEXTS:
        if minor <= last and violation.reason == reason and newest.fullmatch(detail):
            detail = newest.sub(older, detail)
    if minor <= _GO_VALUES_UNTIL:
        if violation.field.startswith(_OWNERS) and detail == "must not be empty":
            detail = f"{violation.field.removeprefix(_OWNERS)} {detail}"
        shown = _built_in_value(violation.field, value) if built_in else _custom_value(value)
        value = msgspec.Raw(shown.encode()) if shown else value
    return structs.replace(violation, detail=detail, value=value)


def _custom_value(value: Any) -> str:
    """Return a map or a list of a custom resource as Go prints it; empty for anything else."""
    return _go_value(value) if is_map(value) or is_list(value) else ""


def _go_value(value: Any) -> str:
    if is_map(value):
        held = ", ".join(f"{_text(name)}:{_go_value(value[name])}" for name in sorted(value))
        return f"map[string]interface {{}}{{{held}}}"
    if is_list(value):
        return f"[]interface {{}}{{{', '.join(map(_go_value, value))}}}"
    return "interface {}(nil)" if value is None else _text(value)


def _built_in_value(field: str, value: Any) -> str:
    """Return labels, a selector or texts as Go prints them; empty for other values."""
    if value is None and field.endswith(".labels"):
        return _labels({})
    if is_map(value) and field.rpartition(".")[2].lower().endswith("selector"):
        labels = member(value, "matchLabels")
        requirements = ", ".join(
            f"v1.LabelSelectorRequirement{{Key:{_text(one.get('key', ''))},"
            f" Operator:{_text(one.get('operator', ''))}, Values:{_texts(listed(one, 'values'))}}}"
            for one in listed(value, "matchExpressions")
        )
        shown = f"[]v1.LabelSelectorRequirement{{{requirements}}}" if requirements else _NO_REQUIREMENTS
        return f"v1.LabelSelector{{MatchLabels:{_labels(labels)}, MatchExpressions:{shown}}}"
    if is_map(value) and value and all(isinstance(one, str) for one in value.values()):
        return _labels(value)
    if is_list(value) and value and all(isinstance(one, str) for one in value):
        return _texts(value)
    return ""


def _labels(labels: dict[str, Any]) -> str:
    held = ", ".join(f"{_text(name)}:{_text(labels[name])}" for name in sorted(labels))
    return f"map[string]string{{{held}}}" if labels else "map[string]string(nil)"


def _texts(texts: list[Any]) -> str:
    return f"[]string{{{', '.join(map(_text, texts))}}}" if texts else "[]string(nil)"


def _text(value: Any) -> str:
    return msgspec.json.encode(value).decode()
