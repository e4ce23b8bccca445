"""The values that msgspec does not know go in and out of JSON as strings: quantities, exact times.

They are recognized by their `parse`, so that reading objects without them need not import them.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from .._errors import LocalProtocolError


def decoder_of(type_: Any, owner: str) -> msgspec.json.Decoder[Any]:
    """Return what reads this type from JSON. Errors about an annotation name the class `owner`."""
    try:
        return msgspec.json.Decoder(type_, dec_hook=dec_hook)
    except (NameError, AttributeError) as error:
        raise unresolved(owner, error) from None


def unresolved(owner: str, error: Exception) -> LocalProtocolError:
    """Return the error for an annotation with names that are local to the function that made its class."""
    return LocalProtocolError(
        f"class {owner}: an annotation cannot be resolved ({error}); define what it names at module level"
    )


# What was read before, by its type and its text, of types whose values never change.
READ_BEFORE: Final[dict[Any, dict[str, Any]]] = {}


def dec_hook(type_: Any, value: Any) -> Any:
    """Return one of these values from its JSON."""
    # A typed pod holds half a dozen quantities, mostly the same few: calling `parse` takes twice as long.
    known = READ_BEFORE.get(type_)
    if known is not None and type(value) is str and (found := known.get(value)) is not None:
        return found
    parse = getattr(type_, "parse", None)
    if parse is None:
        raise TypeError(f"{getattr(type_, '__name__', type_)} is not a type that JSON is read as")
    # A custom resource may hold a number where Kubernetes' own kinds hold a quantity as a string.
    return parse(value if isinstance(value, str) else repr(value))


def enc_hook(value: Any) -> Any:
    """Return the JSON of one of these values."""
    if getattr(value, "parse", None) is not None:
        return str(value)
    raise TypeError(f"a {type(value).__name__} cannot be sent")
