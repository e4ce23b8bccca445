"""A server's checks of a definition: names, versions, subresources, columns, schemas."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from ...objects import dns_1035_label_errors, dns_subdomain_errors, is_object
from .._violations import Violation, child, duplicate, forbidden, invalid, key, required, unsupported
from ..cel._rule_checks import find_schema
from ._structural_checks import check_schema

_Violations = Iterator[Violation]

_COLUMN_TYPES: Final = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS: Final = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_SELECTABLE_TYPES: Final = ("boolean", "integer", "string")
_MAX_SELECTABLE_FIELDS: Final = 8
_MAX_WARNING: Final = 256
_SCOPES: Final = ("Cluster", "Namespaced")
# With the status subresource, status and spec are validated separately: no keyword may concern both.
_NOT_AT_ROOT: Final = (
    "allOf", "anyOf", "oneOf", "not", "enum", "default",
    "additionalProperties", "maxProperties", "minProperties",
    "x-kubernetes-embedded-resource", "x-kubernetes-int-or-string", "x-kubernetes-map-type",
)  # fmt: skip


def check_definition(definition: dict[str, Any]) -> list[Violation]:
    """Return the violations that a server would report for a definition as JSON; empty if it is valid."""
    return list(_check(definition))


def _check(definition: dict[str, Any]) -> _Violations:
    spec: dict[str, Any] = definition.get("spec") or {}
    names: dict[str, Any] = spec.get("names") or {}
    metadata: dict[str, Any] = definition.get("metadata") or {}
    group, name = spec.get("group", ""), metadata.get("name", "")
    if name != f"{names.get('plural', '')}.{group}":
        yield invalid("metadata.name", name, 'must be spec.names.plural+"."+spec.group')
    if not group:
        yield required("spec.group")
    else:
        yield from _check_name(dns_subdomain_errors, "spec.group", group)
        if "." not in group:
            yield invalid("spec.group", group, "should be a domain with at least one dot")
    if spec.get("scope") not in _SCOPES:
        scope = spec.get("scope")
        yield unsupported("spec.scope", scope, _SCOPES) if scope else required("spec.scope")
    yield from _check_names(names)
    versions: list[dict[str, Any]] = spec.get("versions") or []
    for index, version in enumerate(versions):
        yield from _check_version(version, f"spec.versions[{index}]")
    version_names = [version.get("name") for version in versions]
    if len(set(version_names)) < len(version_names):
        yield invalid("spec.versions", version_names, "must contain unique version names")
    if sum(bool(version.get("storage")) for version in versions) != 1:
        yield invalid(
            "spec.versions", version_names, "must have exactly one version marked as storage version"
        )
    yield from _check_conversion(spec.get("conversion") or {})


def _check_name(
    errors_of: Callable[[str], tuple[str, ...]], path: str, text: str, prefix: str = ""
) -> _Violations:
    for error in errors_of(text):
        yield invalid(path, text, f"{prefix}{error}")


def _check_names(names: dict[str, Any]) -> _Violations:
    for name in ("plural", "singular"):
        text = names.get(name, "")
        field_path = f"spec.names.{name}"
        yield from _check_name(dns_1035_label_errors, field_path, text) if text else [required(field_path)]
    for name in ("kind", "listKind"):
        text = names.get(name, "" if name == "kind" else f"{names.get('kind', '')}List")
        field_path, prefix = f"spec.names.{name}", "may have mixed case, but should otherwise match: "
        if not text:
            yield required(field_path)
        elif dns_1035_label_errors(text.lower()):
            yield from _check_name(dns_1035_label_errors, field_path, text, prefix)
    if names.get("kind") and names.get("kind") == names.get("listKind"):
        yield invalid("spec.names.listKind", names["listKind"], "kind and listKind may not be the same")
    for name in ("shortNames", "categories"):
        for index, text in enumerate(names.get(name) or ()):
            yield from _check_name(dns_1035_label_errors, f"spec.names.{name}[{index}]", text)


def _check_version(version: dict[str, Any], path: str) -> _Violations:
    yield from _check_name(dns_1035_label_errors, child(path, "name"), version.get("name", ""))
    yield from _check_deprecation(version, child(path, "deprecationWarning"))
    validation: dict[str, Any] = version.get("schema") or {}
    schema: dict[str, Any] | None = validation.get("openAPIV3Schema")
    field_path = child(path, "schema.openAPIV3Schema")
    subresources: dict[str, Any] = version.get("subresources") or {}
    if schema is None:
        yield required(field_path, "schemas are required")
    else:
        if "status" in subresources:
            for keyword in _NOT_AT_ROOT:
                if keyword in schema:
                    detail = f"{keyword} is not allowed at the root if the status subresource is enabled"
                    yield invalid(field_path, keyword, detail)
        yield from check_schema(schema, field_path)
    if is_object(subresources.get("scale")):
        yield from _check_scale(subresources["scale"], child(path, "subresources.scale"))
    for index, column in enumerate(version.get("additionalPrinterColumns") or ()):
        yield from _check_column(column, key(child(path, "additionalPrinterColumns"), index))
    selectable: list[dict[str, Any]] = version.get("selectableFields") or []
    yield from _check_selectable(selectable, schema or {}, child(path, "selectableFields"))


def _check_deprecation(version: dict[str, Any], path: str) -> _Violations:
    warning = version.get("deprecationWarning")
    if warning is None:
        return
    if not version.get("deprecated"):
        yield invalid(path, warning, "can only be set for deprecated versions")
    if not warning:
        yield invalid(path, warning, "must not be an empty string")
    if len(warning) > _MAX_WARNING:
        yield invalid(path, warning, f"must be <= {_MAX_WARNING} characters long")
    if not warning.isprintable():
        yield invalid(path, warning, "must only contain printable UTF-8 characters")


def _check_scale(scale: dict[str, Any], path: str) -> _Violations:
    for name, roots in (
        ("specReplicasPath", (".spec.",)),
        ("statusReplicasPath", (".status.",)),
        ("labelSelectorPath", (".spec.", ".status.")),
    ):
        text, field_path = scale.get(name, ""), child(path, name)
        if not text:
            if name != "labelSelectorPath":
                yield required(field_path)
        elif not text.startswith("."):
            yield invalid(field_path, text, "must be a simple json path starting with .")
        elif not text.startswith(roots):
            parent = "either .spec or .status" if len(roots) > 1 else roots[0].rstrip(".")
            yield invalid(field_path, text, f"should be a json path under {parent}")


def _check_column(column: dict[str, Any], path: str) -> _Violations:
    types = ",".join(_COLUMN_TYPES)
    if not column.get("name"):
        yield required(child(path, "name"))
    if not column.get("type"):
        yield required(child(path, "type"), f"must be one of {types}")
    elif column["type"] not in _COLUMN_TYPES:
        yield invalid(child(path, "type"), column["type"], f"must be one of {types}")
    if column.get("format") and column["format"] not in _COLUMN_FORMATS:
        detail = f"must be one of {','.join(_COLUMN_FORMATS)}"
        yield invalid(child(path, "format"), column["format"], detail)
    json_path = column.get("jsonPath", "")
    if not json_path:
        yield required(child(path, "JSONPath"))
    elif not json_path.startswith("."):
        detail = "must be a simple json path starting with ."
        yield invalid(child(path, "JSONPath"), json_path, detail)


def _check_selectable(fields: list[dict[str, Any]], schema: dict[str, Any], path: str) -> _Violations:
    json_paths: set[str] = set()
    for index, field in enumerate(fields):
        json_path, field_path = field.get("jsonPath", ""), child(key(path, index), "jsonPath")
        if not json_path:
            yield required(field_path)
            continue
        field_schema = None if "[" in json_path else find_schema(schema, json_path)
        if json_path.startswith(".metadata"):
            yield invalid(field_path, json_path, "must not point to fields in metadata")
        elif field_schema is None:
            yield invalid(field_path, json_path, "is an invalid path: does not refer to a valid field")
        elif field_schema.get("type") not in _SELECTABLE_TYPES:
            yield invalid(
                field_path,
                json_path,
                "must point to a field of type string, boolean or integer. Enum string fields and strings"
                " with formats are allowed.",
            )
        if json_path in json_paths:
            yield duplicate(field_path, json_path)
        json_paths.add(json_path)
    if len(json_paths) > _MAX_SELECTABLE_FIELDS:
        detail = f"must have at most {_MAX_SELECTABLE_FIELDS} items"
        yield Violation("FieldValueTooMany", path, len(json_paths), detail)


def _check_conversion(conversion: dict[str, Any]) -> _Violations:
    webhook: dict[str, Any] | None = conversion.get("webhook")
    match conversion.get("strategy", "None"):
        case "None":
            if webhook:
                detail = "should not be set when strategy is not set to Webhook"
                yield forbidden("spec.conversion.webhookClientConfig", detail)
        case "Webhook":
            client: dict[str, Any] = (webhook or {}).get("clientConfig") or {}
            field_path = "spec.conversion.webhookClientConfig"
            if ("url" in client) == ("service" in client):
                yield required(field_path, "exactly one of url or service is required")
            elif "url" in client and not client["url"].startswith("https://"):
                yield invalid(
                    child(field_path, "url"), client["url"], "'https' is the only allowed URL scheme"
                )
            for name in ("name", "namespace") if "service" in client else ():
                if not client["service"].get(name):
                    yield required(f"{field_path}.service.{name}", f"service {name} is required")
            if not (webhook or {}).get("conversionReviewVersions"):
                yield required("spec.conversion.conversionReviewVersions")
        case other:
            yield unsupported("spec.conversion.strategy", other, ("None", "Webhook"))
