"""Background tasks, listeners, cancellations and turns on the event loops of asyncio and trio."""
