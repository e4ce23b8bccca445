"""Checks of a kubeconfig, a server and the permissions of an account, with a remedy for each problem.

``for check in await diagnose(): print(check)``. The command `kubeproto doctor` prints the same.
"""

from ._check import Check, CheckOutcome
from ._diagnosing import DiagnoseOptions as DiagnoseOptions, diagnose

__all__ = ["Check", "CheckOutcome", "diagnose"]
