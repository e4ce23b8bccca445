"""Makes `kubeproto/kinds/`: the classes of the built-in kinds, and the table that the simulator uses.

The facts come from an API server (its OpenAPI v3 documents and its discovery) and are kept, without what
nobody needs, in `facts.json` beside this file; facts give the table, and the table gives the modules.
"""
