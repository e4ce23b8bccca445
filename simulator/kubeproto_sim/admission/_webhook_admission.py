"""`WebhookAdmission`: passes a write through mutating webhooks in turn, and then validating webhooks.

When a mutating webhook changes the object, earlier webhooks are called again if their configuration has
`reinvocationPolicy: IfNeeded`. Validating webhooks receive the object that will be stored.
https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from kubeproto.crd import Authorize
from kubeproto.objects import PatchError, apply_json_patch, copy_json

from .._rejections import Rejection, bad_request, forbidden_for
from .._state import ServerState
from ..kinds._served_kinds import ServedKind
from ..kinds._typed_codec import TypeMismatch
from ..storage._json_values import quoted
from ._admission_policies import Policies
from ._admission_responses import API, CallFailed, Verdict, denial, failed_call, internal_error, read_verdict
from ._webhook_calls import PendingCalls, Replies, WebhookCall, WebhookHandlers, make_call
from ._webhook_configurations import (
    AdmittedWrite,
    ConditionFailed,
    Phase,
    Webhook,
    WebhookConfigurations,
    conditions_hold,
)

_QUIET: Final = ("None", "NoneOnDryRun")
Json = dict[str, Any]
# Converts an object that a webhook has changed to the stored form; raises `TypeMismatch` if it cannot.
Tidy = Callable[[Json], Json]


class WebhookAdmission:
    """Passes the writes of a request through webhooks; `waited` is the time their calls have taken so far."""

    def __init__(
        self,
        state: ServerState,
        hooks: WebhookConfigurations,
        policies: Policies,
        webhooks: WebhookHandlers,
        replies: Replies | None,
        user: Json,
        authorize: Authorize,
        warnings: list[str],
    ) -> None:
        self.waited = 0.0
        self._authorize = authorize
        self._policies = policies
        self._state = state
        self._hooks = hooks
        self._webhooks = webhooks
        self._replies = replies
        self._user = user
        self._warnings = warnings

    def mutate(self, write: AdmittedWrite, tidy: Tidy) -> Json | None:
        """Return the object after the mutating webhooks, or refuse the write."""
        repeated: set[str] = set()
        called: set[str] = set()
        for round_ in range(2):
            keys_to_repeat = None if round_ == 0 else frozenset(repeated)
            if keys_to_repeat is not None and not keys_to_repeat:
                break
            for hook in self._hooks.webhooks("mutating"):
                if keys_to_repeat is not None and hook.key not in keys_to_repeat:
                    continue
                version = self._matching_version(hook, write)
                if version is None:
                    continue
                mutated = self._mutate_once(hook, version, write, tidy)
                if mutated is not None:
                    write = msgspec.structs.replace(write, obj=mutated)
                    repeated |= called
                if hook.spec.get("reinvocationPolicy") == "IfNeeded":
                    called.add(hook.key)
        return write.obj

    def validate(self, write: AdmittedWrite) -> None:
        """Pass a write through policies and validating webhooks. All are called; the first refusal counts."""

        def request_for(version: ServedKind) -> Json:
            return self._request(write, version, "")

        self._policies.check(write, request_for, self._authorize, self._warnings)
        pending: list[WebhookCall] = []
        first_refusal: Rejection | None = None
        slowest, waited_before = 0.0, self.waited
        for hook in self._hooks.webhooks("validating"):
            version = self._matching_version(hook, write)
            if version is None:
                continue
            self.waited = waited_before
            try:
                self._call(hook, version, write, "validating")
            except PendingCalls as calls:
                pending += calls.calls
            except Rejection as rejection:
                first_refusal = first_refusal or rejection
            slowest = max(slowest, self.waited)
        self.waited = max(slowest, waited_before)
        if pending:
            raise PendingCalls(tuple(pending))
        if first_refusal is not None:
            raise first_refusal

    def _matching_version(self, hook: Webhook, write: AdmittedWrite) -> ServedKind | None:
        """Return the version in which a webhook receives a write; None if it is not called."""
        version = self._hooks.matching_version(hook, write)
        conditions = hook.spec.get("matchConditions")
        if version is None or not conditions:
            return version
        try:
            holds = conditions_hold(conditions, self._request(write, version, ""), self._authorize)
        except ConditionFailed as error:
            if hook.ignores_failures:
                return None
            raise _forbidden(write, str(error)) from None
        return version if holds else None

    def _mutate_once(
        self, hook: Webhook, version: ServedKind, write: AdmittedWrite, tidy: Tidy
    ) -> Json | None:
        """Return the object after a webhook; None if it is unchanged."""
        verdict = self._call(hook, version, write, "mutating")
        if verdict is None or not verdict.operations:
            return None
        if write.obj is None:
            raise internal_error(
                f"admission webhook {quoted(hook.name)} attempted to modify the object, which is not"
                " supported for this operation"
            )
        sent_object = write.obj if write.kind else _as_version(write.obj, write.served, version)
        try:
            changed: Any = apply_json_patch(sent_object, verdict.operations, like_server=True)
            mutated = tidy(changed if write.kind else _as_version(changed, version, write.served))
        except (PatchError, TypeMismatch) as error:
            raise internal_error(str(error)) from None
        return None if mutated == write.obj else mutated

    def _call(self, hook: Webhook, version: ServedKind, write: AdmittedWrite, phase: Phase) -> Verdict | None:
        """Return the verdict of a webhook; None if the call fails and failures are ignored."""
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

    def _request(self, write: AdmittedWrite, version: ServedKind, uid: str) -> Json:
        served = write.served

        def in_version(obj: Json | None) -> Json | None:
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
            "object": in_version(write.obj),
            "oldObject": in_version(write.old),
            "dryRun": write.dry_run,
            "options": write.options,
        }
        return request


def _forbidden(write: AdmittedWrite, problem: str) -> Rejection:
    return forbidden_for(write.served.plural, write.served.group, write.name, problem)


def _as_version(obj: Json, served: ServedKind, version: ServedKind) -> Json:
    """Convert an object to another version of its resource."""
    if version is served:
        same: Json = msgspec.json.decode(served.write(obj))
        return same
    if served.custom:
        return served.converted(copy_json(obj), version.api_version)
    return version.read(served.encode_stored(obj))


def _kind(served: ServedKind) -> Json:
    return {"group": served.group, "version": served.version, "kind": served.kind}


def _resource(served: ServedKind) -> Json:
    return {"group": served.group, "version": served.version, "resource": served.plural}
