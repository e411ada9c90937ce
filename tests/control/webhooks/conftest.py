"""What leaves the outbox, on a database of its own."""

from tests.control.outboxes import authority, outbox  # noqa: F401 - fixtures
