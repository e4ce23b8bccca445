"""`CollectionVerbs`: the verbs of a kind that its subresources lack: list, watch, create and delete."""

from __future__ import annotations

from typing import TypeVar, Unpack

from .._errors import InvalidRequest
from ..objects import KubeObject, ObjectList, Status
from ..watching import WatchEvent
from ..wire import Headers
from ._headers import JSON, accept, accept_stream, content_type
from ._kind_checks import check_verb
from ._member_requests import MemberVerbs
from ._parameters import (
    FieldSelectorLike,
    LabelSelector,
    Match,
    Propagation,
    Timeout,
    WriteOptions,
    deletion_body,
    duration,
    list_query,
    selector_text,
    watch_query,
    write_query,
)
from ._request import Request, StreamRequest
from ._request_bodies import complete_object, encode_body
from ._response_parsers import ObjectOrStatusParser, PageOrStatusParser, PageParser, WatchOpener
from ._shard_selector import Shard
from ._targets import make_query

K = TypeVar("K", bound=KubeObject)


class CollectionVerbs(MemberVerbs[K]):
    """The requests for the objects of a kind, in one namespace or in all."""

    def list(
        self,
        *,
        label_selector: LabelSelector = "",
        field_selector: FieldSelectorLike = "",
        limit: int = 0,
        continue_: str = "",
        resource_version: str = "",
        resource_version_match: Match = "",
        shard_selector: str | Shard = "",
        timeout: Timeout = None,
    ) -> Request[ObjectList[K]]:
        """Read the objects, or with a `limit` a page of them; `continue_` is the token of the next page.

        Without a resource version the response is up to date. With "0" the server returns the content of its
        cache, however old, and ignores the limit.
        """
        check_verb(self._target.resource, "list")
        query = list_query(
            label_selector=label_selector,
            field_selector=field_selector,
            limit=limit,
            continue_=continue_,
            resource_version=resource_version,
            resource_version_match=resource_version_match,
            shard_selector=shard_selector,
            timeout=timeout,
        )
        return Request(
            "GET",
            self._target.collection(query),
            accept(self.kind, many=True),
            verb="list",
            parser=self._page_parser(),
        )

    def watch(
        self,
        *,
        label_selector: LabelSelector = "",
        field_selector: FieldSelectorLike = "",
        resource_version: str = "",
        bookmarks: bool = True,
        send_initial_events: bool | None = None,
        timeout_seconds: int | None = None,
        shard_selector: str | Shard = "",
    ) -> StreamRequest[WatchEvent[K]]:
        """Follow the changes after a resource version, until the server ends the stream.

        With `send_initial_events` the stream begins with all present objects and a bookmark: a list and a
        watch in one request. To follow a single object, use ``field_selector="metadata.name=…"``.
        """
        check_verb(self._target.resource, "watch")
        query = watch_query(
            label_selector=label_selector,
            field_selector=field_selector,
            resource_version=resource_version,
            bookmarks=bookmarks,
            send_initial_events=send_initial_events,
            timeout_seconds=timeout_seconds,
            shard_selector=shard_selector,
        )
        return StreamRequest(
            "GET",
            self._target.collection(query),
            accept_stream(self.kind),
            verb="watch",
            opener=WatchOpener(self.kind),
        )

    def create(self, obj: K, **options: Unpack[WriteOptions]) -> Request[K]:
        """Create an object, with its `name`, or a name that the server makes from `generate_name`."""
        check_verb(self._target.resource, "create")
        self._target.require_namespace()
        metadata = obj.metadata
        self._target.check_namespace_of(metadata.namespace)
        if metadata.resource_version not in ("", "0"):
            raise InvalidRequest(
                f"create: a new {self._body_resource.kind} must not have the resource version"
                f" {metadata.resource_version!r}; clear it, or use replace"
            )
        return Request(
            "POST",
            self._target.collection(write_query(**options)),
            (*accept(self.kind), *content_type(JSON)),
            encode_body(complete_object(obj, self._body_resource)),
            verb="create",
            parser=self._object_parser(),
            guarded=bool(metadata.name),
        )

    def delete(
        self,
        name: str,
        *,
        uid: str = "",
        resource_version: str = "",
        propagation: Propagation = "",
        grace_period: int | None = None,
        dry_run: bool = False,
        timeout: Timeout = None,
    ) -> Request[K | Status]:
        """Delete an object; finalizers or a grace period (in seconds) delay the deletion.

        `uid` and `resource_version` are preconditions: if the object has other values, the response is 409.
        """
        check_verb(self._target.resource, "delete")
        body = deletion_body(
            uid=uid,
            resource_version=resource_version,
            propagation=propagation,
            grace_period=grace_period,
            dry_run=dry_run,
        )
        return Request(
            "DELETE",
            self._target.member(name, query=make_query(("timeout", duration(timeout)))),
            (*accept(self.kind), *_body_headers(body)),
            body,
            verb="delete",
            parser=ObjectOrStatusParser(self._object_parser()),
            guarded=bool(uid or resource_version),
        )

    def delete_collection(
        self,
        *,
        label_selector: LabelSelector = "",
        field_selector: FieldSelectorLike = "",
        propagation: Propagation = "",
        grace_period: int | None = None,
        dry_run: bool = False,
        timeout: Timeout = None,
    ) -> Request[ObjectList[K] | Status]:
        """Delete the selected objects, one after another; all objects without selectors.

        The response lists the deleted objects in their last state.
        """
        check_verb(self._target.resource, "deletecollection")
        self._target.require_namespace()
        body = deletion_body(propagation=propagation, grace_period=grace_period, dry_run=dry_run)
        query = make_query(
            ("labelSelector", selector_text("label_selector", label_selector)),
            ("fieldSelector", selector_text("field_selector", field_selector)),
            ("timeout", duration(timeout)),
        )
        return Request(
            "DELETE",
            self._target.collection(query),
            (*accept(self.kind, many=True), *_body_headers(body)),
            body,
            verb="deletecollection",
            parser=PageOrStatusParser(self._page_parser()),
        )

    def _page_parser(self) -> PageParser[K]:
        return PageParser(self.kind, self._body_resource)


def _body_headers(body: bytes) -> Headers:
    return content_type(JSON) if body else ()
