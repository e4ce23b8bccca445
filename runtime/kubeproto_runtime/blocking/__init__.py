"""The client for threads and scripts, over a blocking transport."""
