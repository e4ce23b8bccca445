"""All rules that an object must satisfy before it is stored: of its metadata, its kind and its schema."""

from __future__ import annotations

from typing import Any, Final

from kubeproto.crd import NotEvaluated, Violation, check_definition

from .._rejections import invalid
from ..kinds._kind_rules import check_kind
from ..kinds._served_kinds import SchemaCodec
from ._certificate_requests import CERTIFICATE_REQUESTS, check_conditions
from ._definition_rules import DEFINITIONS
from ._metadata_rules import check_meta, check_spec, finalizer_warnings
from ._network_rules import check_addresses
from ._pod_writes import check_part
from ._preserved_fields import STATUS, check_immutable_fields
from ._scale_field_rules import with_scale
from ._service_allocation import SERVICES
from ._workload_rules import BUDGETS
from ._write_errors import kind_violations, relative_to_status
from ._write_requests import WriteRequest

# After violations of these kinds a server does not evaluate the rules of a schema, and reports that.
_BLOCKING: Final = frozenset((
    "FieldValueRequired", "FieldValueNotSupported", "FieldValueTooLong", "FieldValueDuplicate",
    "FieldValueTypeInvalid",
))  # fmt: skip
_UNCHECKED: Final = Violation(
    "FieldValueInvalid",
    "<nil>",
    None,
    "some validation rules were not checked because the object was invalid; correct the existing errors to"
    " complete validation",
)


def check_object(
    request: WriteRequest,
    obj: dict[str, Any],
    old: dict[str, Any] | None,
    immutable_violations: list[Violation],
) -> None:
    """Raise a `Rejection` for an object that violates a rule; some violations were found before."""
    served = request.served
    name: str = obj["metadata"].get("name", "")
    # A server checks immutable fields in two places, and reports them twice.
    violations = immutable_violations * 2
    if request.sent_kind and request.route.subresource not in STATUS:  # a status has its own checks
        kind, api_version = request.sent_kind
        violations += kind_violations(served, kind, api_version)
        raise invalid(kind, api_version.rpartition("/")[0], name, violations)
    if served.full_name == SERVICES and (address_violations := list(check_addresses(obj))):
        raise invalid(served.kind, served.group, name, address_violations)
    violations += check_meta(served, obj["metadata"])
    if isinstance(served.codec, SchemaCodec):
        violations += _schema_violations(request, served.codec, obj, old, violations)
    else:
        is_main = request.route.subresource == ""
        violations += check_kind(served, obj, old) if is_main else []
        spec_violations = check_spec(served, obj)
        if old is not None:
            subresource = request.route.subresource
            spec_violations += (
                check_immutable_fields(served, old, obj) if is_main else check_part(subresource, obj, old)
            )
        # Only for this kind, a server checks the spec first, and the metadata if the spec is valid.
        violations = (
            spec_violations
            if spec_violations and served.full_name == BUDGETS
            else violations + spec_violations
        )
        if served.full_name == DEFINITIONS:
            violations += check_definition(obj)
        if served.full_name == CERTIFICATE_REQUESTS and old is not None:
            violations += check_conditions(old, obj)
    if violations:
        raise invalid(served.kind, served.group, name, violations)
    if served.custom and "finalizers" in obj["metadata"]:
        request.warnings += finalizer_warnings(old, obj)


def _schema_violations(
    request: WriteRequest, codec: SchemaCodec, obj: dict[str, Any], old: dict[str, Any] | None,
    previous: list[Violation],
) -> list[Violation]:  # fmt: skip
    """Return the violations of the schema of a custom resource; warn of rules that were not evaluated."""
    is_blocked = codec.rules and any(entry.reason in _BLOCKING for entry in previous)
    unevaluated: list[NotEvaluated] = []
    violations = codec.violations(obj, old, unevaluated, rules=not is_blocked)
    # A real server evaluates these rules, and may refuse the write.
    request.warnings += [
        f"{entry.field or '<nil>'}: the rule {entry.rule!r} was not evaluated: {entry.reason}"
        for entry in unevaluated
    ]
    if is_blocked:
        violations = [*(entry for entry in violations if entry.field != "<nil>"), _UNCHECKED]
    defined = request.served.defined
    if defined and defined.scale:
        violations = with_scale(defined.scale, obj, violations)
    if request.route.subresource in STATUS:
        violations = [relative_to_status(violation) for violation in violations]
    return violations
