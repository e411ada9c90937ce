"""The SQLite databases that a node keeps."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def open_database(file: Path, *, check_same_thread: bool = True) -> sqlite3.Connection:
    """Only root reads it, and what was committed survives a power cut."""
    file.touch(mode=0o600)
    database = sqlite3.connect(file, isolation_level=None, check_same_thread=check_same_thread)
    database.execute("pragma journal_mode = wal")
    database.execute("pragma synchronous = full")
    return database


def create_once(database: sqlite3.Connection, table: str, version: int) -> None:
    """Create the table in a new database, which gets this version."""
    (found,) = database.execute("pragma user_version").fetchone()
    if found == 0:
        with transaction(database):
            database.execute(table)
            database.execute(f"pragma user_version = {version:d}")


@contextmanager
def transaction(database: sqlite3.Connection) -> Iterator[None]:
    """Commit everything or nothing. A nested transaction is part of the outer one."""
    if database.in_transaction:
        yield
        return
    database.execute("begin immediate")
    try:
        yield
    except BaseException:
        database.rollback()
        raise
    database.commit()
