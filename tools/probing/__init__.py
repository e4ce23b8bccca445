"""Explores which defaults, rules, zeros and columns a real API server has, and generates tables."""
