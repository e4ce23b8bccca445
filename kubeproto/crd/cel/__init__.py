"""CEL rules: their form, and their evaluation over the values of an object."""
