"""When the logs of followed pods end: with a pod that was named, or with a Job and all of its pods.

Other objects may make a pod at any time, so following theirs never ends. A Job makes no more pods once it is
complete or has failed; its pods may end before that, when it retries, or after it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import anyio

from kubeproto import Added, Bookmark, Deleted, Dynamic, Modified, Resource

from .._documents import plain

if TYPE_CHECKING:
    from ..client._client import Client
    from ._choosing import PodChoice

_JOBS: Final = Resource("batch", "v1", "Job", "jobs")
_FINISHED: Final = ("Complete", "Failed")


class PodsEnd:
    """Watches for the end of the pods of a choice; then it cancels its `scope`, in which they are watched."""

    def __init__(self, choice: PodChoice) -> None:
        self.scope = anyio.CancelScope()
        version = str(choice.owner.get("apiVersion", ""))
        self.awaits_job = choice.owner.get("kind") == "Job" and version.startswith("batch/")
        self._namespace = choice.namespace
        self._ends = bool(choice.name) or self.awaits_job
        self._job = str(choice.owner["metadata"]["name"]) if self.awaits_job else ""
        self._more = self.awaits_job  # whether pods may be added
        self._synced = False
        self._live: set[str] = set()  # uids of pods that have not ended

    def note_pod(self, uid: str, *, ended: bool) -> None:
        """Note the status of a pod."""
        if ended:
            self._live.discard(uid)
        else:
            self._live.add(uid)
        self._look()

    def note_synced(self) -> None:
        """Note that all present pods have been noted."""
        self._synced = True
        self._look()

    async def follow_job(self, client: Client) -> None:
        """Wait until the Job makes no more pods."""
        api = client.api(Dynamic, namespace=self._namespace, resource=_JOBS)
        there = False
        async with api.follow(field_selector=f"metadata.name={self._job}") as events:
            async for event in events:
                match event:
                    case Added(obj) | Modified(obj) if not _is_finished(plain(obj)):
                        there = True
                    case Bookmark(initial_events_end=True) if there:
                        pass
                    case Added() | Modified() | Deleted() | Bookmark(initial_events_end=True):
                        break
                    case _:
                        pass
        self._more = False
        self._look()

    def _look(self) -> None:
        if self._ends and self._synced and not (self._more or self._live):
            self.scope.cancel()


def _is_finished(job: dict[str, Any]) -> bool:
    status: dict[str, Any] = job.get("status") or {}
    conditions: list[dict[str, Any]] = status.get("conditions") or []
    return any(one["type"] in _FINISHED and one["status"] == "True" for one in conditions)
