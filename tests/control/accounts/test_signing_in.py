"""Signing up and signing in: what a stranger learns from it is nothing."""

import asyncio
import secrets
from collections import Counter
from datetime import timedelta
from ipaddress import ip_address
from typing import Any

import httpx
import pytest
from msgspec.structs import replace

from stead.control.accounts import password_checks, passwords, service, throttle
from stead.control.accounts.rules import (
    SIGN_UP_PAUSE,
    SIGN_UPS_PER_ADDRESS,
    SIGN_UPS_PER_ADDRESS_AND_NETWORK,
    SignInClient,
    SignInRefused,
)
from stead.control.accounts.schema import AccountChange
from stead.control.accounts.throttle import limit_password_attempts
from stead.control.app import ControlPlane
from stead.control.engines.redis import Redis
from stead.control.engines.transaction_guard import IoInTransaction
from stead.control.http import rate_limits
from stead.control.http.client_address import network_of
from stead.control.http.rate_limits import Limiter
from stead.control.sealing import Sealer
from stead.control.settings import Settings
from stead.shared.clock import MovableClock
from stead.shared.errors import RateLimitExceeded
from stead.shared.ids import new_id
from tests.client import Client, code_of
from tests.conftest import FIGURE
from tests.control.accounts.conftest import PASSWORD, Mailbox
from tests.patience import time_limit
from tests.people import PASSWORD as THEIR_PASSWORD
from tests.people import Person

HERE = SignInClient("::1", "::/64", "a browser")


async def sign_up(visitor: Client, email: str, changed: dict[str, Any] | None = None):
    body = {"email": email, "password": PASSWORD, "name": "Ada"} | (changed or {})
    return await visitor.post("/v1/accounts", json=body)


async def sign_in(visitor: Client, email: str, password: str = PASSWORD):
    return await visitor.post("/v1/sessions", json={"email": email, "password": password})


async def confirm(visitor: Client, token: str, password: str = PASSWORD):
    return await visitor.post("/v1/accounts/verify-email", json={"token": token, "password": password})


async def test_a_new_account_can_sign_in_once_its_address_is_confirmed(
    visitor: Client, email: str, mailbox: Mailbox, row_of
):
    created = await sign_up(visitor, email)
    assert created.status_code == 201
    account = created.json()["data"]
    assert account == {"id": account["id"], "email": email, "name": "Ada"}
    assert code_of(await sign_in(visitor, email)) == "auth.sign_in_refused"
    assert (await confirm(visitor, await mailbox.token(email))).status_code == 204
    session = (await sign_in(visitor, email)).json()["data"]
    assert session["account_id"] == account["id"]
    assert session["token"].startswith("stead_session_")
    mine = (await visitor.as_(session["token"]).get("/v1/account")).json()["data"]
    assert (mine["id"], mine["plan"], mine["scopes"]) == (account["id"], "free", ["*"])
    assert str(await row_of(account["id"], "password_hash")).startswith("$argon2id$")


@pytest.mark.parametrize(
    ("smtp_url", "chosen", "exists_at_once"),
    [("", None, True), ("smtp://mail.example:587", None, False), ("", True, False)],
    ids=["no mail server", "a mail server", "no mail server here, but the operator says that there is one"],
)
async def test_without_a_mail_server_nobody_waits_for_an_email_that_is_never_sent(
    settings: Settings,
    clock: MovableClock,
    email: str,
    smtp_url: str,
    chosen: bool | None,
    exists_at_once: bool,
):
    plane = ControlPlane(replace(settings, smtp_url=smtp_url, email_verification=chosen), clock=clock)
    async with plane.running():
        visitor = Client(transport=httpx.ASGITransport(plane), base_url="http://stead.test")
        assert (await sign_up(visitor, email)).status_code == 201
        expected = "201" if exists_at_once else "auth.sign_in_refused"
        assert code_of(await sign_in(visitor, email)) == expected


