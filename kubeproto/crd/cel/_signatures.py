"""What the names of functions imply: the types of results, and literals that a server refuses."""

from __future__ import annotations

import re
from typing import Final

from .._patterns import check_pattern
from ._forms import Form
from ._syntax import Literal, Node, plain_text

BOOLEAN: Final = Form("boolean")
INTEGER: Final = Form("integer")
TEXT: Final = Form("string")
_OF_KIND: Final = {
    BOOLEAN: (
        "has", "contains", "startsWith", "endsWith", "matches", "isSorted", "isURL", "isIP", "isCIDR",
        "isQuantity", "isSemver", "bool", "hasValue", "isLessThan", "isGreaterThan",
    ),
    INTEGER: ("size", "int", "compareTo"),
    TEXT: (
        "string", "lowerAscii", "upperAscii", "trim", "replace", "substring", "join", "charAt", "find",
        "getHost", "getHostname", "getPort", "getScheme", "getEscapedPath",
    ),
    Form("quantity"): ("quantity", "add", "sub"),
    Form("cidr"): ("cidr", "masked"),
    Form("ip"): ("ip",),
    Form("url"): ("url",),
    Form("semver"): ("semver",),
}  # fmt: skip
RESULTS: Final = {name: form for form, names in _OF_KIND.items() for name in names}
# Calls that compare elements with each other, or return them.
COMPARING: Final = ("indexOf", "lastIndexOf", "distinct", "sort", "contains", "equivalent", "intersects")
# What a name may mean besides a variable; `google` begins the names of the types of times.
TYPES: Final = (
    "bool", "bytes", "double", "dyn", "google", "int", "list", "map", "null_type", "string", "type", "uint",
)  # fmt: skip
_DURATION: Final = re.compile(r"[-+]?(?:0|(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+)")
_TIMESTAMP: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)", re.ASCII)


def literal_fault(name: str, arguments: tuple[Node, ...]) -> str | None:
    """Return how a server refuses a rule with a literal that is not a time or pattern."""
    if not arguments or not isinstance(arguments[-1], Literal) or arguments[-1].kind != "string":
        return None
    text = plain_text(arguments[-1].text)
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
