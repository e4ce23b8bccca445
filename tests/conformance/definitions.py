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

# Made to be turned into classes: no server takes it.
NOT_FOR_A_SERVER: Final = ("tests/kinds/test_crd_classes.py:FULL",)

Definition = dict[str, Any]


def kept(spec: dict[str, Any]) -> dict[str, Any]:
    """The spec of a definition as the server keeps it: some drop the names of selectable fields."""
    if is_on("CustomResourceFieldSelectors"):
        return spec
    versions = [
        {key: value for key, value in version.items() if key != "selectableFields"}
        for version in spec["versions"]
    ]
    return spec | {"versions": versions}


def found_definitions() -> dict[str, Definition]:
    """The definitions by the place where they stand: ``tests/crd/test_typed.py:Book``.

    Modules are read as text first, and imported under a name of their own if a definition may stand in them.
    """
    found: dict[str, Definition] = {}
    for path in sorted(one for folder in FOLDERS for one in (ROOT / folder).rglob("*.py")):
        text = path.read_text()
        if path.is_relative_to(HERE) and path.name != "situations.py" and path.name != "kinds.py":
            continue
        if ("Object[" in text and "group=" in text) or '"CustomResourceDefinition"' in text:
            for name, definition in _in_module(_imported(path)):
                # A certificate that a test made up is refused by a server that looks into it.
                definition["spec"].pop("conversion", None)
                place = f"{path.relative_to(ROOT).as_posix()}:{name}"
                if place not in NOT_FOR_A_SERVER:
                    found[place] = definition
    return found


def _imported(path: Path) -> ModuleType:
    parts = path.relative_to(ROOT).with_suffix("").parts
    # A module of a package is known by its place in it; any other gets a name that nobody else has.
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
    """An object that the stored version of a definition takes."""
    spec = definition["spec"]
    [version] = [one for one in spec["versions"] if one["storage"]]
    schema = version["schema"]["openAPIV3Schema"]
    obj = {
        "apiVersion": f"{spec['group']}/{version['name']}", "kind": spec["names"]["kind"],
        "metadata": {"name": "sample"},
    }  # fmt: skip
    content: dict[str, Any] = sample(schema)
    isolated = {"status"} if "status" in version.get("subresources", {}) else set[str]()
    return obj | {name: value for name, value in content.items() if name not in obj.keys() | isolated}


def sample(schema: Definition) -> Any:
    """A value that a schema takes, as small as can be."""
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
                name: sample(below)
                for name, below in properties.items()
                if name in required or "default" in below
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
            return next(text for one in "xX1" if re.search(schema.get("pattern", ""), text := one * length))
        case _:
            return {}
