"""Custom resources: definitions built from classes, read and compared; checks of objects; webhook reviews."""

from ._typed_objects import check_object_rules, validate_object
from ._violations import Violation, invalid_status
from .cel._cel_evaluation import CannotEvaluate, CelFailure, evaluate_with
from .cel._rule_outcomes import NotEvaluated, Passed, RuleOutcome, RuleViolated, check_rules
from .definitions._definition_building import (
    CustomResourceDefinition,
    DefinitionError,
    definition_of,
    definitions_of,
)
from .definitions._definition_changes import SchemaChange, compare_definitions
from .definitions._definition_checks import check_definition
from .definitions._definition_reading import DefinedKind, DefinedVersion, KindConversion, read_definition
from .reviews._admission_reviews import (
    AdmissionRequest,
    AdmissionVerdict,
    UserInfo,
    allow,
    change,
    deny,
    read_admission,
    respond_to_admission,
)
from .reviews._conversion_reviews import ConversionRequest, read_conversion, respond_to_conversion
from .schemas._annotations import SchemaError
from .schemas._schema_building import schema_of
from .validation._defaulting import apply_defaults
from .validation._object_validation import validate
from .validation._pruning import prune

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
    "apply_defaults",
    "change",
    "check_definition",
    "check_object_rules",
    "check_rules",
    "compare_definitions",
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
