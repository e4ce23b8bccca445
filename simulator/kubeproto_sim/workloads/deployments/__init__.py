"""Deployments, ReplicaSets and ReplicationControllers."""
