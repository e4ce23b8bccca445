"""The manifests that the commands read from standard input."""

from __future__ import annotations

from typing import Final


def _map(name: str, data: str, labels: str = "") -> str:
    label = f"\n  labels: {{{labels}}}" if labels else ""
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}{label}\ndata: {{{data}}}\n"


def _deployment(*containers: str) -> str:
    container_lines = "".join(f"\n      - name: {name}\n        image: {name}:1" for name in containers)
    return (
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: applied\nspec:\n  replicas: 0\n"
        "  selector:\n    matchLabels: {app: applied}\n"
        "  template:\n    metadata:\n      labels: {app: applied}\n"
        f"    spec:\n      containers:{container_lines}\n"
    )


def _shelf(spec: str, name: str = "north") -> str:
    return f"apiVersion: library.example.org/v1\nkind: Shelf\nmetadata:\n  name: {name}\nspec: {{{spec}}}\n"


MANIFESTS: Final = {
    "configmap": _map("applied", 'a: "1"'),
    "configmap-changed": _map("applied", 'a: "2", b: "3"'),
    "configmap-new": _map("new", 'a: "1"'),
    "configmap-ssa": _map("ssa", 'a: "1"'),
    "configmap-ssa-conflict": _map("ssa", 'a: "2"'),
    "unknown-field": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: odd\ncontent: {}\n",
    "wrong-type": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: odd\ndata: [1]\n",
    "two-documents": _map("one", 'a: "1"') + "---\n" + _map("two", 'a: "1"'),
    "prune-both": _map("p1", "", "app: pruned") + "---\n" + _map("p2", "", "app: pruned"),
    "prune-one": _map("p1", "", "app: pruned"),
    "deployment": _deployment("a"),
    "deployment-two-containers": _deployment("a", "b"),
    "role": (
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata:\n  name: reconciled\n"
        "rules:\n- apiGroups: ['']\n  resources: [pods]\n  verbs: [get]\n"
    ),
    "shelf": _shelf("title: Sea, size: 2"),
    "shelf-ssa": _shelf("title: Land", "south"),
    "pod": (
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: alone\nspec:\n"
        "  containers:\n  - name: main\n    image: main:1\n"
    ),
    "crd": """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: shelves.library.example.org
spec:
  group: library.example.org
  scope: Namespaced
  names: {plural: shelves, singular: shelf, kind: Shelf, shortNames: [sh]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources:
      status: {}
      scale: {specReplicasPath: .spec.size, statusReplicasPath: .status.books}
    additionalPrinterColumns:
    - {name: Title, type: string, jsonPath: .spec.title}
    - {name: Size, type: integer, jsonPath: .spec.size}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [title]
            properties:
              title: {type: string}
              size: {type: integer, description: How many books fit., maximum: 100, default: 1}
          status:
            type: object
            properties:
              books: {type: integer}
""",
}
