"""One write on its way through the webhooks: mutating ones in turn, then validating ones.

When a mutating webhook changes the object, those before it are called again if their configuration says so
(`reinvocationPolicy: IfNeeded`). Validating webhooks see the object as it will be stored.
https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from kubeproto.objects import PatchError, apply_json_patch

from .._rejections import Rejection, bad_request, forbidden_for, quoted
from .._state import ServerState
from ..kinds._kinds import Served
from ..kinds._typed import Misfit
from ..storage._json_values import copied
from ._admission_policies import Policies
from ._admission_responses import API, CallFailed, Verdict, denial, failed_call, internal, read_verdict
from ._webhook_calls import PendingCalls, Replies, WebhookCall, WebhookHandlers, make_call
from ._webhook_configurations import (
    AdmittedWrite,
    ConditionFailed,
    HookReader,
    Phase,
    Webhook,
    conditions_hold,
)

_QUIET: Final = ("None", "NoneOnDryRun")
Json = dict[str, Any]
# Brings an object that a webhook has changed into the form that is stored; or `Misfit`.
Tidy = Callable[[Json], Json]


class WebhookAdmission:
    """Takes the writes of one request through the webhooks. `waited` is how long they took."""

    def __init__(
        self,
        state: ServerState,
        hooks: HookReader,
        policies: Policies,
        webhooks: WebhookHandlers,
        replies: Replies | None,
        user: Json,
        warnings: list[str],
    ) -> None:
        self.waited = 0.0
        self._policies = policies
        self._state = state
        self._hooks = hooks
        self._webhooks = webhooks
        self._replies = replies
        self._user = user
        self._warnings = warnings

    def mutate(self, write: AdmittedWrite, tidy: Tidy) -> Json | None:
        """Return the object as the mutating webhooks have made it; or a refusal."""
        again: set[str] = set()
        called: set[str] = set()
        for round_ in range(2):
            due = None if round_ == 0 else frozenset(again)
            if due is not None and not due:
                break
            for hook in self._hooks.hooks("mutating"):
                if due is not None and hook.key not in due:
                    continue
                version = self._concerns(hook, write)
                if version is None:
                    continue
                made = self._mutated(hook, version, write, tidy)
                if made is not None:
                    write = msgspec.structs.replace(write, obj=made)
                    again |= called
                if hook.spec.get("reinvocationPolicy") == "IfNeeded":
                    called.add(hook.key)
        return write.obj

    def validate(self, write: AdmittedWrite) -> None:
        """Refuse what a policy or a validating webhook denies. All are called; the first refusal counts."""

        def shown(version: Served) -> Json:
            return self._request(write, version, "")

        self._policies.check(write, shown, self._warnings)
        pending: list[WebhookCall] = []
        first: Rejection | None = None
        slowest, before = 0.0, self.waited
        for hook in self._hooks.hooks("validating"):
            version = self._concerns(hook, write)
            if version is None:
                continue
            self.waited = before
            try:
                self._ask(hook, version, write, "validating")
            except PendingCalls as calls:
                pending += calls.calls
            except Rejection as refused:
                first = first or refused
            slowest = max(slowest, self.waited)
        self.waited = max(slowest, before)
        if pending:
            raise PendingCalls(tuple(pending))
        if first is not None:
            raise first

    def _concerns(self, hook: Webhook, write: AdmittedWrite) -> Served | None:
        """Return the version in which a webhook sees a write; None if it is not called."""
        version = self._hooks.concerned_version(hook, write)
        conditions = hook.spec.get("matchConditions")
        if version is None or not conditions:
            return version
        try:
            holds = conditions_hold(conditions, self._request(write, version, ""))
        except ConditionFailed as error:
            if hook.ignores_failures:
                return None
            raise _forbidden(write, str(error)) from None
        return version if holds else None

    def _mutated(self, hook: Webhook, version: Served, write: AdmittedWrite, tidy: Tidy) -> Json | None:
        """Return the object as a webhook has changed it; None if it has not."""
        verdict = self._ask(hook, version, write, "mutating")
        if verdict is None or not verdict.operations:
            return None
        if write.obj is None:
            raise internal(
                f"admission webhook {quoted(hook.name)} attempted to modify the object, which is not"
                " supported for this operation"
            )
        shown = write.obj if write.kind else _as_version(write.obj, write.served, version)
        try:
            changed: Any = apply_json_patch(shown, verdict.operations, like_server=True)
            made = tidy(changed if write.kind else _as_version(changed, version, write.served))
        except (PatchError, Misfit) as error:
            raise internal(str(error)) from None
        return None if made == write.obj else made

    def _ask(self, hook: Webhook, version: Served, write: AdmittedWrite, phase: Phase) -> Verdict | None:
        """Return the verdict of a webhook; None if it cannot be called and may be ignored."""
        if write.dry_run and hook.spec.get("sideEffects") not in _QUIET:
            raise bad_request(f"admission webhook {quoted(hook.name)} does not support dry run")
        uid = self._state.rng.uid()
        review = {"kind": "AdmissionReview", "apiVersion": API, "request": self._request(write, version, uid)}
        call = make_call(hook.spec["clientConfig"], msgspec.json.encode(review), hook.timeout)
        reply = self._webhooks.reply_to(call, self._replies)
        self.waited += reply.delay
        try:
            verdict = read_verdict(reply, reply.uid or uid, mutating=phase == "mutating")
        except CallFailed as error:
            if hook.ignores_failures:
                return None
            raise failed_call(hook.name, str(error)) from None
        self._warnings += verdict.warnings
        if not verdict.allowed:
            raise denial(hook.name, verdict.status)
        return verdict

    def _request(self, write: AdmittedWrite, version: Served, uid: str) -> Json:
        served = write.served

        def shown(obj: Json | None) -> Json | None:
            return obj if obj is None or write.kind else _as_version(obj, served, version)

        request: Json = {
            "uid": uid,
            "kind": write.kind or _kind(version),
            "resource": _resource(version),
            **({"subResource": write.subresource} if write.subresource else {}),
            "requestKind": write.kind or _kind(served),
            "requestResource": _resource(served),
            **({"requestSubResource": write.subresource} if write.subresource else {}),
            **({"name": write.name} if write.name else {}),
            **({"namespace": write.namespace} if write.namespace else {}),
            "operation": write.operation,
            "userInfo": self._user,
            "object": shown(write.obj),
            "oldObject": shown(write.old),
            "dryRun": write.dry_run,
            "options": write.options,
        }
        return request


def _forbidden(write: AdmittedWrite, why: str) -> Rejection:
    return forbidden_for(write.served.plural, write.served.group, write.name, why)


def _as_version(obj: Json, served: Served, version: Served) -> Json:
    """Return an object of one version of a resource as another version shows it."""
    if version is served:
        same: Json = msgspec.json.decode(served.write(obj))
        return same
    if served.custom:
        return served.converted(copied(obj), version.api_version)
    return version.read(served.kept(obj))


def _kind(served: Served) -> Json:
    return {"group": served.group, "version": served.version, "kind": served.kind}


def _resource(served: Served) -> Json:
    return {"group": served.group, "version": served.version, "resource": served.plural}
