"""Custom resources: definitions made from classes, read and compared; objects checked; reviews answered."""

from ._defaulting import default
from ._definition_checks import check_definition
from ._definitions import CustomResourceDefinition, DefinitionError, definition_of
from ._pruning import prune
from ._refusals import SchemaError
from ._rules import Failed, NotEvaluated, Outcome, Passed, check_rules
from ._schemas import schema_of
from ._structural import check_schema
from ._validation import validate
from ._violations import Violation, invalid_status

__all__ = [
    "CustomResourceDefinition",
    "DefinitionError",
    "Failed",
    "NotEvaluated",
    "Outcome",
    "Passed",
    "SchemaError",
    "Violation",
    "check_definition",
    "check_rules",
    "check_schema",
    "default",
    "definition_of",
    "invalid_status",
    "prune",
    "schema_of",
    "validate",
]
