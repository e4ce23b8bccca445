"""The rules of builtin.json: required fields, permitted values, ranges and formats."""

from __future__ import annotations

import functools
import ipaddress
import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from kubeproto.crd import Violation
from kubeproto.kinds import BuiltinField, kind_table
from kubeproto.objects import (
    dns_label_errors,
    dns_subdomain_errors,
    is_list,
    is_object,
    label_value_errors,
    qualified_name_errors,
)

from ._builtin_table import BuiltinRule, built_in

Json = dict[str, Any]
_DNS_1035: Final = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_NOT_IN_SPEC: Final = ("metadata", "status", "apiVersion", "kind")
_PORT_NAME: Final = re.compile(r"(?=.*[a-z])(?!.*--)[a-z0-9]([-a-z0-9]*[a-z0-9])?")


def check_fields(type_: str, obj: Json, path: str = "") -> Iterator[Violation]:
    """Return the violations of an object, field by field."""
    for name, field, rule, has_nested_rules in ruled_fields(type_):
        if not path and name in _NOT_IN_SPEC:
            continue
        value: Any = obj.get(name)
        if value is None and not field.form:
            # Go decodes a missing field as an empty struct or as zero.
            value = {} if field.default == {} else 0 if _counts(field) else None
        if rule is not None and not _may_be_empty(type_, name, obj):
            yield from _check(type_, name, field, rule, value, f"{path}{name}")
        if has_nested_rules and value is not None:
            yield from _check_nested(field.type, field.form, value, f"{path}{name}")


@functools.cache
def ruled_fields(type_: str) -> list[tuple[str, BuiltinField, BuiltinRule | None, bool]]:
    """Return the fields of a type that have rules, or nested fields with rules."""
    rules = built_in().rules.get(type_, {})
    fields: list[tuple[str, BuiltinField, BuiltinRule | None, bool]] = []
    for name, field in kind_table().types[type_].fields.items():
        has_nested_rules = (
            "." in field.type and field.type != "meta_v1.ObjectMeta" and _has_nested_rules(field.type)
        )
        if name in rules or has_nested_rules:
            fields.append((name, field, rules.get(name), has_nested_rules))
    return fields


def _may_be_empty(type_: str, name: str, obj: Json) -> bool:
    """Return whether a required field may be empty because of another field.

    These are the ports of a Service without endpoints, the file of a security profile of another type, and
    the unused form of a mutation.
    """
    if name == "localhostProfile":
        return obj.get("type") != "Localhost"
    if name == "applyConfiguration":
        return obj.get("patchType") != "ApplyConfiguration"
    if (type_, name) != ("core_v1.ServiceSpec", "ports") or obj.get("ports"):
        return False
    return obj.get("type") == "ExternalName" or obj.get("clusterIP") == "None"


def _counts(field: BuiltinField) -> bool:
    return field.type == "integer" and field.required


def _check_nested(type_: str, form: tuple[str, ...], value: Any, path: str) -> Iterator[Violation]:
    if not form:
        if is_object(value):
            yield from check_fields(type_, value, f"{path}.")
    elif form[0] == "list":
        for index, element in enumerate(value if is_list(value) else ()):
            yield from _check_nested(type_, form[1:], element, f"{path}[{index}]")
    else:
        for key, element in value.items() if is_object(value) else ():
            yield from _check_nested(type_, form[1:], element, f"{path}[{key}]")


@functools.cache
def _has_nested_rules(type_: str) -> bool:
    """Return whether a type or a nested type has rules."""
    return _reaches(type_, set())


def _reaches(type_: str, visited: set[str]) -> bool:
    if type_ in built_in().rules:
        return True
    visited.add(type_)
    type_facts = kind_table().types.get(type_)
    field_types = (
        {field.type for field in type_facts.fields.values() if "." in field.type}
        if type_facts
        else set[str]()
    )
    return any(_reaches(field_type, visited) for field_type in sorted(field_types - visited))


def _check(
    type_: str, name: str, field: BuiltinField, rule: BuiltinRule, value: Any, path: str
) -> Iterator[Violation]:
    # An empty selector is valid, because it selects everything, and so is an empty object of any type.
    keeps_object = field.type in ("any", "object") or (name == "selector" and "." in field.type)
    empty_values: tuple[Any, ...] = ("", []) if keeps_object else ("", [], {})
    is_empty = value is None or value in empty_values or (value == 0 and _counts(field))
    if is_empty:
        if rule.required is not None:
            yield Violation("FieldValueRequired", path, detail=rule.required)
            return
        if value is None or value in ("", [], {}):
            return
    if field.form == ("list",):
        for index, element in enumerate(value if is_list(value) else ()):
            yield from _check_value(rule, element, f"{path}[{index}]")
    elif not field.form:
        yield from _check_value(rule, value, path)


def _check_value(rule: BuiltinRule, value: Any, path: str) -> Iterator[Violation]:
    if isinstance(value, str) and rule.enum is not None and value not in rule.enum:
        supported = ", ".join(f'"{allowed}"' for allowed in rule.enum)
        yield Violation("FieldValueNotSupported", path, value, f"supported values: {supported}")
    elif isinstance(value, int) and not isinstance(value, bool):
        for minimum, maximum, detail in rule.ranges:
            if (minimum is not None and value < minimum) or (maximum is not None and value > maximum):
                yield Violation("FieldValueInvalid", path, value, detail)
                return
    elif isinstance(value, str) and rule.format is not None and not FORMATS[rule.format[0]](value):
        details = qualified_name_errors(value) if rule.format[0] == "qualified" else (rule.format[1],)
        for detail in details:
            yield Violation("FieldValueInvalid", path, value, detail)


def _is_ip(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _is_cidr(text: str) -> bool:
    try:
        ipaddress.ip_network(text, strict=False)
    except ValueError:
        return False
    return "/" in text


FORMATS: Final[dict[str, Callable[[str], bool]]] = {
    "subdomain": lambda text: not dns_subdomain_errors(text),
    "label": lambda text: not dns_label_errors(text),
    "dns1035": lambda text: len(text) <= 63 and _DNS_1035.fullmatch(text) is not None,
    "qualified": lambda text: not qualified_name_errors(text),
    "label-value": lambda text: not label_value_errors(text),
    "ip": _is_ip,
    "cidr": _is_cidr,
    "absolute": lambda text: text.startswith("/"),
    "port-name": lambda text: len(text) <= 15 and _PORT_NAME.fullmatch(text) is not None,
    "domain-path": lambda text: "/" in text and not dns_subdomain_errors(text.partition("/")[0]),
    "percent": lambda text: text.endswith("%") and text[:-1].isdigit(),
    "https": lambda text: text.startswith("https://"),
    "operator": lambda text: text in ("In", "NotIn", "Exists", "DoesNotExist"),
    "node operator": lambda text: text in ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"),
    "pod-management": lambda text: text in ("OrderedReady", "Parallel"),
    "128": lambda text: len(text) <= 128,
}
