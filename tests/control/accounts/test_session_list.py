"""People see where they are signed in, and can end each of these sessions."""

from tests.client import Client, code_of
from tests.people import PASSWORD, Person

SESSIONS = "/v1/sessions"


async def _sign_in(person: Person, visitor: Client) -> tuple[str, Client]:
    body = {"email": person.account.email, "password": PASSWORD}
    answer = await visitor.post(SESSIONS, json=body, headers={"user-agent": "a browser " * 50})
    session = answer.json()["data"]
    return session["id"], visitor.as_(session["token"])


async def test_each_session_is_listed_with_its_origin(person: Person, visitor: Client, network: str):
    id_, session = await _sign_in(person, visitor)
    listed = (await session.get(SESSIONS)).json()["data"]
    assert [each["current"] for each in listed] == [True, False]
    assert (listed[0]["id"], listed[0]["address"]) == (id_, f"{network}::1")
    assert listed[0]["user_agent"] == ("a browser " * 50)[:200]
    assert listed[0]["last_used_at"] <= listed[0]["expires_at"]


async def test_a_session_that_is_ended_stops_working_immediately(person: Person, visitor: Client):
    id_, session = await _sign_in(person, visitor)
    assert (await session.get("/v1/account")).status_code == 200
    assert (await person.session.delete(f"{SESSIONS}/{id_}")).status_code == 204
    assert code_of(await session.get("/v1/account")) == "auth.revoked"
    assert code_of(await person.session.delete(f"{SESSIONS}/{id_}")) == "session.not_found"
    assert id_ not in {each["id"] for each in (await person.session.get(SESSIONS)).json()["data"]}


async def test_the_session_of_another_is_not_found(person: Person, stranger: Person, visitor: Client):
    id_, session = await _sign_in(stranger, visitor)
    assert code_of(await person.session.delete(f"{SESSIONS}/{id_}")) == "session.not_found"
    assert (await session.get("/v1/account")).status_code == 200
