"""The requests that a server sends to webhooks, admission and conversion reviews, and their responses."""
