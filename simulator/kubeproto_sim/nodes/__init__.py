"""Nodes: the scheduler, the kubelets with the pods on them, and connections to containers."""
