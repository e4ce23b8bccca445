"""Manifests of an operator: definitions, account, roles and Deployment, generated from its declarations."""

from .._access import RequiredAccess, dump_access, parse_access as parse_access
from ._describing import OperatorLike as OperatorLike, description_of, operator_of as operator_of
from ._manifest_layouts import helm_chart as helm_chart, kustomization as kustomization
from ._operator_manifests import manifests
from ._packaging import Packaging, dockerfile
from ._role_rules import RoleRule as RoleRule, required_access as required_access, roles as roles

__all__ = [
    "Packaging",
    "RequiredAccess",
    "description_of",
    "dockerfile",
    "dump_access",
    "manifests",
]
