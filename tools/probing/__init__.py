"""Explores how a real API server treats defaults, rules, zero values and columns, and generates tables."""
