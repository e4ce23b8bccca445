"""The identity of a kind: group, version, kind, plural and scope; and the order of API versions."""

from __future__ import annotations

import re
from typing import Final, TypeAlias

from msgspec import Struct

_ES_ENDINGS = ("s", "x", "z", "ch", "sh")


class GroupVersionKind(Struct, frozen=True, order=True):
    """A kind by its full name. `GroupVersionKind.of("apps/v1", "Deployment")` reads the wire's two fields."""

    group: str
    version: str
    kind: str

    @classmethod
    def of(cls, api_version: str, kind: str) -> GroupVersionKind:
        """Return the kind of an object's `apiVersion` and `kind`."""
        group, slash, version = api_version.rpartition("/")
        if not version or (slash and not group) or "/" in group or not kind:
            raise ValueError(f"not a kind of the API: apiVersion {api_version!r}, kind {kind!r}")
        return cls(group, version, kind)

    @property
    def api_version(self) -> str:
        """The wire's `apiVersion`: ``v1`` or ``group/version``."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def __str__(self) -> str:
        return f"{self.api_version} {self.kind}"


class Resource(Struct, frozen=True):
    """A kind and its address in the API. `subresources` and `verbs` are empty if they are unknown."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool = True
    singular: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()

    @property
    def api_version(self) -> str:
        """The wire's `apiVersion`: ``v1`` or ``group/version``."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def gvk(self) -> GroupVersionKind:
        """The kind's full name."""
        return GroupVersionKind(self.group, self.version, self.kind)

    def __str__(self) -> str:
        return f"{self.plural}.{self.group}/{self.version}" if self.group else f"{self.plural}/{self.version}"


def guess_plural(kind: str) -> str:
    """Return the lower-case English plural, which fits most kinds. Other kinds set `plural=`."""
    name = kind.lower()
    if name.endswith(_ES_ENDINGS):
        return name + "es"
    if name.endswith("y") and name[-2:-1] not in ("a", "e", "i", "o", "u"):
        return name[:-1] + "ies"
    return name + "s"


# Stable before beta before alpha, the newer first: v2, v1, v1beta2, v1alpha1.
ApiVersionPriority: TypeAlias = tuple[int, int, int, str]

_KUBERNETES_VERSION: Final = r"v([0-9]{1,18})(?:(alpha|beta)([0-9]{1,18}))?"
_STAGES: Final = {None: 0, "beta": 1, "alpha": 2}
_OTHER: Final = 3


def api_version_priority(version: str) -> ApiVersionPriority:
    """Return a sort key that puts the preferred version first, and other names last, in alphabetical order.

    See
    https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/
    """
    match = re.fullmatch(_KUBERNETES_VERSION, version)
    if not match:
        return _OTHER, 0, 0, version
    major, stage, minor = match.groups()
    return _STAGES[stage], -int(major), -int(minor or 0), version
