"""Reading: the routes and queries of requests, and lists, watches and tables of objects."""
