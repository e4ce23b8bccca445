"""Trees for what the library does not support: macros over two variables, and optional results."""

from __future__ import annotations

from typing import Final

from ._syntax import Binary, Call, Index, ListOf, Literal, MapOf, Name, Node, Ternary

OWN: Final = "kp_"  # prefix of this module's functions and variables; no rule may use such names
WHOLE: Final = Name(f"{OWN}whole")
_KEY: Final = Name(f"{OWN}key")


def in_twos(name: str, variables: tuple[str, ...], arguments: tuple[Node, ...]) -> Node:
    """Return a macro over keys and values as nested macros over one each; the map or list is `WHOLE`."""
    keys = Call(f"{OWN}keys", None, (WHOLE,))
    value = Index(WHOLE, _KEY)

    def bind(macro: str, body: Node) -> Node:
        """Return the body with both variables: each is bound to the one element of a list."""
        inner = Call(macro, ListOf(((value, False),)), (Name(variables[1]), body))
        return Call(macro, ListOf(((_KEY, False),)), (Name(variables[0]), inner))

    match name:
        case "all" | "exists":
            return Call(name, keys, (_KEY, bind(name, arguments[0])))
        case "existsOne" | "exists_one":
            return Call("exists_one", keys, (_KEY, bind("exists", arguments[0])))
        case _:
            chosen = (
                Call("filter", keys, (_KEY, bind("exists", arguments[0]))) if len(arguments) == 2 else keys
            )
            body = arguments[-1]
            if name == "transformMap":
                body = MapOf(((_KEY, body, False),))
            zero = Literal("0", "integer")
            made = Call("map", chosen, (_KEY, Index(Index(bind("map", body), zero), zero)))
            return made if name == "transformList" else Call(f"{OWN}joined", None, (made,))


def optional_of(values: Node, *, first: bool = False) -> Node:
    """Return a list, or its `first` element, as an optional value; absent if the list is empty."""
    one = Name(f"{OWN}one")
    held: Node = Index(one, Literal("0", "integer")) if first else one
    empty = Binary("==", Call("size", None, (one,)), Literal("0", "integer"))
    none, some = Call("none", Name("optional"), ()), Call("of", Name("optional"), (held,))
    made = Call("map", ListOf(((values, False),)), (one, Ternary(empty, none, some)))
    return Index(made, Literal("0", "integer"))
