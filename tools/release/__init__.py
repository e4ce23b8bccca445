"""Builds the distributions and tries them where nothing else of this project is: `make dist`."""
