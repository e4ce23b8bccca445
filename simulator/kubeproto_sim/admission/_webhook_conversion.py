"""Conversion webhooks, which convert objects of a custom resource to another version.

A real server converts its objects separately, so each object is sent in its own review, without its
resourceVersion. Each read or write calls the webhook; lists and watches use the conversions of a cache.
https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from typing import Any, Final

import msgspec

from kubeproto.crd import KindConversion
from kubeproto.objects import is_list, is_object

from .._rejections import Rejection, unexplained
from .._state import ServerState
from ..storage._json_values import member, quoted
from ._admission_responses import CallFailed, read_review
from ._conversion_checks import check_converted
from ._webhook_calls import PendingCalls, Replies, WebhookCall, WebhookHandlers, WebhookReply, make_call

GROUP: Final = "apiextensions.k8s.io"
_REVIEWS: Final = ("v1", "v1beta1")
# Seconds that a server's client waits; a definition cannot set them.
_TIMEOUT: Final = 30
# The number of cached conversions for lists and watches, in addition to two for each stored object.
_MAX_CACHED: Final = 4096
_encode: Final = msgspec.json.Encoder(order="sorted").encode
Json = dict[str, Any]
_Key = tuple[str, str, bytes]
Outcomes = dict[_Key, bytes | Rejection]


class WebhookConversions:
    """Converts the objects of a cluster. `waited` is the time that the webhooks of a request took.

    The conversions of an open watch do not belong to a request: `take_calls` returns the calls that the
    driver has to send for them, `take_reply` takes the replies, and `on_pending` is called when there are
    new calls.
    """

    def __init__(self, state: ServerState, webhooks: WebhookHandlers) -> None:
        self.waited = 0.0
        self.on_pending: Callable[[], None] | None = None
        self._pending: dict[str, WebhookCall] = {}
        self._under_way: set[str] = set()
        self._state = state
        self._webhooks = webhooks
        self._replies: Replies | None = None
        self._arrived: dict[str, WebhookReply] = {}
        self._used: list[str] = []
        self._outcomes: Outcomes | None = None
        self._cached = False
        self._cache: dict[_Key, bytes] = {}

    def begin(self, replies: Replies | None) -> tuple[Replies | None, Outcomes | None]:
        """Begin a request, which converts each object at most once; return the context for `end`."""
        saved_context = self._replies, self._outcomes
        self._replies, self._outcomes, self.waited = replies, {}, 0.0
        return saved_context

    def end(self, saved_context: tuple[Replies | None, Outcomes | None]) -> None:
        """End a request, and restore the context before it."""
        self._replies, self._outcomes = saved_context

    @contextmanager
    def from_cache(self) -> Generator[None]:
        """Use the cached conversions of lists and watches within the context."""
        was_cached, self._cached = self._cached, True
        try:
            yield
        finally:
            self._cached = was_cached

    @contextmanager
    def in_background(self, *, called_later: bool) -> Generator[None]:
        """Convert for an open watch; the block ends at the first conversion whose reply has not arrived."""
        saved_context = self._replies, self._outcomes
        self._replies, self._outcomes = self._arrived if called_later else None, {}
        self._used.clear()
        try:
            yield
            for key in (
                self._used
            ):  # only now: after a missing reply, the conversions are repeated and use these again
                self._arrived.pop(key, None)
        except PendingCalls as calls:
            self._pending |= {call.key: call for call in calls.calls if call.key not in self._under_way}
            if self._pending and self.on_pending is not None:
                self.on_pending()
        finally:
            self._replies, self._outcomes = saved_context

    @property
    def driver_calls_webhooks(self) -> bool:
        """Whether the driver calls webhooks for the current request, and therefore for its watch."""
        return self._replies is not None

    def take_calls(self) -> tuple[WebhookCall, ...]:
        """Return the new calls of open watches."""
        calls = tuple(self._pending.values())
        self._under_way |= self._pending.keys()
        self._pending.clear()
        return calls

    def take_reply(self, call: WebhookCall, reply: WebhookReply) -> None:
        """Take the reply to a call of an open watch."""
        self._under_way.discard(call.key)
        self._arrived[call.key] = msgspec.structs.replace(reply, request_body=call.body)

    def prepare(self, webhook: KindConversion, objs: Iterable[Json], version: str) -> None:
        """Request all these conversions together.

        A failure is reported when its object is converted again.
        """
        pending: list[WebhookCall] = []
        for obj in objs:
            try:
                self.convert(webhook, obj, version)
            except PendingCalls as calls:
                pending += calls.calls
            except Rejection:
                break
        if pending:
            raise PendingCalls(tuple(pending))

    def convert(self, webhook: KindConversion, obj: Json, version: str) -> Json:
        """Return an object in another version, or refuse the request."""
        meta = {name: value for name, value in obj["metadata"].items() if name != "resourceVersion"}
        key = webhook.kind, version, _encode({**obj, "metadata": meta})
        outcome = self._cached_outcome(key)
        if outcome is None:
            try:
                outcome = _encode(self._call_webhook(webhook, {**obj, "metadata": meta}, version))
            except Rejection as rejection:
                outcome = rejection
            self._remember(key, outcome)
        if isinstance(outcome, Rejection):
            raise outcome
        converted: Json = msgspec.json.decode(outcome)
        if "resourceVersion" in obj["metadata"]:
            converted["metadata"]["resourceVersion"] = obj["metadata"]["resourceVersion"]
        return converted

    def _cached_outcome(self, key: _Key) -> bytes | Rejection | None:
        if self._outcomes is not None and (outcome := self._outcomes.get(key)) is not None:
            return outcome
        if self._cached and (data := self._cache.pop(key, None)) is not None:
            self._cache[key] = data  # moved to the end, so it is evicted last
            return data
        return None

    def _remember(self, key: _Key, outcome: bytes | Rejection) -> None:
        if self._outcomes is not None:
            self._outcomes[key] = outcome
        if self._cached and isinstance(outcome, bytes):
            self._cache[key] = outcome
            max_size = _MAX_CACHED + 2 * len(self._state.storage.resource(key[0]).objects)
            while len(self._cache) > max_size:
                del self._cache[next(iter(self._cache))]

    def _call_webhook(self, webhook: KindConversion, obj: Json, version: str) -> Json:
        """Call the webhook, and return the converted object."""
        review = next(
            (version_name for version_name in webhook.review_versions if version_name in _REVIEWS), None
        )
        if review is None:
            raise unexplained("no supported conversion review versions")
        prefix = f"conversion webhook for {obj['apiVersion']}, Kind={obj['kind']}"
        uid = self._state.rng.uid()
        request = {"uid": uid, "desiredAPIVersion": version, "objects": [obj]}
        body = {"kind": "ConversionReview", "apiVersion": f"{GROUP}/{review}", "request": request}
        call = make_call(webhook.client, msgspec.json.encode(body), _TIMEOUT, converts=True)
        reply = self._webhooks.reply_to(call, self._replies)
        if self._replies is self._arrived:
            self._used.append(call.key)
        self.waited += reply.delay
        sent_request: Json = (
            msgspec.json.decode(reply.request_body)["request"] if reply.request_body else request
        )
        try:
            [converted] = _converted_objects(reply, review, sent_request["uid"])
        except CallFailed as error:
            raise unexplained(f"{prefix} failed: {error}") from None
        except ValueError as error:
            raise unexplained(f"{prefix} {error}") from None
        return check_converted(prefix, obj, sent_request["objects"][0], converted, version)


def _converted_objects(reply: WebhookReply, version: str, uid: str) -> list[Any]:
    """Return the object in a response; `CallFailed`, or ValueError if there is not exactly one."""
    if reply.failure:
        raise CallFailed(reply.failure)
    review = read_review(reply, GROUP, version, "ConversionReview")
    if version == "v1" and not review.get("kind"):
        raise CallFailed(f"expected webhook response of {GROUP}/v1, Kind=ConversionReview, got /, Kind=")
    response: Any = review.get("response")
    if not is_object(response):
        raise CallFailed("no response provided")
    if version == "v1" and response.get("uid", "") != uid:
        raise CallFailed(f"expected response.uid={quoted(uid)}, got {quoted(str(response.get('uid', '')))}")
    result = member(response, "result")
    if (status := result.get("status", "")) != "Success":
        raise CallFailed(result.get("message") or f"response.result.status was '{status}', not 'Success'")
    objects: Any = response.get("convertedObjects") or []
    if not is_list(objects) or len(objects) != 1:
        raise ValueError(f"returned {len(objects)} objects, expected 1")
    return objects
