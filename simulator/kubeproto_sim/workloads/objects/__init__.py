"""Objects as the controllers read and write them: the client, owners, conditions, replicas, nodes."""
