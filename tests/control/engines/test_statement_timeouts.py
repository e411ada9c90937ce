"""A statement that takes too long is not an unreachable database."""

from typing import Any

import pytest

from stead.control.engines.postgres import DATABASE_UNREACHABLE, StatementTimeout, Tx
from stead.control.keys import service
from tests.client import code_of
from tests.people import Person


async def test_a_statement_timeout_is_reported_as_such(
    person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def take_too_long(tx: Tx, *_: object) -> Any:
        await tx.run("set local statement_timeout = '50ms'")
        await tx.value("select pg_sleep(10)")

    monkeypatch.setattr(service, "create", take_too_long)
    answer = await person.session.post("/v1/api-keys", json={"scopes": ["sites:read"]})
    assert (answer.status_code, code_of(answer)) == (503, "database.timeout")
    assert answer.headers["retry-after"] == "5"
    assert (await person.session.get("/v1/account")).status_code == 200


def test_a_statement_timeout_does_not_count_as_unreachable() -> None:
    assert not issubclass(StatementTimeout, DATABASE_UNREACHABLE)
