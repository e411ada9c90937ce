"""Every mutation writes one audit entry. Denied requests are recorded; not-found and invalid ones are not."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from stead.control.app import ControlPlane
from stead.control.audit.schema import AuditEventView
from stead.control.features import all_operations
from stead.control.http.operations import BodyInput, Operation
from stead.control.http.visibility import Governed
from stead.control.sites.rules import VisibleSite
from stead.shared.ids import new_id
from stead.shared.roles import Role
from tests import own_database
from tests.client import Client, code_of
from tests.control.audit.conftest import Written
from tests.feature_samples import merged
from tests.matrix.asking import Asking, ask, body
from tests.matrix.rules import expected, flavours, resources
from tests.matrix.world import Caller, World
from tests.matrix.worlds import Worlds
from tests.people import EVERY_SCOPE

settings, plane, anonymous = own_database.settings, own_database.plane, own_database.anonymous

MUTATIONS = [each for each in all_operations() if each.method != "GET"]
OF_STRANGERS = ("password_resets.create", "accounts.sign_up", "device_authorizations.create")
"""A stranger may ask for a reset, sign up or begin to sign in on a device, and no account must show whether
there is one. The use of the token or the code is recorded."""
RECORDED = [each for each in MUTATIONS if each.id not in OF_STRANGERS]
ONLY_FOR_SESSIONS = ("device_authorizations.approve", "device_authorizations.deny")
WITH_CREDENTIAL = [each for each in MUTATIONS if not each.requires.public]

pytestmark = pytest.mark.usefixtures("cheap_passwords")


def each(operations: list[Operation]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("operation", operations, ids=lambda operation: operation.id)


def _session(world: World) -> Caller:
    return Caller("session", world.subject.id, "session")


def _key(world: World) -> Caller:
    return Caller("full key", world.subject.id, "api_key", tuple(EVERY_SCOPE))


def _actor(asking: Asking, answer: httpx.Response) -> str | None:
    """The account that acted. After signing up or in, the response names it; the token in the body of an
    operation without a response is the newcomer's."""
    if not asking.operation.requires.public:
        return asking.caller.account
    if not answer.content:
        return asking.world.newcomer.id
    data = answer.json()["data"]
    return str(data["account_id"] if "account_id" in data else data["id"])


WITH_EACH_CREDENTIAL = [
    pytest.param(operation, credential, id=f"{kind}-{operation.id}")
    for kind, credential in (("member", _session), ("api_key", _key))
    for operation in RECORDED
    if kind == "member" or operation.id not in ONLY_FOR_SESSIONS
]
LOCATIONS = merged("audit_locations")
ENTRIES = merged("audit_entries")


def _location(asking: Asking, answer: httpx.Response) -> tuple[str | None, str | None]:
    known = LOCATIONS.get(asking.operation.id)
    if known is not None:
        team, site = known(asking, answer)
        return team, site
    things = resources(asking.operation, asking.world, asking.flavour)
    governed = [thing for thing in things if issubclass(thing.kind, Governed)]
    if not governed:
        return None, None
    last = governed[-1]
    return last.team, last.site or (last.id if last.kind is VisibleSite else None)


def _actor_columns(event: AuditEventView) -> tuple[Any, ...]:
    return event.actor_kind, event.actor_user_id, event.actor_key_id


@pytest.mark.parametrize(("operation", "credential"), WITH_EACH_CREDENTIAL)
async def test_a_mutation_writes_exactly_one_entry(
    operation: Operation,
    credential: Callable[[World], Caller],
    plane: ControlPlane,
    anonymous: Client,
    worlds: Worlds,
    written: Written,
):
    for flavour in flavours(operation):
        world = await worlds.fresh(Role.OWNER, operation)
        asking = Asking(operation, world, credential(world), flavour)
        key_id, _ = await world.credential(asking.caller)
        await written()
        answer = await ask(plane, anonymous, asking)
        assert answer.status_code == operation.status, answer.text
        *others, event = await written()
        assert len(others) == ENTRIES.get(operation.id, 1) - 1
        assert (event.event, event.outcome) == (operation.audit, "success")
        if operation.requires.public:
            assert _actor_columns(event) == ("member", _actor(asking, answer), None)
        elif key_id:
            assert _actor_columns(event) == ("api_key", world.subject.id, key_id)
            assert event.actor_email == world.subject.email
        else:
            assert _actor_columns(event) == ("member", world.subject.id, None)
            assert event.actor_email == world.subject.email
        assert (event.team_id, event.site_id) == _location(asking, answer)


