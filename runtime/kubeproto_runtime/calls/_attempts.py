"""What both clients decide alike: the namespace of a request, when to retry, what is logged once."""

from __future__ import annotations

import logging
from threading import Lock
from typing import TYPE_CHECKING, Final, TypeVar

from msgspec.structs import replace

from kubeproto import ALL, Api, ApiError, KubeObject, ObjectRef, RemoteProtocolError, TransportError
from kubeproto.watching import resync
from kubeproto.wire import GiveUp, Retry, RetryPolicy, Unsupported, classify, printable

if TYPE_CHECKING:
    from kubeproto import Head, Resource
    from kubeproto.requests import AllNamespaces
    from kubeproto.wire import Safety

K = TypeVar("K", bound=KubeObject)

RETRIES: Final = RetryPolicy()
TIMEOUT: Final = 60.0  # seconds; the time that a server allows a request
SILENCE: Final = 30.0  # seconds; the longest that a webhook may take, during which a server sends nothing

_MOST_WARNINGS: Final = 1000

_log: Final = logging.getLogger("kubeproto.client")


def requests_of(kind: type[K], namespace: str | AllNamespaces, resource: Resource | None, own: str) -> Api[K]:
    """Return the verbs on a kind, in its namespace, in all, or in a client's own where none is given."""
    api = Api(kind, resource=resource)
    if not api.resource.namespaced and (namespace is ALL or not namespace):
        return api  # all namespaces
    return Api(kind, namespace=namespace or own, resource=resource)


class Attempts:
    """The attempts at one request: how many there were, and whether one of them may have been carried out."""

    def __init__(self, safety: Safety, policy: RetryPolicy, deadline: float | None) -> None:
        self._safety = safety
        self._policy = policy
        self._deadline = deadline
        self._count = 0
        self._uncertain: Exception | None = None

    def again_at(
        self, error: ApiError | TransportError | RemoteProtocolError, now: float, draw: float
    ) -> float | None:
        """Return when to retry after this failure.

        None if the failure is final; its causes are attached then.
        """
        self._count += 1
        match self._policy.decide(
            self._safety, classify(error), self._count, now, jitter=draw, deadline=self._deadline
        ):
            case GiveUp():
                _add_cause(error, self._uncertain)
                return None
            case Retry(at, may_be_done):
                self._uncertain = error if may_be_done else self._uncertain
                _log.debug("%s, retried in %.3g s", error, at - now)
                return at


class Warned:
    """The warnings of a server, each logged once: a deprecated version is requested thousands of times."""

    def __init__(self) -> None:
        self._said: set[str] = set()
        self._lock = Lock()  # threads may share a client

    def log(self, warnings: tuple[str, ...], request: Head, value: object) -> None:
        """Log new warnings, with the request and the object of the first one."""
        if not warnings:
            return
        where = f"{request.method} {request.target.partition('?')[0]}"
        if isinstance(value, KubeObject) and value.metadata.name:
            where += f": {printable(str(ObjectRef.of(value)))}"
        for warning in warnings:
            with self._lock:
                news = warning not in self._said and len(self._said) < _MOST_WARNINGS
                if news:
                    self._said.add(warning)
            if news:
                _log.warning("%s: %s", where, printable(warning))


class ServerLimits:
    """What a server turned out not to support: learned once, by any request of a client."""

    def __init__(self) -> None:
        self.streaming = True
        self._lock = Lock()  # threads may share a client

    def known_to(self, state: resync.Idle) -> resync.Idle:
        """Return a machine that has not started, with what was learned."""
        if self.streaming:
            return state
        endpoint = replace(state.context.endpoint, streaming=False)
        return replace(state, context=replace(state.context, endpoint=endpoint))

    def learn(self, failure: resync.SyncFailure) -> bool:
        """Note what a failure shows about the server; return True if it shows nothing else."""
        if not isinstance(failure.outcome, Unsupported):
            return False
        with self._lock:
            news, self.streaming = self.streaming, False
        if news:
            _log.info(
                "this server has no streaming lists, as those before 1.32: objects are listed in pages and"
                " then watched (%s)",
                printable(failure.text),
            )
        return True


def _add_cause(error: BaseException, cause: BaseException | None) -> None:
    """Append a cause to those that an error already has: a transport's has the error of its socket."""
    if cause is None or str(cause) == str(error):
        return
    seen = {id(cause)}
    while error.__cause__ is not None and id(error) not in seen:
        seen.add(id(error))
        error = error.__cause__
    if id(error) not in seen:
        error.__cause__ = cause
