"""The result types of functions, and the literals that a server refuses as their arguments."""

from __future__ import annotations

import re
from typing import Final

from .._go_patterns import check_pattern
from ._cel_syntax import Literal, Node, string_content
from ._cel_types import CelType

BOOLEAN: Final = CelType("boolean")
INTEGER: Final = CelType("integer")
STRING: Final = CelType("string")
_NAMES_BY_TYPE: Final = {
    BOOLEAN: (
        "has", "contains", "startsWith", "endsWith", "matches", "isSorted", "isURL", "isIP", "isCIDR",
        "isQuantity", "isSemver", "bool", "hasValue", "isLessThan", "isGreaterThan",
    ),
    INTEGER: ("size", "int", "compareTo"),
    STRING: (
        "string", "lowerAscii", "upperAscii", "trim", "replace", "substring", "join", "charAt", "find",
        "getHost", "getHostname", "getPort", "getScheme", "getEscapedPath",
    ),
    CelType("quantity"): ("quantity", "add", "sub"),
    CelType("cidr"): ("cidr", "masked"),
    CelType("ip"): ("ip",),
    CelType("url"): ("url",),
    CelType("semver"): ("semver",),
}  # fmt: skip
RESULT_TYPES: Final = {name: type_ for type_, names in _NAMES_BY_TYPE.items() for name in names}
# Functions that compare elements with each other, or return them.
USES_EQUALITY: Final = ("indexOf", "lastIndexOf", "distinct", "sort", "contains", "equivalent", "intersects")
# Names that are types, not variables; `google` begins the names of the types of times.
TYPE_NAMES: Final = (
    "bool", "bytes", "double", "dyn", "google", "int", "list", "map", "null_type", "string", "type", "uint",
)  # fmt: skip
_DURATION: Final = re.compile(r"[-+]?(?:0|(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+)")
_TIMESTAMP: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)", re.ASCII)


def literal_error(name: str, arguments: tuple[Node, ...]) -> str | None:
    """Return a server's message for a literal that is not a time or pattern; None for a valid literal."""
    if not arguments or not isinstance(arguments[-1], Literal) or arguments[-1].kind != "string":
        return None
    text = string_content(arguments[-1].text)
    match name:
        case "duration" if text is not None and not _DURATION.fullmatch(text):
            return "invalid duration argument"
        case "timestamp" if text is not None and not _TIMESTAMP.fullmatch(text):
            return "invalid timestamp argument"
        case "matches" if text is not None:
            try:
                check_pattern(text)
            except ValueError:
                return "invalid matches argument"
        case _:
            pass
    return None
