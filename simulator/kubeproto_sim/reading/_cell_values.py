"""Values of cells of several kinds: names, ages, lists, selectors."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from kubeproto.objects import Selector, human_duration, parse_time

from ..storage._json_values import is_map, listed, member

_MOST_ENDPOINTS: Final = 3
Json = dict[str, Any]
Row = Callable[[Json, float], list[Any]]
NONE: Final = "<none>"
UNSET: Final = "<unset>"
UNKNOWN: Final = "<unknown>"


def value_at(obj: Json, path: str, otherwise: Any = "") -> Any:
    """Return the value at a path of names."""
    value: Any = obj
    for name in path.split("."):
        value = value.get(name) if is_map(value) else None
    return otherwise if value is None else value


def name_of(obj: Json) -> str:
    """The name of an object."""
    return str(value_at(obj, "metadata.name"))


def age_of(obj: Json, time: float) -> str:
    """How old an object is."""
    return ago(value_at(obj, "metadata.creationTimestamp", None), time)


def since(text: Any, time: float) -> str:
    """How long ago a time was."""
    return ago(text, time) if text else UNKNOWN


def joined(parts: Iterable[Any], otherwise: str = "") -> str:
    """Parts between commas."""
    return ",".join(str(one) for one in parts) or otherwise


def pairs(labels: Json) -> str:
    """Labels, as kubectl writes them."""
    return joined((f"{name}={value}" for name, value in sorted(labels.items())), NONE)


def selector_at(obj: Json, path: str) -> str:
    """The selector under a path."""
    found = value_at(obj, path, None)
    if not is_map(found):
        return NONE
    return str(Selector.from_object(found)) or NONE


def held_containers(spec: Json) -> list[str]:
    """The names and the images of a pod's containers."""
    containers = listed(spec, "containers")
    return [joined(one.get(name, "") for one in containers) for name in ("name", "image")]


def template_containers(obj: Json) -> list[str]:
    """Those of the pod in a template."""
    return held_containers(member(member(member(obj, "spec"), "template"), "spec"))


def simple(*paths: str, otherwise: Any = "") -> Row:
    """Name, the values at some paths, and age."""

    def row(obj: Json, time: float) -> list[Any]:
        return [name_of(obj), *(value_at(obj, path, otherwise) for path in paths), age_of(obj, time)]

    return row


def created(obj: Json, _: float) -> list[Any]:
    """Name and time."""
    return [name_of(obj), value_at(obj, "metadata.creationTimestamp", None)]


def counted(path: str) -> Row:
    """Name, the number of elements at a path, and age."""

    def row(obj: Json, time: float) -> list[Any]:
        above, _, last = path.rpartition(".")
        held = value_at(obj, above, {}) if above else obj
        return [name_of(obj), len(listed(held, last)), age_of(obj, time)]

    return row


def either(obj: Json, *names: str) -> Any:
    """The first of several fields that is set."""
    return next((obj[name] for name in names if obj.get(name)), "")


def few(found: list[str], otherwise: str) -> str:
    """The first few parts, and a note if there are more."""
    more = f" + {len(found) - _MOST_ENDPOINTS} more..." if len(found) > _MOST_ENDPOINTS else ""
    return joined(found[:_MOST_ENDPOINTS], otherwise) + more


def ago(stamp: str | None, time: float) -> str:
    """Return how long ago a time was, as kubectl shows it."""
    if not stamp:
        return "<unknown>"
    return human_duration(time - parse_time(stamp).timestamp())