async def test_an_email_address_is_one_address_however_it_is_written(
    visitor: Client, email: str, mailbox: Mailbox
):
    created = await sign_up(visitor, email.upper())
    assert created.json()["data"]["email"] == email
    assert (await confirm(visitor, await mailbox.token(email))).status_code == 204
    assert (await sign_in(visitor, f" {email.title()} ")).status_code == 201
    for same in (email, email.upper(), email.title()):
        assert (await sign_up(visitor, same)).status_code == 201
        assert "already" in (await mailbox.letters(email))[-1].subject


async def test_many_who_want_one_address_at_once_get_one_account(
    visitor: Client, email: str, mailbox: Mailbox
):
    answers = await asyncio.gather(*[sign_up(visitor, email) for _ in range(4)])
    assert [answer.status_code for answer in answers] == [201] * 4
    tokens = [mailbox.token_in(letter) for letter in await mailbox.letters(email)]
    confirmed = await asyncio.gather(*[confirm(visitor, token) for token in tokens])
    assert sorted(code_of(each) for each in confirmed) == ["204"] + ["account.email_taken"] * 3


async def test_signing_up_tells_nobody_whether_an_address_has_an_account(
    from_address, person: Person, email: str, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
):
    """Byte for byte but for what was sent and random ids, after the same work, however often it is tried."""
    work: list[str] = []
    hashed = passwords._hasher.hash("any password")

    class Watched:
        verify = passwords._hasher.verify

        def hash(self, password: str) -> str:
            work.append(password)
            return hashed

    monkeypatch.setattr(passwords, "_hasher", Watched())
    known, unknown = person.account.email, email
    looks: dict[str, list[str]] = {known: [], unknown: []}
    for number in range(SIGN_UPS_PER_ADDRESS + 2):
        for address, seen in looks.items():
            visitor = from_address(f"2001:db8:{number}:{len(address)}::1")
            answer = await sign_up(visitor, address)
            data = answer.json()["data"]
            headers = sorted(
                (name, value) for name, value in answer.headers.items() if name != "x-request-id"
            )
            text = answer.text.replace(answer.json()["request_id"], "-").replace(data["id"], "-")
            seen.append(
                f"{answer.status_code} {text.replace(address, '-')} {headers}".replace(
                    f"'{len(answer.content)}'", "-"
                )
            )
            if not number:
                assert code_of(await sign_in(visitor, address)) == "auth.sign_in_refused"
    assert looks[known] == looks[unknown]
    assert len(set(looks[known])) == 1
    assert work.count(PASSWORD) == 2 * (SIGN_UPS_PER_ADDRESS + 2)
    assert len(await mailbox.letters(known)) == len(await mailbox.letters(unknown)) == SIGN_UPS_PER_ADDRESS
    assert not any("    " in letter.text for letter in await mailbox.letters(known)), "no token is sent"
    assert (await person.session.get("/v1/account")).status_code == 200


async def test_strangers_cannot_keep_somebody_from_signing_up(
    from_address, email: str, mailbox: Mailbox, clock: MovableClock
):
    strangers = [from_address(f"2001:db8:{secrets.randbelow(65536):x}:{number}::1") for number in range(5)]
    for stranger in strangers[:-1]:
        for _ in range(SIGN_UPS_PER_ADDRESS_AND_NETWORK + 1):
            await sign_up(stranger, email, {"password": "the password of a stranger"})
    assert len(await mailbox.letters(email)) == SIGN_UPS_PER_ADDRESS
    owner = strangers[-1]
    assert (await sign_up(owner, email)).status_code == 201
    assert len(await mailbox.letters(email)) == SIGN_UPS_PER_ADDRESS, "the address is not flooded"
    clock.move(SIGN_UP_PAUSE + timedelta(seconds=1))
    for _ in range(2):
        await sign_up(strangers[0], email, {"password": "the password of a stranger"})
    assert (await sign_up(owner, email)).status_code == 201
    assert len(await mailbox.letters(email)) == SIGN_UPS_PER_ADDRESS + 1
    assert (await confirm(owner, await mailbox.token(email))).status_code == 204


