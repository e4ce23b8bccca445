"""What a server keeps: objects under one version, a window of changes, the clock and the kinds."""
