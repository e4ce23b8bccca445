"""The built-in kinds of Kubernetes as classes: a module for each group-version, imported on demand.

::

    from kubeproto.kinds.apps_v1 import Deployment, DeploymentSpec
    from kubeproto.kinds.core_v1 import Container, Pod, PodSpec

The name of a module is its group, without ``.k8s.io`` and with ``_`` for dots, and its version: `apps_v1`,
`networking_v1`, `rbac_authorization_v1`. The core group is `core_v1`; types of several groups, such as
LabelSelector, are in `meta_v1`. The error for ``kubeproto.kinds.Deployment`` names the module of the kind.

Attributes are in snake case (``cluster_ips``, ``continue_``), fields on the wire in Kubernetes' spelling.
Optional fields are None if a server omits them, and None is never sent. Only `spec` and the required lists of
the API are never None, even if a server writes null. Enumerations are plain strings: the next Kubernetes has
more values.

Unknown fields of a newer server are skipped. A `commit` sends the changed fields and so never deletes unknown
fields; a `replace` sends the complete object, and deletes all other fields.

The fastest way to read a few fields of a kind is your own class with the same identity::

    class SlimPodSpec(kp.Fields):
        node_name: str | None = None

    class SlimPod(kp.KubeObject, version="v1", kind="Pod", plural="pods"):
        spec: SlimPodSpec

``kubeproto generate -f crds.yaml -o library.py`` writes such modules for CustomResourceDefinitions, from
files or from a server; `module_source` returns their text. `kind_table()` returns further facts about the
built-in kinds: defaults, merge keys, list types.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._crds import InvalidDefinition, module_source
    from ._kind_table import (
        BuiltinField,
        BuiltinResource,
        BuiltinSubresource,
        BuiltinType,
        KindTable,
        ReleaseDifferences,
        kind_table,
    )

__all__ = [
    "BuiltinField", "BuiltinResource", "BuiltinSubresource", "BuiltinType", "InvalidDefinition", "KindTable",
    "ReleaseDifferences", "kind_table", "module_source",
]  # fmt: skip


def _on_demand(name: str) -> Any:
    """Return the table and its types, imported on demand; the error for a kind names its module."""
    # Other names are modules: an import looks here before it imports them.
    if name in ("InvalidDefinition", "module_source"):
        from . import _crds

        return getattr(_crds, name)
    if name in __all__ or name[0].isupper():
        from . import _kind_table

        if name in __all__:
            return getattr(_kind_table, name)
        if modules := _kind_table.kind_table().modules_of(name):
            names = " and in ".join(f"kubeproto.kinds.{module}" for module in modules)
            # An AttributeError would lose its text in `from kubeproto.kinds import Deployment`.
            raise ImportError(f"{name} is in {names}", name=f"kubeproto.kinds.{modules[0]}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


if not TYPE_CHECKING:
    # For type checkers, a module with a `__getattr__` would have every name.
    __getattr__ = _on_demand
