"""One rule of a role, and which requests it allows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec
from msgspec import Struct

from .._rejections import quoted
from ._attributes import Attributes

ALL: Final = "*"


class PolicyRule(Struct, frozen=True, rename={
    "api_groups": "apiGroups", "resource_names": "resourceNames", "non_resource_urls": "nonResourceURLs",
}, omit_defaults=True):  # fmt: skip
    """A rule as roles hold it: verbs on resources, or on paths."""

    verbs: tuple[str, ...] = ()
    api_groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    resource_names: tuple[str, ...] = ()
    non_resource_urls: tuple[str, ...] = ()

    def allows(self, asked: Attributes) -> bool:
        """Return whether the rule allows a request."""
        if not _matches(self.verbs, asked.verb):
            return False
        if not asked.is_resource_request:
            return any(covers_path(url, asked.path) for url in self.non_resource_urls)
        return (
            _matches(self.api_groups, asked.group)
            and self._names_resource(asked)
            and (not self.resource_names or asked.name in self.resource_names)
        )

    def _names_resource(self, asked: Attributes) -> bool:
        if _matches(self.resources, asked.combined):
            return True
        return bool(asked.subresource) and f"*/{asked.subresource}" in self.resources

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


def _matches(offered: tuple[str, ...], asked: str) -> bool:
    return ALL in offered or asked in offered


def covers_path(offered: str, path: str) -> bool:
    """Return whether a path of a rule covers another: a star at its end stands for anything."""
    return offered == path or (offered.endswith("*") and path.startswith(offered.rstrip("*")))


def go_list(values: Iterable[str]) -> str:
    """Return strings as Go's %q prints a list of them."""
    return f"[{' '.join(map(quoted, values))}]"


def read_rules(role: dict[str, Any]) -> tuple[PolicyRule, ...]:
    """Return the rules of a role."""
    return msgspec.convert(role.get("rules") or (), tuple[PolicyRule, ...])
