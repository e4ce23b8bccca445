"""`ClientCore`: what both clients share, and the decisions of their calls, as generators of effects."""

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
from ._effects import Admit, Effects, SendRequest, SleepUntil, WholeResponse
from ._outgoing import outgoing
from ._rate_queue import RateQueue
from ._request_tracing import Tracing
from ._run_writes import note_absence, note_write

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
    """One server, as one user sees it, without the I/O."""

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
        self.random = rng or random.Random()  # spreads retries; not for secrets
        self.discovery: Discovery | None = None
        self.warnings = LoggedWarnings()
        self.server = ServerLimits()
        self.admission = RateQueue()
        self.tracing = Tracing()
        self.counters: list[RequestCounts] = []  # of the operators whose controllers use this client

    def now(self) -> float:
        """The time on the clock that this client waits by."""
        raise NotImplementedError

    def outgoing(self, request: H, transport: object) -> AbstractContextManager[OutgoingRequest[H]]:
        """Return the context in which a request is sent: see `_outgoing`."""
        host = str(getattr(transport, "host", ""))  # only some transports know their host
        return outgoing(request, host, self.tracing, self.counters, self.now())

    def requests(
        self,
        kind: type[K],
        *,
        namespace: str | AllNamespaces = "",
        resource: Resource | None = None,
    ) -> Api[K]:
        """The same verbs as requests, for `call` and `open`."""
        return requests_of(kind, namespace, resource, self.namespace)


def call(
    client: ClientCore,
    request: Request[T],
    *,
    timeout: float | None = None,
    retries: RetryPolicy | None = None,
) -> Effects[Reply[T]]:
    """Send a request, retry it as the policy says, and read its response."""
    reply, _ = yield from read(client, request, timeout=timeout, retries=retries)
    return reply


def read(
    client: ClientCore,
    request: Request[T],
    *,
    timeout: float | None = None,
    retries: RetryPolicy | None = None,
) -> Effects[tuple[Reply[T], bytes]]:
    """Send a request like `call`; return the text of the response too."""
    try:
        reply, response = yield from _persist(client, request, request.parse, timeout, retries)
    except NotFound as error:
        note_absence(client, request, error.status)
        raise
    client.warnings.log(reply.warnings, request, reply.value)
    note_write(client, request, reply.value)
    return reply, response.body


def fetch(
    client: ClientCore,
    request: Request[Any],
    *,
    timeout: float | None = None,
    retries: RetryPolicy | None = None,
) -> Effects[tuple[int, Headers, bytes]]:
    """The same, for callers that read the response themselves, also that of a refusal."""
    responses: list[tuple[int, Headers, bytes]] = []

    def keep(*response: *tuple[int, Headers, bytes]) -> None:
        responses.append(response)
        request.parse(*response)

    try:
        yield from _persist(client, request, keep, timeout, retries)
    except (ApiError, RemoteProtocolError):
        if not responses:
            raise
    return responses[-1]


def _persist(
    client: ClientCore,
    request: Request[Any],
    parse: Callable[[int, Headers, bytes], T],
    timeout: float | None,
    retries: RetryPolicy | None,
) -> Effects[tuple[T, WholeResponse]]:
    """Send a request until there is a response, or until the policy gives up; return it parsed and whole."""
    policy = client.retries if retries is None else retries
    limit = client.timeout if timeout is None else timeout
    deadline = None if limit is None else client.now() + limit
    attempts = Attempts(request.safety, policy, deadline)
    while True:
        try:
            response = yield from _attempt(client, request, deadline)
            return _parse(parse, response), response
        except (ApiError, TransportError, RemoteProtocolError) as error:
            retry_at = attempts.retry_at(error, client.now(), client.random.random())
            if retry_at is None:
                raise
        yield SleepUntil(retry_at)


def _parse(parse: Callable[[int, Headers, bytes], T], response: WholeResponse) -> T:
    try:
        return parse(response.status, response.headers, response.body)
    except ApiError as error:
        if not response.truncation:
            raise
        truncated = truncated_error(error, response.truncation)
    raise truncated


def _attempt(client: ClientCore, request: RawRequest, deadline: float | None) -> Effects[WholeResponse]:
    yield Admit(inf if deadline is None else deadline)
    timeout = None if deadline is None else max(0.0, deadline - client.now())
    try:
        response: WholeResponse = yield SendRequest(request, timeout, MAX_SILENCE)
    except DeadlineExceeded as error:
        if deadline is not None and client.now() >= deadline:
            raise
        # The connection is dead, and there is time for an attempt on another one.
        raise TransportError(str(error)) from error
    return response
