"""The built-in kinds of Kubernetes as classes: one module a group-version, imported only when asked for.

::

    from kubeproto.kinds.apps_v1 import Deployment, DeploymentSpec
    from kubeproto.kinds.core_v1 import Container, Pod, PodSpec

A module is called after its group, without ``.k8s.io`` and with ``_`` for dots, and its version: `apps_v1`,
`networking_v1`, `rbac_authorization_v1`. The group without a name is `core_v1`; what many groups share, such
as LabelSelector, stands in `meta_v1`. ``kubeproto.kinds.Deployment`` says where a kind is.

Attributes are in Python's case (``cluster_ips``, ``continue_``), the wire keeps Kubernetes' own. What a
server may leave out is None, and None is never sent; only `spec` is always there, and so is a list that the
API requires, even where a server writes null. Enumerations are plain strings: the next Kubernetes has more.

Fields that a newer server has and these classes do not are skipped. A `commit` sends what was changed and so
never deletes them; a `replace` sends all that the object has, and deletes what is not in it.

The fastest way to read little of a kind is a class of one's own, of the same identity::

    class SlimPodSpec(kp.Fields):
        node_name: str | None = None

    class SlimPod(kp.KubeObject, version="v1", kind="Pod", plural="pods"):
        spec: SlimPodSpec

``kubeproto generate -f crds.yaml -o library.py`` writes such modules for CustomResourceDefinitions, of files
or of a server; `module_source` returns their text.
`table()` is what a server knows of the built-in kinds besides: defaults, merge keys, list types.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._crds import InvalidDefinition, module_source
    from ._table import FieldFacts, KindTable, ReleaseFacts, ResourceFacts, SubresourceFacts, TypeFacts, table

__all__ = [
    "FieldFacts", "InvalidDefinition", "KindTable", "ReleaseFacts", "ResourceFacts", "SubresourceFacts",
    "TypeFacts", "module_source", "table",
]  # fmt: skip


def _on_demand(name: str) -> Any:
    """Return the table and its parts, which are read on demand; for the name of a kind, say where it is."""
    # Everything else is a module that is about to be imported: the import looks here first.
    if name in ("InvalidDefinition", "module_source"):
        from . import _crds

        return getattr(_crds, name)
    if name in __all__ or name[0].isupper():
        from . import _table

        if name in __all__:
            return getattr(_table, name)
        if homes := _table.table().homes_of(name):
            modules = " and in ".join(f"kubeproto.kinds.{home}" for home in homes)
            # An AttributeError would lose its text in `from kubeproto.kinds import Deployment`.
            raise ImportError(f"{name} is in {modules}", name=f"kubeproto.kinds.{homes[0]}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


if not TYPE_CHECKING:
    # To the checkers, a module with a `__getattr__` has every name.
    __getattr__ = _on_demand
