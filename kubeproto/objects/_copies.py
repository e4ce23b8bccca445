"""Deep copies and pickles of objects, whose values may be nested too deeply for Python's own functions.

`copy` and `pickle` are imported when they are used: most programs need neither, and every program pays for
what `import kubeproto` imports.
"""

from __future__ import annotations

from typing import Any, Final, TypeVar

import msgspec
from msgspec import Struct

from .._errors import InvalidObject

T = TypeVar("T", bound=Struct)


class Unread:
    """The placeholder in a view for a part that has not been read. No encoder accepts it as a value."""

    __slots__ = ()


# A part of a view that nobody has touched.
ABSENT: Final = Unread()


def deep_copy(obj: T, memo: dict[int, Any]) -> T:
    """Return a copy that shares no values with the object; unread parts stay unread."""
    import copy

    other = copy.copy(obj)
    try:
        for name, value in held(obj).items():
            msgspec.structs.force_setattr(other, name, copy.deepcopy(value, memo))
    except RecursionError:
        raise InvalidObject(f"{_name(obj)}: it is nested too deeply to be copied") from None
    return other


def pickled(obj: Struct, state: dict[str, Any], protocol: int) -> bytes:
    """Return the pickle of what an object holds; made here, or the caller would get a `RecursionError`."""
    import pickle

    try:
        return pickle.dumps(state, protocol)
    except RecursionError:
        raise InvalidObject(f"{_name(obj)}: it is nested too deeply to be pickled") from None


def unpickled(state: bytes) -> dict[str, Any]:
    """Return what `pickled` wrote."""
    import pickle

    held: dict[str, Any] = pickle.loads(state)
    return held


def reduced(obj: Struct, protocol: int) -> Any:
    """Return how a plain object is pickled."""
    return restored, (type(obj), pickled(obj, held(obj), protocol))


def restored(plain: type[T], state: bytes) -> T:
    """Return the object that was pickled."""
    return plain(**unpickled(state))


def held(obj: Struct) -> dict[str, Any]:
    """Return the fields of an object as they are in memory, except those that have not been read."""
    plain = getattr(type(obj), "plain_", type(obj))
    slots = {name: getattr(plain, name) for name in plain.__struct_fields__}
    found = {name: slot.__get__(obj) for name, slot in slots.items()}
    return {name: value for name, value in found.items() if value is not ABSENT}


def _name(obj: Any) -> str:
    meta = getattr(obj, "metadata", obj)
    return f"{getattr(obj, 'kind', 'the metadata of')} {getattr(meta, 'name', '')}"
