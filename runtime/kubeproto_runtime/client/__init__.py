"""The client: its verbs, sent and awaited, and how it is connected."""
