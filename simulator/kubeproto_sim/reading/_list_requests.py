"""Lists: the version that a list shows, its pages, and the number of remaining objects."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Any, Final

import msgspec
from msgspec import Struct

from .._rejections import bad_request, expired_list, expired_token, version_too_large
from .._state import ServerState
from ..kinds._served_kinds import ServedKind
from ..storage._storage import StoredRecord, VersionExpired
from ._continue_tokens import LATEST, PageStart, read_token, write_token
from ._field_selectors import Matcher, check_fields, matcher
from ._object_views import Viewer
from ._query import ListQuery
from ._routes import Route
from ._shard_selectors import Shards, read_shards

_VERSION_LIMIT: Final = 2**64


class ListResult(Struct, frozen=True):
    """A page of objects and its metadata. `remaining` is None where a server does not report it."""

    objects: list[StoredRecord]
    version: int
    token: str = ""
    remaining: int | None = None
    shards: str = ""


def read_version(text: str) -> int | None:
    """Return a version as a number; None if it is not a number."""
    return int(text) if text.isascii() and text.isdigit() and int(text) < _VERSION_LIMIT else None


def list_objects(state: ServerState, route: Route, options: ListQuery) -> ListResult:
    """Return the requested page of a list, or refuse the request."""
    served = route.served
    check_fields(served, options.fields)
    shards = read_shards(options.shards) if options.shards else None
    version, page = _version(state, options)
    try:
        objects = served.storage.objects if version is None else served.storage.objects_at(version)
    except VersionExpired:
        if page is None:
            raise expired_list() from None
        raise expired_token(write_token(LATEST, page.start)) from None
    # The latest version is that of the storage, even if the watch cache lags behind it.
    shown_version = state.storage.version if version is None else version
    limit = 0 if options.version == "0" and not options.token else options.limit
    return _page(state, served, route.namespace, objects, options, shards, shown_version, page, limit)


def _version(state: ServerState, options: ListQuery) -> tuple[int | None, PageStart | None]:
    """Return the version to show (None for the latest), and the start of the page."""
    if options.token:
        page = read_token(options.token)
        if options.version not in ("", "0"):
            raise bad_request("specifying resource version is not allowed when using continue")
        if page.version == LATEST:
            return None, page
        if page.version > state.storage.version:
            raise _too_large(state, page.version)
        return page.version, page
    if options.version == "":
        return None, None
    version = read_version(options.version)
    if version is None:
        raise bad_request(f"invalid resource version: resourceVersion: {invalid_version(options.version)}")
    exact = options.match == "Exact" or (options.match == "" and options.limit and version)
    if version > (state.storage.version if exact else state.reached):
        raise _too_large(state, version)
    if exact:
        return version, None
    return (state.reached if state.lag else None), None


def _too_large(state: ServerState, version: int) -> Exception:
    modes = state.modes
    return version_too_large(version, state.reached, modes.too_large, cached=modes.watch_cache)


def invalid_version(text: str) -> str:
    """Return a server's refusal of a version that is not a number."""
    quoted = msgspec.json.encode(text).decode()
    problem = "value out of range" if text.isascii() and text.isdigit() else "invalid syntax"
    return f"Invalid value: {quoted}: strconv.ParseUint: parsing {quoted}: {problem}"


def _page(
    state: ServerState, served: ServedKind, namespace: str, objects: dict[str, StoredRecord],
    options: ListQuery, shards: Shards | None, version: int, page: PageStart | None, limit: int,
) -> ListResult:  # fmt: skip
    keys = served.storage.sorted_keys() if objects is served.storage.objects else sorted(objects)
    prefix = f"{namespace}/" if namespace else ""
    start, end = 0, len(keys)
    if prefix:
        # "0" is the character after "/": between them are all keys of the namespace.
        start, end = bisect_left(keys, prefix), bisect_left(keys, f"{namespace}0")
    if page is not None:
        last_key = prefix + page.start.removeprefix("/").removesuffix("\x00")
        start = max(
            start,
            bisect_right(keys, last_key) if page.start.endswith("\x00") else bisect_left(keys, last_key),
        )
    matches: Matcher | None = matcher(served, options)
    if (options.fields is not None and served.fields) or (options.labels and not state.modes.watch_cache):
        served.prepare(objects[keys[index]].data for index in range(start, end))
    selected_objects: list[StoredRecord] = []
    has_more = False
    last_index = start
    for index in range(start, end):
        stored = objects[keys[index]]
        if (matches is None or matches(stored)) and (shards is None or shards.contains(stored)):
            if limit and len(selected_objects) == limit:
                has_more = True
                break
            selected_objects.append(stored)
            last_index = index
    served.prepare(stored.data for stored in selected_objects)
    selector_text = shards.text if shards else ""
    if not has_more:
        return ListResult(selected_objects, version, shards=selector_text)
    slash = "/" if state.modes.watch_cache else ""
    token = write_token(version, f"{slash}{keys[last_index].removeprefix(prefix)}\x00")
    return ListResult(
        selected_objects, version, token, None if options.selective else end - last_index - 1, selector_text
    )


def list_body(served: ServedKind, viewer: Viewer, result: ListResult, time: float) -> bytes:
    """Return the body of a list."""
    meta: dict[str, Any] = {"resourceVersion": str(result.version)}
    if result.token:
        meta["continue"] = result.token
    if result.remaining is not None:
        meta["remainingItemCount"] = result.remaining
    if result.shards and not (served.custom and viewer.view == "object"):
        meta["shardInfo"] = {"selector": result.shards}
    if viewer.view == "table":
        rows = b",".join([viewer.row(stored.data, time) for stored in result.objects])
        front = b'{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":%s,' % msgspec.json.encode(meta)
        return front + b'"columnDefinitions":%s,"rows":[%s]}\n' % (viewer.columns(), rows)
    items = b",".join([viewer.item(stored.data) for stored in result.objects])
    if viewer.view == "metadata":
        # A server sends null for an empty list of metadata, and only for this list.
        items_json = b"[%s]" % items if items else b"null"
        front = (
            b'{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":%s,"items":%s}\n'
        )
        return front % (msgspec.json.encode(meta), items_json)
    kind, api_version = served.list_kind.encode(), served.api_version.encode()
    if served.custom:
        # Custom resources come with sorted keys, and with a `continue` even when nothing follows.
        meta = {"continue": ""} | meta
        text = msgspec.json.Encoder(order="sorted").encode(meta)
        return b'{"apiVersion":"%s","items":[%s],"kind":"%s","metadata":%s}\n' % (
            api_version,
            items,
            kind,
            text,
        )
    text = msgspec.json.encode(meta)
    return b'{"kind":"%s","apiVersion":"%s","metadata":%s,"items":[%s]}\n' % (kind, api_version, text, items)
