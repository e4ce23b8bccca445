"""Objects checked against a schema: defaults, pruning, values, formats and embedded objects."""
