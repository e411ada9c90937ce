"""How much state functions may keep, and that nothing is left of what nobody can reach any more."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from stead.control.app import ControlPlane
from stead.control.engines.nats_state import StateStream
from stead.control.functions import state_quota, state_removal, state_store
from stead.control.functions.state_quota import StateQuota
from stead.control.functions.state_removal import StateRemoval
from stead.protocol.subjects import state_stream, state_subjects
from stead.shared.ids import new_id
from tests import teams
from tests.answering_node import place_on_answering_node
from tests.control.functions.keeping import Keeper
from tests.patience import time_limit
from tests.people import Person


async def test_an_environment_keeps_a_limited_amount(keeper: Keeper, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limits of production would need ten thousand keys here."""
    monkeypatch.setattr(state_quota, "MOST_KEYS", 3)
    for key in ("a", "b", "c"):
        await keeper.get("kv.put", key=key, value="x")
    assert await keeper.code("kv.put", key="d", value="x") == "state.quota"
    await keeper.get("kv.put", key="a", value="another value of the same key")
    await keeper.get("kv.delete", key="b")
    await keeper.get("kv.put", key="d", value="x")


async def _another_site(keeper: Keeper, plane: ControlPlane, account: str) -> tuple[str, Keeper]:
    async with plane.database.transaction() as tx:
        site = await teams.insert_site(tx, account=account)
        return site, Keeper(keeper.state, await teams.environment_of(tx, site))


async def _another_account(plane: ControlPlane) -> str:
    async with plane.database.transaction() as tx:
        return (await teams.insert_account(tx)).id


async def _set_limit(plane: ControlPlane, person: Person, megabytes: int) -> str:
    """Give the person a plan of their own."""
    name = f"plan of {person.id}"
    async with plane.database.transaction() as tx:
        await tx.run(
            "insert into plans (select (jsonb_populate_record(p, jsonb_build_object('name', $1::text,"
            " 'max_function_state_mb', $2::int))).* from plans p where name = 'unlimited')",
            *(name, megabytes),
        )
        await tx.run("update accounts set plan = $2 where id = $1", person.id, name)
    return name


async def _fill(keeper: Keeper, prefix: str = "") -> int:
    """Write values of 256 KB until one is refused. Returns how many were written."""
    for number in range(100):
        told = await keeper.ask("kv.put", key=f"{prefix}{number}", value="x" * 260_000)
        if "error" in told:
            assert told["error"]["code"] == "state.quota"
            return number
    return 100


async def test_the_sites_of_an_owner_keep_a_limited_amount_together(
    plane: ControlPlane, person: Person, keeper: Keeper
) -> None:
    await _set_limit(plane, person, 2)
    written = await _fill(keeper)
    assert 2 << 20 >= written * 260_000 > (2 << 20) - 270_000
    site, second = await _another_site(keeper, plane, account=person.id)
    refused = (await second.ask("kv.put", key="a", value="x"))["error"]
    assert refused["code"] == "state.quota"
    assert "2 MB" in refused["message"]
    assert "owner" in refused["message"]
    _, stranger = await _another_site(keeper, plane, account=await _another_account(plane))
    await stranger.get("kv.put", key="a", value="x" * 260_000)
    # What the first site gives back, the second one can use. A refusal is repeated for a moment.
    for number in range(written):
        await keeper.get("kv.delete", key=f"{number}")
    async with time_limit(30):
        while "error" in await second.ask("kv.put", key="a", value="x" * 260_000):  # noqa: ASYNC110
            await asyncio.sleep(0.1)
    assert await _fill(second, "more") == written - 1
    # A deleted site can be recovered, so what it keeps counts.
    async with plane.database.transaction() as tx:
        await tx.run(
            "update sites set status = 'deleted', recoverable_until = $2 where id = $1",
            *(site, tx.now + timedelta(days=30)),
        )
    _, third = await _another_site(keeper, plane, account=person.id)
    assert await third.code("kv.put", key="a", value="x") == "state.quota"


async def test_sites_of_an_owner_that_write_at_the_same_time_do_not_exceed_the_limit(
    plane: ControlPlane, person: Person, keeper: Keeper
) -> None:
    await _set_limit(plane, person, 3)
    keepers = [keeper, *[(await _another_site(keeper, plane, account=person.id))[1] for _ in range(3)]]
    written = await asyncio.gather(*(_fill(each) for each in keepers))
    assert 0 < sum(written) * 260_000 <= 3 << 20


