"""Every definition in the tests and examples, found in their sources, and an object of each kind."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from asked_release import is_on

import kubeproto as kp
from kubeproto.crd import definition_of
from kubeproto.objects import is_object

ROOT: Final = Path(__file__).resolve().parent.parent.parent
FOLDERS: Final = ("tests", "examples")
HERE: Final = Path(__file__).resolve().parent

# Definitions that are only converted to classes: no server accepts them.
NOT_FOR_A_SERVER: Final = ("tests/kinds/test_crd_classes.py:FULL",)

Definition = dict[str, Any]


def stored_spec(spec: dict[str, Any]) -> dict[str, Any]:
    """Return the spec of a definition as the server stores it: some releases drop the names of selectable
    fields.
    """
    if is_on("CustomResourceFieldSelectors"):
        return spec
    versions = [
        {key: value for key, value in version.items() if key != "selectableFields"}
        for version in spec["versions"]
    ]
    return spec | {"versions": versions}


def found_definitions() -> dict[str, Definition]:
    """Return the definitions by their location: ``tests/crd/test_typed.py:Book``.

    Modules are read as text first, and imported under a separate name if they may contain a definition.
    """
    definitions: dict[str, Definition] = {}
    for path in sorted(file for folder in FOLDERS for file in (ROOT / folder).rglob("*.py")):
        text = path.read_text()
        if path.is_relative_to(HERE) and path.name != "situations.py" and path.name != "kinds.py":
            continue
        if ("Object[" in text and "group=" in text) or '"CustomResourceDefinition"' in text:
            for name, definition in _in_module(_imported(path)):
                # A server that verifies certificates refuses the invalid certificate of a test.
                definition["spec"].pop("conversion", None)
                location = f"{path.relative_to(ROOT).as_posix()}:{name}"
                if location not in NOT_FOR_A_SERVER:
                    definitions[location] = definition
    return definitions


def _imported(path: Path) -> ModuleType:
    parts = path.relative_to(ROOT).with_suffix("").parts
    # A module of a package is known by its path; any other module gets a unique name.
    name = (
        ".".join(parts[1:]) if (path.parent / "__init__.py").exists() else f"definitions_of_{'_'.join(parts)}"
    )
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    beside = str(path.parent)
    sys.path.insert(0, beside)
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(beside)
    return module


def _in_module(module: ModuleType) -> Iterator[tuple[str, Definition]]:
    for name, value in sorted(vars(module).items()):
        if (
            isinstance(value, type)
            and issubclass(value, kp.KubeObject)
            and value.__module__ == module.__name__
        ):
            group: str = value.resource.group
            if "." in group and not group.endswith(".k8s.io"):
                yield name, json.loads(kp.objects.encode(definition_of(value)))
        elif is_object(value) and value.get("kind") == "CustomResourceDefinition":
            yield name, json.loads(json.dumps(value))


def object_of(definition: Definition) -> dict[str, Any]:
    """Return an object that the stored version of a definition accepts."""
    spec = definition["spec"]
    [version] = [version_ for version_ in spec["versions"] if version_["storage"]]
    schema = version["schema"]["openAPIV3Schema"]
    obj = {
        "apiVersion": f"{spec['group']}/{version['name']}", "kind": spec["names"]["kind"],
        "metadata": {"name": "sample"},
    }  # fmt: skip
    content: dict[str, Any] = sample(schema)
    isolated = {"status"} if "status" in version.get("subresources", {}) else set[str]()
    return obj | {name: value for name, value in content.items() if name not in obj.keys() | isolated}


def sample(schema: Definition) -> Any:
    """Return the smallest value that a schema accepts."""
    if "default" in schema:
        return schema["default"]
    if "enum" in schema:
        return schema["enum"][0]
    if schema.get("x-kubernetes-int-or-string"):
        return 1
    match schema.get("type"):
        case "object":
            properties: dict[str, Any] = schema.get("properties", {})
            required = {*schema.get("required", ()), "spec"}
            return {
                name: sample(subschema)
                for name, subschema in properties.items()
                if name in required or "default" in subschema
            }
        case "array":
            return [sample(schema["items"]) for _ in range(schema.get("minItems", 0))]
        case "integer" | "number":
            return max(schema.get("minimum", 1), 1)
        case "boolean":
            return True
        case "string" if schema.get("format") == "date-time":
            return "2026-01-01T00:00:00Z"
        case "string":
            length = max(schema.get("minLength", 1), 1)
            return next(
                text
                for character in "xX1"
                if re.search(schema.get("pattern", ""), text := character * length)
            )
        case _:
            return {}
