"""The rights that an operator needs: verbs on resources, as its requests have shown or its parts declare."""

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

    It is needed in all namespaces or for the cluster, in the namespaces whose objects the operator
    reconciles, or in its own, the one that it runs in. `name` limits it to one object; requests without a
    name, such as a create, cannot be limited to one.
    """

    group: str
    resource: str
    verb: str
    scope: Scope = "namespaces"
    name: str = ""


_READER: Final[Reader[list[RequiredAccess]]] = Reader(list[RequiredAccess], "RequiredAccess")


def dump_access(needed: Iterable[RequiredAccess]) -> str:
    """Return JSON with one line for each right, sorted, so that two versions of a file can be compared."""
    lines = [msgspec.json.encode(one).decode() for one in sorted(set(needed))]
    return "[\n" + ",\n".join(f"  {line}" for line in lines) + ("\n]\n" if lines else "]\n")


def parse_access(data: bytes) -> frozenset[RequiredAccess]:
    """Return the rights that `dump_access` has written; ValueError for any other text."""
    try:
        return frozenset(_READER.read(data))
    except InvalidObject as error:
        raise ValueError(f"this is not a record of requests, as AccessRecorder writes it: {error}") from error
