"""Modules that run in the environments of peers, and their pinned versions.

They import the standard library, their peer, and modules of `benchmarks` that need nothing else.
"""
