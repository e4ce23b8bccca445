"""Sets of objects: compare the desired objects with the server's, apply the difference, and prune.

::

    plan = await client.plan(read_manifests("deploy/"), "configmaps/shop")
    print(plan)
    await client.perform(plan)
"""

from ._apply_set import (
    ApplySet,
    ApplySetError,
    Extent as Extent,
    Parent as Parent,
    applyset_id as applyset_id,
)
from ._manifest_files import ManifestFiles, read_manifests
from ._membership import Membership as Membership
from ._plan import (
    ManagerConflict,
    Plan,
    PlannedChange,
    PlannedCreation,
    PlannedDeletion,
    PlannedRefusal,
    PlannedStep,
    PlannedWrite,
    PlanRefused,
)
from ._plan_decisions import (
    DryRunFailure as DryRunFailure,
    DryRunResult as DryRunResult,
    DryRunSuccess as DryRunSuccess,
    Listing as Listing,
    NoDryRun as NoDryRun,
    Observation as Observation,
    decide_plan as decide_plan,
)
from ._plan_execution import DeletionHeld, PerformResult, StalePlan

__all__ = [
    "ApplySet",
    "ApplySetError",
    "DeletionHeld",
    "ManagerConflict",
    "ManifestFiles",
    "PerformResult",
    "Plan",
    "PlanRefused",
    "PlannedChange",
    "PlannedCreation",
    "PlannedDeletion",
    "PlannedRefusal",
    "PlannedStep",
    "PlannedWrite",
    "StalePlan",
    "read_manifests",
]
