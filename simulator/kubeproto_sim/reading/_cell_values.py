"""Values of cells that several kinds share: names, ages, lists, selectors."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from kubeproto.objects import Selector, human_duration, is_object, parse_time

from ..storage._json_values import member, objects_in

_MAX_ENDPOINTS: Final = 3
Json = dict[str, Any]
Row = Callable[[Json, float], list[Any]]
NONE: Final = "<none>"
UNSET: Final = "<unset>"
UNKNOWN: Final = "<unknown>"


def value_at(obj: Json, path: str, otherwise: Any = "") -> Any:
    """Return the value at a path of names."""
    value: Any = obj
    for name in path.split("."):
        value = value.get(name) if is_object(value) else None
    return otherwise if value is None else value


def name_of(obj: Json) -> str:
    """Return the name of an object."""
    return str(value_at(obj, "metadata.name"))


def age_of(obj: Json, time: float) -> str:
    """Return the age of an object."""
    return ago(value_at(obj, "metadata.creationTimestamp", None), time)


def since(text: Any, time: float) -> str:
    """Return the time since `text`; unknown if it is empty."""
    return ago(text, time) if text else UNKNOWN


def joined(parts: Iterable[Any], otherwise: str = "") -> str:
    """Return the parts, separated by commas."""
    return ",".join(str(part) for part in parts) or otherwise


def pairs(labels: Json) -> str:
    """Return labels as kubectl writes them."""
    return joined((f"{name}={value}" for name, value in sorted(labels.items())), NONE)


def selector_at(obj: Json, path: str) -> str:
    """Return the selector at a path."""
    selector = value_at(obj, path, None)
    if not is_object(selector):
        return NONE
    return str(Selector.from_object(selector)) or NONE


def containers_of(spec: Json) -> list[str]:
    """Return the names and the images of a pod's containers."""
    containers = objects_in(spec, "containers")
    return [joined(container.get(name, "") for container in containers) for name in ("name", "image")]


def template_containers(obj: Json) -> list[str]:
    """Return the names and the images of the containers in a pod template."""
    return containers_of(member(member(member(obj, "spec"), "template"), "spec"))


def true_conditions(status: Json) -> set[str]:
    """Return the types of the conditions that are true."""
    conditions = objects_in(status, "conditions")
    return {condition.get("type", "") for condition in conditions if condition.get("status") == "True"}


def simple(*paths: str, otherwise: Any = "") -> Row:
    """Return a row of the name, the values at some paths, and the age."""

    def row(obj: Json, time: float) -> list[Any]:
        return [name_of(obj), *(value_at(obj, path, otherwise) for path in paths), age_of(obj, time)]

    return row


def created(obj: Json, _: float) -> list[Any]:
    """Return the name and the time of creation."""
    return [name_of(obj), value_at(obj, "metadata.creationTimestamp", None)]


def count_row(path: str) -> Row:
    """Return a row of the name, the number of elements at a path, and the age."""

    def row(obj: Json, time: float) -> list[Any]:
        above, _, last = path.rpartition(".")
        parent = value_at(obj, above, {}) if above else obj
        return [name_of(obj), len(objects_in(parent, last)), age_of(obj, time)]

    return row


def either(obj: Json, *names: str) -> Any:
    """Return the first of several fields that is set."""
    return next((obj[name] for name in names if obj.get(name)), "")


def first_few(texts: list[str], otherwise: str) -> str:
    """Return the first strings, and the number of the others."""
    more = f" + {len(texts) - _MAX_ENDPOINTS} more..." if len(texts) > _MAX_ENDPOINTS else ""
    return joined(texts[:_MAX_ENDPOINTS], otherwise) + more


def ago(stamp: str | None, time: float) -> str:
    """Return the time that has passed since a time, as kubectl shows it."""
    if not stamp:
        return "<unknown>"
    return human_duration(time - parse_time(stamp).timestamp())
