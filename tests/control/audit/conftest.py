"""Fixtures for tests of the audit trail."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from stead.control.app import ControlPlane
from stead.control.audit.schema import AuditEventView
from stead.shared.ids import new_id
from tests.matrix.conftest import cheap_passwords  # noqa: F401 - a fixture
from tests.matrix.worlds import Worlds

_COLUMNS = ", ".join(AuditEventView.__struct_fields__)
Written = Callable[[], Awaitable[list[AuditEventView]]]


@pytest.fixture(scope="module")
def worlds(plane: ControlPlane) -> Worlds:
    return Worlds(plane.database)


@pytest.fixture
def written(plane: ControlPlane) -> Written:
    """A function that returns the audit entries since its previous call."""
    seen = new_id("aud")

    async def read() -> list[AuditEventView]:
        nonlocal seen
        async with plane.database.reading() as tx:
            sql = f"select {_COLUMNS} from audit_events where id > $1 order by id"
            rows = await tx.all(AuditEventView, sql, seen)
        seen = new_id("aud")
        return rows

    return read


def brief(event: AuditEventView) -> tuple[Any, ...]:
    return event.event, event.outcome
