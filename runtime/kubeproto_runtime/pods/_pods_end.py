"""When to stop following logs: with the named pod, or with a Job and all of its pods.

Other objects may create a pod at any time, so following their pods never ends. A Job creates no pods once it
is complete or has failed. Its pods may end before that, when it retries, or after that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import anyio

from kubeproto import Added, Bookmark, Deleted, Dynamic, Modified, Resource

from .._documents import to_builtins

if TYPE_CHECKING:
    from ..client._client import Client
    from ._pod_choice import PodChoice

_JOBS: Final = Resource("batch", "v1", "Job", "jobs")
_FINISHED: Final = ("Complete", "Failed")


class PodsEnd:
    """Waits for the end of the chosen pods, then cancels `scope`, in which the pods are watched."""

    def __init__(self, choice: PodChoice) -> None:
        self.scope = anyio.CancelScope()
        version = str(choice.owner.get("apiVersion", ""))
        self.awaits_job = choice.owner.get("kind") == "Job" and version.startswith("batch/")
        self._namespace = choice.namespace
        self._ends = bool(choice.name) or self.awaits_job
        self._job = str(choice.owner["metadata"]["name"]) if self.awaits_job else ""
        self._job_active = self.awaits_job
        self._synced = False
        self._live_uids: set[str] = set()  # of pods that have not ended

    def update_pod(self, uid: str, *, ended: bool) -> None:
        """Process the status of a pod."""
        if ended:
            self._live_uids.discard(uid)
        else:
            self._live_uids.add(uid)
        self._check()

    def mark_synced(self) -> None:
        """Record that all existing pods have been processed."""
        self._synced = True
        self._check()

    async def follow_job(self, client: Client) -> None:
        """Wait until the Job creates no more pods."""
        api = client.api(Dynamic, namespace=self._namespace, resource=_JOBS)
        is_active = False
        async with api.follow(field_selector=f"metadata.name={self._job}") as events:
            async for event in events:
                match event:
                    case Added(obj) | Modified(obj) if not _is_finished(to_builtins(obj)):
                        is_active = True
                    case Bookmark(initial_events_end=True) if is_active:
                        pass
                    case Added() | Modified() | Deleted() | Bookmark(initial_events_end=True):
                        break
                    case _:
                        pass
        self._job_active = False
        self._check()

    def _check(self) -> None:
        if self._ends and self._synced and not (self._job_active or self._live_uids):
            self.scope.cancel()


def _is_finished(job: dict[str, Any]) -> bool:
    status: dict[str, Any] = job.get("status") or {}
    conditions: list[dict[str, Any]] = status.get("conditions") or []
    return any(condition["type"] in _FINISHED and condition["status"] == "True" for condition in conditions)
