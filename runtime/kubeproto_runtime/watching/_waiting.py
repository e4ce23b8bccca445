"""`Waiting`: reads an object, then follows it until a condition is met.

Each state of the object is checked, so that a condition that is met only for a moment is not missed. The
resync machine follows the object, so it survives the end of a watch, restarts of the server and expired
versions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from kubeproto import (
    Added,
    ApiError,
    Deleted,
    KubeObject,
    KubeprotoError,
    Malformed,
    Modified,
    NotFound,
    TransportError,
)
from kubeproto.config import CredentialsError
from kubeproto.objects import FieldSelector
from kubeproto.watching import resync
from kubeproto.wire import Refused, ServerFailed, Throttled, TooLarge, classify

from ..calls._core import call
from ..calls._effects import Follow
from ..calls._object_reads import is_missing
from ..conditions import Condition, predicate
from ..tasks._error_texts import error_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from kubeproto import Api, WatchEvent
    from kubeproto.wire import Outcome

    from ..calls._core import ClientCore
    from ..calls._effects import Effects

K = TypeVar("K", bound=KubeObject)

WAIT: Final = 60.0  # seconds; twice the timeout of kubectl wait, since programs wait for several pods

# The watch cache of a server could be older than the state that was read before.
_LATEST: Final = resync.Settings(initial_version="")


class WaitTimeout(KubeprotoError, TimeoutError):
    """The wait timed out. `last` is the last state of the object; None if it does not exist."""

    def __init__(self, message: str, last: KubeObject | None) -> None:
        super().__init__(message)
        self.last = last


class Waiting(Generic[K]):
    """A wait. `observe` runs until it ends, then `result` returns the object or raises the error."""

    def __init__(
        self,
        client: ClientCore,
        api: Api[K],
        name: str,
        condition: Condition[K] | Callable[[K], bool],
        timeout: float,
    ) -> None:
        self._client = client
        self._api = api
        self._name = name
        self._condition: Condition[K] = predicate(condition) if callable(condition) else condition
        self._observer = _Observer(self._condition)
        self._timeout = timeout

    def observe(self) -> Effects[None]:
        """Read the object, and follow it until the condition is met or the timeout has passed."""
        deadline = self._client.now() + self._timeout
        observer = self._observer
        yield from _read_first(self._client, self._api, self._name, observer, self._timeout)
        if not observer.finished and self._client.now() < deadline:
            yield Follow(
                requests=self._api,
                observer=observer,
                version=observer.version,
                settings=_LATEST,
                selection={"field_selector": FieldSelector.of({"metadata.name": self._name})},
                until=deadline,
            )

    def result(self) -> K | None:
        """Return the object that meets the condition, or raise the error."""
        observer, namespace = self._observer, self._api.namespace
        if observer.error is not None:
            raise observer.error
        if observer.finished:
            return observer.last
        subject = f"{self._api.resource.kind} {f'{namespace}/' if namespace else ''}{self._name}"
        failure = f"; {observer.failure}" if observer.failure else ""
        raise WaitTimeout(
            f"{subject} is not {self._condition.name} after {self._timeout:g} s: {observer.missing}{failure}",
            observer.last,
        )


def _read_first(
    client: ClientCore, api: Api[K], name: str, observer: _Observer[K], timeout: float
) -> Effects[None]:
    """Read the object. Temporary failures (of a restarting server, of a plugin) are retried by the watch."""
    limit = timeout if client.timeout is None else min(timeout, client.timeout)
    try:
        obj: K | None = (yield from call(client, api.get(name), timeout=limit)).value
    except NotFound as error:
        if not is_missing(error, name):
            raise
        obj = None
    except (TransportError, CredentialsError) as error:
        observer.failure = error_text(error)
        return
    except ApiError as error:
        if not isinstance(classify(error), ServerFailed | Throttled | TooLarge):
            raise
        observer.failure = error_text(error)
        return
    observer.check(obj)


class _Observer(Generic[K]):
    """Checks each state of an object, until the condition is met or cannot be met any more."""

    def __init__(self, condition: Condition[K]) -> None:
        self.last: K | None = None
        self.missing = "it has not been read"
        self.failure = ""
        self.error: Exception | None = None
        self.finished = False
        self.on_finish: Callable[[], object] = lambda: None  # wakes the tasks that follow
        self._condition = condition
        self._staged: K | None = None

    @property
    def version(self) -> str:
        """The resource version of the last state."""
        return "" if self.last is None else self.last.metadata.resource_version

    def check(self, obj: K | None) -> None:
        if self.finished:
            return
        self.last, self.failure = obj, ""
        try:
            self.missing = self._condition.missing(obj)
        except Exception as error:  # raised by `result`
            self.error = error
        if self.error is not None or not self.missing:
            self._finish()

    # The sink of the resync driver. It checks objects instead of caching them.

    def update(self, events: list[Any]) -> None:
        watch_events: list[WatchEvent[K]] = events
        for event in watch_events:
            if isinstance(event, Added | Modified):
                self.check(event.object)
            elif isinstance(event, Deleted):
                self.check(None)
            else:
                self._check_malformed(event)

    def stage(self, items: list[Any]) -> None:
        objects_or_events: list[WatchEvent[K] | K] = items
        for item in objects_or_events:
            if isinstance(item, Added | Modified):
                self._staged = item.object
            elif isinstance(item, Deleted):
                self._staged = None
            elif isinstance(item, KubeObject):
                self._staged = item
            else:
                self._check_malformed(item)

    def replace(self, version: str) -> None:
        self._staged, staged = None, self._staged
        self.check(staged)

    def discard(self) -> None:
        self._staged = None

    def report(self, failure: resync.SyncFailure) -> None:
        self.failure = f"the last failure was: {failure.text}"
        # A 401 may come from a plugin that fails temporarily. The first read fails with wrong credentials.
        if isinstance(failure.outcome, Refused) and failure.outcome.code != 401:
            self.abandon(failure.outcome)

    def abandon(self, outcome: Outcome) -> None:
        self.error = KubeprotoError(f"it cannot be watched: {outcome.reason}")
        self._finish()

    def _finish(self) -> None:
        self.finished = True
        self.on_finish()

    def _check_malformed(self, event: object) -> None:
        if isinstance(event, Malformed) and not self.finished:
            self.error = event.error
            self._finish()