async def test_the_owner_of_a_closed_account_is_told_so(person: Person, visitor: Client, mailbox: Mailbox):
    closed = await person.session.request("DELETE", "/v1/account", json={"current_password": THEIR_PASSWORD})
    assert closed.status_code == 200
    assert (await sign_up(visitor, person.account.email)).status_code == 201
    letter = (await mailbox.letters(person.account.email))[-1]
    assert "closed" in letter.subject
    assert "password-resets" not in letter.text


async def test_whoever_signs_up_with_the_address_of_another_does_not_choose_their_password(
    visitor: Client, email: str, mailbox: Mailbox
):
    """Each token is for one sign-up, with its own password."""
    await sign_up(visitor, email, {"password": "the password of a stranger"})
    await sign_up(visitor, email)
    assert (await confirm(visitor, await mailbox.token(email))).status_code == 204
    assert (await sign_in(visitor, email)).status_code == 201
    assert code_of(await sign_in(visitor, email, "the password of a stranger")) == "auth.sign_in_refused"


async def test_a_token_that_a_stranger_had_sent_gives_them_no_account(
    visitor: Client, email: str, mailbox: Mailbox
):
    """The emails look the same. Whoever uses the wrong one is told, and nothing is lost."""
    await sign_up(visitor, email, {"password": "the password of a stranger"})
    await sign_up(visitor, email)
    theirs, own = [mailbox.token_in(letter) for letter in await mailbox.letters(email)]
    for body in ({"token": theirs, "password": PASSWORD}, {"token": theirs}, {"token": own}):
        refused = await visitor.post("/v1/accounts/verify-email", json=body)
        assert (refused.status_code, refused.json()["error"]["param"]) == (400, "password")
        assert "somebody else used your address" in refused.json()["error"]["message"]
    assert code_of(await sign_in(visitor, email, "the password of a stranger")) == "auth.sign_in_refused"
    assert (await confirm(visitor, own)).status_code == 204
    assert (await sign_in(visitor, email)).status_code == 201


@pytest.mark.parametrize(
    ("changed", "param"),
    [
        ({"password": "short"}, "password"),
        ({"password": "elevenchars"}, "password"),
        ({"password": "x" * 257}, "password"),
        ({"password": None}, "password"),
        ({"password": 123456789012}, "password"),
        ({"email": "nobody"}, "email"),
        ({"email": "a b@example.com"}, "email"),
        ({"email": "a@example"}, "email"),
        ({"email": "x" * 65 + "@example.com"}, "email"),
        ({"name": ""}, "name"),
        ({"plan": "business"}, "plan"),
        ({"role": "admin"}, "role"),
    ],
)
async def test_a_bad_field_is_refused_by_its_name(
    visitor: Client, email: str, changed: dict[str, Any], param: str
):
    refused = await sign_up(visitor, email, changed)
    assert (refused.status_code, code_of(refused)) == (400, "request.field_invalid")
    assert refused.json()["error"]["param"] == param


async def test_a_wrong_password_and_an_unknown_account_look_the_same(
    visitor: Client, person: Person, monkeypatch: pytest.MonkeyPatch
):
    """Byte for byte but for the request's id, and after the same work."""
    work: list[str] = []
    verify = passwords._hasher.verify

    class Watched:
        def verify(self, hashed: str, password: str) -> bool:
            work.append(hashed.rsplit("$", 2)[0])
            return verify(hashed, password)

        hash = passwords._hasher.hash

    monkeypatch.setattr(passwords, "_hasher", Watched())
    answers = [
        await sign_in(visitor, person.account.email, "a wrong password"),
        await sign_in(visitor, f"{new_id('nobody')}@example.com", "a wrong password"),
        await sign_in(visitor, "no address at all", "a wrong password"),
    ]
    looks = set()
    for answer in answers:
        assert (answer.status_code, code_of(answer)) == (401, "auth.sign_in_refused")
        id_ = answer.json()["request_id"]
        headers = sorted((name, value) for name, value in answer.headers.items() if name != "x-request-id")
        looks.add((answer.text.replace(id_, "-"), str(headers)))
    assert len(looks) == 1
    assert len(work) == 3
    assert len(set(work)) == 1


