"""The rows: one module for each group, with its `ROWS`."""
