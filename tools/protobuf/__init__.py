"""Generates the table of protobuf field numbers from the `generated.proto` files of Kubernetes."""
