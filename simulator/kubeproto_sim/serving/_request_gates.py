"""The gate of a request: the checks of permissions, policies and webhooks that each of its writes passes."""

from __future__ import annotations

from typing import Any, Final

from .._state import ServerState
from ..access._authorizer import Caller
from ..admission._admission_policies import Policies
from ..admission._webhook_admission import WebhookAdmission
from ..admission._webhook_calls import Replies, WebhookHandlers
from ..admission._webhook_configurations import AdmittedWrite, WebhookConfigurations
from ..reading._query import Query
from ..reading._routes import Route
from ..writing._object_writer import Writer
from ..writing._patch_requests import PatchWriter
from ..writing._write_gates import Gate, Normalize, SubresourceBody
from ._server_responses import ServerRequest

Json = dict[str, Any]
_OPTIONS: Final = ("dryRun", "fieldManager", "fieldValidation")


class AdmissionChain:
    """The parts that the gates of all requests share."""

    def __init__(self, state: ServerState, webhooks: WebhookHandlers) -> None:
        self.state = state
        self.webhooks = webhooks
        self.hooks = WebhookConfigurations(state)
        self.policies = Policies(state, self.hooks)

    def gates_for(
        self, caller: Caller, replies: Replies | None, warnings: list[str], waits: list[float]
    ) -> RequestGateFactory:
        """Return the gates of a request."""
        return RequestGateFactory(self, caller, replies, warnings, waits)


class RequestGateFactory:
    """Makes the gates of a request. Nothing is prepared for webhooks before the first of them is called."""

    def __init__(
        self, chain: AdmissionChain, caller: Caller, replies: Replies | None, warnings: list[str],
        waits: list[float],
    ) -> None:  # fmt: skip
        self.chain = chain
        self.caller = caller
        self._replies = replies
        self._warnings = warnings
        self._waits = waits
        self._admission: WebhookAdmission | None = None

    def gate_for(self, route: Route, query: Query) -> RequestGate:
        """Return the gate for the writes of a route."""
        return RequestGate(self, route, query)

    @property
    def admission(self) -> WebhookAdmission:
        """The webhooks and policies of the request, created when a write needs them."""
        if self._admission is None:
            shared = self.chain
            self._admission = WebhookAdmission(
                shared.state, shared.hooks, shared.policies, shared.webhooks, self._replies,
                self.caller.user.info, self.caller.authorize, self._warnings,
            )  # fmt: skip
        return self._admission

    def store_wait(self) -> None:
        """Store how long the webhooks have taken until now."""
        self._waits[:] = [self.admission.waited]


class RequestGate(Gate):
    """The checks that the writes of a request pass."""

    def __init__(self, gates: RequestGateFactory, route: Route, query: Query) -> None:
        self._gates = gates
        self._chain = gates.chain
        self._route = route
        self._query = query

    @property
    def user_info(self) -> Json:
        return self._gates.caller.user.info

    @property
    def mutates(self) -> bool:
        return bool(self._chain.hooks.webhooks("mutating"))

    def mutate(self, obj: Json, old: Json | None, normalize: Normalize) -> Json:
        if not self.mutates:
            return obj
        try:
            return self._gates.admission.mutate(self._write(obj, old), normalize) or obj
        finally:
            self._gates.store_wait()

    def check(self, obj: Json, old: Json | None) -> None:
        self._gates.caller.check_escalation(obj, old)

    def validate(self, obj: Json, old: Json | None) -> None:
        if old is None:
            # Not earlier: a server checks the object first, and its errors take precedence.
            self._gates.caller.check_creation()
        if not self._validates:
            return
        admitted = obj
        if old is None:
            meta = {name: value for name, value in obj["metadata"].items() if name != "resourceVersion"}
            admitted = {**obj, "metadata": meta}
        try:
            self._gates.admission.validate(self._write(admitted, old))
        finally:
            self._gates.store_wait()

    def delete(self, old: Json, options: Json) -> None:
        if not (self.mutates or self._validates):
            return
        route = self._route
        options_object: Json = {"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1", **options}
        write = AdmittedWrite(
            served=route.served, operation="DELETE", name=old["metadata"]["name"],
            namespace=route.namespace or old["metadata"].get("namespace", ""), obj=None, old=old,
            dry_run=bool(options.get("dryRun")), options=options_object,
        )  # fmt: skip
        try:
            self._gates.admission.mutate(write, lambda obj: obj)
            self._gates.admission.validate(write)
        finally:
            self._gates.store_wait()

    def mutate_body(self, body: SubresourceBody) -> Json:
        if not self.mutates:
            return body.obj
        try:
            return self._gates.admission.mutate(self._of_body(body), lambda obj: obj) or body.obj
        finally:
            self._gates.store_wait()

    def validate_body(self, body: SubresourceBody) -> None:
        if not self._validates:
            return
        try:
            self._gates.admission.validate(self._of_body(body))
        finally:
            self._gates.store_wait()

    def _of_body(self, body: SubresourceBody) -> AdmittedWrite:
        route = self._route
        group, _, version = body.api_version.rpartition("/")
        kind = {"group": group, "version": version, "kind": body.kind}
        objects = [
            None if content is None else {"kind": body.kind, "apiVersion": body.api_version, **content}
            for content in (body.obj, body.old)
        ]
        return AdmittedWrite(
            served=route.served, operation=body.operation, name=route.name, namespace=route.namespace,
            subresource=route.subresource, obj=objects[0], old=objects[1], dry_run=body.dry_run, kind=kind,
            options=None if body.operation == "CONNECT" else self._options(body.operation),
        )  # fmt: skip

    def _options(self, operation: str) -> Json:
        options: Json = {"kind": f"{operation.title()}Options", "apiVersion": "meta.k8s.io/v1"}
        for name in _OPTIONS:
            if value := self._query.get(name):
                options[name] = [value] if name == "dryRun" else value
        return options

    @property
    def _validates(self) -> bool:
        return bool(self._chain.hooks.webhooks("validating") or self._chain.policies.bound())

    def _write(self, obj: Json, old: Json | None) -> AdmittedWrite:
        route, query = self._route, self._query
        operation = "CREATE" if old is None else "UPDATE"
        namespace = route.namespace
        if route.served.full_name == "namespaces":
            namespace = obj["metadata"].get("name", "")
        return AdmittedWrite(
            served=route.served, operation=operation, name=route.name or obj["metadata"].get("name", ""),
            namespace=namespace, subresource=route.subresource, obj=obj, old=old,
            dry_run=bool(query.get("dryRun")), options=self._options(operation),
        )  # fmt: skip


def writer_for(
    state: ServerState,
    route: Route,
    request: ServerRequest,
    warnings: list[str],
    request_route: Route | None = None,
) -> Writer:
    """Return the writer of a request that creates or replaces an object.

    `request_route` is the route of the request if it differs from the route that writes the object.
    """
    gate = request.gates.gate_for(request_route or route, request.query)
    return Writer(state, route, request.query, request.manager, warnings, gate)


def patch_writer_for(
    state: ServerState,
    route: Route,
    request: ServerRequest,
    warnings: list[str],
    request_route: Route | None = None,
) -> PatchWriter:
    """Return the writer of a request that patches an object."""
    gate = request.gates.gate_for(request_route or route, request.query)
    return PatchWriter(state, route, request.query, request.manager, warnings, gate)
