"""The LeaseCandidate of a process in a coordinated election, and its responses to pings.

The server chooses one of the LeaseCandidates of a lease, by their versions, and writes its name into the
Lease. To find the live candidates, it writes a `pingTime` into each of them, and live candidates respond with
a later `renewTime`. See
https://kubernetes.io/docs/concepts/cluster-administration/coordinated-leader-election/.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

import anyio
from msgspec import Struct

from kubeproto import Dynamic, KubeprotoError, ObjectMeta, Resource
from kubeproto.objects import MicroTime, parse_time

from ..conditions import Condition
from ..watching._waiting import WaitTimeout

if TYPE_CHECKING:
    from ..client._client import Client
    from ..client._verbs import BoundApi

CANDIDATES: Final = Resource("coordination.k8s.io", "v1beta1", "LeaseCandidate", "leasecandidates")

_REFRESH_PERIOD: Final = 300.0  # seconds; as in Go's client if nobody pings
_RETRY_DELAY: Final = 5.0

_log: Final = logging.getLogger("kubeproto.leading")


class CoordinatedElection(Struct, frozen=True, kw_only=True):
    """The versions of a candidate, such as 1.36.0, and the strategy of its coordinated election."""

    binary_version: str
    emulation_version: str = ""
    strategy: str = "OldestEmulationVersion"


async def keep_candidacy(
    client: Client, namespace: str, lease: str, name: str, coordinated: CoordinatedElection
) -> None:
    """Create the LeaseCandidate, and respond to pings until cancelled."""
    api = client.api(Dynamic, namespace=namespace, resource=CANDIDATES)
    logged = ""
    while True:
        try:
            await _renew(api, lease, name, coordinated)
            await api.wait_for(name, _PINGED, timeout=_REFRESH_PERIOD)
        except WaitTimeout:
            pass  # not pinged yet
        except KubeprotoError as error:
            # Each retry may fail in the same way, so a repeated failure is logged at the level DEBUG.
            level = logging.DEBUG if str(error) == logged else logging.WARNING
            _log.log(level, "candidate %s: %s", name, error)
            logged = str(error)
            await anyio.sleep(_RETRY_DELAY)


async def _renew(api: BoundApi[Dynamic], lease: str, name: str, coordinated: CoordinatedElection) -> None:
    """Create the candidate, or respond to a ping."""
    now = str(MicroTime.of(api.client.wall_clock()))
    candidate = await api.get_or_none(name)
    if candidate is None:
        spec = {
            "leaseName": lease,
            "renewTime": now,
            "strategy": coordinated.strategy,
            "binaryVersion": coordinated.binary_version,
            "emulationVersion": coordinated.emulation_version or coordinated.binary_version,
        }
        await api.create(Dynamic(metadata=ObjectMeta(name=name), content={"spec": spec}))
    elif not _PINGED.missing(candidate):
        precondition = {"resourceVersion": candidate.metadata.resource_version}
        await api.merge_patch(name, {"metadata": precondition, "spec": {"renewTime": now}})


def _missing_ping(obj: Dynamic | None) -> str:
    spec: dict[str, Any] = {} if obj is None else obj.get("spec", {})
    ping, renewed = spec.get("pingTime"), spec.get("renewTime")
    if obj is None or (ping and (not renewed or parse_time(ping) > parse_time(renewed))):
        return ""
    return "it has not been pinged"


_PINGED: Final = Condition[Dynamic]("pinged", _missing_ping)
