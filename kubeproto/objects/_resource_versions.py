"""The order of resource versions, as far as KEP-5504 allows a client to compare them.

Versions of a resource in a cluster are decimal numbers of any length. Other versions ("" and "0", which mean
"latest" and "any", and the versions of an aggregated server) are opaque: equal or different, without an
order.
"""


def comparable(version: str) -> bool:
    """Return whether `version` is a decimal number without leading zeros, and so has an order."""
    return version.isdigit() and version.isascii() and version[0] != "0"


def compare_versions(a: str, b: str) -> int:
    """Return -1, 0 or 1, as `a` is older than, equal to, or newer than `b`; ValueError without an order."""
    for version in (a, b):
        if not comparable(version):
            raise ValueError(_no_order_message(version))
    # Without leading zeros the longer number is the larger one; no conversion, so no limit on the length.
    left, right = (len(a), a), (len(b), b)
    return (left > right) - (left < right)


def is_newer(version: str, than: str) -> bool:
    """Return whether `version` comes after `than`; raise ValueError if they have no order."""
    return compare_versions(version, than) > 0


def _no_order_message(version: str) -> str:
    match version:
        case "":
            return 'resource version "" cannot be compared: it asks a server for the latest state'
        case "0":
            return 'resource version "0" cannot be compared: it asks a server for any state'
        case _:
            quoted = version if len(version) <= 64 else f"{version[:64]}…"
            return f"resource version {quoted!r} cannot be compared: it is not a plain decimal number"
