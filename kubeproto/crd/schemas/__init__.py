"""Structural schemas made from Python classes and types."""
