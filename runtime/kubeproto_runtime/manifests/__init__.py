"""Manifests of an operator: its definitions, account, rights and Deployment, created from its
declarations."""

from .._access import RequiredAccess, dump_access, parse_access
from ._describing import OperatorLike, description_of, operator_of
from ._manifest_layouts import helm_chart, kustomization
from ._operator_manifests import manifests
from ._packaging import Packaging, dockerfile
from ._role_rules import RoleRule, required_access, roles

__all__ = [
    "OperatorLike",
    "Packaging",
    "RequiredAccess",
    "RoleRule",
    "description_of",
    "dockerfile",
    "dump_access",
    "helm_chart",
    "kustomization",
    "manifests",
    "operator_of",
    "parse_access",
    "required_access",
    "roles",
]
