"""Faults: failures between clients and a cluster, by a script or by a seed."""
