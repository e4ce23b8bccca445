"""How requests are read and objects are shown: routes, queries, lists, watches, tables."""
