"""`MemberVerbs`: the verbs that objects and subresources share: get, replace, patch and apply."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypeVar, Unpack

from .._errors import InvalidRequest
from ..objects import KubeObject, Resource
from ._headers import APPLY_PATCH, JSON, JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, accept, content_type
from ._kind_checks import check_verb, reads_any_kind
from ._parameters import ApplyOptions, Timeout, WriteOptions, check_field_manager, duration, write_query
from ._request import Request
from ._request_bodies import (
    applied_fields,
    complete_object,
    encode_body,
    encode_json_patch,
    encode_merge_patch,
    is_guarded,
    is_guarded_json_patch,
    metadata_of,
)
from ._response_parsers import ObjectParser
from ._targets import Query, Target, make_query

K = TypeVar("K", bound=KubeObject)


class MemberVerbs(Generic[K]):
    """The requests for an object, or for a subresource of it, as a `K`."""

    kind: type[K]
    _target: Target
    _body_resource: Resource  # the kind of bodies: a Scale, not the Deployment that it scales
    _subresource: str = ""

    def get(self, name: str, *, resource_version: str = "", timeout: Timeout = None) -> Request[K]:
        """Read it, at `resource_version` or newer; "0" allows any version in the server's cache."""
        self._check_verb("get")
        query = make_query(("resourceVersion", resource_version), ("timeout", duration(timeout)))
        return Request(
            "GET",
            self._target.member(name, self._subresource, query),
            accept(self.kind),
            verb="get",
            parser=self._object_parser(),
        )

    def replace(self, obj: K, **options: Unpack[WriteOptions]) -> Request[K]:
        """Replace it. If `obj` has a resource version, the server responds with 409 when it has changed."""
        self._check_verb("update")
        self._target.check_namespace_of(obj.metadata.namespace)
        if not obj.metadata.name:
            raise InvalidRequest(f"replace: the {self._target.resource.kind} has no name; set metadata.name")
        return Request(
            "PUT",
            self._target.member(obj.metadata.name, self._subresource, write_query(**options)),
            (*accept(self.kind), *content_type(JSON)),
            encode_body(complete_object(obj, self._body_resource)),
            verb="update",
            parser=self._object_parser(),
            guarded=is_guarded(obj),
        )

    def json_patch(
        self, name: str, operations: Sequence[Mapping[str, Any]], **options: Unpack[WriteOptions]
    ) -> Request[K]:
        """Change it by the operations of a JSON patch (RFC 6902), all of them or none."""
        body = encode_json_patch(operations)
        guarded = is_guarded_json_patch(operations)
        return self._patch(name, JSON_PATCH, body, write_query(**options), guarded=guarded)

    def merge_patch(self, name: str, patch: Mapping[str, Any], **options: Unpack[WriteOptions]) -> Request[K]:
        """Change it by a merge patch (RFC 7386): None removes a field, a list replaces the list."""
        body = encode_merge_patch(patch)
        return self._patch(name, MERGE_PATCH, body, write_query(**options), guarded=is_guarded(patch))

    def strategic_patch(
        self, name: str, patch: Mapping[str, Any], **options: Unpack[WriteOptions]
    ) -> Request[K]:
        """Change it by a patch that merges lists by their keys. Custom resources do not support it (415)."""
        body = encode_merge_patch(patch)
        return self._patch(name, STRATEGIC_PATCH, body, write_query(**options), guarded=is_guarded(patch))

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

        A field that another manager owns is a 409; `force` takes over its ownership. A mapping contains only
        its own fields, while an object of a class also contains its defaults.
        """
        check_field_manager(field_manager)
        fields = applied_fields(obj, self._body_resource)
        metadata = metadata_of(fields)
        object_name = str(metadata.get("name") or "")
        if name and object_name and name != object_name:
            raise InvalidRequest(f"apply to {name!r}: the name of the object is {object_name!r}")
        self._target.check_namespace_of(str(metadata.get("namespace") or ""))
        query = write_query(field_manager=field_manager, **options) + make_query(("force", force))
        return self._patch(name or object_name, APPLY_PATCH, encode_body(fields), query, guarded=True)

    def _patch(self, name: str, media: str, body: bytes, query: Query, *, guarded: bool) -> Request[K]:
        self._check_verb("patch")
        return Request(
            "PATCH",
            self._target.member(name, self._subresource, query),
            (*accept(self.kind), *content_type(media)),
            body,
            verb="patch",
            parser=self._object_parser(),
            guarded=guarded,
        )

    def _check_verb(self, verb: str) -> None:
        if not self._subresource:  # the verbs of subresources are unknown
            check_verb(self._target.resource, verb)

    def _object_parser(self) -> ObjectParser[K]:
        return ObjectParser(self.kind, self._body_resource if reads_any_kind(self.kind) else None)
