"""Shared by the tests of sets: small objects, and transports that fail at a chosen request."""

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


def to_dynamic(value: Any) -> kp.Dynamic:
    return kp.decode(kp.encode(value), kp.Dynamic)


def config(name: str, namespace: str = "", **data: str) -> kp.Dynamic:
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    return to_dynamic({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})


def secret(name: str, **values: str) -> kp.Dynamic:
    return to_dynamic(
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": values}
    )


def namespace(name: str) -> kp.Dynamic:
    return to_dynamic({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})


def account(name: str) -> kp.Dynamic:
    return to_dynamic({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}})


def gadget(name: str, **metadata: Any) -> kp.Dynamic:
    return to_dynamic(
        {"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"name": name, **metadata}, "spec": {}}
    )


def definition() -> kp.Dynamic:
    return to_dynamic(definition_of(Gadget))


def webhooks(name: str) -> kp.Dynamic:
    kind = "ValidatingWebhookConfiguration"
    return to_dynamic(
        {"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": name}}
    )


def object_names(plan_part: Any) -> list[str]:
    return [str(entry.ref) for entry in plan_part]


def outcome(plan: Plan) -> dict[str, list[str]]:
    """Return the object names in each part of a plan that is not empty."""
    parts = {
        "created": object_names(plan.creations),
        "changed": object_names(plan.changes),
        "deleted": object_names(plan.deletions),
        "refused": object_names(plan.refusals),
        "withheld": object_names(plan.withheld),
        "unchanged": list(map(str, plan.unchanged)),
    }
    return {key: value for key, value in parts.items() if value}


def writes(cluster: sim.Cluster, first_index: int = 0) -> list[str]:
    """Return the method and the last two path segments of each write that is not a dry run."""
    return [
        f"{entry.request.method} {'/'.join(entry.request.target.partition('?')[0].split('/')[-2:])}"
        for entry in cluster.log[first_index:]
        if entry.request.method != "GET" and "dryRun" not in entry.request.target
    ]


class Killed(BaseException):
    """The simulated end of the process."""


class KillingTransport:
    """A transport that kills the process at a request, before or after the server executes the request."""

    def __init__(self, cluster: sim.Cluster, request_number: int, *, is_executed: bool) -> None:
        self._transport = cluster.blocking_transport()
        self._requests_left = request_number
        self._is_executed = is_executed

    @contextmanager
    def send(self, request: kp.RawRequest, **limits: Any) -> Generator[Any]:
        self._requests_left -= 1
        if self._requests_left == 0 and not self._is_executed:
            raise Killed
        with self._transport.send(request, **limits) as incoming:
            if self._requests_left == 0:
                if "watch=" not in request.target:  # a watch's body does not end
                    b"".join(incoming)
                raise Killed
            yield incoming


class RefusingTransport:
    """A transport that refuses requests for which a callback returns a `Status`."""

    def __init__(self, cluster: sim.Cluster, refuse: Callable[[kp.RawRequest], kp.Status | None]) -> None:
        self._transport = cluster.blocking_transport()
        self._refuse = refuse

    @contextmanager
    def send(self, request: kp.RawRequest, **limits: Any) -> Generator[Any]:
        if (status := self._refuse(request)) is None:
            with self._transport.send(request, **limits) as incoming:
                yield incoming
        else:
            body = kp.encode(to_dynamic({"apiVersion": "v1", "kind": "Status"} | to_builtins(status)))
            yield CompleteResponse(status.code, (("Content-Type", "application/json"),), body)


class CompleteResponse:
    """A response whose body is a single chunk."""

    def __init__(self, status: int, headers: kp.Headers, body: bytes) -> None:
        self.status, self.headers, self._body = status, headers, body

    def __iter__(self) -> Iterator[bytes]:
        return iter((self._body,))


def client_of(cluster: sim.Cluster, transport: kp.BlockingTransport) -> BlockingClient:
    return BlockingClient(transport, clock=lambda: cluster.now, sleep=cluster.advance)


def client_that_is_killed(cluster: sim.Cluster, request_number: int, *, is_executed: bool) -> BlockingClient:
    return client_of(cluster, KillingTransport(cluster, request_number, is_executed=is_executed))
