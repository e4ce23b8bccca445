"""The resource of a class, and checks of the verbs and subresources that a kind is known to have."""

from __future__ import annotations

from typing import Any, Final, get_args, get_origin

from msgspec import structs

from .._errors import InvalidRequest
from ..objects import Definition, Dynamic, KubeObject, Metadata, Resource

PODS: Final = ("", "pods")


def check_kind(kind: object) -> None:
    """Refuse a value that is not the class of a kind, and suggest the probably intended one."""
    if isinstance(kind, type) and issubclass(kind, KubeObject):
        return
    if isinstance(kind, str):
        raise InvalidRequest(
            f"{kind!r} is the name of a kind, not its class: use client.resource({kind!r}) to find a kind by"
            " its name, or Api(kp.Dynamic, resource=…) for any kind"
        )
    name = kind.__name__ if isinstance(kind, type) else repr(kind)
    if isinstance(kind, KubeObject):
        raise InvalidRequest(f"this is an object, not the class of a kind: use Api({type(kind).__name__})")
    raise InvalidRequest(
        f"{name} is not a kind: it has no apiVersion and kind. Use the class that has it as its spec, class"
        f' Book(kp.Object[{name}, None], group="…", version="v1")'
    )


def resource_of(kind: type[KubeObject]) -> Resource:
    """Return the resource of a class; that of `Metadata[Book]` is that of Book."""
    if get_origin(kind) is Metadata:
        return resource_of(get_args(kind)[0])
    check_kind(kind)
    if issubclass(kind, Dynamic | Metadata) or kind.abstract:
        raise InvalidRequest(f"Api({kind.__name__}) needs its kind: pass resource=…")
    return kind.resource


def body_resource_of(kind: type[KubeObject]) -> Resource:
    """Return the resource of a class in bodies; a class without a path, such as Scale, has no plural."""
    if not kind.abstract:
        return resource_of(kind)
    factories: dict[str, Any] = {field.name: field.default_factory for field in structs.fields(kind)}
    if not (callable(factories["kind"]) and callable(factories["api_version"])):
        raise InvalidRequest(f"{kind.__name__} has no default for kind and apiVersion: it cannot be written")
    group, _, version = str(factories["api_version"]()).rpartition("/")
    return Resource(group, version, str(factories["kind"]()), "")


def reads_any_kind(kind: type[KubeObject]) -> bool:
    """Return whether objects of any kind decode as this class."""
    return issubclass(get_origin(kind) or kind, Metadata | Dynamic)


def check_verb(resource: Resource, verb: str) -> None:
    """Refuse a verb that a kind is known to lack: a TokenReview cannot be listed."""
    if resource.verbs and verb not in resource.verbs:
        raise InvalidRequest(f"a {resource.kind} has no verb {verb!r}: it has {', '.join(resource.verbs)}")


def check_subresource(
    kind: type[KubeObject], resource: Resource, name: str, owner: tuple[str, str] | None = None
) -> None:
    """Refuse a subresource that a kind is known to lack, or that belongs to another kind.

    `owner` is the only built-in kind with this subresource, by group and plural. Any kind has the
    subresources that its class declares.
    """
    if name in resource.subresources:
        return
    if owner is not None and owner != (resource.group, resource.plural):
        raise InvalidRequest(
            f"{name!r} is a subresource of {owner[1]}, and unknown for {resource.kind}: declare it with"
            " subresources= if the kind has it"
        )
    if owner is None and name not in _known_subresources(kind, resource, default=name):
        raise InvalidRequest(
            f"a {resource.kind} has no subresource {name!r} (subresource({name!r}) requests it anyway)"
        )


def _known_subresources(kind: Any, resource: Resource, *, default: str) -> tuple[str, ...]:
    """Return the known subresources of a kind, or `default` if none can be known."""
    if resource.subresources or resource.verbs:
        return resource.subresources
    described: Any = get_args(kind)[0] if get_origin(kind) is Metadata else kind
    definition: Definition | None = getattr(described, "definition", None)
    if definition is None or described.resource != resource:
        return (default,)
    # A status of type None has a special name on the wire, which no server knows.
    typed = "status" in described.__struct_encode_fields__
    status = typed if definition.status is None else definition.status
    return ("status",) * status + ("scale",) * (definition.scale is not None)
