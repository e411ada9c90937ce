"""Transactions of the small databases that a node keeps."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def transaction(database: sqlite3.Connection) -> Iterator[None]:
    """All or nothing. One inside another is part of it."""
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
