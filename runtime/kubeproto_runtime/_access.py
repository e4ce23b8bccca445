"""What an operator has to be allowed: verbs on resources, as its requests have shown or its parts declare."""

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

    It is asked for in all namespaces or of the cluster, in the namespaces whose objects the operator
    reconciles, or in its own, the one that it runs in. `name` is for one object alone; requests that name
    none, such as a create, cannot be limited to one.
    """

    group: str
    resource: str
    verb: str
    scope: Scope = "namespaces"
    name: str = ""


_READER: Final[Reader[list[RequiredAccess]]] = Reader(list[RequiredAccess], "RequiredAccess")


def dump_access(needed: Iterable[RequiredAccess]) -> str:
    """Return a JSON text with one line for each, sorted, so that two versions of a file can be compared."""
    lines = [msgspec.json.encode(one).decode() for one in sorted(set(needed))]
    return "[\n" + ",\n".join(f"  {line}" for line in lines) + ("\n]\n" if lines else "]\n")


def parse_access(data: bytes) -> frozenset[RequiredAccess]:
    """Return what `dump_access` has written; ValueError if it is something else."""
    try:
        return frozenset(_READER.read(data))
    except InvalidObject as error:
        raise ValueError(f"this is not a record of requests, as AccessRecorder writes it: {error}") from error
