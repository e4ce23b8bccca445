"""Requests over a transport: the client, its verbs, credentials, discovery, waiting and following."""
