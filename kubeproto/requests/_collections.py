"""The verbs of a kind that its subresources do not have: list, watch, create and the two ways to delete."""

from __future__ import annotations

from typing import TypeVar, Unpack

from .._errors import InvalidRequest
from ..objects import KubeObject, ObjectList, Status
from ..watching import WatchEvent
from ..wire import Headers
from ._bodies import as_json, whole
from ._headers import JSON, accept, accept_stream, content
from ._offers import check_verb
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
    selector,
    watch_query,
    write_query,
)
from ._readings import Many, ManyOrStatus, OneOrStatus, WatchReading
from ._request import Request, StreamRequest
from ._shards import Shard
from ._singles import Single
from ._targets import given

K = TypeVar("K", bound=KubeObject)


class Collection(Single[K]):
    """The objects of one kind, in one namespace or in all."""

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

        Without a resource version the response is up to date. "0" returns what the server has in its cache,
        however old, and ignores the limit.
        """
        check_verb(self._place.resource, "list")
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
            self._place.collection(query),
            accept(self.kind, many=True),
            verb="list",
            reading=self._many(),
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

        `send_initial_events` begins with all objects as they are, followed by a bookmark: a list and a watch
        in one. To follow one object, give ``field_selector="metadata.name=…"``.
        """
        check_verb(self._place.resource, "watch")
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
            self._place.collection(query),
            accept_stream(self.kind),
            verb="watch",
            opening=WatchReading(self.kind),
        )

    def create(self, obj: K, **options: Unpack[WriteOptions]) -> Request[K]:
        """Create an object, under its `name`, or under one that the server makes from `generate_name`."""
        check_verb(self._place.resource, "create")
        self._place.check_one_namespace()
        metadata = obj.metadata
        self._place.check_namespace_of(metadata.namespace)
        if metadata.resource_version not in ("", "0"):
            raise InvalidRequest(
                f"a new {self._written.kind} has no resource version yet; this one has"
                f" {metadata.resource_version!r}"
            )
        return Request(
            "POST",
            self._place.collection(write_query(**options)),
            (*accept(self.kind), *content(JSON)),
            as_json(whole(obj, self._written)),
            verb="create",
            reading=self._one(),
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
        """Delete an object; finalizers or a grace period (in seconds) delay that.

        `uid` and `resource_version` are preconditions: if the object has others by now, the response is 409.
        """
        check_verb(self._place.resource, "delete")
        body = deletion_body(
            uid=uid,
            resource_version=resource_version,
            propagation=propagation,
            grace_period=grace_period,
            dry_run=dry_run,
        )
        return Request(
            "DELETE",
            self._place.member(name, query=given(("timeout", duration(timeout)))),
            (*accept(self.kind), *_content_of(body)),
            body,
            verb="delete",
            reading=OneOrStatus(self._one()),
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
        """Delete all objects that the selectors select, one after another; without selectors, all of them.

        The response lists what was deleted, as it was before.
        """
        check_verb(self._place.resource, "deletecollection")
        self._place.check_one_namespace()
        body = deletion_body(propagation=propagation, grace_period=grace_period, dry_run=dry_run)
        query = given(
            ("labelSelector", selector("label_selector", label_selector)),
            ("fieldSelector", selector("field_selector", field_selector)),
            ("timeout", duration(timeout)),
        )
        return Request(
            "DELETE",
            self._place.collection(query),
            (*accept(self.kind, many=True), *_content_of(body)),
            body,
            verb="deletecollection",
            reading=ManyOrStatus(self._many()),
        )

    def _many(self) -> Many[K]:
        return Many(self.kind, self._written)


def _content_of(body: bytes) -> Headers:
    return content(JSON) if body else ()
