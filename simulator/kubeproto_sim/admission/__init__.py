"""Admission: the webhooks and policies that a client's write passes before it is stored."""
