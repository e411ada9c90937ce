"""A moment in a request is a date and a time that the calendar of UTC has."""

import pytest

from tests.conftest import NewPerson

NO_MOMENTS = ["0.5", "1700000000", "2026-01-01", "9999-12-31T23:59:59-23:59", "0001-01-01T00:00:00+23:59"]


@pytest.mark.parametrize("text", NO_MOMENTS)
async def test_what_is_no_moment_is_refused_by_the_name_of_its_field(
    new_person: NewPerson, text: str
) -> None:
    person = await new_person()

    answer = await person.session.get("/v1/account/audit", params={"since": text})

    assert answer.status_code == 400, answer.text
    assert answer.json()["error"]["param"] == "since"


async def test_a_moment_of_any_offset_is_taken(new_person: NewPerson) -> None:
    person = await new_person()

    answer = await person.session.get("/v1/account/audit", params={"since": "2026-01-01T00:00:00+05:30"})

    assert answer.status_code == 200, answer.text
