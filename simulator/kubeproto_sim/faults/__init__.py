"""What goes wrong between a client and a server, by a script or by a seed."""
