"""The controllers that a controller manager runs: from Deployments to quotas, on the clock of the cluster."""
