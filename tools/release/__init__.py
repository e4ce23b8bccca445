"""Builds the distributions and tests them in clean environments: `make dist`."""
