"""Nodes of the simulated cluster: they take pods, run containers in virtual time, and report on them."""
