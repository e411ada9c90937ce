"""Sample accounts and sessions for the suites that cover every operation."""

from hashlib import sha256
from typing import Any

from stead.control.accounts.rules import SessionNotFound, VisibleSession
from stead.control.engines.postgres import Tx
from stead.shared.ids import new_id
from tests.feature_samples import Samples, Values
from tests.matrix.world import Caller, Thing, World
from tests.people import PASSWORD, Person
from tests.teams import DAY, insert_session_row


async def _new_address(_person: Person, _made: Values) -> dict[str, Any]:
    return {"email": _new_email()}


async def _own_password(person: Person, _made: Values) -> dict[str, Any]:
    return {"email": person.account.email, "password": PASSWORD}


async def _new_account_facts(_person: Person, _made: Values) -> dict[str, Any]:
    return {"new_email": _new_email(), "current_password": PASSWORD}


async def _current_password(_person: Person, _made: Values) -> dict[str, Any]:
    return {"current_password": PASSWORD}


async def _sent_token(person: Person, _made: Values) -> dict[str, Any]:
    token = new_id("token")
    async with person.transaction() as tx:
        await _insert_verification(tx, person.id, person.account.email, token)
    return {"token": token}


async def _reset_token(person: Person, _made: Values) -> dict[str, Any]:
    token = new_id("token")
    async with person.transaction() as tx:
        await _insert_reset(tx, person.id, person.account.email, token)
    return {"token": token}


async def _insert_reset(tx: Tx, account: str, email: str, token: str) -> None:
    await tx.run("delete from password_resets where account_id = $1", account)
    await tx.run(
        "insert into password_resets (token_hash, account_id, email, created_at, expires_at)"
        " values ($1, $2, $3, $4, $5)",
        *(sha256(token.encode()).digest(), account, email, tx.now, tx.now + DAY),
    )


async def _session(person: Person, _made: Values) -> str:
    async with person.transaction() as tx:
        session, _ = await insert_session_row(tx, person.id)
    return session


async def _insert_verification(tx: Tx, account: str, email: str, token: str) -> None:
    await tx.run(
        "insert into email_verifications (token_hash, account_id, email, created_at, expires_at)"
        " values ($1, $2, $3, $4, $5)",
        *(sha256(token.encode()).digest(), account, email, tx.now, tx.now + DAY),
    )


async def _make_things(tx: Tx, world: World) -> None:
    await _insert_verification(tx, world.newcomer.id, world.newcomer.email, _token_of(world))
    await _insert_reset(tx, world.newcomer.id, world.newcomer.email, _token_of(world))
    session, _ = await insert_session_row(tx, world.subject.id)
    world.add("personal", Thing(VisibleSession, session, account=world.subject.id))


def _token_of(world: World) -> str:
    return f"token-of-{world.newcomer.id}"


def _sees_session(_world: World, caller: Caller, session: Thing) -> bool:
    return session.account == caller.account and caller.pin is None


def _new_email() -> str:
    return f"{new_id('walk')}@example.com"


SAMPLES = Samples(
    path_makers={"session_id": _session},
    body_makers={
        "accounts.sign_up": _new_address,
        "accounts.verify_email": _sent_token,
        "password_resets.confirm": _reset_token,
        "sessions.create": _own_password,
        "account.update": _new_account_facts,
        "account.close": _current_password,
    },
    visibility={VisibleSession: (_sees_session, SessionNotFound)},
    make_things=_make_things,
    path_ids={"session_id": lambda asking: asking.world.thing(VisibleSession, "personal").id},
    body_values={
        "EmailVerification.token": lambda asking: _token_of(asking.world),
        "NewPasswordReset.email": lambda _: _new_email(),
        "PasswordResetConfirmation.token": lambda asking: _token_of(asking.world),
        "AccountClosure.current_password": lambda _: PASSWORD,
    },
    silent_operations={
        "account.update": "the name, address and password of a person concern nobody else",
        "account.send_verification": "the email itself is the effect",
        "account.close": "its keys, memberships and sites publish events of their own",
        "sessions.revoke": "the end of a session concerns nobody else",
        "sessions.revoke_one": "the end of a session concerns nobody else",
    },
)
