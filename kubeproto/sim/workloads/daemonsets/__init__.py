"""DaemonSets."""
