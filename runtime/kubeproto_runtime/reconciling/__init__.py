"""One controller at work: sources of keys, workers, contexts, and what is counted."""
