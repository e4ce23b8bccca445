"""Several controllers in one process: start and end, leader election, health and metrics pages."""
