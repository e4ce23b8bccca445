"""The controllers of the cluster itself: definitions, namespaces, garbage, protection, role aggregation."""
