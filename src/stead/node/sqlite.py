"""Transactions of the SQLite databases that a node keeps."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager


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
