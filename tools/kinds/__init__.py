"""The generator of `kubeproto.kinds`.

It reads the aggregated discovery and the OpenAPI documents of an API server, and stores the parts that it
needs in `api_description.json`. The table of kinds is computed from this description, and the modules from
the table.
"""
