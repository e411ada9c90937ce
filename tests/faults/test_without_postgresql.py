"""Without PostgreSQL every request is refused soon and politely; with it back, nothing needs a restart."""

import asyncio
import time
from collections.abc import Awaitable, Callable

import httpx
import pytest

from stead.dev.engines.postgres import Postgres
from tests.client import Client, code_of
from tests.faults.processes import ApiProcess, eventually
from tests.faults.world import World
from tests.patience import slowdown, time_limit
from tests.people import PASSWORD, Person

CONNECTIONS = 4
BOUND = 2.0
"""On an idle machine, like the limits below."""
HANGING_BOUND = 15.0
BACK_WITHIN = 5.0
OURS = (
    "select count(*) from pg_stat_activity where application_name = 'stead' and datname = current_database()"
)

Request = Callable[[], Awaitable[httpx.Response]]


@pytest.fixture(scope="module")
async def api(world: World) -> ApiProcess:
    return await world.api(STEAD_DATABASE_CONNECTIONS=str(CONNECTIONS))


@pytest.fixture(scope="module")
async def person(world: World, api: ApiProcess) -> Person:
    return await world.person(api)


async def requests_of_every_kind(api: ApiProcess, person: Person) -> dict[str, Request]:
    """By name; the credential of one is copied by the process, that of another is not."""
    known, unknown = api.as_(await person.secret()), api.as_(await person.secret())
    assert (await known.get("/v1/account")).status_code == 200
    sign_in = {"email": person.account.email, "password": PASSWORD}
    new = {"scopes": ["account:read"]}
    return {
        "a read": lambda: known.get("/v1/account"),
        "a list": lambda: known.get("/v1/api-keys"),
        "a read by a stranger": lambda: unknown.get("/v1/account"),
        "the buckets": lambda: known.get("/v1/rate-limits"),
        "a mutation": lambda: known.post("/v1/api-keys", json=new),
        "a mutation with a key": lambda: known.post(
            "/v1/api-keys", json=new, headers={"Idempotency-Key": "again"}
        ),
        "a change": lambda: known.patch("/v1/account", json={"name": "Ada"}),
        "signing in": lambda: api.anonymous.post("/v1/sessions", json=sign_in),
    }


async def all_work(requests: dict[str, Request]) -> bool:
    return all([(await send()).is_success for send in requests.values()])


async def refused_within(bound: float, send: Request) -> None:
    began = time.monotonic()
    answer = await send()
    assert time.monotonic() - began < bound * slowdown()
    assert (answer.status_code, code_of(answer)) == (503, "unavailable")
    assert answer.json()["error"]["type"] == "api_error"
    assert int(answer.headers["retry-after"]) > 0


async def works_again(client: Client) -> None:
    async def works() -> bool:
        return (await client.get("/v1/account")).is_success

    await eventually(works, within=BACK_WITHIN, what="requests succeed again")


@pytest.mark.parametrize("crash", [False, True], ids=["stopped", "killed"])
async def test_every_request_is_refused_in_time_and_works_again_afterwards(
    world: World, api: ApiProcess, person: Person, crash: bool
):
    requests = await requests_of_every_kind(api, person)
    async with world.without(Postgres, crash=crash):
        for send in requests.values():
            await refused_within(BOUND, send)
        assert (await api.website("/readyz")).status_code == 503
        assert (await api.website("/healthz")).status_code == 200
    await works_again(person.session)
    assert await all_work(requests)
    assert (await api.website("/readyz")).status_code == 200


async def test_a_crowd_is_refused_in_time_too(world: World, api: ApiProcess, person: Person):
    client = api.as_(await person.secret())
    async with world.without(Postgres):
        await asyncio.gather(*[refused_within(BOUND, lambda: client.get("/v1/account")) for _ in range(64)])
    await works_again(client)


async def test_a_database_that_hangs_is_answered_for_in_time(world: World, api: ApiProcess, person: Person):
    client = api.as_(await person.secret())
    assert (await client.get("/v1/account")).is_success
    async with world.frozen(Postgres):
        crowd = [refused_within(HANGING_BOUND, lambda: client.get("/v1/account")) for _ in range(8)]
        async with time_limit(HANGING_BOUND + 5):
            await asyncio.gather(*crowd)
    await works_again(client)


async def test_a_crash_under_load_costs_only_the_requests_it_met(
    world: World, api: ApiProcess, person: Person
):
    client, answers, over = api.as_(await person.secret()), [], asyncio.Event()

    async def load(send: Request) -> None:
        while not over.is_set():
            answers.append(code_of(await send()))

    reads = [load(lambda: client.get("/v1/account")) for _ in range(6)]
    mints = [load(lambda: client.post("/v1/api-keys", json={"scopes": ["jobs:read"]})) for _ in range(6)]
    loads = [asyncio.create_task(each) for each in (*reads, *mints)]
    await asyncio.sleep(0.5)
    for _ in range(2):
        await world.restart(Postgres, crash=True)
        await works_again(client)
        assert await world.value(OURS) <= CONNECTIONS
    over.set()
    await asyncio.gather(*loads)
    assert not api.events("request.fault")
    assert set(answers) <= {"200", "201", "unavailable"}
    assert "unavailable" in answers
    assert await slots_are_all_usable(client)
    assert await world.value(OURS) <= CONNECTIONS


async def slots_are_all_usable(client: Client) -> bool:
    """A place in the pool that was lost with its connection would leave some of these waiting."""
    async with time_limit(BOUND):
        answers = await asyncio.gather(*[client.get("/v1/account") for _ in range(4 * CONNECTIONS)])
    return all(answer.is_success for answer in answers)


async def test_outages_leak_no_place_in_the_pool(world: World, api: ApiProcess, person: Person):
    client = api.as_(await person.secret())
    for _ in range(3):
        async with world.without(Postgres, crash=True):
            await asyncio.gather(*[client.get("/v1/account") for _ in range(4 * CONNECTIONS)])
        await works_again(client)
    assert await slots_are_all_usable(client)
    assert await world.value(OURS) <= CONNECTIONS