async def test_what_is_written_while_the_state_is_counted_counts(
    plane: ControlPlane, keeper: Keeper, stream: StateStream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise whoever moves values from keys that were not read yet to new ones would have as much again,
    once a minute."""
    monkeypatch.setattr(state_quota, "MOST_KEYS", 4)
    for key in ("a", "b", "y", "z"):
        await keeper.get("kv.put", key=key, value="x")
    read, moved = stream.get, False

    async def get(name: str, subject: str) -> Any:
        """The count reads its first key only after two others were replaced."""
        nonlocal moved
        if not moved:
            moved = True
            for before, after in (("y", "m"), ("z", "n")):
                await keeper.get("kv.delete", key=before)
                await keeper.get("kv.put", key=after, value="x")
        return await read(name, subject)

    monkeypatch.setattr(stream, "get", get)
    assert await StateQuota(plane.database, stream)._count_again(keeper.environment)
    assert moved
    assert await keeper.code("kv.put", key="q", value="x") == "state.quota"


async def test_keys_that_expired_make_room_when_the_limit_is_reached(
    keeper: Keeper, stream: StateStream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limits of production would need ten thousand keys."""
    monkeypatch.setattr(state_quota, "MOST_KEYS", 2)
    await keeper.get("kv.put", key="a", value="x", ttl=1)
    await keeper.get("kv.put", key="b", value="x")
    subject = f"{state_subjects(keeper.environment)}.>"
    async with time_limit(30):
        while len(await stream.list_subjects(state_stream(keeper.environment), subject)) > 1:  # noqa: ASYNC110
            await asyncio.sleep(0.2)
    await keeper.get("kv.put", key="c", value="x")
    assert await keeper.code("kv.put", key="d", value="x") == "state.quota"


async def test_locks_count_as_keys_until_they_are_given_back(
    keeper: Keeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limits of production would need ten thousand locks here."""
    monkeypatch.setattr(state_quota, "MOST_KEYS", 2)
    first = await keeper.get("coord.lock", name="a")
    await keeper.get("coord.lock", name="b")
    assert await keeper.code("coord.lock", name="c") == "state.quota"
    assert await keeper.code("kv.put", key="c", value="x") == "state.quota"
    assert await keeper.get("coord.unlock", name="a", token=first["token"]) is True
    await keeper.get("coord.lock", name="c")


async def test_the_state_of_a_removed_environment_is_removed(
    plane: ControlPlane, keeper: Keeper, stream: StateStream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise whoever creates and deletes sites would fill the space of everybody. A site that can be
    recovered keeps its state."""
    await keeper.get("kv.put", key="a", value="x")
    await keeper.get("coord.increment", name="visits")
    await keeper.get("coord.lock", name="door")
    removal = StateRemoval(plane.database, stream)
    monkeypatch.setattr(state_removal, "GRACE", timedelta(0))
    for recoverable in (timedelta(days=30), timedelta(0)):
        await removal.run()
        assert await keeper.get("coord.get", name="visits") == 1
        async with plane.database.transaction() as tx:
            await tx.run(
                "update sites s set status = 'deleted', recoverable_until = $2 from environments e"
                " where e.site_id = s.id and e.id = $1",
                *(keeper.environment, tx.now + recoverable),
            )
    await removal.run()
    subjects = f"{state_subjects(keeper.environment)}.>"
    async with time_limit(30):
        while await stream.list_subjects(state_stream(keeper.environment), subjects):  # noqa: ASYNC110
            await asyncio.sleep(0.2)
    async with plane.database.reading() as tx:
        assert not await tx.value("select count(*) from function_state where env_id = $1", keeper.environment)


async def test_a_node_cannot_ask_for_the_state_of_a_deleted_site(
    plane: ControlPlane, person: Person, keeper: Keeper
) -> None:
    """The site may still be on the node, because it can be recovered."""
    async with plane.database.transaction() as tx:
        site = str(await tx.value("select site_id from environments where id = $1", keeper.environment))
        function, node = await teams.insert_function(tx, site), new_id("node")
        await place_on_answering_node(tx, site, node)
        asked = {"site": site, "environment": keeper.environment, "function": function}
        assert await state_store.is_hosted(tx, node=node, **asked)
        assert not await state_store.is_hosted(tx, node="another", **asked)
        await tx.run(
            "update sites set status = 'deleted', recoverable_until = $2 where id = $1",
            *(site, tx.now + timedelta(days=30)),
        )
        assert not await state_store.is_hosted(tx, node=node, **asked)
