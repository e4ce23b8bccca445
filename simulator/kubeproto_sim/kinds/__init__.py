"""The kinds that a server serves, and how it reads, checks and completes their objects."""