@each(WITH_CREDENTIAL)
async def test_a_refused_permission_is_recorded_as_denied(
    operation: Operation, plane: ControlPlane, anonymous: Client, worlds: Worlds, written: Written
):
    """Both for a missing scope and for a missing role, with the team if it is known."""
    tried = 0
    for role in Role:
        world = await worlds.shared(role)
        for flavour in flavours(operation):
            for caller in world.callers(operation):
                verdict = expected(operation, world, caller, flavour, oneself=False)
                if verdict.status != 403:
                    continue
                await world.credential(caller)
                await written()
                answer = await ask(plane, anonymous, Asking(operation, world, caller, flavour))
                assert code_of(answer) == verdict.code
                [event] = await written()
                assert (event.event, event.outcome) == (operation.audit, "denied")
                assert event.actor_user_id == caller.account
                assert event.actor_kind == ("member" if caller.kind == "session" else "api_key")
                things = resources(operation, world, flavour)
                assert event.team_id == (things[-1].team if things else None)
                tried += 1
    assert tried or not operation.requires.scopes


@each(WITH_CREDENTIAL)
async def test_a_request_for_a_missing_resource_is_not_recorded(
    operation: Operation, plane: ControlPlane, anonymous: Client, worlds: Worlds, written: Written
):
    world = await worlds.shared(Role.OWNER)
    for flavour in flavours(operation):
        for caller in world.callers(operation):
            verdict = expected(operation, world, caller, flavour, oneself=False)
            if verdict.status in (401, 404):
                answer = await ask(plane, anonymous, Asking(operation, world, caller, flavour))
                assert code_of(answer) == verdict.code
                assert await written() == []


@each([each for each in MUTATIONS if each.input_of(BodyInput)])
async def test_an_invalid_request_is_not_recorded(
    operation: Operation, plane: ControlPlane, anonymous: Client, worlds: Worlds, written: Written
):
    world = await worlds.shared(Role.OWNER)
    asking = Asking(operation, world, _session(world), flavours(operation)[0])
    answer = await ask(plane, anonymous, asking, body={"no such field": "x"})
    assert code_of(answer) == "request.field_invalid"
    assert await written() == []


@each([each for each in MUTATIONS if each.takes_idempotency_key])
async def test_an_idempotent_replay_writes_no_second_entry(
    operation: Operation, plane: ControlPlane, anonymous: Client, worlds: Worlds, written: Written
):
    world = await worlds.fresh(Role.OWNER, operation)
    asking = Asking(operation, world, _session(world), flavours(operation)[0])
    headers = {"idempotency-key": new_id("req")}
    sent = body(asking)
    first = await ask(plane, anonymous, asking, headers=headers, body=sent)
    again = await ask(plane, anonymous, asking, headers=headers, body=sent)
    assert (first.status_code, first.content) == (operation.status, again.content)
    assert again.headers["idempotent-replayed"] == "true"
    assert [event.event for event in await written()] == [operation.audit] * ENTRIES.get(operation.id, 1)


async def test_a_rolled_back_mutation_writes_no_entry(
    plane: ControlPlane, anonymous: Client, worlds: Worlds, written: Written
):
    world = await worlds.shared(Role.OWNER)
    _, secret = await world.credential(Caller("founder", world.founder.id, "session"))
    founder, team = anonymous.as_(secret), world.entry_team
    await written()
    assert code_of(await founder.delete(f"/v1/teams/{team}/members/{world.founder.id}")) == "team.last_owner"
    assert code_of(await founder.delete(f"/v1/teams/{world.team}")) == "team.has_sites"
    twice = {"client_id": world.victim.id, "role": "observer"}
    assert code_of(await founder.post(f"/v1/teams/{world.team}/members", json=twice)) == "member.exists"
    assert await written() == []
