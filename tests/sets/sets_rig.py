"""What the tests of sets share: short objects, their cluster, a transport that is cut at a request."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any, Final

from msgspec import to_builtins

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto.crd import definition_of
from kubeproto_runtime import BlockingClient
from kubeproto_runtime.sets import Plan

PARENT: Final = "configmaps/shop"


class GadgetSpec(kp.Fields):
    size: int = 1


class Gadget(kp.Object[GadgetSpec, None], group="example.com", version="v1"):
    """A custom resource."""


def dynamic(value: Any) -> kp.Dynamic:
    return kp.decode(kp.encode(value), kp.Dynamic)


def config(name: str, namespace: str = "", **data: str) -> kp.Dynamic:
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    return dynamic({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})


def secret(name: str, **values: str) -> kp.Dynamic:
    return dynamic({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": values})


def namespace(name: str) -> kp.Dynamic:
    return dynamic({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})


def account(name: str) -> kp.Dynamic:
    return dynamic({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}})


def gadget(name: str, **metadata: Any) -> kp.Dynamic:
    return dynamic(
        {"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"name": name, **metadata}, "spec": {}}
    )


def definition() -> kp.Dynamic:
    return dynamic(definition_of(Gadget))


def webhooks(name: str) -> kp.Dynamic:
    kind = "ValidatingWebhookConfiguration"
    return dynamic(
        {"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": name}}
    )


def names(plan_part: Any) -> list[str]:
    return [str(entry.ref) for entry in plan_part]


def outcome(plan: Plan) -> dict[str, list[str]]:
    """The parts of a plan that are not empty, as names."""
    parts = {
        "created": names(plan.creations),
        "changed": names(plan.changes),
        "deleted": names(plan.deletions),
        "refused": names(plan.refusals),
        "withheld": names(plan.withheld),
        "unchanged": list(map(str, plan.unchanged)),
    }
    return {key: value for key, value in parts.items() if value}


def writes(cluster: sim.Cluster, first_index: int = 0) -> list[str]:
    """What was sent to be kept: verb and the end of the path."""
    return [
        f"{entry.head.method} {'/'.join(entry.head.target.partition('?')[0].split('/')[-2:])}"
        for entry in cluster.log[first_index:]
        if entry.head.method != "GET" and "dryRun" not in entry.head.target
    ]


class Killed(BaseException):
    """The process ends here."""


class Cutting:
    """A transport whose process is killed at the n-th request, before or after it was carried out."""

    def __init__(self, cluster: sim.Cluster, request_number: int, *, carried_out: bool) -> None:
        self._below = cluster.blocking_transport()
        self._left = request_number
        self._carried_out = carried_out

    @contextmanager
    def send(self, request: kp.RawRequest, **limits: Any) -> Generator[Any]:
        self._left -= 1
        if self._left == 0 and not self._carried_out:
            raise Killed
        with self._below.send(request, **limits) as incoming:
            if self._left == 0:
                if "watch=" not in request.target:  # whose body has no end
                    b"".join(incoming)
                raise Killed
            yield incoming


class Refusing:
    """A transport that refuses the requests that a test picks, each with a Status."""

    def __init__(self, cluster: sim.Cluster, refuse: Callable[[kp.RawRequest], kp.Status | None]) -> None:
        self._below = cluster.blocking_transport()
        self._refuse = refuse

    @contextmanager
    def send(self, request: kp.RawRequest, **limits: Any) -> Generator[Any]:
        if (status := self._refuse(request)) is None:
            with self._below.send(request, **limits) as incoming:
                yield incoming
        else:
            body = kp.encode(dynamic({"apiVersion": "v1", "kind": "Status"} | to_builtins(status)))
            yield Whole(status.code, (("Content-Type", "application/json"),), body)


class Whole:
    """A response that comes at once."""

    def __init__(self, status: int, headers: kp.Headers, body: bytes) -> None:
        self.status, self.headers, self._body = status, headers, body

    def __iter__(self) -> Iterator[bytes]:
        return iter((self._body,))


def client_of(cluster: sim.Cluster, transport: kp.BlockingTransport) -> BlockingClient:
    return BlockingClient(transport, clock=lambda: cluster.now, sleep=cluster.advance)


def client_that_ends(cluster: sim.Cluster, request_number: int, *, carried_out: bool) -> BlockingClient:
    return client_of(cluster, Cutting(cluster, request_number, carried_out=carried_out))
