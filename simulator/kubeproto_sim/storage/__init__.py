"""The stored objects under one version, and a window of their changes."""
