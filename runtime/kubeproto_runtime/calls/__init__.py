"""One call of a client: admission at its rate, attempts, limits, and the effects that drivers perform."""
