"""The members of a set as the server has them: each kind and namespace that its parent names is listed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kubeproto import Dynamic, KubeprotoError

from .._documents import plain
from ..watching._pages import Paging
from ._deciding import Listing

if TYPE_CHECKING:
    from kubeproto import Discovery, Resource

    from ..calls._core import ClientCore
    from ..calls._effects import Effects
    from ..writing._ranks import GroupKind
    from ._apply_set import Parent

_PAGE: Final = 500
_DEFINITION: Final = ("apiextensions.k8s.io", "CustomResourceDefinition")


def list_members(client: ClientCore, parent: Parent, served: Discovery) -> Effects[list[Listing]]:
    """List all members of a set; what cannot be listed is among the results, with the reason."""
    listings: list[Listing] = []
    for kind in sorted(parent.extent.kinds):
        resource = _listed_as(kind, served)
        if resource is None:
            if why := (yield from _why_not_served(client, kind, served)):
                listings.append(Listing(kind, failure=why))
            continue
        for namespace in sorted(parent.extent.namespaces) if resource.namespaced else [""]:
            selector = parent.membership.selector
            listings.append((yield from list_kind(client, kind, resource, namespace, selector)))
    return listings


def list_kind(
    client: ClientCore, kind: GroupKind, resource: Resource, namespace: Any, selector: str
) -> Effects[Listing]:
    """List the objects of one kind."""
    api = client.requests(Dynamic, namespace=namespace, resource=resource)
    pages = Paging(
        client,
        api,
        limit=_PAGE,
        on_expired="go on",
        selection={"label_selector": selector} if selector else {},
    )
    said = {"apiVersion": resource.api_version, "kind": resource.kind}  # which the items of a list leave out
    place = namespace if isinstance(namespace, str) else ""
    members: list[dict[str, Any]] = []
    try:
        while (page := (yield from pages.next())) is not None:
            members += [plain(item) | said for item in page.items]
    except KubeprotoError as error:
        return Listing(kind, place, resource, failure=str(error))
    return Listing(kind, place, resource, tuple(members))


def _listed_as(kind: GroupKind, served: Discovery) -> Resource | None:
    for resource in served:
        if (resource.group, resource.kind) == kind and (not resource.verbs or "list" in resource.verbs):
            return resource
    return None


def _why_not_served(client: ClientCore, kind: GroupKind, served: Discovery) -> Effects[str]:
    """Return why a kind is not served; empty if its objects cannot exist, because nothing defines it.

    Without the second, a set that has deleted a definition of its own, and was interrupted before its parent
    was written, could never prune anything again.
    """
    if stale := [one for one in served.stale if one.rpartition("/")[0] == kind[0]]:
        return f"{', '.join(stale)} could not be asked for its kinds"
    definitions = _listed_as(_DEFINITION, served)
    if definitions is None:
        return "the server does not serve it"
    listing = yield from list_kind(client, _DEFINITION, definitions, "", "")
    if listing.failure:
        return f"it is not served, and whether it is defined is not known: {listing.failure}"
    for one in listing.members:
        if (one["spec"].get("group"), one["spec"].get("names", {}).get("kind")) == kind:
            return f"{one['metadata']['name']} defines it, and it is not served"
    return ""
