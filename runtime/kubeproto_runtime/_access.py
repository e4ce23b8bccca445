"""The permissions that an operator needs, recorded from its requests or declared by its parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import msgspec
from msgspec import Struct

from kubeproto import InvalidObject
from kubeproto.objects import Reader

if TYPE_CHECKING:
    from collections.abc import Iterable


Scope: TypeAlias = Literal["cluster", "namespaces", "own"]


class RequiredAccess(Struct, frozen=True, order=True, omit_defaults=True):
    """A verb on a resource (or subresource, after a slash).

    With the scope "cluster" it is needed in all namespaces, or for resources of the cluster. With
    "namespaces" it is needed in the namespaces whose objects the operator reconciles, and with "own" in the
    namespace in which the operator runs. `name` limits it to one object. Requests without a name, such as a
    create, cannot be limited in this way.
    """

    group: str
    resource: str
    verb: str
    scope: Scope = "namespaces"
    name: str = ""


_READER: Final[Reader[list[RequiredAccess]]] = Reader(list[RequiredAccess], "RequiredAccess")


def dump_access(required: Iterable[RequiredAccess]) -> str:
    """Return JSON with a line for each permission. The lines are sorted, so that files can be compared."""
    lines = [msgspec.json.encode(access).decode() for access in sorted(set(required))]
    return "[\n" + ",\n".join(f"  {line}" for line in lines) + ("\n]\n" if lines else "]\n")


def parse_access(data: bytes) -> frozenset[RequiredAccess]:
    """Return the permissions in the output of `dump_access`; raise ValueError for any other text."""
    try:
        return frozenset(_READER.read(data))
    except InvalidObject as error:
        raise ValueError(f"this is not the output of AccessRecorder or dump_access: {error}") from error
