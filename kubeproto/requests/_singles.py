"""The verbs that an object and its subresources have in common: read it, write it, patch it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypeVar, Unpack

from .._errors import InvalidRequest
from ..objects import KubeObject, Resource
from ._bodies import (
    applied,
    as_json,
    is_guarded,
    json_patch,
    json_patch_is_guarded,
    merge_patch,
    metadata_of,
    whole,
)
from ._headers import APPLY_PATCH, JSON, JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, accept, content
from ._offers import check_verb
from ._parameters import ApplyOptions, Timeout, WriteOptions, check_field_manager, duration, write_query
from ._readings import One, reads_any_kind
from ._request import Request
from ._targets import Query, Target, given

K = TypeVar("K", bound=KubeObject)


class Single(Generic[K]):
    """One object, or one subresource of it, read and written as a `K`."""

    kind: type[K]
    _place: Target
    _written: Resource  # the kind of bodies: a Scale, not the Deployment that it scales
    _subresource: str = ""

    def get(self, name: str, *, resource_version: str = "", timeout: Timeout = None) -> Request[K]:
        """Read it. With a resource version, one that is not older; "0" means any in the server's cache."""
        self._check_verb("get")
        query = given(("resourceVersion", resource_version), ("timeout", duration(timeout)))
        return Request(
            "GET",
            self._place.member(name, self._subresource, query),
            accept(self.kind),
            verb="get",
            reading=self._one(),
        )

    def replace(self, obj: K, **options: Unpack[WriteOptions]) -> Request[K]:
        """Replace it. If it carries a resource version, the server responds with 409 when it has changed."""
        self._check_verb("update")
        self._place.check_namespace_of(obj.metadata.namespace)
        if not obj.metadata.name:
            raise InvalidRequest(f"a {self._place.resource.kind} without a name replaces nothing")
        return Request(
            "PUT",
            self._place.member(obj.metadata.name, self._subresource, write_query(**options)),
            (*accept(self.kind), *content(JSON)),
            as_json(whole(obj, self._written)),
            verb="update",
            reading=self._one(),
            guarded=is_guarded(obj),
        )

    def json_patch(
        self, name: str, operations: Sequence[Mapping[str, Any]], **options: Unpack[WriteOptions]
    ) -> Request[K]:
        """Change it by the operations of a JSON patch (RFC 6902), all of them or none."""
        body = json_patch(operations)
        guarded = json_patch_is_guarded(operations)
        return self._patch(name, JSON_PATCH, body, write_query(**options), guarded=guarded)

    def merge_patch(self, name: str, patch: Mapping[str, Any], **options: Unpack[WriteOptions]) -> Request[K]:
        """Change it by a merge patch (RFC 7386): None removes a field, a list replaces the list."""
        return self._patch(
            name, MERGE_PATCH, merge_patch(patch), write_query(**options), guarded=is_guarded(patch)
        )

    def strategic_patch(
        self, name: str, patch: Mapping[str, Any], **options: Unpack[WriteOptions]
    ) -> Request[K]:
        """Change it by a patch that merges lists by their keys. Custom resources do not support it (415)."""
        return self._patch(
            name, STRATEGIC_PATCH, merge_patch(patch), write_query(**options), guarded=is_guarded(patch)
        )

    def apply(
        self,
        obj: K | Mapping[str, Any],
        *,
        field_manager: str,
        name: str = "",
        force: bool = False,
        **options: Unpack[ApplyOptions],
    ) -> Request[K]:
        """Apply the fields that this manager wants; the server merges them, or creates the object.

        A field that another manager owns is a 409, unless `force` takes it over. A mapping has only the
        fields that it contains, where an object of a class also has its defaults.
        """
        check_field_manager(field_manager)
        fields = applied(obj, self._written)
        metadata = metadata_of(fields)
        said = str(metadata.get("name") or "")
        if name and said and name != said:
            raise InvalidRequest(f"apply to {name!r}: the object says that it is {said!r}")
        self._place.check_namespace_of(str(metadata.get("namespace") or ""))
        query = write_query(field_manager=field_manager, **options) + given(("force", force))
        return self._patch(name or said, APPLY_PATCH, as_json(fields), query, guarded=True)

    def _patch(self, name: str, media: str, body: bytes, query: Query, *, guarded: bool) -> Request[K]:
        self._check_verb("patch")
        return Request(
            "PATCH",
            self._place.member(name, self._subresource, query),
            (*accept(self.kind), *content(media)),
            body,
            verb="patch",
            reading=self._one(),
            guarded=guarded,
        )

    def _check_verb(self, verb: str) -> None:
        if not self._subresource:  # no class says what a subresource supports
            check_verb(self._place.resource, verb)

    def _one(self) -> One[K]:
        return One(self.kind, self._written if reads_any_kind(self.kind) else None)
