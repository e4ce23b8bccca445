"""The courses of workloads that a real control plane has recorded: `make workloads`."""

from __future__ import annotations

from typing import Any, Final

from awkward_cases import AWKWARD
from cron_cases import CRONJOBS, QUOTAS
from daemon_cases import DAEMONSETS
from deployment_cases import DEPLOYMENTS
from eviction_cases import EVICTIONS
from job_cases import JOBS
from service_cases import SERVICES
from set_cases import STATEFULSETS

CASES: Final[tuple[Any, ...]] = (
    *DEPLOYMENTS,
    *JOBS,
    *STATEFULSETS,
    *SERVICES,
    *DAEMONSETS,
    *CRONJOBS,
    *QUOTAS,
    *EVICTIONS,
    *AWKWARD,
)
