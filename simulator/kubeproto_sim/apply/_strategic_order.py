"""The order of a merged list: that of the patch, then that of the live list.

The order of the patch counts most, that of the live list as far as it does not contradict. So an element
that only the server has stays before its old neighbours where it can, and goes to the end where it cannot.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any


def ordered(
    merged: list[Any], *, by: list[Any], live: list[Any], identity: Callable[[Any], Hashable]
) -> list[Any]:
    """Return the elements of `merged` in the order `by`, with others in their live order."""
    wished = {identity(element): place for place, element in reversed([*enumerate(by)])}
    lived: dict[Hashable, int] = {identity(element): place for place, element in reversed([*enumerate(live)])}

    def in_live_order(element: Any) -> int:
        return lived.get(identity(element), len(lived))

    named = [element for element in merged if identity(element) in wished]
    named.sort(key=lambda element: wished[identity(element)])
    # These are in the order of the live list already: merging changes elements in place.
    others = [element for element in merged if identity(element) not in wished]
    result: list[Any] = []
    for element in named:
        place = lived.get(identity(element))
        # Elements further up in the live list come first; the first that it does not have stops the others.
        while others and place is not None and in_live_order(others[0]) < place:
            result.append(others.pop(0))
        result.append(element)
    return result + others
