"""How objects are changed: creating, replacing, patching, deleting, and what is refused."""
