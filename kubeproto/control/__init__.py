"""What a controller stands on: the Store that mirrors a kind."""

from ._changes import Change, Entry
from ._store import Store, key_of

__all__ = ["Change", "Entry", "Store", "key_of"]
