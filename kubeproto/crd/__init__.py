"""Custom resources: definitions built from classes, read and compared; checks of objects; webhook reviews."""

from ._typed_objects import check_object_rules, validate_object
from ._violations import Violation, invalid_status as invalid_status
from .cel._authorizer_functions import Authorize as Authorize, authorizer_value as authorizer_value
from .cel._cel_evaluation import CannotEvaluate, CelFailure as CelFailure, evaluate_with as evaluate_with
from .cel._rule_outcomes import NotEvaluated, Passed, RuleOutcome, RuleViolated, check_rules
from .definitions._definition_building import (
    CustomResourceDefinition,
    DefinitionError,
    definition_of,
    definitions_of as definitions_of,
)
from .definitions._definition_changes import SchemaChange as SchemaChange, compare_definitions
from .definitions._definition_checks import check_definition
from .definitions._definition_reading import (
    DefinedKind,
    DefinedVersion as DefinedVersion,
    KindConversion as KindConversion,
    read_definition,
)
from .reviews._admission_reviews import (
    AdmissionRequest,
    AdmissionVerdict,
    UserInfo as UserInfo,
    allow,
    change,
    deny,
    read_admission,
    respond_to_admission,
)
from .reviews._conversion_reviews import ConversionRequest, read_conversion, respond_to_conversion
from .schemas._annotations import SchemaError
from .schemas._schema_building import schema_of as schema_of
from .validation._defaulting import apply_defaults as apply_defaults
from .validation._object_validation import validate
from .validation._pruning import prune

__all__ = [
    "AdmissionRequest",
    "AdmissionVerdict",
    "CannotEvaluate",
    "ConversionRequest",
    "CustomResourceDefinition",
    "DefinedKind",
    "DefinitionError",
    "NotEvaluated",
    "Passed",
    "RuleOutcome",
    "RuleViolated",
    "SchemaError",
    "Violation",
    "allow",
    "change",
    "check_definition",
    "check_object_rules",
    "check_rules",
    "compare_definitions",
    "definition_of",
    "deny",
    "prune",
    "read_admission",
    "read_conversion",
    "read_definition",
    "respond_to_admission",
    "respond_to_conversion",
    "validate",
    "validate_object",
]
