"""Reading and changing an account, by session and by key."""

from typing import Any

import httpx
import pytest
from msgspec.structs import replace

from stead.control.app import ControlPlane
from stead.control.settings import Settings
from stead.shared.clock import MovableClock
from stead.shared.emails import MAX_LENGTH
from stead.shared.ids import new_id
from tests.client import Client, code_of
from tests.control.accounts.conftest import Mailbox
from tests.people import PASSWORD, Person
from tests.teams import insert_team

ACCOUNT = "/v1/account"


async def shown(client: Client) -> dict[str, Any]:
    return dict((await client.get(ACCOUNT)).json()["data"])


async def test_a_session_reads_the_account_with_every_scope(person: Person):
    assert await shown(person.session) == {
        "id": person.id,
        "email": person.account.email,
        "name": "A Person",
        "default_team_id": None,
        "role": "client",
        "plan": "unlimited",
        "scopes": ["*"],
    }


async def test_a_key_reads_the_account_with_its_own_scopes(person: Person):
    key = await person.key("account:read", "sites:*", "keys:write")
    account = await shown(key)
    assert (account["id"], account["scopes"]) == (person.id, ["account:read", "sites:*", "keys:write"])


@pytest.mark.parametrize(
    ("granted", "read", "write"),
    [("sites:*", 403, 403), ("account:read", 200, 403), ("account:write", 200, 204), ("*", 200, 204)],
)
async def test_the_scopes_of_a_key_count(person: Person, granted: str, read: int, write: int):
    key = await person.key(granted)
    assert (await key.get(ACCOUNT)).status_code == read
    assert (await key.patch(ACCOUNT, json={"name": "Another"})).status_code == write
    assert (await shown(person.session))["name"] == ("Another" if write == 204 else "A Person")


async def test_each_field_can_be_changed_by_itself(person: Person, row_of):
    changed = await person.session.patch(ACCOUNT, json={"name": "Ada Lovelace"})
    assert (changed.status_code, changed.content) == (204, b"")
    assert (await shown(person.session))["name"] == "Ada Lovelace"
    await person.session.patch(ACCOUNT, json={"billing_cc_email": "Books@Example.com"})
    assert str(await row_of(person.id, "billing_cc_email")).lower() == "books@example.com"


@pytest.mark.parametrize(("more", "status"), [(0, 204), (1, 400)])
async def test_a_mail_address_has_a_greatest_length(person: Person, more: int, status: int):
    domain = ".".join(["d" * 63] * 3)
    address = f"{'a' * (MAX_LENGTH + more - len(domain) - len('@.com'))}@{domain}.com"
    assert len(address) == MAX_LENGTH + more
    changed = await person.session.patch(ACCOUNT, json={"billing_cc_email": address})
    assert changed.status_code == status, changed.text


async def test_null_clears_what_may_be_empty_and_nothing_else(person: Person, plane: ControlPlane, row_of):
    async with plane.database.transaction() as tx:
        team = await insert_team(tx, person.id)
        await tx.run(
            "update accounts set default_team_id = $2, billing_cc_email = 'a@b.example' where id = $1",
            person.id,
            team,
        )
    cleared = await person.session.patch(ACCOUNT, json={"billing_cc_email": None})
    assert cleared.status_code == 204
    assert await row_of(person.id, "billing_cc_email") is None
    assert (await shown(person.session))["default_team_id"] == team
    assert (await person.session.patch(ACCOUNT, json={"default_team_id": None})).status_code == 204
    assert (await shown(person.session))["default_team_id"] is None
    for field in ("name", "new_email", "new_password"):
        refused = await person.session.patch(ACCOUNT, json={field: None, "current_password": PASSWORD})
        assert (refused.status_code, refused.json()["error"]["param"]) == (400, field)


async def test_nothing_sent_changes_nothing(person: Person):
    before = await shown(person.session)
    assert (await person.session.patch(ACCOUNT, json={})).status_code == 204
    assert await shown(person.session) == before


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"name": ""}, "name"),
        ({"name": "x" * 201}, "name"),
        ({"billing_cc_email": "nobody"}, "billing_cc_email"),
        ({"billing_cc_email": "a@b.example\nBcc: everyone@example.com"}, "billing_cc_email"),
        ({"new_email": "two@at@example.com", "current_password": PASSWORD}, "new_email"),
        ({"new_password": "short", "current_password": PASSWORD}, "new_password"),
        ({"new_password": "x" * 257, "current_password": PASSWORD}, "new_password"),
        ({"default_team_id": "x" * 65}, "default_team_id"),
        ({"plan": "business"}, "plan"),
        ({"role": "admin"}, "role"),
        ({"id": "client_1"}, "id"),
        ({"scopes": ["*"]}, "scopes"),
        ({"email": "direct@example.com"}, "email"),
        ({"new_email": "fresh@example.com"}, "current_password"),
        ({"new_password": "a long enough password"}, "current_password"),
        ({"new_email": "fresh@example.com", "current_password": None}, "current_password"),
    ],
)
async def test_a_bad_or_forbidden_field_is_refused_by_its_name(
    person: Person, body: dict[str, Any], param: str
):
    before = await shown(person.session)
    refused = await person.session.patch(ACCOUNT, json=body)
    assert (refused.status_code, code_of(refused)) == (400, "request.field_invalid")
    assert refused.json()["error"]["param"] == param
    assert await shown(person.session) == before


