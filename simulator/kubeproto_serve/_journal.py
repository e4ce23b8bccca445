"""`Journal`: the objects of a cluster in SQLite, which survive the process.

The changes of a request are a transaction, which is committed before the response. The database is in
WAL mode, where a commit is passed to the operating system, so a SIGKILL at any moment loses nothing. A power
failure may lose the last commits, but not their order (`synchronous=NORMAL`).
"""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kubeproto import KubeprotoError
from kubeproto_sim import Snapshot, StoredObject

if TYPE_CHECKING:
    from kubeproto_sim import Cluster

_FORMAT: Final = 1
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS objects (
    resource TEXT NOT NULL, key TEXT NOT NULL, version INTEGER NOT NULL, data BLOB NOT NULL,
    PRIMARY KEY (resource, key)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS cluster (
    id INTEGER PRIMARY KEY CHECK (id = 0), format INTEGER NOT NULL, version INTEGER NOT NULL,
    time REAL NOT NULL, seed TEXT NOT NULL
);
"""
_PUT: Final = "INSERT OR REPLACE INTO objects (resource, key, version, data) VALUES (?, ?, ?, ?)"
_REMOVE: Final = "DELETE FROM objects WHERE resource = ? AND key = ?"
_SET_CLUSTER: Final = (
    "INSERT OR REPLACE INTO cluster (id, format, version, time, seed) VALUES (0, ?, ?, ?, ?)"
)


class UnusableState(KubeprotoError):
    """The folder of `state` cannot be used: another process uses it, or it has unexpected content."""


class Journal:
    """Writes the changes of a cluster to a folder. The cluster starts with the content of the folder."""

    def __init__(self, folder: str | os.PathLike[str], cluster: Cluster) -> None:
        self._cluster = cluster
        self._pending: list[StoredObject] = []
        path = Path(folder)
        path.mkdir(parents=True, exist_ok=True)
        self._path = path / "cluster.sqlite"
        self._database = self._open()
        try:
            self._load()
        except BaseException as error:
            self._database.close()
            if isinstance(error, sqlite3.Error):
                raise UnusableState(f"{self._path} cannot be read: {error}") from error
            raise
        cluster.on_change = self._pending.append

    def commit(self) -> None:
        """Write the changes since the last commit in a transaction.

        If it fails, for example because the disk is full, the next commit writes these changes as well.
        """
        if not self._pending:
            return
        changes = self._pending.copy()
        execute = self._database.execute
        execute("BEGIN")
        try:
            for change in changes:
                if change.data is None:
                    execute(_REMOVE, (change.resource, change.key))
                else:
                    execute(_PUT, (change.resource, change.key, change.version, change.data))
            self._write_cluster()
            execute("COMMIT")
        except BaseException:
            if self._database.in_transaction:
                execute("ROLLBACK")
            raise
        del self._pending[: len(changes)]

    def close(self) -> None:
        """Commit the remaining changes, and release the folder."""
        try:
            self.commit()
        finally:
            self._cluster.on_change = None
            self._database.close()

    def _open(self) -> sqlite3.Connection:
        # Transactions are explicit, because Python's driver begins them by guessing from the statement.
        database = sqlite3.connect(
            self._path, isolation_level=None, timeout=0.0, check_same_thread=False, cached_statements=16
        )
        try:
            database.execute("PRAGMA locking_mode=EXCLUSIVE")
            database.execute("PRAGMA journal_mode=WAL")
            database.execute("PRAGMA synchronous=NORMAL")
            database.executescript(_SCHEMA)
        except sqlite3.Error as error:
            database.close()
            problem = "another server uses it" if "locked" in str(error) else str(error)
            raise UnusableState(f"{self._path} cannot be opened: {problem}") from error
        return database

    def _load(self) -> None:
        row = self._database.execute("SELECT format, version, time, seed FROM cluster").fetchone()
        if row is None:
            self._pending = self._cluster.snapshot().objects
            if not self._pending:
                raise UnusableState("the cluster has no objects")
            self.commit()
            return
        form, version, time, seed = row
        if form != _FORMAT:
            raise UnusableState(f"{self._path} has format {form}, and this version reads format {_FORMAT}")
        stored = self._database.execute("SELECT resource, key, version, data FROM objects ORDER BY version")
        objects = [StoredObject(*fields) for fields in stored]
        self._cluster.restore(Snapshot(version=version, time=time, seed=int(seed), objects=objects))

    def _write_cluster(self) -> None:
        cluster = self._cluster
        row = (_FORMAT, cluster.version, cluster.now, str(cluster.seed))
        self._database.execute(_SET_CLUSTER, row)
