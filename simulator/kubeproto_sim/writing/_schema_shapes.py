"""Whether the schemas of a definition are schemas: values of the types that a server decodes them into."""

from __future__ import annotations

from typing import Any, Final

from ..kinds._typed import Misfit, TypedCodec
from ..storage._json_values import is_list, is_map, listed, member

DEFINITIONS: Final = "customresourcedefinitions.apiextensions.k8s.io"
_CODEC: Final = TypedCodec("apiextensions_v1.JSONSchemaProps", "CustomResourceDefinition")
_MAPS: Final = ("properties", "patternProperties", "definitions")
_LISTS: Final = ("allOf", "anyOf", "oneOf")


def check_schemas(obj: dict[str, Any]) -> None:
    """Refuse a definition with something other than a schema in place of one: `Misfit`."""
    for version in listed(member(obj, "spec"), "versions"):
        if (schema := member(version, "schema").get("openAPIV3Schema")) is not None:
            _check(schema)


def _check(schema: Any) -> None:
    if not is_map(schema):
        raise Misfit("json: cannot unmarshal a value into Go value of type v1.JSONSchemaProps")
    _CODEC.write(schema)
    below: list[Any] = [schema["not"]] if schema.get("not") is not None else []
    for name in _MAPS:
        below += (schema.get(name) or {}).values()
    for name in _LISTS:
        below += schema.get(name) or []
    for name in ("items", "additionalProperties", "additionalItems"):
        held = schema.get(name)
        below += held if is_list(held) else [held] if held is not None and not isinstance(held, bool) else []
    for one in below:
        _check(one)
