"""What runs inside the peers' environments, and the versions that those hold.

These modules import the standard library, their peer, and what of `benchmarks` needs nothing else.
"""
