"""Reviews of users, tokens and permissions: requests whose objects a server does not store."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from kubeproto.crd import Violation
from kubeproto.objects import is_object

from .._rejections import Rejection, bad_request, invalid, unknown_resource
from .._state import ServerState
from ..access._account_tokens import ISSUER, InvalidToken
from ..access._attributes import Attributes
from ..access._authorizer import Caller
from ..access._policy_rules import PolicyRule
from ..access._rbac import Decision, GrantedRule, aggregate, not_found_text
from ..access._users import User
from ..reading._routes import Route
from ..storage._json_values import member, strings_in
from ..writing._object_writer import Writer
from ..writing._request_bodies import read_object
from ._server_responses import ServerRequest, ServerResponse, body_response

_EXCLUSIVE: Final = "cannot be specified in combination with resourceAttributes"
_ONE_OF: Final = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
_NO_TOKEN: Final = "invalid bearer token"
_EVERYTHING: Final = (
    PolicyRule(verbs=("*",), api_groups=("*",), resources=("*",)),
    PolicyRule(verbs=("*",), non_resource_urls=("*",)),
)

Json = dict[str, Any]


def handle_review(
    state: ServerState, route: Route, request: ServerRequest, warnings: list[str]
) -> ServerResponse:
    """Respond to a review."""
    served = route.served
    respond = _REVIEWS.get(served.kind)
    if respond is None:
        raise unknown_resource()
    obj, twice = read_object(request.raw.body, request.headers.get("content-type", ""), served.kind)
    obj["kind"], obj["apiVersion"] = served.kind, served.api_version
    meta: Any = obj.setdefault("metadata", {})
    writer = Writer(state, route, request.query, request.manager, warnings)
    writer.tidy(obj, twice)
    if is_object(meta) and served.namespaced and not meta.get("namespace"):
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
    audiences = strings_in(spec, "audiences") or [ISSUER]
    try:
        user, valid_audiences = caller.access.review_token(token, audiences)
    except InvalidToken as error:
        # A server reports the result of each of its authenticators.
        problem = str(error)
        obj["status"] = {
            "user": {},
            "error": problem if problem == _NO_TOKEN else f"[{_NO_TOKEN}, {problem}]",
        }
        return obj
    obj["status"] = {"authenticated": True, "user": user.info, "audiences": valid_audiences}
    return obj


def _review_own_access(caller: Caller, obj: Json) -> Json:
    spec = member(obj, "spec")
    _check(obj, _attribute_violations(spec) + _metadata_violations(obj))
    obj["status"] = _access_status(caller.access.decide(caller.user, _attributes(spec)))
    return obj


def _review_access(caller: Caller, obj: Json) -> Json:
    spec = member(obj, "spec")
    violations = _attribute_violations(spec)
    if not (spec.get("user") or spec.get("groups")):
        text = "at least one of user or group must be specified"
        violations.append(Violation("FieldValueInvalid", "spec.user", "", text))
    local = obj["kind"] == "LocalSubjectAccessReview"
    violations += _metadata_violations(obj, local=local)
    if local:
        violations += _namespace_violations(spec, obj["metadata"].get("namespace", ""))
    _check(obj, violations)
    extra: dict[str, list[str]] = member(spec, "extra")
    user = User(spec.get("user", ""), spec.get("uid", ""), tuple(strings_in(spec, "groups")), extra)
    obj["status"] = _access_status(caller.access.decide(user, _attributes(spec)))
    return obj


def _review_own_rules(caller: Caller, obj: Json) -> Json:
    namespace: str = member(obj, "spec").get("namespace", "")
    if not namespace:
        raise bad_request("no namespace on request")
    if caller.access.mode == "AlwaysAllow":
        grants = [GrantedRule(rule) for rule in _EVERYTHING]
    else:
        grants = list(caller.access.rbac.grants(caller.user, namespace))
    rules = [grant.rule for grant in grants if grant.rule is not None]
    status: Json = {
        "resourceRules": [_rule_content(rule, resources=True) for rule in rules if rule.resources],
        "nonResourceRules": [
            _rule_content(rule, resources=False) for rule in rules if rule.non_resource_urls
        ],
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


def _rule_content(rule: PolicyRule, *, resources: bool) -> Json:
    if not resources:
        return {"verbs": list(rule.verbs), "nonResourceURLs": list(rule.non_resource_urls)}
    content: Json = {"verbs": list(rule.verbs), "apiGroups": list(rule.api_groups)}
    content["resources"] = list(rule.resources)
    if rule.resource_names:
        content["resourceNames"] = list(rule.resource_names)
    return content


def _attributes(spec: Json) -> Attributes:
    """Return the attributes of the request in a review."""
    if "resourceAttributes" not in spec:
        attributes = member(spec, "nonResourceAttributes")
        return Attributes(
            verb=attributes.get("verb", ""), path=attributes.get("path", ""), is_resource_request=False
        )
    attributes = member(spec, "resourceAttributes")
    return Attributes(
        verb=attributes.get("verb", ""),
        group=attributes.get("group", ""),
        version=attributes.get("version", "*"),
        resource=attributes.get("resource", ""),
        subresource=attributes.get("subresource", ""),
        name=attributes.get("name", ""),
        namespace=attributes.get("namespace", ""),
    )


def _access_status(decision: Decision) -> Json:
    status: Json = {"allowed": decision.allowed}
    if decision.reason:
        status["reason"] = decision.reason
    return status


def _check(obj: Json, violations: Iterable[Violation]) -> None:
    if found_violations := list(violations):
        raise _invalid(obj, found_violations)


def _invalid(obj: Json, violations: list[Violation]) -> Rejection:
    # The message has no kind: a server has lost it at this point.
    return invalid("", obj["apiVersion"].partition("/")[0], "", violations)


def _attribute_violations(spec: Json) -> list[Violation]:
    attribute_fields = [name for name in ("resourceAttributes", "nonResourceAttributes") if name in spec]
    if len(attribute_fields) == 2:
        path_attributes: Any = spec["nonResourceAttributes"]
        return [Violation("FieldValueInvalid", "spec.nonResourceAttributes", path_attributes, _EXCLUSIVE)]
    if not attribute_fields:
        return [Violation("FieldValueInvalid", "spec.resourceAttributes", None, _ONE_OF)]
    return []


def _metadata_violations(obj: Json, *, local: bool = False) -> list[Violation]:
    ignored = {"managedFields", "namespace"} if local else {"managedFields"}
    if not obj["metadata"].keys() - ignored:
        return []
    text = "must be empty except for namespace" if local else "must be empty"
    return [Violation("FieldValueInvalid", "metadata", obj["metadata"], text)]


def _namespace_violations(spec: Json, namespace: str) -> list[Violation]:
    violations: list[Violation] = []
    if "resourceAttributes" in spec:
        requested_namespace: str = member(spec, "resourceAttributes").get("namespace", "")
        if requested_namespace != namespace:
            text = "must match metadata.namespace"
            violations.append(
                Violation("FieldValueInvalid", "spec.resourceAttributes.namespace", requested_namespace, text)
            )
    if "nonResourceAttributes" in spec:
        text = "disallowed on this kind of request"
        violations.append(Violation("FieldValueInvalid", "spec.nonResourceAttributes", {}, text))
    return violations


_REVIEWS: Final[dict[str, Callable[[Caller, Json], Json]]] = {
    "SelfSubjectReview": _who_am_i,
    "TokenReview": _review_token,
    "SelfSubjectAccessReview": _review_own_access,
    "SubjectAccessReview": _review_access,
    "LocalSubjectAccessReview": _review_access,
    "SelfSubjectRulesReview": _review_own_rules,
}
