"""What a cluster does without requests: definitions, garbage collection, the lifecycle of namespaces."""
