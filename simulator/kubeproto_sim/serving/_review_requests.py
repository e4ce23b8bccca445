"""Reviews: questions about users, tokens and rights, which a server answers and does not store."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from kubeproto.crd import Violation

from .._rejections import Rejection, bad_request, invalid, unknown_resource
from .._state import ServerState
from ..access._account_tokens import ISSUER, BadToken
from ..access._attributes import Attributes
from ..access._authorizer import Caller
from ..access._policy_rules import PolicyRule
from ..access._rbac import Decision, HeldRule, aggregate, not_found_text
from ..access._users import User
from ..reading._routes import Route
from ..storage._json_values import is_map, member, texts
from ..writing._bodies import read_object
from ..writing._writes import Writer
from ._server_responses import ServerRequest, ServerResponse, body_response

_EXCLUSIVE: Final = "cannot be specified in combination with resourceAttributes"
_ONE_OF: Final = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
_NO_TOKEN: Final = "invalid bearer token"
_EVERYTHING: Final = (
    PolicyRule(verbs=("*",), api_groups=("*",), resources=("*",)),
    PolicyRule(verbs=("*",), non_resource_urls=("*",)),
)

Json = dict[str, Any]


def review(state: ServerState, route: Route, request: ServerRequest, warnings: list[str]) -> ServerResponse:
    """Answer a review."""
    served = route.served
    respond = _REVIEWS.get(served.kind)
    if respond is None:
        raise unknown_resource()
    obj, twice = read_object(request.head.body, request.headers.get("content-type", ""), served.kind)
    obj["kind"], obj["apiVersion"] = served.kind, served.api_version
    meta: Any = obj.setdefault("metadata", {})
    writer = Writer(state, route, request.query, request.manager, warnings)
    writer.tidy(obj, twice)
    if is_map(meta) and served.namespaced and not meta.get("namespace"):
        meta["namespace"] = route.namespace
    writer.tracker.created(obj)
    response = respond(request.caller, obj)
    return body_response(201, served.write(response) + b"\n", request, warnings)


def _who_am_i(caller: Caller, obj: Json) -> Json:
    obj["metadata"] = {"creationTimestamp": caller.access.state.clock.stamp()}
    obj["status"] = {"userInfo": caller.user.info}
    return obj


def _review_token(caller: Caller, obj: Json) -> Json:
    spec = member(obj, "spec")
    token: str = spec.get("token", "")
    if not token:
        raise bad_request("token is required for TokenReview in authentication")
    audiences = texts(spec, "audiences") or [ISSUER]
    try:
        user, meant = caller.access.review_token(token, audiences)
    except BadToken as error:
        # A server reports the result of each of its authenticators.
        why = str(error)
        obj["status"] = {"user": {}, "error": why if why == _NO_TOKEN else f"[{_NO_TOKEN}, {why}]"}
        return obj
    obj["status"] = {"authenticated": True, "user": user.info, "audiences": meant}
    return obj


def _review_own_access(caller: Caller, obj: Json) -> Json:
    spec = member(obj, "spec")
    _check(obj, _attribute_faults(spec) + _metadata_faults(obj))
    obj["status"] = _access_status(caller.access.decide(caller.user, _attributes(spec)))
    return obj


def _review_access(caller: Caller, obj: Json) -> Json:
    spec = member(obj, "spec")
    found = _attribute_faults(spec)
    if not (spec.get("user") or spec.get("groups")):
        text = "at least one of user or group must be specified"
        found.append(Violation("FieldValueInvalid", "spec.user", "", text))
    local = obj["kind"] == "LocalSubjectAccessReview"
    found += _metadata_faults(obj, local=local)
    if local:
        found += _place_faults(spec, obj["metadata"].get("namespace", ""))
    _check(obj, found)
    extra: dict[str, list[str]] = member(spec, "extra")
    user = User(spec.get("user", ""), spec.get("uid", ""), tuple(texts(spec, "groups")), extra)
    obj["status"] = _access_status(caller.access.decide(user, _attributes(spec)))
    return obj


def _review_own_rules(caller: Caller, obj: Json) -> Json:
    namespace: str = member(obj, "spec").get("namespace", "")
    if not namespace:
        raise bad_request("no namespace on request")
    if caller.access.mode == "AlwaysAllow":
        grants = [HeldRule(rule) for rule in _EVERYTHING]
    else:
        grants = list(caller.access.rbac.grants(caller.user, namespace))
    rules = [grant.rule for grant in grants if grant.rule is not None]
    status: Json = {
        "resourceRules": [_shown(rule, resources=True) for rule in rules if rule.resources],
        "nonResourceRules": [_shown(rule, resources=False) for rule in rules if rule.non_resource_urls],
        "incomplete": False,
    }
    errors = [not_found_text(grant) for grant in grants if grant.rule is None]
    if errors:
        status["evaluationError"] = aggregate(errors)
    return {
        "kind": obj["kind"],
        "apiVersion": obj["apiVersion"],
        "metadata": {},
        "spec": {},
        "status": status,
    }


def _shown(rule: PolicyRule, *, resources: bool) -> Json:
    if not resources:
        return {"verbs": list(rule.verbs), "nonResourceURLs": list(rule.non_resource_urls)}
    shown: Json = {"verbs": list(rule.verbs), "apiGroups": list(rule.api_groups)}
    shown["resources"] = list(rule.resources)
    if rule.resource_names:
        shown["resourceNames"] = list(rule.resource_names)
    return shown


def _attributes(spec: Json) -> Attributes:
    """Return what a review asks about."""
    if "resourceAttributes" not in spec:
        asked = member(spec, "nonResourceAttributes")
        return Attributes(verb=asked.get("verb", ""), path=asked.get("path", ""), about_resource=False)
    asked = member(spec, "resourceAttributes")
    return Attributes(
        verb=asked.get("verb", ""),
        group=asked.get("group", ""),
        version=asked.get("version", "*"),
        resource=asked.get("resource", ""),
        subresource=asked.get("subresource", ""),
        name=asked.get("name", ""),
        namespace=asked.get("namespace", ""),
    )


def _access_status(decision: Decision) -> Json:
    status: Json = {"allowed": decision.allowed}
    if decision.reason:
        status["reason"] = decision.reason
    return status


def _check(obj: Json, found: Iterable[Violation]) -> None:
    if faults := list(found):
        raise _invalid(obj, faults)


def _invalid(obj: Json, faults: list[Violation]) -> Rejection:
    # A server no longer knows the kind when it sends this.
    return invalid("", obj["apiVersion"].partition("/")[0], "", faults)


def _attribute_faults(spec: Json) -> list[Violation]:
    about = [name for name in ("resourceAttributes", "nonResourceAttributes") if name in spec]
    if len(about) == 2:
        asked: Any = spec["nonResourceAttributes"]
        return [Violation("FieldValueInvalid", "spec.nonResourceAttributes", asked, _EXCLUSIVE)]
    if not about:
        return [Violation("FieldValueInvalid", "spec.resourceAttributes", None, _ONE_OF)]
    return []


def _metadata_faults(obj: Json, *, local: bool = False) -> list[Violation]:
    ignored = {"managedFields", "namespace"} if local else {"managedFields"}
    if not obj["metadata"].keys() - ignored:
        return []
    text = "must be empty except for namespace" if local else "must be empty"
    return [Violation("FieldValueInvalid", "metadata", obj["metadata"], text)]


def _place_faults(spec: Json, namespace: str) -> list[Violation]:
    found: list[Violation] = []
    if "resourceAttributes" in spec:
        asked: str = member(spec, "resourceAttributes").get("namespace", "")
        if asked != namespace:
            text = "must match metadata.namespace"
            found.append(Violation("FieldValueInvalid", "spec.resourceAttributes.namespace", asked, text))
    if "nonResourceAttributes" in spec:
        text = "disallowed on this kind of request"
        found.append(Violation("FieldValueInvalid", "spec.nonResourceAttributes", {}, text))
    return found


_REVIEWS: Final[dict[str, Callable[[Caller, Json], Json]]] = {
    "SelfSubjectReview": _who_am_i,
    "TokenReview": _review_token,
    "SelfSubjectAccessReview": _review_own_access,
    "SubjectAccessReview": _review_access,
    "LocalSubjectAccessReview": _review_access,
    "SelfSubjectRulesReview": _review_own_rules,
}
