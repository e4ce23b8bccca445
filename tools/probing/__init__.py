"""Asks a real API server what it defaults, refuses, keeps and prints, and writes that down as tables."""
