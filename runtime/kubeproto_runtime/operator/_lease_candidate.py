"""The candidate's part in a coordinated election: an object that shows that it is alive, and responds to
pings.

The server chooses among the LeaseCandidates of a lease, by their versions, and writes the name of one into
the Lease. To know which of them are still alive it writes a `pingTime` into each; one that writes a later
`renewTime` is. See https://kubernetes.io/docs/concepts/cluster-administration/coordinated-leader-election/.
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

_LOOK_AGAIN: Final = 300.0  # seconds; Go's client looks as often, pinged or not
_RETRY_DELAY: Final = 5.0

_log: Final = logging.getLogger("kubeproto.leading")


class Coordinated(Struct, frozen=True, kw_only=True):
    """What the server chooses by: versions such as 1.36.0, and its strategy."""

    binary_version: str
    emulation_version: str = ""
    strategy: str = "OldestEmulationVersion"


async def keep_candidacy(client: Client, namespace: str, lease: str, name: str, by: Coordinated) -> None:
    """Take part as a candidate until cancelled."""
    api = client.api(Dynamic, namespace=namespace, resource=CANDIDATES)
    told = ""
    while True:
        try:
            await _answer(api, lease, name, by)
            await api.wait_for(name, _ASKED, timeout=_LOOK_AGAIN)
        except WaitTimeout:
            pass  # not pinged yet
        except KubeprotoError as error:
            # It is retried for as long as it fails; the failure is logged once.
            _log.log(
                logging.DEBUG if str(error) == told else logging.WARNING, "candidate %s: %s", name, error
            )
            told = str(error)
            await anyio.sleep(_RETRY_DELAY)


async def _answer(api: BoundApi[Dynamic], lease: str, name: str, by: Coordinated) -> None:
    """Create the candidate, or respond to a ping."""
    now = str(MicroTime.of(api.client.wall()))
    found = await api.get_or_none(name)
    if found is None:
        spec = {"leaseName": lease, "renewTime": now, "strategy": by.strategy}
        spec |= {
            "binaryVersion": by.binary_version,
            "emulationVersion": by.emulation_version or by.binary_version,
        }
        made = Dynamic(metadata=ObjectMeta(name=name), content={"spec": spec})
        await api.create(made)
    elif not _ASKED.missing(found):
        guard = {"resourceVersion": found.metadata.resource_version}
        await api.merge_patch(name, {"metadata": guard, "spec": {"renewTime": now}})


def _unasked(obj: Dynamic | None) -> str:
    spec: dict[str, Any] = {} if obj is None else obj.get("spec", {})
    ping, renewed = spec.get("pingTime"), spec.get("renewTime")
    if obj is None or (ping and (not renewed or parse_time(ping) > parse_time(renewed))):
        return ""
    return "it has not been pinged"


_ASKED: Final = Condition[Dynamic]("asked", _unasked)
