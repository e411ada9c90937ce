"""Secrets are sent in every field of every request body, or returned, and then searched for in logs, audit
entries, tables and Redis."""

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
from tests.control.audit.secret_fields import (
    everything_in_redis,
    recorded_texts,
    returned_secrets,
    returns_secret,
    sent_secrets,
    unclassified,
)
from tests.matrix.asking import Asking, ask, body
from tests.matrix.dump import current_position, rows_mentioning
from tests.matrix.rules import flavours
from tests.matrix.world import World
from tests.matrix.worlds import Worlds
from tests.people import PASSWORD

settings, plane, anonymous = own_database.settings, own_database.plane, own_database.anonymous

WITH_BODY = [
    each for each in all_operations() if each.method != "GET" and each.input_of(BodyInput) is not None
]
WITHOUT_BODY = [each for each in all_operations() if returns_secret(each) and not each.input_of(BodyInput)]


class LoggedPlane:
    """A control plane that keeps all of its log lines."""

    def __init__(self, settings: Settings, clock: MovableClock) -> None:
        self.requests = io.BytesIO()
        self._access_log = AccessLog(self.requests)
        self.plane = ControlPlane(settings, clock=clock, access_log=self._access_log)
        self.events: list[Any] = []

    def output(self) -> str:
        self._access_log.flush()
        return self.requests.getvalue().decode() + repr(self.events)


@pytest.fixture
async def logged(settings: Settings, clock: MovableClock, plane: ControlPlane) -> AsyncIterator[LoggedPlane]:
    with structlog.testing.capture_logs() as events:
        logged = LoggedPlane(settings, clock)
        logged.events = events
        async with logged.plane.running():
            yield logged


def _canary() -> str:
    return f"canary{random.token_hex(16)}"


def _with_canary(value: Any) -> Iterator[tuple[Any, str]]:
    """Yield copies of the value, each with one string replaced by a canary, and the canary."""
    if isinstance(value, str):
        canary = _canary()
        yield (f"{canary}@example.com" if "@" in value else canary), canary
    elif isinstance(value, dict):
        for name, inner in value.items():
            for changed, canary in _with_canary(inner):
                yield {**value, name: changed}, canary
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            for changed, canary in _with_canary(inner):
                yield [*value[:index], changed, *value[index + 1 :]], canary


def _full_body(asking: Asking) -> dict[str, Any]:
    """Return the body with the passwords that other tests omit."""
    filled = body(asking) or {}
    if asking.operation.id == "account.update":
        filled |= {"new_email": f"{_canary()}@example.com", "new_password": _canary(), "name": _canary()}
        filled["current_password"] = PASSWORD
    if "roll_hook_secret" in getattr(_shape(asking.operation), "__struct_fields__", ()):
        filled["roll_hook_secret"] = True
    if "password_delivery" in getattr(_shape(asking.operation), "__struct_fields__", ()):
        filled["password_delivery"] = "response"
    if "security" in getattr(_shape(asking.operation), "__struct_fields__", ()):
        filled["security"] = {**filled.get("security", {}), "waf_partner_secret_key": _canary()}
    return filled


def _shape(operation: Operation) -> Any:
    wanted = operation.input_of(BodyInput)
    return wanted.shape if wanted else None


def _shown_once(operation: Operation, response: httpx.Response) -> set[str]:
    return returned_secrets(operation, response.json().get("data") if response.content else None)


async def _send_secrets(
    logged: LoggedPlane, client: Client, worlds: Worlds, operation: Operation
) -> tuple[set[str], set[str]]:
    """Call the operation with a canary in each field, then correctly. Return the canaries and the real
    secrets."""
    canaries, real = set(), {PASSWORD}
    for role in (Role.OWNER, Role.ADMIN, Role.OBSERVER) if _shape(operation) else (Role.OWNER,):
        world = await worlds.fresh(role, operation)
        for caller in list(world.callers(operation))[:3]:
            asking = Asking(operation, world, caller, flavours(operation)[0])
            if operation.id == "account.update":
                await logged.plane.redis.execute("FLUSHDB")
            bodies = _with_canary(_full_body(asking)) if _shape(operation) else ()
            for sent, canary in bodies:
                response = await ask(logged.plane, client, asking, body=sent)
                canaries |= {canary} - recorded_texts(operation, sent)
                real |= _shown_once(operation, response)
            real |= await _correct_call(logged, client, worlds, asking)
            real.add((await world.credential(caller))[1])
    return canaries, real


async def _correct_call(logged: LoggedPlane, client: Client, worlds: Worlds, asking: Asking) -> set[str]:
    world = await worlds.fresh(asking.world.role, asking.operation)
    callers = list(world.callers(asking.operation))
    caller = next(each for each in callers if each.name == asking.caller.name)
    again = Asking(asking.operation, world, caller, asking.flavour)
    sent = _full_body(again) if _shape(asking.operation) else None
    response = await ask(logged.plane, client, again, body=sent)
    assert response.status_code in (asking.operation.status, 403), response.text
    shown = _shown_once(asking.operation, response)
    assert shown or response.status_code == 403 or not returns_secret(asking.operation)
    return shown | sent_secrets(asking.operation, sent or {}) | {(await world.credential(caller))[1]}


@pytest.mark.parametrize("operation", WITH_BODY + WITHOUT_BODY, ids=lambda operation: operation.id)
@pytest.mark.usefixtures("cheap_passwords")
async def test_no_secret_reaches_the_audit_trail_the_logs_redis_or_any_table(
    operation: Operation, logged: LoggedPlane, worlds: Worlds, capfd: pytest.CaptureFixture[str]
):
    client = Client(transport=httpx.ASGITransport(logged.plane), base_url="http://stead.test")
    start = await current_position(logged.plane.database)
    await logged.plane.redis.execute("FLUSHDB")
    canaries, real = await _send_secrets(logged, client, worlds, operation)
    output = logged.output() + "".join(capfd.readouterr())
    assert '"operation":"' + operation.id in output
    assert [secret for secret in canaries | real if secret in output] == []
    cached = await everything_in_redis(logged.plane.redis)
    assert "fresh:" in cached or "rate:" in cached  # Redis was really read
    assert [secret for secret in canaries | real if secret in cached] == []
    async with logged.plane.database.reading() as tx:
        new = "from audit_events a where age(xmin) <= age($1::xid)"
        trail = "\n".join(await tx.all(str, f"select a::text {new}", start))
        meta = "\n".join(await tx.all(str, f"select meta::text {new}", start))
    everywhere = [form for secret in real for form in (secret, secret.encode().hex())]
    assert await rows_mentioning(logged.plane.database, everywhere, start) == set()
    assert [secret for secret in real if secret in trail] == []
    assert [canary for canary in canaries if canary in meta] == []


@pytest.mark.parametrize("operation", all_operations(), ids=lambda operation: operation.id)
def test_every_field_that_looks_like_a_secret_is_covered(operation: Operation):
    assert unclassified(operation) == set()


async def test_an_invalid_client_id_is_not_recorded(plane: ControlPlane, anonymous: Client, worlds: Worlds):
    """The request is denied because of its role, and the client id could be any text of any length."""
    operation = next(each for each in WITH_BODY if each.id == "members.add")
    world: World = await worlds.shared(Role.ADMIN)
    asking = Asking(operation, world, next(world.callers(operation)), "team")
    canary = _canary()
    response = await ask(plane, anonymous, asking, body={"client_id": canary, "role": "owner"})
    assert response.status_code in (400, 403, 404)
    async with plane.database.reading() as tx:
        assert not await tx.value(
            "select exists (select from audit_events where meta::text like $1)", f"%{canary}%"
        )