async def test_an_address_with_a_line_break_at_its_end_never_reaches_a_mail_header(person: Person, row_of):
    answer = await person.session.patch(ACCOUNT, json={"billing_cc_email": "books@example.com\n"})
    assert answer.status_code in (204, 400)
    assert await row_of(person.id, "billing_cc_email") in (None, "books@example.com")


async def test_a_team_that_was_not_joined_is_refused(person: Person):
    for team in (new_id("team"), "nonsense", ""):
        refused = await person.session.patch(ACCOUNT, json={"default_team_id": team, "name": "Changed"})
        assert (refused.status_code, code_of(refused)) == (422, "account.team_not_joined")
        assert refused.json()["error"]["type"] == "invalid_request"
    account = await shown(person.session)
    assert (account["default_team_id"], account["name"]) == (None, "A Person")


@pytest.mark.parametrize("wrong", ["", "wrong", PASSWORD + " ", PASSWORD.upper()])
async def test_a_wrong_current_password_changes_nothing_at_all(person: Person, row_of, wrong: str):
    before, hash_before = await shown(person.session), await row_of(person.id, "password_hash")
    body = {"name": "Changed", "new_password": "a brand new password", "current_password": wrong}
    refused = await person.session.patch(ACCOUNT, json=body)
    assert (refused.status_code, code_of(refused)) == (403, "account.password_incorrect")
    assert await shown(person.session) == before
    assert await row_of(person.id, "password_hash") == hash_before


async def test_guessing_the_current_password_is_slowed_down(person: Person):
    body = {"new_email": f"{new_id('x')}@example.com", "current_password": "a guess"}
    codes = [code_of(await person.session.patch(ACCOUNT, json=body)) for _ in range(6)]
    assert codes == ["account.password_incorrect"] * 5 + ["rate_limit.exceeded"]
    right = await person.session.patch(ACCOUNT, json=body | {"current_password": PASSWORD})
    assert right.status_code == 429
    assert int(right.headers["retry-after"]) >= 1


async def test_nobody_learns_whether_an_address_belongs_to_another_account(
    person: Person, stranger: Person, mailbox: Mailbox
):
    before = await shown(person.session)
    free = f"{new_id('free')}@example.com"
    answers = []
    for address in (stranger.account.email, free):
        body = {"new_email": address.upper(), "current_password": PASSWORD}
        answers += [code_of(await person.session.patch(ACCOUNT, json=body)) for _ in range(2)]
        assert len(await mailbox.letters(address)) == 2
    assert answers == ["204"] * 4
    for letter in await mailbox.letters(stranger.account.email):
        assert "already" in letter.subject
        assert "    " not in letter.text, "no token is sent"
    assert await shown(person.session) == before


async def test_an_address_of_another_account_is_refused_where_addresses_are_not_verified(
    person: Person, stranger: Person, settings: Settings, clock: MovableClock
):
    plane = ControlPlane(replace(settings, email_verification=False), clock=clock)
    async with plane.running():
        client = Client(
            transport=httpx.ASGITransport(plane), base_url="http://stead.test", headers=person.session.headers
        )
        for taken in (stranger.account.email, stranger.account.email.upper()):
            body = {"new_email": taken, "current_password": PASSWORD}
            refused = await client.patch(ACCOUNT, json=body)
            assert (refused.status_code, code_of(refused)) == (409, "account.email_taken")


async def test_the_own_address_can_be_set_again(person: Person):
    own = {"new_email": person.account.email.upper(), "current_password": PASSWORD}
    assert (await person.session.patch(ACCOUNT, json=own)).status_code == 204
    assert (await shown(person.session))["email"] == person.account.email


async def test_a_pinned_key_cannot_change_the_account(person: Person, pinned):
    here = await pinned(person, ("site", new_id("site")))
    before = await shown(person.session)
    for body in (
        {"name": "Changed"},
        {"default_team_id": None},
        {"new_password": "a brand new password", "current_password": PASSWORD},
    ):
        refused = await here.patch(ACCOUNT, json=body)
        assert (refused.status_code, code_of(refused)) == (404, "account.not_found")
    assert await shown(person.session) == before
