"""`PolicyRule`: a rule of a role, and the requests that it allows."""

from __future__ import annotations

from typing import Any, Final

import msgspec
from msgspec import Struct

from ..storage._json_values import go_list
from ._attributes import Attributes

ALL: Final = "*"


class PolicyRule(Struct, frozen=True, rename={
    "api_groups": "apiGroups", "resource_names": "resourceNames", "non_resource_urls": "nonResourceURLs",
}, omit_defaults=True):  # fmt: skip
    """A rule of a role: verbs on resources, or on paths."""

    verbs: tuple[str, ...] = ()
    api_groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    resource_names: tuple[str, ...] = ()
    non_resource_urls: tuple[str, ...] = ()

    def allows(self, attributes: Attributes) -> bool:
        """Return whether the rule allows a request."""
        if not _matches(self.verbs, attributes.verb):
            return False
        if not attributes.is_resource_request:
            return any(covers_path(url, attributes.path) for url in self.non_resource_urls)
        return (
            _matches(self.api_groups, attributes.group)
            and self._names_resource(attributes)
            and (not self.resource_names or attributes.name in self.resource_names)
        )

    def _names_resource(self, attributes: Attributes) -> bool:
        if _matches(self.resources, attributes.resource_path):
            return True
        return bool(attributes.subresource) and f"*/{attributes.subresource}" in self.resources

    def __str__(self) -> str:
        parts = [
            f"{name}:{go_list(values)}"
            for name, values in (
                ("APIGroups", self.api_groups),
                ("Resources", self.resources),
                ("NonResourceURLs", self.non_resource_urls),
                ("ResourceNames", self.resource_names),
                ("Verbs", self.verbs),
            )
            if values
        ]
        return f"{{{', '.join(parts)}}}"


def _matches(rule_values: tuple[str, ...], value: str) -> bool:
    return ALL in rule_values or value in rule_values


def covers_path(offered: str, path: str) -> bool:
    """Return whether a path of a rule covers a path; a star at its end covers any suffix."""
    return offered == path or (offered.endswith("*") and path.startswith(offered.rstrip("*")))


def read_rules(role: dict[str, Any]) -> tuple[PolicyRule, ...]:
    """Return the rules of a role."""
    return msgspec.convert(role.get("rules") or (), tuple[PolicyRule, ...])
