"""The rules of CustomResourceDefinitions, and the types of the values in their schemas."""

from __future__ import annotations

from typing import Any, Final

from kubeproto.objects import is_list, is_object

from ..kinds._builtin_rules import FORMATS
from ..kinds._typed_codec import TypedCodec, TypeMismatch
from ..storage._json_values import member, objects_in, strings_in
from ._rule_violations import Json, Violations, invalid

DEFINITIONS: Final = "customresourcedefinitions.apiextensions.k8s.io"
_CODEC: Final = TypedCodec("apiextensions_v1.JSONSchemaProps", "CustomResourceDefinition")
_MAPS: Final = ("properties", "patternProperties", "definitions")
_LISTS: Final = ("allOf", "anyOf", "oneOf")


def check_schemas(obj: dict[str, Any]) -> None:
    """Raise `TypeMismatch` for a definition with a malformed schema."""
    for version in objects_in(member(obj, "spec"), "versions"):
        if (schema := member(version, "schema").get("openAPIV3Schema")) is not None:
            _check_schema(schema)


def _check_schema(schema: Any) -> None:
    if not is_object(schema):
        raise TypeMismatch("json: cannot unmarshal a value into Go value of type v1.JSONSchemaProps")
    _CODEC.write(schema)
    subschemas: list[Any] = [schema["not"]] if schema.get("not") is not None else []
    for name in _MAPS:
        subschemas += (schema.get(name) or {}).values()
    for name in _LISTS:
        subschemas += schema.get(name) or []
    for name in ("items", "additionalProperties", "additionalItems"):
        value = schema.get(name)
        subschemas += (
            value if is_list(value) else [value] if value is not None and not isinstance(value, bool) else []
        )
    for subschema in subschemas:
        _check_schema(subschema)


_MIGRATE: Final = (
    "missing from spec.versions; {0} was previously a storage version, and must remain in spec.versions until"
    " a storage migration ensures no data remains persisted in {0} and removes {0} from status.storedVersions"
)


def check_definition_rules(obj: Json) -> Violations:
    """Check a definition, beyond the rules of `kubeproto.crd.check_definition`."""
    spec = member(obj, "spec")
    versions = objects_in(spec, "versions")
    if sum(bool(version.get("storage")) for version in versions) != 1:
        yield invalid("status.storedVersions", [], "must have at least one stored version")
    version_names = {version.get("name") for version in versions}
    for index, name in enumerate(strings_in(member(obj, "status"), "storedVersions")):
        if name not in version_names:
            yield invalid(f"status.storedVersions[{index}]", name, _MIGRATE.format(name))
    for version in versions[:1]:
        if not FORMATS["dns1035"](version.get("name", "")):
            yield invalid("spec.version", version.get("name", ""), "a DNS-1035 label must be given")
    if not member(spec, "names").get("kind"):
        yield invalid("spec.names.listKind", "List", "kind and listKind may not be the same")