async def _guess_six_times(visitor: Client, email: str) -> list[str]:
    """At the same time: after twelve seconds, another one is allowed."""
    return sorted(map(code_of, await asyncio.gather(*[sign_in(visitor, email, "a guess") for _ in range(6)])))


async def test_attempts_for_one_account_are_slowed_down(
    plane: ControlPlane, visitor: Client, network: str, person: Person
):
    codes = await _guess_six_times(visitor, person.account.email)
    assert codes == ["auth.sign_in_refused"] * 5 + ["rate_limit.exceeded"]
    here = network_of(ip_address(f"{network}::1"))
    with pytest.raises(RateLimitExceeded):  # noqa: PT012 - the guesses may have taken longer
        for _ in range(throttle.PASSWORDS_PER_MINUTE_AND_ACCOUNT + 1):
            await limit_password_attempts(plane.authenticator._limiter, person.account.email, here)
    right = await sign_in(visitor, person.account.email.upper(), THEIR_PASSWORD)
    assert (right.status_code, code_of(right)) == (429, "rate_limit.exceeded")
    assert 1 <= int(right.headers["retry-after"]) <= 12
    assert right.headers["retry-after"] in right.json()["error"]["message"]


async def test_a_stranger_who_guesses_does_not_lock_the_owner_out(
    from_address, network: str, person: Person, record_property
):
    """The guesser never stops; the owner signs in from elsewhere, every time."""
    stranger, owner = from_address("198.18.0.77"), from_address(f"{network}::1")
    refused = served = 0
    for attempt in range(21):
        guess = await sign_in(stranger, person.account.email, f"guess {attempt}")
        refused += code_of(guess) == "rate_limit.exceeded"
        if attempt % 5 == 0:
            served += (await sign_in(owner, person.account.email, THEIR_PASSWORD)).status_code == 201
    assert refused >= 14
    assert served == 5
    record_property(FIGURE, f"sign-in under attack: the owner {served} of 5, {refused} of 21 guesses refused")


async def test_guessing_from_many_networks_is_bounded_but_spares_known_ones(
    plane: ControlPlane, from_address, network: str, person: Person
):
    """The bucket that networks without a sign-in share is emptied here without checking as many passwords."""
    known, unknown = from_address(f"{network}::1"), from_address("198.18.0.78")
    assert (await sign_in(known, person.account.email, THEIR_PASSWORD)).status_code == 201
    limiter = plane.authenticator._limiter
    with pytest.raises(RateLimitExceeded):  # noqa: PT012 - one of many attempts is refused
        for number in range(2 * throttle.PASSWORDS_PER_MINUTE_FROM_UNKNOWN_NETWORKS):
            await limit_password_attempts(limiter, person.account.email, f"a network, {number}")
    assert code_of(await sign_in(unknown, person.account.email, THEIR_PASSWORD)) == "rate_limit.exceeded"
    assert (await sign_in(known, person.account.email, THEIR_PASSWORD)).status_code == 201


async def test_guessing_is_slowed_down_without_redis():
    """Nothing listens on the port: every process counts for itself."""
    redis = Redis("redis://127.0.0.1:1/0", on_connect=lambda: None)
    limiter = Limiter(redis)
    for _ in range(throttle.PASSWORDS_PER_MINUTE_AND_ACCOUNT):
        await limit_password_attempts(limiter, "ada@example.com", "192.0.2.1")
    with pytest.raises(RateLimitExceeded):
        await limit_password_attempts(limiter, "ada@example.com", "192.0.2.1")
    await limit_password_attempts(limiter, "ada@example.com", "192.0.2.2")


