"""No request to another engine or server while a transaction is open.

A transaction keeps a connection and its locks, and a connection is closed after a few seconds. Code that
waits for something else inside a transaction makes others wait, and then loses what it has written. Clients
of other engines call `require_no_transaction`, so that such code fails in its first test, not under load.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class IoInTransaction(RuntimeError):
    """A request to another engine was made inside a transaction. This is a bug of the caller."""


class _Transaction:
    """Tasks that are started inside a transaction inherit its context, so it must say when it has ended."""

    __slots__ = ("is_open",)

    def __init__(self) -> None:
        self.is_open = True


_current: ContextVar[_Transaction | None] = ContextVar("transaction", default=None)


@contextmanager
def open_transaction() -> Iterator[None]:
    outer = _current.get()
    transaction = _Transaction()
    _current.set(transaction)
    try:
        yield
    finally:
        transaction.is_open = False
        _current.set(outer)


def require_no_transaction(engine: str) -> None:
    transaction = _current.get()
    if transaction is not None and transaction.is_open:
        raise IoInTransaction(f"a request to {engine} inside a transaction")
