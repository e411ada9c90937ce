"""Secrets are sent through every field of every body, and then looked for wherever they must not be."""

import asyncio
import io
import secrets as random
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest
import structlog

from stead.control.app import ControlPlane
from stead.control.features import all_operations
from stead.control.http.access_log import AccessLog
from stead.control.http.operations import BodyInput, Operation
from stead.control.settings import Settings
from stead.shared.clock import MovableClock
from stead.shared.roles import Role
from tests import own_database
from tests.client import Client
from tests.matrix.asking import Asking, ask, body
from tests.matrix.dump import rows_mentioning
from tests.matrix.rules import flavours
from tests.matrix.world import World
from tests.matrix.worlds import Worlds
from tests.people import PASSWORD

settings, plane, anonymous = own_database.settings, own_database.plane, own_database.anonymous

WITH_BODY = [each for each in all_operations() if each.method != "GET" and each.input(BodyInput)]


class Overheard:
    """A control plane whose every log line is kept."""

    def __init__(self, settings: Settings, clock: MovableClock) -> None:
        self.requests = io.BytesIO()
        self.plane = ControlPlane(settings, clock=clock, access_log=AccessLog(self.requests))
        self.events: list[Any] = []

    def said(self) -> str:
        return self.requests.getvalue().decode() + repr(self.events)


@pytest.fixture(scope="module")
def worlds(plane: ControlPlane) -> Worlds:
    return Worlds(plane.database)


@pytest.fixture
async def overheard(settings: Settings, clock: MovableClock, plane: ControlPlane) -> AsyncIterator[Overheard]:
    with structlog.testing.capture_logs() as events:
        heard = Overheard(settings, clock)
        heard.events = events
        await heard.plane.redis.start()
        yield heard
        await heard.plane.redis.close()
        await heard.plane.database.close()


def _canary() -> str:
    return f"canary{random.token_hex(16)}"


def _poisoned(value: Any) -> Iterator[tuple[Any, str]]:
    """The value with one string in it after the other replaced, each time with what was put in."""
    if isinstance(value, str):
        canary = _canary()
        yield (f"{canary}@example.com" if "@" in value else canary), canary
    elif isinstance(value, dict):
        for name, inner in value.items():
            for poisoned, canary in _poisoned(inner):
                yield {**value, name: poisoned}, canary
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            for poisoned, canary in _poisoned(inner):
                yield [*value[:place], poisoned, *value[place + 1 :]], canary


def _full_body(asking: Asking) -> dict[str, Any]:
    """With the passwords that other tests leave out."""
    filled = body(asking) or {}
    if asking.operation.id == "account.update":
        filled |= {"new_email": f"{_canary()}@example.com", "new_password": _canary(), "name": _canary()}
        filled["current_password"] = PASSWORD
    return filled


def _shown_once(answer: httpx.Response) -> set[str]:
    data = answer.json().get("data") if answer.content else None
    return {data[name] for name in ("token", "secret") if name in data} if isinstance(data, dict) else set()


async def _send_secrets(
    overheard: Overheard, client: Client, worlds: Worlds, operation: Operation
) -> tuple[set[str], set[str]]:
    """Make the call well once, and badly or oddly once a field. The canaries, and the real secrets."""
    canaries, real = set(), {PASSWORD}
    for role in (Role.OWNER, Role.ADMIN, Role.OBSERVER):
        world = await worlds.fresh(role, operation)
        for caller in list(world.callers(operation))[:3]:
            asking = Asking(operation, world, caller, flavours(operation)[0])
            if operation.id == "account.update":
                await overheard.plane.redis.execute("FLUSHDB")
            for sent, canary in _poisoned(_full_body(asking)):
                answer = await ask(overheard.plane, client, asking, body=sent)
                canaries.add(canary)
                real |= _shown_once(answer)
            real |= await _well_made_call(overheard, client, worlds, asking)
            real.add((await world.credential(caller))[1])
    return canaries, real


async def _well_made_call(overheard: Overheard, client: Client, worlds: Worlds, asking: Asking) -> set[str]:
    world = await worlds.fresh(asking.world.role, asking.operation)
    callers = list(world.callers(asking.operation))
    caller = next(each for each in callers if each.name == asking.caller.name)
    again = Asking(asking.operation, world, caller, asking.flavour)
    sent = _full_body(again)
    answer = await ask(overheard.plane, client, again, body=sent)
    assert answer.status_code in (asking.operation.status, 403), answer.text
    passwords = {value for name, value in sent.items() if "password" in name or name == "token"}
    return _shown_once(answer) | passwords | {(await world.credential(caller))[1]}


@pytest.mark.parametrize("operation", WITH_BODY, ids=lambda operation: operation.id)
@pytest.mark.usefixtures("cheap_passwords")
async def test_no_secret_reaches_the_trail_the_logs_or_any_table(
    operation: Operation, overheard: Overheard, worlds: Worlds, capfd: pytest.CaptureFixture[str]
):
    client = Client(transport=httpx.ASGITransport(overheard.plane), base_url="http://stead.test")
    canaries, real = await _send_secrets(overheard, client, worlds, operation)
    await asyncio.sleep(0.15)
    said = overheard.said() + "".join(capfd.readouterr())
    assert '"operation":"' + operation.id in said
    assert [secret for secret in canaries | real if secret in said] == []
    async with overheard.plane.database.reading() as tx:
        trail = "\n".join(await tx.all(str, "select a::text from audit_events a"))
        meta = "\n".join(await tx.all(str, "select meta::text from audit_events"))
        everywhere = [form for secret in real for form in (secret, secret.encode().hex())]
        assert await rows_mentioning(tx, everywhere) == set()
    assert [secret for secret in real if secret in trail] == []
    assert [canary for canary in canaries if canary in meta] == []


async def test_a_client_id_that_cannot_be_one_is_not_written_down(
    plane: ControlPlane, anonymous: Client, worlds: Worlds
):
    """It is refused for its role; what stands in its place could be anything, of any length."""
    operation = next(each for each in WITH_BODY if each.id == "members.add")
    world: World = await worlds.shared(Role.ADMIN)
    asking = Asking(operation, world, next(world.callers(operation)), "team")
    canary = _canary()
    answer = await ask(plane, anonymous, asking, body={"client_id": canary, "role": "owner"})
    assert answer.status_code in (400, 403, 404)
    async with plane.database.reading() as tx:
        assert not await tx.value(
            "select exists (select from audit_events where meta::text like $1)", f"%{canary}%"
        )