def test_the_memory_that_counting_without_redis_takes_is_bounded(monkeypatch: pytest.MonkeyPatch):
    # It takes long to fill the number of buckets that ships.
    monkeypatch.setattr(rate_limits, "MAX_LOCAL_BUCKETS", 10)
    buckets = rate_limits.LocalBuckets()
    for number in range(100):
        assert buckets.spend([f"name {number}", "all"], [5, 1000]) == 0
    assert len(buckets._full_at) == 10
    assert "all" in buckets._full_at


async def test_an_unknown_account_is_slowed_down_just_the_same(visitor: Client):
    nobody = f"{new_id('nobody')}@example.com"
    codes = await _guess_six_times(visitor, nobody)
    assert codes == ["auth.sign_in_refused"] * 5 + ["rate_limit.exceeded"]


async def test_attempts_from_one_address_are_slowed_down_whatever_account_they_are_for(
    plane: ControlPlane, from_address, person: Person
):
    address = f"198.18.{secrets.randbelow(256)}.{secrets.randbelow(256)}"
    for _ in range(30):
        await limit_password_attempts(plane.authenticator._limiter, f"{new_id('x')}@example.com", address)
    refused = await sign_in(from_address(address), person.account.email, THEIR_PASSWORD)
    assert (refused.status_code, code_of(refused)) == (429, "rate_limit.exceeded")
    assert int(refused.headers["retry-after"]) >= 1
    elsewhere = from_address("198.19.0.1")
    assert (await sign_in(elsewhere, person.account.email, THEIR_PASSWORD)).status_code == 201


async def test_signing_up_is_slowed_down(visitor: Client):
    """Ten a minute, and one more every six seconds while the test takes its time."""
    answers = await asyncio.gather(*[sign_up(visitor, f"{new_id('p')}@example.com") for _ in range(14)])
    codes = [code_of(answer) for answer in answers]
    assert codes.count("201") >= 10
    assert "rate_limit.exceeded" in codes
    refused = next(answer for answer in answers if answer.status_code == 429)
    assert 1 <= int(refused.headers["retry-after"]) <= 6


async def test_who_owns_a_whole_ipv6_network_is_still_one_visitor(from_address, network: str):
    """A /64 is what one household gets: its addresses are free to change for every request."""
    visitors = [from_address(f"{network}::{n:x}") for n in range(1, 15)]
    answers = await asyncio.gather(*[sign_up(each, f"{new_id('p')}@example.com") for each in visitors])
    assert "rate_limit.exceeded" in {code_of(answer) for answer in answers}


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b'{"email":"a","password":"\\u0000"}', b'{"email":"a"}'])
async def test_a_body_that_is_no_sign_in_is_refused(visitor: Client, raw: bytes):
    assert (await visitor.post("/v1/sessions", content=raw)).status_code == 400


async def test_a_credential_changes_nothing_about_signing_in(visitor: Client, email: str, mailbox: Mailbox):
    """A public operation does not look at who is asking."""
    wrong = visitor.as_("stead_live_nonsense")
    assert (await sign_up(wrong, email)).status_code == 201
    assert (await confirm(wrong, await mailbox.token(email))).status_code == 204
    assert (await sign_in(wrong, email)).status_code == 201


CHANGES = {
    "password_hash": "'another'",
    "email": "'another-' || email",
    "suspended_at": "now()",
    "closed_at": "now()",
}


@pytest.mark.parametrize("column", CHANGES)
async def test_a_check_is_worth_nothing_once_the_account_has_changed(
    person: Person, plane: ControlPlane, column: str
):
    checked = await password_checks.check(person.account, THEIR_PASSWORD, passwords.OPERATOR)
    assert checked is not None
    async with plane.database.transaction() as tx:
        assert await password_checks.accept(tx, checked)
        await tx.run(f"update accounts set {column} = {CHANGES[column]} where id = $1", person.id)
    async with plane.database.transaction() as tx:
        assert not await password_checks.accept(tx, checked)
        with pytest.raises(SignInRefused):
            await service.sign_in(tx, checked, HERE)


