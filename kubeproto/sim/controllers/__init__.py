"""What a cluster does by itself: definitions, garbage collection, the life of namespaces."""
