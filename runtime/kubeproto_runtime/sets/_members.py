"""`list_members`: lists the members of a set, in the kinds and namespaces that its parent names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kubeproto import Dynamic, KubeprotoError

from .._documents import to_builtins
from ..watching._list_pages import Paging
from ._plan_decisions import Listing

if TYPE_CHECKING:
    from kubeproto import Discovery, Resource

    from ..calls._core import ClientCore
    from ..calls._effects import Effects
    from ..writing._ranks import GroupKind
    from ._apply_set import Parent

_PAGE: Final = 500
_DEFINITION: Final = ("apiextensions.k8s.io", "CustomResourceDefinition")


def list_members(client: ClientCore, parent: Parent, served: Discovery) -> Effects[list[Listing]]:
    """List all members of a set. If a list fails, its result contains the reason."""
    listings: list[Listing] = []
    for kind in sorted(parent.extent.kinds):
        resource = _find_listable(kind, served)
        if resource is None:
            if reason := (yield from _find_missing_definition(client, kind, served)):
                listings.append(Listing(kind, failure=reason))
            continue
        for namespace in sorted(parent.extent.namespaces) if resource.namespaced else [""]:
            selector = parent.membership.selector
            listings.append((yield from list_kind(client, kind, resource, namespace, selector)))
    return listings


def list_kind(
    client: ClientCore, kind: GroupKind, resource: Resource, namespace: Any, selector: str
) -> Effects[Listing]:
    """List the objects of a kind."""
    api = client.requests(Dynamic, namespace=namespace, resource=resource)
    pages = Paging(
        client,
        api,
        limit=_PAGE,
        on_expired="go on",
        selection={"label_selector": selector} if selector else {},
    )
    type_meta = {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
    }  # the items of a list have no type
    list_namespace = namespace if isinstance(namespace, str) else ""
    members: list[dict[str, Any]] = []
    try:
        while (page := (yield from pages.next())) is not None:
            members += [to_builtins(item) | type_meta for item in page.items]
    except KubeprotoError as error:
        return Listing(kind, list_namespace, resource, failure=str(error))
    return Listing(kind, list_namespace, resource, tuple(members))


def _find_listable(kind: GroupKind, served: Discovery) -> Resource | None:
    for resource in served:
        if (resource.group, resource.kind) == kind and (not resource.verbs or "list" in resource.verbs):
            return resource
    return None


def _find_missing_definition(client: ClientCore, kind: GroupKind, served: Discovery) -> Effects[str]:
    """Return the reason why a kind is not served; empty if its objects cannot exist.

    The objects of a kind without a definition cannot exist. This matters for a set that has deleted one of
    its definitions and was interrupted before its parent was written: otherwise its next plans could never
    delete.
    """
    if stale_groups := [member for member in served.stale if member.rpartition("/")[0] == kind[0]]:
        return f"the discovery of {', '.join(stale_groups)} failed"
    definitions = _find_listable(_DEFINITION, served)
    if definitions is None:
        return "the server does not serve it"
    listing = yield from list_kind(client, _DEFINITION, definitions, "", "")
    if listing.failure:
        return f"it is not served, and its definition cannot be read: {listing.failure}"
    for member in listing.members:
        if (member["spec"].get("group"), member["spec"].get("names", {}).get("kind")) == kind:
            return f"{member['metadata']['name']} defines it, but the server does not serve it"
    return ""
