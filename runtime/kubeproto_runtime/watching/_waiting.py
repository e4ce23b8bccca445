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
_LATEST: Final = resync.Settings(first="")


class WaitTimeout(KubeprotoError, TimeoutError):
    """The wait timed out. `last` is the last state of the object, None if there was none."""

    def __init__(self, message: str, last: KubeObject | None) -> None:
        super().__init__(message)
        self.last = last


class Waiting(Generic[K]):
    """One wait: `look` runs until it is over, `result` returns or raises how it ended."""

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
        self._wanted: Condition[K] = predicate(condition) if callable(condition) else condition
        self._looking = _Looking(self._wanted)
        self._timeout = timeout

    def look(self) -> Effects[None]:
        """Read the object, and follow it until the condition holds or the time is up."""
        end = self._client.now() + self._timeout
        looking = self._looking
        yield from _first_look(self._client, self._api, self._name, looking, self._timeout)
        if not looking.done and self._client.now() < end:
            yield Follow(
                requests=self._api,
                observer=looking,
                version=looking.version,
                settings=_LATEST,
                selection={"field_selector": FieldSelector.of({"metadata.name": self._name})},
                until=end,
            )

    def result(self) -> K | None:
        """Return the object for which the condition holds; or raise the error."""
        looking, namespace = self._looking, self._api.namespace
        if looking.error is not None:
            raise looking.error
        if looking.done:
            return looking.last
        what = f"{self._api.resource.kind} {f'{namespace}/' if namespace else ''}{self._name}"
        failure = f"; {looking.failure}" if looking.failure else ""
        raise WaitTimeout(
            f"{what} is not {self._wanted.name} after {self._timeout:g} s: {looking.missing}{failure}",
            looking.last,
        )


def _first_look(
    client: ClientCore, api: Api[K], name: str, looking: _Looking[K], timeout: float
) -> Effects[None]:
    """Read the object. Failures that may be over soon are retried: a server that restarts, a plugin."""
    limit = timeout if client.timeout is None else min(timeout, client.timeout)
    try:
        found: K | None = (yield from call(client, api.get(name), timeout=limit)).value
    except NotFound as error:
        if not is_missing(error, name):
            raise
        found = None
    except (TransportError, CredentialsError) as error:
        looking.failure = str(error)
        return
    except ApiError as error:
        if not isinstance(classify(error), ServerFailed | Throttled | TooLarge):
            raise
        looking.failure = str(error)
        return
    looking.see(found)


class _Looking(Generic[K]):
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

    def see(self, obj: K | None) -> None:
        if self.done:
            return
        self.last, self.failure = obj, ""
        try:
            self.missing = self._condition.missing(obj)
        except Exception as error:  # it is raised where the caller waits
            self.error = error
        if self.error is not None or not self.missing:
            self._finish()

    # The sink of the resync driver

    def stage(self, news: list[Any]) -> None:
        came: list[WatchEvent[K] | K] = news
        for one in came:
            if isinstance(one, Added | Modified):
                self._staged = one.object
            elif isinstance(one, Deleted):
                self._staged = None
            elif isinstance(one, KubeObject):
                self._staged = one
            else:
                self._doubt(one)

    def apply(self, news: list[Any]) -> None:
        came: list[WatchEvent[K]] = news
        for one in came:
            if isinstance(one, Added | Modified):
                self.see(one.object)
            elif isinstance(one, Deleted):
                self.see(None)
            else:
                self._doubt(one)

    def commit(self, version: str) -> None:
        self._staged, staged = None, self._staged
        self.see(staged)

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

    def _doubt(self, one: Any) -> None:
        if isinstance(one, Malformed) and not self.done:
            self.error = one.error
            self._finish()
