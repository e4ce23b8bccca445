"""How objects are changed: creating, replacing, patching, deleting, and the rules that reject them."""
