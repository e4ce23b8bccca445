"""Custom resources: definitions made from classes, read and compared; objects checked; reviews answered."""

from ._admission import (
    AdmissionRequest,
    AdmissionVerdict,
    allow,
    answer_admission,
    change,
    deny,
    read_admission,
)
from ._changes import SchemaChange, compare_definitions
from ._conversion import ConversionRequest, answer_conversion, read_conversion
from ._defaulting import default
from ._definition_checks import check_definition
from ._definitions import CustomResourceDefinition, DefinitionError, definition_of
from ._pruning import prune
from ._reading import DefinedKind, DefinedVersion, read_definition
from ._refusals import SchemaError
from ._rules import NotEvaluated, Passed, RuleOutcome, RuleViolated, check_rules
from ._schemas import schema_of
from ._structural import check_schema
from ._typed import check_object_rules, validate_object
from ._validation import validate
from ._violations import Violation, invalid_status

__all__ = [
    "AdmissionRequest",
    "AdmissionVerdict",
    "ConversionRequest",
    "CustomResourceDefinition",
    "DefinedKind",
    "DefinedVersion",
    "DefinitionError",
    "NotEvaluated",
    "Passed",
    "RuleOutcome",
    "RuleViolated",
    "SchemaChange",
    "SchemaError",
    "Violation",
    "allow",
    "answer_admission",
    "answer_conversion",
    "change",
    "check_definition",
    "check_object_rules",
    "check_rules",
    "check_schema",
    "compare_definitions",
    "default",
    "definition_of",
    "deny",
    "invalid_status",
    "prune",
    "read_admission",
    "read_conversion",
    "read_definition",
    "schema_of",
    "validate",
    "validate_object",
]
