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


class UnreadPart:
    """The placeholder in a view for a part that has not been read. No encoder accepts it as a value."""

    __slots__ = ()


# The value of a part of a view before its first read.
ABSENT: Final = UnreadPart()


def deep_copy(obj: T, memo: dict[int, Any]) -> T:
    """Return a copy that shares no values with the object; unread parts stay unread."""
    import copy

    other = copy.copy(obj)
    try:
        for name, value in loaded_fields(obj).items():
            msgspec.structs.force_setattr(other, name, copy.deepcopy(value, memo))
    except RecursionError:
        raise InvalidObject(f"{_name(obj)}: it is nested too deeply to be copied") from None
    return other


def pickle_fields(obj: Struct, state: dict[str, Any], protocol: int) -> bytes:
    """Return the pickle of the fields of an object; InvalidObject instead of a `RecursionError`."""
    import pickle

    try:
        return pickle.dumps(state, protocol)
    except RecursionError:
        raise InvalidObject(f"{_name(obj)}: it is nested too deeply to be pickled") from None


def unpickle_fields(state: bytes) -> dict[str, Any]:
    """Return the fields that `pickle_fields` wrote."""
    import pickle

    fields: dict[str, Any] = pickle.loads(state)
    return fields


def reduce_plain(obj: Struct, protocol: int) -> Any:
    """Return the reduced form of a plain object, for pickle."""
    return restore_plain, (type(obj), pickle_fields(obj, loaded_fields(obj), protocol))


def restore_plain(plain: type[T], state: bytes) -> T:
    """Rebuild the object when it is unpickled."""
    return plain(**unpickle_fields(state))


def loaded_fields(obj: Struct) -> dict[str, Any]:
    """Return the values of the fields of an object, without those that have not been read."""
    plain = getattr(type(obj), "plain_", type(obj))
    slots = {name: getattr(plain, name) for name in plain.__struct_fields__}
    values = {name: slot.__get__(obj) for name, slot in slots.items()}
    return {name: value for name, value in values.items() if value is not ABSENT}


def _name(obj: Any) -> str:
    meta = getattr(obj, "metadata", obj)
    return f"{getattr(obj, 'kind', 'the metadata of')} {getattr(meta, 'name', '')}"
