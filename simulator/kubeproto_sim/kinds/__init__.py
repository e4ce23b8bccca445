"""The kinds that a server serves: their codecs, defaults, rules, versions and releases."""
