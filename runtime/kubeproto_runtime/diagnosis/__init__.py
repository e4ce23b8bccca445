"""What is wrong with a kubeconfig, a server or the rights of an account, and what to do about each.

``for check in await diagnose(): print(check)``. The command `kubeproto doctor` prints the same.
"""

from ._check import Check, CheckOutcome
from ._diagnosing import Diagnosing, diagnose

__all__ = ["Check", "CheckOutcome", "Diagnosing", "diagnose"]
