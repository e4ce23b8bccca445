"""What stands between a client's write and storage: admission webhooks."""
