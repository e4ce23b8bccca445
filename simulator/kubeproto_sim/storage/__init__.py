"""What a server stores: objects under one version, and a window of changes."""
