"""`wait_for`: one object is read, then followed, until a condition holds for it.

Each state of the object is checked, so that a condition that holds for a moment is not missed. It survives a
watch that ends, a server that restarts and a version that expires, because the resync machine follows the
object.
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
from ..calls._reading import is_missing
from ..conditions import Condition, predicate

if TYPE_CHECKING:
    from collections.abc import Callable

    from kubeproto import Api, WatchEvent
    from kubeproto.wire import Outcome

    from ..calls._core import ClientCore
    from ..calls._effects import Effects

K = TypeVar("K", bound=KubeObject)

WAIT: Final = 60.0  # seconds; twice what kubectl waits, since a program waits for more than one pod

# The server's cache could be older than what was read before.
_LATEST: Final = resync.Settings(initial_version="")


class WaitTimeout(KubeprotoError, TimeoutError):
    """The wait timed out. `last` is the last state of the object, None if there was none."""

    def __init__(self, message: str, last: KubeObject | None) -> None:
        super().__init__(message)
        self.last = last


class Waiting(Generic[K]):
    """One wait: `observe` runs until it is over, `result` returns its object or raises its error."""

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
        """Read the object, and follow it until the condition holds or the time is up."""
        end = self._client.now() + self._timeout
        observer = self._observer
        yield from _read_first(self._client, self._api, self._name, observer, self._timeout)
        if not observer.done and self._client.now() < end:
            yield Follow(
                requests=self._api,
                observer=observer,
                version=observer.version,
                settings=_LATEST,
                selection={"field_selector": FieldSelector.of({"metadata.name": self._name})},
                until=end,
            )

    def result(self) -> K | None:
        """Return the object for which the condition holds; or raise the error."""
        observer, namespace = self._observer, self._api.namespace
        if observer.error is not None:
            raise observer.error
        if observer.done:
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
    """Read the object. Failures that may be over soon are retried: a server that restarts, a plugin."""
    limit = timeout if client.timeout is None else min(timeout, client.timeout)
    try:
        obj: K | None = (yield from call(client, api.get(name), timeout=limit)).value
    except NotFound as error:
        if not is_missing(error, name):
            raise
        obj = None
    except (TransportError, CredentialsError) as error:
        observer.failure = str(error)
        return
    except ApiError as error:
        if not isinstance(classify(error), ServerFailed | Throttled | TooLarge):
            raise
        observer.failure = str(error)
        return
    observer.check(obj)


class _Observer(Generic[K]):
    """Checks each state of one object, until the condition holds or never will."""

    def __init__(self, condition: Condition[K]) -> None:
        self.last: K | None = None
        self.missing = "it was not seen"
        self.failure = ""
        self.error: Exception | None = None
        self.done = False
        self.finished: Callable[[], object] = lambda: None  # wakes the tasks that follow
        self._condition = condition
        self._staged: K | None = None

    @property
    def version(self) -> str:
        """The resource version that it has reached."""
        return "" if self.last is None else self.last.metadata.resource_version

    def check(self, obj: K | None) -> None:
        if self.done:
            return
        self.last, self.failure = obj, ""
        try:
            self.missing = self._condition.missing(obj)
        except Exception as error:  # it is raised where the caller waits
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
        # A 401 may be a plugin that fails for a while. Wrong credentials were refused at the first read.
        if isinstance(failure.outcome, Refused) and failure.outcome.code != 401:
            self.abandon(failure.outcome)

    def abandon(self, outcome: Outcome) -> None:
        self.error = KubeprotoError(f"it cannot be watched: {outcome.reason}")
        self._finish()

    def _finish(self) -> None:
        self.done = True
        self.finished()

    def _check_malformed(self, event: object) -> None:
        if isinstance(event, Malformed) and not self.done:
            self.error = event.error
            self._finish()