async def test_a_new_password_ends_a_session_that_is_created_at_that_moment(
    person: Person, visitor: Client, plane: ControlPlane
):
    change = AccountChange(current_password=THEIR_PASSWORD, new_password="another long password")
    new_hash = await service.check_change(person.account, change)

    async def change_password() -> None:
        owner, sealer = service.owner_principal(person.account), Sealer(bytes(32))
        async with plane.database.transaction() as tx:
            await service.update(*(tx, sealer, owner, person.account, change, new_hash), verifies_email=False)
        await plane.invalidator.publish(tx.invalidations)

    async with plane.database.transaction() as tx:
        session = await service.sign_in(tx, person.account, HERE)
        changing = asyncio.create_task(change_password())
        await _until_somebody_waits_for_a_lock(plane)
    await changing
    assert code_of(await visitor.as_(session.token).get("/v1/account")) == "auth.revoked"


async def _until_somebody_waits_for_a_lock(plane: ControlPlane) -> None:
    waits = (
        "select count(*) from pg_stat_activity"
        " where datname = current_database() and wait_event_type = 'Lock' and query like '%accounts%'"
    )
    async with time_limit(30), plane.database.reading() as tx:
        while not await tx.value(waits):  # noqa: ASYNC110 - nothing announces it
            await asyncio.sleep(0.01)


async def test_no_transaction_waits_for_a_hash(plane: ControlPlane):
    async with plane.database.transaction():
        with pytest.raises(IoInTransaction):
            await passwords.hash_password("any password", passwords.OPERATOR)


def _full(of: str, network: str) -> Counter[passwords.Source]:
    """As many hashes wait as these sources may have."""
    if of == "the caller's network":
        return Counter({passwords.stranger(ip_address(f"{network}::1")): passwords.MOST_OF_ONE_SOURCE})
    are_known = of == "owners"
    most = passwords.MOST_AT_ONCE if are_known else passwords.MOST_OF_STRANGERS
    return Counter({passwords.Source(f"{of} {number}", is_known=are_known): 1 for number in range(most)})


@pytest.mark.parametrize("of", ["the caller's network", "strangers", "owners"])
async def test_only_so_many_wait_for_a_hash(
    visitor: Client, network: str, person: Person, monkeypatch: pytest.MonkeyPatch, of: str
):
    """Otherwise, guesses from many networks would make everybody wait for ever longer."""
    waiting = _full(of, network)
    monkeypatch.setattr(passwords, "_unfinished", waiting)
    refused = await sign_in(visitor, person.account.email, THEIR_PASSWORD)
    assert (refused.status_code, code_of(refused)) == (429, "rate_limit.exceeded")
    assert refused.headers["retry-after"] == str(passwords.BUSY_SECONDS)
    waiting.subtract([next(iter(waiting))])
    before = Counter(waiting)
    assert (await sign_in(visitor, person.account.email, THEIR_PASSWORD)).status_code == 201
    assert passwords._unfinished == before


@pytest.mark.parametrize("of", ["the caller's network", "strangers"])
async def test_guesses_of_strangers_do_not_keep_out_who_is_known(
    visitor: Client, network: str, person: Person, monkeypatch: pytest.MonkeyPatch, of: str
):
    assert (await sign_in(visitor, person.account.email, THEIR_PASSWORD)).status_code == 201
    monkeypatch.setattr(passwords, "_unfinished", _full(of, network))
    assert (await sign_in(visitor, person.account.email, THEIR_PASSWORD)).status_code == 201
    change = {"current_password": THEIR_PASSWORD, "new_password": "another long password"}
    assert (await person.session.patch("/v1/account", json=change)).status_code == 204
