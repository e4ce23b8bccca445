"""Requests for the parent of a set: it is read before a plan, and written before and after its execution."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kubeproto import AlreadyExists, Dynamic, decode, encode

from .._documents import parse_document
from ..calls._core import call
from ..calls._kinds import find_resource
from ..calls._object_reads import find_object
from ._apply_set import PARENT_TYPE, ApplySet, ApplySetError, Extent, Parent, is_built_in, read_parent

if TYPE_CHECKING:
    from kubeproto import Api, Discovery, Resource

    from ..calls._core import ClientCore
    from ..calls._effects import Effects

_DEFINITIONS: Final = "customresourcedefinitions.apiextensions.k8s.io"


def find_parent(client: ClientCore, applyset: ApplySet, served: Discovery) -> Effects[Parent]:
    """Read the parent of a set. Raise `ApplySetError` if it is not a parent, or another tool manages it."""
    type_name, name = applyset.type_and_name
    resource = yield from find_resource(client, type_name)
    namespace = (applyset.namespace or client.namespace) if resource.namespaced else ""
    parent = Parent(applyset, resource, name, namespace)
    if not is_built_in(resource):
        yield from _check_type(client, resource)
    existing = yield from find_object(client, _api(client, parent), name)
    if existing is None and namespace:
        yield from _check_namespace(client, parent)
    return read_parent(parent, None if existing is None else parse_document(existing[1]), served)


def write_parent(client: ClientCore, parent: Parent, extent: Extent, version: str) -> Effects[str]:
    """Write the extent of a set, and return the new version of the parent.

    Raise `Conflict` if the parent has another version, and `AlreadyExists` if another client has created it:
    then another client is changing the set.
    """
    api, document = _api(client, parent), parent.document(extent, version)
    if version:
        request = api.apply(document, field_manager=parent.field_manager, force=True)
        return (yield from call(client, request)).value.metadata.resource_version
    # A create instead of an apply: if another client has created the parent meanwhile, an apply would replace
    # the kinds of its members.
    parent_object = decode(encode(document), Dynamic)
    try:
        request = api.create(parent_object, field_manager=parent.field_manager)
        return (yield from call(client, request)).value.metadata.resource_version
    except AlreadyExists:
        existing = (yield from call(client, api.get(parent.name))).value.metadata
        if (existing.labels, existing.annotations) != (
            parent_object.metadata.labels,
            parent_object.metadata.annotations,
        ):
            raise
        return existing.resource_version  # the response to an earlier attempt was lost


def _api(client: ClientCore, parent: Parent) -> Api[Dynamic]:
    return client.requests(Dynamic, namespace=parent.namespace, resource=parent.resource)


def _check_type(client: ClientCore, resource: Resource) -> Effects[None]:
    name = f"{resource.plural}.{resource.group}"
    definitions = client.requests(Dynamic, resource=(yield from find_resource(client, _DEFINITIONS)))
    definition = yield from find_object(client, definitions, name)
    if definition is None or PARENT_TYPE not in definition[0].metadata.labels:
        raise ApplySetError(
            f"a {resource.kind} cannot be the parent of a set:"
            f" its definition {name} lacks the label {PARENT_TYPE}"
        )


def _check_namespace(client: ClientCore, parent: Parent) -> Effects[None]:
    namespaces = client.requests(Dynamic, resource=(yield from find_resource(client, "namespaces")))
    if (yield from find_object(client, namespaces, parent.namespace)) is None:
        raise ApplySetError(
            f"the namespace of {parent} does not exist: create it, or use another namespace for the parent"
        )
