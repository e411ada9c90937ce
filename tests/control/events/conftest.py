"""Fixtures for tests of events, on a database of their own."""

from tests.control.outbox_fixtures import authority, outbox  # noqa: F401 - fixtures
