"""Decisions that both clients share: namespaces, retries, and logging each warning once."""

from __future__ import annotations

import logging
from threading import Lock
from typing import TYPE_CHECKING, Final, TypeVar

from msgspec.structs import replace

from kubeproto import ALL, Api, ApiError, KubeObject, ObjectRef, RemoteProtocolError, TransportError
from kubeproto.watching import resync
from kubeproto.wire import GiveUp, Retry, RetryPolicy, Unsupported, classify, printable

from ..tasks._error_texts import error_text

if TYPE_CHECKING:
    from kubeproto import RawRequest, Resource
    from kubeproto.requests import AllNamespaces
    from kubeproto.wire import Safety

K = TypeVar("K", bound=KubeObject)

RETRIES: Final = RetryPolicy()
TIMEOUT: Final = 60.0  # seconds; a server's own limit for a request
MAX_SILENCE: Final = 30.0  # seconds; a server sends nothing while a webhook runs, which may take as long

_MAX_WARNINGS: Final = 1000

_log: Final = logging.getLogger("kubeproto.client")


def requests_of(
    kind: type[K], namespace: str | AllNamespaces, resource: Resource | None, default_namespace: str
) -> Api[K]:
    """Return the API of a kind; `default_namespace` is for a namespaced kind without a `namespace`."""
    api = Api(kind, resource=resource)
    if not api.resource.namespaced and (namespace is ALL or not namespace):
        return api  # all namespaces
    return Api(kind, namespace=namespace or default_namespace, resource=resource)


class Attempts:
    """The attempts at a request: their number, and the error of an attempt that the server may have
    executed."""

    def __init__(self, safety: Safety, policy: RetryPolicy, deadline: float | None) -> None:
        self._safety = safety
        self._policy = policy
        self._deadline = deadline
        self._count = 0
        self._uncertain: Exception | None = None

    def retry_at(
        self, error: ApiError | TransportError | RemoteProtocolError, now: float, jitter: float
    ) -> float | None:
        """Return the time of the next attempt. Return None, and attach the causes, if the error is final."""
        self._count += 1
        match self._policy.decide(
            self._safety, classify(error), self._count, now, jitter=jitter, deadline=self._deadline
        ):
            case GiveUp():
                _add_cause(error, self._uncertain)
                return None
            case Retry(retry_at, may_be_done):
                self._uncertain = error if may_be_done else self._uncertain
                _log.debug("%s, retried in %.3g s", error, retry_at - now)
                return retry_at


class LoggedWarnings:
    """Logs each warning of a server once: a deprecated version is requested thousands of times."""

    def __init__(self) -> None:
        self._logged: set[str] = set()
        self._lock = Lock()  # threads may share a client

    def log(self, warnings: tuple[str, ...], request: RawRequest, value: object) -> None:
        """Log new warnings, with the request and the object."""
        if not warnings:
            return
        subject = request.label
        if isinstance(value, KubeObject) and value.metadata.name:
            subject += f": {printable(str(ObjectRef.of(value)))}"
        for warning in warnings:
            with self._lock:
                is_new = warning not in self._logged and len(self._logged) < _MAX_WARNINGS
                if is_new:
                    self._logged.add(warning)
            if is_new:
                _log.warning("%s: %s", subject, printable(warning))


class ServerLimits:
    """The features that a server lacks, which any request of a client may reveal."""

    def __init__(self) -> None:
        self.streaming = True
        self._lock = Lock()  # threads may share a client

    def apply_to(self, state: resync.Idle) -> resync.Idle:
        """Return a machine that has not started, with the learned limits."""
        if self.streaming:
            return state
        endpoint = replace(state.context.endpoint, streaming=False)
        return replace(state, context=replace(state.context, endpoint=endpoint))

    def learn(self, failure: resync.SyncFailure) -> bool:
        """Return whether the failure of a list only shows a missing feature of the server, and record
        that."""
        if not isinstance(failure.outcome, Unsupported):
            return False
        with self._lock:
            was_streaming, self.streaming = self.streaming, False
        if was_streaming:
            _log.info(
                "this server has no streaming lists, like servers before 1.32: objects are listed in pages,"
                " and then watched (%s)",
                printable(failure.text),
            )
        return True


def _add_cause(error: BaseException, cause: BaseException | None) -> None:
    """Append a cause to the causes of an error. A transport error already has the error of its socket."""
    if cause is None or error_text(cause) == error_text(error):
        return
    visited = {id(cause)}
    while error.__cause__ is not None and id(error) not in visited:
        visited.add(id(error))
        error = error.__cause__
    if id(error) not in visited:
        error.__cause__ = cause
