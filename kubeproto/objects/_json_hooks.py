"""The hooks of msgspec for values that JSON holds as strings: quantities, exact times.

They are recognized by their `parse`, so that reading objects without them does not import them.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from .._errors import LocalProtocolError


def decoder_of(type_: Any, owner: str) -> msgspec.json.Decoder[Any]:
    """Return the decoder of a type. Errors about an annotation name the class `owner`."""
    try:
        return msgspec.json.Decoder(type_, dec_hook=dec_hook)
    except (NameError, AttributeError) as error:
        raise unresolved(owner, error) from None


def unresolved(owner: str, error: Exception) -> LocalProtocolError:
    """Return the error for an annotation with names that are local to the function that made its class."""
    return LocalProtocolError(
        f"class {owner}: an annotation cannot be resolved ({error}); define its names at module level"
    )


# Immutable values that were parsed before, by type and text.
PARSED_VALUES: Final[dict[Any, dict[str, Any]]] = {}


def dec_hook(type_: Any, value: Any) -> Any:
    """Return the value of a JSON string or number."""
    # A typed pod holds half a dozen quantities, mostly the same ones: calling `parse` takes twice as long.
    cache = PARSED_VALUES.get(type_)
    if cache is not None and type(value) is str and (cached := cache.get(value)) is not None:
        return cached
    parse = getattr(type_, "parse", None)
    if parse is None:
        raise TypeError(f"{getattr(type_, '__name__', type_)} cannot be read from JSON")
    # A custom resource may hold a number where Kubernetes' own kinds hold a quantity as a string.
    return parse(value if isinstance(value, str) else repr(value))


def enc_hook(value: Any) -> Any:
    """Return the JSON string of a value."""
    if getattr(value, "parse", None) is not None:
        return str(value)
    raise TypeError(f"a {type(value).__name__} cannot be sent")
