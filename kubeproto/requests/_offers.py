"""What a kind is known to lack, so that a request for it is never built."""

from __future__ import annotations

from typing import Any, Final, get_args, get_origin

from .._errors import InvalidRequest
from ..objects import Definition, KubeObject, Metadata, Resource

PODS: Final = ("", "pods")


def check_verb(resource: Resource, verb: str) -> None:
    """Refuse a verb that a kind is known not to have: a TokenReview cannot be listed."""
    if resource.verbs and verb not in resource.verbs:
        raise InvalidRequest(f"a {resource.kind} has no verb {verb!r}: it has {', '.join(resource.verbs)}")


def check_subresource(
    kind: type[KubeObject], resource: Resource, name: str, home: tuple[str, str] | None = None
) -> None:
    """Refuse a subresource that a kind is known not to have, or that only another kind is known to have.

    `home` is the one built-in kind, by group and plural, for which servers have this subresource. Another
    kind has it if its class names it.
    """
    if name in resource.subresources:
        return
    if home is not None and home != (resource.group, resource.plural):
        raise InvalidRequest(
            f"{name!r} is a subresource of {home[1]}; a {resource.kind} has none that is known"
            " (name it in subresources= if it has)"
        )
    if home is None and name not in _declared(kind, resource, otherwise=name):
        raise InvalidRequest(
            f"a {resource.kind} has no subresource {name!r} (subresource({name!r}) requests it anyway)"
        )


def _declared(kind: Any, resource: Resource, *, otherwise: str) -> tuple[str, ...]:
    """Return the subresources that are known; where none are, `otherwise` counts as one."""
    if resource.subresources or resource.verbs:
        return resource.subresources
    described: Any = get_args(kind)[0] if get_origin(kind) is Metadata else kind
    definition: Definition | None = getattr(described, "definition", None)
    if definition is None or described.resource != resource:
        return (otherwise,)
    # A status of type None has a special name on the wire, which no server knows.
    typed = "status" in described.__struct_encode_fields__
    status = typed if definition.status is None else definition.status
    return ("status",) * status + ("scale",) * (definition.scale is not None)
