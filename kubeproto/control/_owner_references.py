"""`owner_reference` and `is_controlled_by`: the objects that an object owns."""

from __future__ import annotations

from .._errors import InvalidRequest
from ..objects import KubeObject, OwnerReference


def owner_reference(
    owner: KubeObject,
    *,
    controller: bool = True,
    block: bool = True,
    dependent: KubeObject | None = None,
) -> OwnerReference:
    """Return a reference to the owner, for the metadata of a dependent object.

    With `dependent`, a reference is refused that a server would refuse, or for which its garbage collector
    would delete the dependent immediately, as for an owner in another namespace. The error is
    `InvalidRequest`, a ValueError.
    """
    meta = owner.metadata
    if not (owner.api_version and owner.kind and meta.name and meta.uid):
        raise InvalidRequest(
            f"{owner.kind or 'the owner'} {meta.name!r} cannot be referenced: it lacks apiVersion, kind,"
            " name or uid; create it first, or read it from the server"
        )
    if dependent is not None:
        _check_ownership(owner, dependent, controller)
    return OwnerReference(
        api_version=owner.api_version,
        kind=owner.kind,
        name=meta.name,
        uid=meta.uid,
        controller=True if controller else None,
        block_owner_deletion=True if block else None,
    )


def is_controlled_by(dependent: KubeObject, owner: KubeObject) -> bool:
    """Return whether the owner controls the object, by uid: a deleted owner of that name does not count."""
    references = dependent.metadata.owner_references
    return any(reference.controller and reference.uid == owner.metadata.uid for reference in references)


def _check_ownership(owner: KubeObject, dependent: KubeObject, controller: bool) -> None:
    namespace, owner_meta = dependent.metadata.namespace, owner.metadata
    if owner_meta.namespace and owner_meta.namespace != namespace:
        raise InvalidRequest(
            f"{owner.kind} {owner_meta.namespace}/{owner_meta.name} cannot own {dependent.kind}"
            f" {dependent.metadata.name!r} in {f'namespace {namespace!r}' if namespace else 'no namespace'}:"
            " an owner must be in the same namespace, or cluster-scoped"
        )
    if owner_meta.uid == dependent.metadata.uid:
        raise InvalidRequest(f"{owner.kind} {owner_meta.name!r} cannot own itself")
    if controller:
        for reference in dependent.metadata.owner_references:
            if reference.controller and reference.uid != owner_meta.uid:
                raise InvalidRequest(
                    f"{dependent.kind} {dependent.metadata.name!r} already has a controller,"
                    f" {reference.kind} {reference.name!r}: use controller=False, or remove that reference"
                )
