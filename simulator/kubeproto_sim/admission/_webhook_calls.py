"""Calls of webhooks: requests, replies, and handlers that reply in process.

The cluster opens no connection. If the service or URL of a webhook has a handler (`WebhookHandlers.handle`),
the handler replies in process. Otherwise a driver has to send the call: the client's request is interrupted
by `PendingCalls`, which contains the calls, and repeated with the replies. Until then nothing has changed, so
a request can be repeated several times.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal

import msgspec
from msgspec import Struct

from kubeproto import RemoteProtocolError
from kubeproto.crd import (
    AdmissionRequest,
    AdmissionVerdict,
    read_admission,
    read_conversion,
    respond_to_admission,
    respond_to_conversion,
)

from ..storage._json_values import member, objects_in

# Converts an object to an apiVersion.
Converter = Callable[[dict[str, Any], str], dict[str, Any]]
WebhookFault = Literal["timeout", "refused", "error", "garbage"]
_SERVICE_PORT: Final = 443


class WebhookCall(Struct, frozen=True):
    """A request to a webhook: POST `body` to `url`, within `timeout` seconds.

    For a webhook behind a Service, `service` is its ``namespace/name``, and the host of the URL is its name
    in the cluster, for which the certificate must be valid. `authority` is the bundle of certificates, in
    PEM, that are trusted; empty for those of the system.
    """

    url: str
    body: bytes
    timeout: int
    service: str = ""
    authority: str = ""
    converts: bool = False  # it is a conversion, not an admission

    @property
    def timeout_message(self) -> str:
        """The error message of a server whose webhook did not respond in time."""
        if self.converts:
            return "net/http: request canceled (Client.Timeout exceeded while awaiting headers)"
        return "context deadline exceeded"

    @property
    def key(self) -> str:
        """The identity of a call: its content without the values that differ in a repeated request."""
        review: dict[str, Any] = msgspec.json.decode(self.body)
        request = member(review, "request")
        for obj in (member(request, "object"), member(request, "oldObject"), *objects_in(request, "objects")):
            meta = member(obj, "metadata")
            for name in ("uid", "creationTimestamp", "managedFields"):
                meta.pop(name, None)
        request.pop("uid", None)
        return hashlib.sha256(self.url.encode() + msgspec.json.encode(review, order="sorted")).hexdigest()


class WebhookReply(Struct, frozen=True):
    """The outcome of a call: a status and a body, or the text of the failure.

    `request_body` is the body of the call if an earlier attempt of the request made it: the uid of the review
    and other random values differ between attempts.
    """

    status: int = 0
    body: bytes = b""
    failure: str = ""
    delay: float = 0.0
    request_body: bytes = b""

    @property
    def uid(self) -> str:
        """The uid of the review in `request_body`; empty without one."""
        uid: str = msgspec.json.decode(self.request_body)["request"]["uid"] if self.request_body else ""
        return uid


class PendingCalls(Exception):
    """These webhooks must be called before the response to a request; see `Cluster.respond`."""

    def __init__(self, calls: tuple[WebhookCall, ...]) -> None:
        super().__init__(f"{len(calls)} webhooks have to be called first")
        self.calls = calls


class WebhookError(Exception):
    """Raised by a handler in process to respond with an HTTP error instead of a review."""

    def __init__(self, status: int, body: bytes = b"") -> None:
        super().__init__(f"HTTP {status}")
        self.status = status
        self.body = body


class SavedWebhookState(Struct, frozen=True):
    """The state of `WebhookHandlers` before a request."""

    faults: dict[str, list[WebhookFault]]
    calls: int


Replies = Mapping[str, WebhookReply]


class WebhookHandlers:
    """The handlers of the webhooks of a cluster, and the faults that are injected into their calls."""

    def __init__(self) -> None:
        self._handlers: dict[str, Callable[[bytes], bytes]] = {}
        self._faults: dict[str, list[WebhookFault]] = {}
        self.calls: list[WebhookCall] = []

    def handle(self, target: str, handler: Callable[[AdmissionRequest], AdmissionVerdict]) -> None:
        """Reply to admission reviews in process. `target` is ``namespace/service/path`` or a URL.

        ::

            cluster.webhooks.handle("default/hooks/mutate", lambda request: change({**request.object, ...}))
        """

        def respond(body: bytes) -> bytes:
            request = read_admission(body)
            return respond_to_admission(request, handler(request))

        self._handlers[target] = respond

    def handle_conversion(self, target: str, converter: Converter) -> None:
        """Reply to conversion reviews in process: `converter` converts an object to an `apiVersion`.

        ::

            cluster.webhooks.handle_conversion("default/hooks/convert", lambda obj, version: ...)
        """
        self._handlers[target] = lambda body: respond_to_conversion(read_conversion(body), converter)

    def handle_bytes(self, target: str, handler: Callable[[bytes], bytes]) -> None:
        """Reply to any review in process: `handler` returns the response body for a request body."""
        self._handlers[target] = handler

    def fail(self, target: str, fault: WebhookFault, times: int = 1) -> None:
        """Make the next calls of a webhook fail.

        A webhook can take too long, refuse the connection, respond with HTTP 500, or with something that is
        not a review.
        """
        self._faults.setdefault(target, []).extend(fault for _ in range(times))

    def save(self) -> SavedWebhookState:
        """Return the state that `restore` restores if the request has to be repeated."""
        return SavedWebhookState(
            {target: list(faults) for target, faults in self._faults.items()}, len(self.calls)
        )

    def restore(self, saved_state: SavedWebhookState) -> None:
        """Forget the calls of a request that is repeated, and restore the faults that it used up."""
        self._faults = saved_state.faults
        del self.calls[saved_state.calls :]

    def reply_to(self, call: WebhookCall, replies: Replies | None) -> WebhookReply:
        """Return the outcome of a call, or raise `PendingCalls` if a driver has to send it.

        Without `replies` no driver sends calls, and a webhook without a handler is unreachable.
        """
        target = target_of(call)
        self.calls.append(call)
        if faults := self._faults.get(target):
            return _faulty_reply(call, faults.pop(0))
        if (handler := self._handlers.get(target)) is not None:
            try:
                return WebhookReply(200, handler(call.body))
            except WebhookError as error:
                return WebhookReply(error.status, error.body)
            except RemoteProtocolError as error:
                return WebhookReply(400, str(error).encode())
        if replies is None:
            return WebhookReply(failure=_unreachable(call))
        if (reply := replies.get(call.key)) is not None:
            return reply
        raise PendingCalls((call,))


def target_of(call: WebhookCall) -> str:
    """Return the key under which handlers are registered for the webhook of a call."""
    if not call.service:
        return call.url
    return call.service + "/" + call.url.partition("://")[2].partition("/")[2]


def make_call(client: dict[str, Any], body: bytes, timeout: int, *, converts: bool = False) -> WebhookCall:
    """Return the call that a `clientConfig` describes."""
    bundle: str = client.get("caBundle", "")
    authority = msgspec.convert(bundle, bytes).decode() if bundle else ""
    if "service" not in client:
        return WebhookCall(client["url"], body, timeout, "", authority, converts)
    service: dict[str, Any] = client["service"]
    port = service.get("port", _SERVICE_PORT)
    path = service.get("path", "").removeprefix("/")
    url = f"https://{service['name']}.{service['namespace']}.svc:{port}/{path}"
    return WebhookCall(url, body, timeout, f"{service['namespace']}/{service['name']}", authority, converts)


def posted(call: WebhookCall) -> str:
    """Return the call in the form of errors."""
    query = "&" if "?" in call.url else "?"
    return f'Post "{call.url}{query}timeout={call.timeout}s"'


def _unreachable(call: WebhookCall) -> str:
    if call.service:
        return f'{posted(call)}: service "{call.service.partition("/")[2]}" not found'
    return _faulty_reply(call, "refused").failure


def _faulty_reply(call: WebhookCall, fault: WebhookFault) -> WebhookReply:
    match fault:
        case "timeout":
            return WebhookReply(failure=f"{posted(call)}: {call.timeout_message}", delay=call.timeout)
        case "refused":
            host = call.url.partition("://")[2].partition("/")[0]
            return WebhookReply(failure=f"{posted(call)}: dial tcp {host}: connect: connection refused")
        case "error":
            return WebhookReply(500, b"injected failure")
        case "garbage":
            return WebhookReply(200, b'{"hello":"world"}')
