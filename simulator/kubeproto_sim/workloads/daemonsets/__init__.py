"""DaemonSets: one pod on each node that fits."""
