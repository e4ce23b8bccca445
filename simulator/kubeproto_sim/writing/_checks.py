"""The rules that an object has to pass before it is stored: of metadata, of its kind, and of its schema."""

from __future__ import annotations

from typing import Any, Final

from kubeproto.crd import NotEvaluated, Violation, check_definition

from .._rejections import invalid
from ..kinds._kind_rules import check_kind
from ..kinds._kinds import SchemaCodec
from ._allocation import SERVICES
from ._fixed_fields import check_fixed
from ._mistakes import misnamed, of_status
from ._network_rules import addresses
from ._pod_parts import check_part
from ._rules import check_meta, check_spec, finalizer_warnings
from ._scales import with_scale
from ._schema_shapes import DEFINITIONS
from ._workload_rules import BUDGETS
from ._write_requests import WriteRequest

# Faults after which a server does not evaluate the rules of a schema, and what it says then.
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
    request: WriteRequest, obj: dict[str, Any], old: dict[str, Any] | None, fixed: list[Violation]
) -> None:
    """Refuse what breaks the rules; `fixed` are the changes of immutable fields that were found before."""
    served = request.served
    name: str = obj["metadata"].get("name", "")
    # A server checks immutable fields in two places, and reports them twice.
    found = fixed * 2
    if request.misnamed and request.route.subresource != "status":  # of a status nothing else counts
        kind, api_version = request.misnamed
        found += misnamed(served, kind, api_version)
        raise invalid(kind, api_version.rpartition("/")[0], name, found)
    if served.full_name == SERVICES and (alone := list(addresses(obj))):
        raise invalid(served.kind, served.group, name, alone)
    found += check_meta(served, obj["metadata"])
    if isinstance(served.codec, SchemaCodec):
        found += _schema_violations(request, served.codec, obj, old, found)
    else:
        main = request.route.subresource == ""
        found += check_kind(served, obj, old) if main else []
        faults = check_spec(served, obj)
        if old is not None:
            part = request.route.subresource
            faults += check_fixed(served, old, obj) if main else check_part(part, obj, old)
        # Only for this kind, a server checks the spec first, and the metadata if the spec is valid.
        found = faults if faults and served.full_name == BUDGETS else found + faults
        if served.full_name == DEFINITIONS:
            found += check_definition(obj)
    if found:
        raise invalid(served.kind, served.group, name, found)
    if served.custom and "finalizers" in obj["metadata"]:
        request.warnings += finalizer_warnings(old, obj)


def _schema_violations(
    request: WriteRequest, codec: SchemaCodec, obj: dict[str, Any], old: dict[str, Any] | None,
    found: list[Violation],
) -> list[Violation]:  # fmt: skip
    """Return what the schema of a custom resource refuses, and warn of rules that were not evaluated."""
    blocked = codec.rules and any(one.reason in _BLOCKING for one in found)
    unknown: list[NotEvaluated] = []
    violations = codec.violations(obj, old, unknown, rules=not blocked)
    # A real server evaluates these rules, and may refuse the write.
    request.warnings += [
        f"{one.field or '<nil>'}: the rule {one.rule!r} was not evaluated: {one.reason}" for one in unknown
    ]
    if blocked:
        violations = [*(one for one in violations if one.field != "<nil>"), _UNCHECKED]
    defined = request.served.defined
    if defined and defined.scale:
        violations = with_scale(defined.scale, obj, violations)
    if request.route.subresource == "status":
        violations = [of_status(violation) for violation in violations]
    return violations
