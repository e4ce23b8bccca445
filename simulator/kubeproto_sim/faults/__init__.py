"""Faults: failures between clients and a cluster, from a script, or at random from a seed."""
