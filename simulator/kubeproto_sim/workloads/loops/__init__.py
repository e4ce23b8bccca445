"""The loop of a controller: which keys it is asked for, what it writes, and its Events."""
