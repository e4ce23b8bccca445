"""What the generated modules use, besides the objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final, Optional, TypeAlias, TypeVar

from msgspec import Struct

from ..objects import Fields

T = TypeVar("T")

IntOrString: TypeAlias = int | str

ALL_VERBS: Final = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


class Part(Fields, gc=False):
    """The base of what is inside the built-in kinds.

    Objects of the API are trees, so the garbage collector need not walk them: a cache of a hundred thousand
    pods contains millions of parts.
    """


if TYPE_CHECKING:
    Filled = Annotated[T, "never None: a server's null becomes empty"]
else:
    # Go writes null for a slice, a map or bytes that nobody has set, also where a field is required.
    Filled = Optional[T]  # noqa: UP045 # an alias that takes its argument later


def veiled(obj: Struct, *secrets: str) -> str:
    """Return the repr of an object whose secrets must not reach a log."""
    shown = (
        f"{name}={'…' if name in secrets and value is not None else repr(value)}"
        for name in obj.__struct_fields__
        for value in (getattr(obj, name),)
    )
    return f"{type(obj).__name__}({', '.join(shown)})"
