"""The loop of a controller: its queue, its indexes, its Events, and the pods that it creates."""
