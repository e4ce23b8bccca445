"""Manifests of an operator: its definitions, account, rights and Deployment, made from what it declares."""

from .._access import RequiredAccess, dump_access, parse_access
from ._describing import OperatorLike, description_of
from ._dockerfile import dockerfile
from ._layouts import helm_chart, kustomization
from ._manifests import Packaging, manifests
from ._rights import Rule, required_access, roles

__all__ = [
    "OperatorLike",
    "Packaging",
    "RequiredAccess",
    "Rule",
    "description_of",
    "dockerfile",
    "dump_access",
    "helm_chart",
    "kustomization",
    "manifests",
    "parse_access",
    "required_access",
    "roles",
]
