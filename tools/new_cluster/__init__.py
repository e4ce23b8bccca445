"""Writes down what a new control plane holds, for the simulator to begin with."""
