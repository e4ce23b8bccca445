"""The custom resources of the suite."""

from __future__ import annotations

from typing import Any, Final

GROUP: Final = "suite.test"

FOO: Final[dict[str, Any]] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "foos.suite.test"},
    "spec": {
        "group": GROUP,
        "scope": "Namespaced",
        "names": {
            "plural": "foos",
            "singular": "foo",
            "kind": "Foo",
            "listKind": "FooList",
            "shortNames": ["fo"],
            "categories": ["all"],
        },
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "required": ["color"],
                                "properties": {
                                    "color": {"type": "string", "maxLength": 8, "pattern": "^[a-z]*$"},
                                    "size": {"type": "integer", "minimum": 1, "maximum": 10, "default": 3},
                                    "mode": {"type": "string", "enum": ["A", "B"]},
                                    "replicas": {"type": "integer"},
                                    "tags": {
                                        "type": "array",
                                        "items": {"type": "string"},
                                        "x-kubernetes-list-type": "set",
                                    },
                                    "ports": {
                                        "type": "array",
                                        "items": {
                                            "type": "object",
                                            "required": ["name"],
                                            "properties": {
                                                "name": {"type": "string"},
                                                "port": {"type": "integer", "default": 80},
                                            },
                                        },
                                        "x-kubernetes-list-type": "map",
                                        "x-kubernetes-list-map-keys": ["name"],
                                    },
                                    "items": {"type": "array", "items": {"type": "integer"}},
                                    "extra": {
                                        "type": "object",
                                        "x-kubernetes-preserve-unknown-fields": True,
                                    },
                                    "amount": {"x-kubernetes-int-or-string": True},
                                    "note": {"type": "string", "nullable": True},
                                },
                                "x-kubernetes-validations": [
                                    {
                                        "rule": "!has(self.mode) || self.mode != 'B' || self.size > 5",
                                        "message": "mode B needs size above 5",
                                    },
                                    {
                                        "rule": "!has(oldSelf.mode) || has(self.mode)",
                                        "message": "a mode does not go",
                                    },
                                ],
                            },
                            "status": {
                                "type": "object",
                                "properties": {
                                    "note": {"type": "string"},
                                    "replicas": {"type": "integer"},
                                    "selector": {"type": "string"},
                                },
                            },
                        },
                    }
                },
                "subresources": {
                    "status": {},
                    "scale": {
                        "specReplicasPath": ".spec.replicas",
                        "statusReplicasPath": ".status.replicas",
                        "labelSelectorPath": ".status.selector",
                    },
                },
                "selectableFields": [{"jsonPath": ".spec.color"}],
                "additionalPrinterColumns": [
                    {"name": "Color", "type": "string", "jsonPath": ".spec.color"},
                    {"name": "Size", "type": "integer", "jsonPath": ".spec.size", "priority": 1},
                    {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
                ],
            }
        ],
    },
}

# Any fields are allowed, and there are no subresources.
BAR: Final[dict[str, Any]] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "bars.suite.test"},
    "spec": {
        "group": GROUP,
        "scope": "Cluster",
        "names": {"plural": "bars", "singular": "bar", "kind": "Bar", "listKind": "BarList"},
        "versions": [
            {
                "name": name,
                "served": True,
                "storage": name == "v1",
                "schema": {
                    "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
                },
            }
            for name in ("v1", "v1beta1")
        ],
    },
}

# The same kind, in namespaces.
BAZ: Final[dict[str, Any]] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "bazs.suite.test"},
    "spec": {
        "group": GROUP,
        "scope": "Namespaced",
        "names": {"plural": "bazs", "singular": "baz", "kind": "Baz", "listKind": "BazList"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
                },
            }
        ],
    },
}

BARS: Final = "/apis/suite.test/v1/bars"


def foos(namespace: str) -> str:
    """Return the path of the Foos of a namespace."""
    return f"/apis/suite.test/v1/namespaces/{namespace}/foos"


def foo(name: str, **spec: Any) -> dict[str, Any]:
    """Return a Foo."""
    spec = {"color": "red"} | spec
    return {"apiVersion": "suite.test/v1", "kind": "Foo", "metadata": {"name": name}, "spec": spec}


def bar(name: str, **content: Any) -> dict[str, Any]:
    """Return a Bar."""
    return {"apiVersion": "suite.test/v1", "kind": "Bar", "metadata": {"name": name}} | content
