"""Custom resources: definitions made from classes, read and compared; objects checked; reviews answered."""

from ._typed import check_object_rules, validate_object
from ._violations import Violation, invalid_status
from .cel._evaluation import CannotEvaluate, CelFailure, evaluate_with
from .cel._rules import NotEvaluated, Passed, RuleOutcome, RuleViolated, check_rules
from .definitions._changes import SchemaChange, compare_definitions
from .definitions._definition_checks import check_definition
from .definitions._definitions import CustomResourceDefinition, DefinitionError, definition_of, definitions_of
from .definitions._reading import DefinedKind, DefinedVersion, KindConversion, read_definition
from .definitions._structural import check_schema
from .reviews._admission import (
    AdmissionRequest,
    AdmissionVerdict,
    UserInfo,
    allow,
    change,
    deny,
    read_admission,
    respond_to_admission,
)
from .reviews._conversion import ConversionRequest, read_conversion, respond_to_conversion
from .schemas._refusals import SchemaError
from .schemas._schemas import schema_of
from .validation._defaulting import default
from .validation._pruning import prune
from .validation._validation import validate

__all__ = [
    "AdmissionRequest",
    "AdmissionVerdict",
    "CannotEvaluate",
    "CelFailure",
    "ConversionRequest",
    "CustomResourceDefinition",
    "DefinedKind",
    "DefinedVersion",
    "DefinitionError",
    "KindConversion",
    "NotEvaluated",
    "Passed",
    "RuleOutcome",
    "RuleViolated",
    "SchemaChange",
    "SchemaError",
    "UserInfo",
    "Violation",
    "allow",
    "change",
    "check_definition",
    "check_object_rules",
    "check_rules",
    "check_schema",
    "compare_definitions",
    "default",
    "definition_of",
    "definitions_of",
    "deny",
    "evaluate_with",
    "invalid_status",
    "prune",
    "read_admission",
    "read_conversion",
    "read_definition",
    "respond_to_admission",
    "respond_to_conversion",
    "schema_of",
    "validate",
    "validate_object",
]
