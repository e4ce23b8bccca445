"""Credentials: configuration files, exec plugins, and the transport that sends what they bring."""
