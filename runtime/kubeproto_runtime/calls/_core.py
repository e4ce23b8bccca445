"""`ClientCore`: the common part of both clients, and their calls as generators of effects."""

from __future__ import annotations

import random
from math import inf
from typing import TYPE_CHECKING, Any, TypeVar

from kubeproto import (
    Api,
    ApiError,
    DeadlineExceeded,
    KubeObject,
    NotFound,
    RemoteProtocolError,
    TransportError,
)
from kubeproto.requests import Reply

from ._attempts import MAX_SILENCE, RETRIES, TIMEOUT, Attempts, LoggedWarnings, ServerLimits, requests_of
from ._body_limits import LIMITS, BodyLimits, truncated_error
from ._effects import Admit, CompleteResponse, Effects, SendRequest, SleepUntil
from ._outgoing import outgoing
from ._rate_queue import RateQueue
from ._request_tracing import Tracing
from ._run_writes import record_absence, record_write

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from kubeproto import Discovery, Headers, RawRequest, Resource
    from kubeproto.control import Rate
    from kubeproto.requests import AllNamespaces, Request
    from kubeproto.wire import RetryPolicy

    from ._outgoing import OutgoingRequest, RequestCounts

K = TypeVar("K", bound=KubeObject)
T = TypeVar("T")
H = TypeVar("H", bound="RawRequest")


class ClientCore:
    """The settings and the state of a client, without the I/O."""

    def __init__(
        self,
        *,
        namespace: str = "default",
        retries: RetryPolicy = RETRIES,
        timeout: float | None = TIMEOUT,
        rate: Rate | None = None,
        limits: BodyLimits = LIMITS,
        rng: random.Random | None = None,
    ) -> None:
        self.namespace = namespace
        self.retries = retries
        self.timeout = timeout
        self.rate = rate
        self.limits = limits
        self.random = rng or random.Random()  # varies the delays of retries; not for secrets
        self.discovery: Discovery | None = None
        self.warnings = LoggedWarnings()
        self.server = ServerLimits()
        self.admission = RateQueue()
        self.tracing = Tracing()
        self.counters: list[RequestCounts] = []  # of the operators whose controllers use this client

    def now(self) -> float:
        """The time on the clock of this client."""
        raise NotImplementedError

    def outgoing(self, request: H, transport: object) -> AbstractContextManager[OutgoingRequest[H]]:
        """Return the context in which a request is sent; see `_outgoing`."""
        host = str(getattr(transport, "host", ""))  # only some transports know their host
        return outgoing(request, host, self.tracing, self.counters, self.now())

    def requests(
        self,
        kind: type[K],
        *,
        namespace: str | AllNamespaces = "",
        resource: Resource | None = None,
    ) -> Api[K]:
        """Return the API of a kind as requests, for `call` and `open`."""
        return requests_of(kind, namespace, resource, self.namespace)


def call(
    client: ClientCore,
    request: Request[T],
    *,
    timeout: float | None = None,
    retries: RetryPolicy | None = None,
) -> Effects[Reply[T]]:
    """Send a request, retry it according to the policy, and parse its response."""
    reply, _ = yield from read(client, request, timeout=timeout, retries=retries)
    return reply


def read(
    client: ClientCore,
    request: Request[T],
    *,
    timeout: float | None = None,
    retries: RetryPolicy | None = None,
) -> Effects[tuple[Reply[T], bytes]]:
    """Send a request like `call`, and also return the body of the response."""
    try:
        reply, response = yield from _send_with_retries(client, request, request.parse, timeout, retries)
    except NotFound as error:
        record_absence(client, request, error.status)
        raise
    client.warnings.log(reply.warnings, request, reply.value)
    record_write(client, request, reply.value)
    return reply, response.body


def fetch(
    client: ClientCore,
    request: Request[Any],
    *,
    timeout: float | None = None,
    retries: RetryPolicy | None = None,
) -> Effects[tuple[int, Headers, bytes]]:
    """Send a request like `call`, and return the response without parsing it, also if it is refused."""
    responses: list[tuple[int, Headers, bytes]] = []

    def record_response(*response: *tuple[int, Headers, bytes]) -> None:
        responses.append(response)
        request.parse(*response)

    try:
        yield from _send_with_retries(client, request, record_response, timeout, retries)
    except (ApiError, RemoteProtocolError):
        if not responses:
            raise
    return responses[-1]


def _send_with_retries(
    client: ClientCore,
    request: Request[Any],
    parse: Callable[[int, Headers, bytes], T],
    timeout: float | None,
    retries: RetryPolicy | None,
) -> Effects[tuple[T, CompleteResponse]]:
    """Send a request until it succeeds, or until the policy decides against a retry.

    Return the parsed response and the response itself.
    """
    policy = client.retries if retries is None else retries
    limit = client.timeout if timeout is None else timeout
    deadline = None if limit is None else client.now() + limit
    attempts = Attempts(request.safety, policy, deadline)
    while True:
        try:
            response = yield from _send_once(client, request, deadline)
            return _parse(parse, response), response
        except (ApiError, TransportError, RemoteProtocolError) as error:
            retry_at = attempts.retry_at(error, client.now(), client.random.random())
            if retry_at is None:
                raise
        yield SleepUntil(retry_at)


def _parse(parse: Callable[[int, Headers, bytes], T], response: CompleteResponse) -> T:
    try:
        return parse(response.status, response.headers, response.body)
    except ApiError as error:
        if not response.truncation:
            raise
        truncated = truncated_error(error, response.truncation)
    raise truncated


def _send_once(client: ClientCore, request: RawRequest, deadline: float | None) -> Effects[CompleteResponse]:
    yield Admit(inf if deadline is None else deadline)
    timeout = None if deadline is None else max(0.0, deadline - client.now())
    try:
        response: CompleteResponse = yield SendRequest(request, timeout, MAX_SILENCE)
    except DeadlineExceeded as error:
        if deadline is not None and client.now() >= deadline:
            raise
        # The connection is dead, and there is time for an attempt on another connection.
        raise TransportError(str(error)) from error
    return response
