"""The stored objects under a global version, and a window of their changes."""
