"""Names that the generated modules import."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final, Optional, TypeAlias, TypeVar

from msgspec import Struct

from ..objects import Fields

T = TypeVar("T")

IntOrString: TypeAlias = int | str

ALL_VERBS: Final = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


class Part(Fields, gc=False):
    """The base of the types inside the built-in kinds.

    API objects are trees, so the garbage collector need not visit them: a cache of a hundred thousand pods
    contains millions of parts.
    """


if TYPE_CHECKING:
    Filled = Annotated[T, "never None: a server's null becomes empty"]
else:
    # Go writes null for a slice, a map or bytes that were not set, even if the field is required.
    Filled = Optional[T]  # noqa: UP045 # an alias with a type parameter


def concealed_repr(obj: Struct, *secrets: str) -> str:
    """Return the repr of an object without its secrets."""
    fields = (
        f"{name}={'…' if name in secrets and value is not None else repr(value)}"
        for name in obj.__struct_fields__
        for value in (getattr(obj, name),)
    )
    return f"{type(obj).__name__}({', '.join(fields)})"
