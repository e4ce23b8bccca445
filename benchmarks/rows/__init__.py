"""What is measured: one module a group, each with its `ROWS`."""
