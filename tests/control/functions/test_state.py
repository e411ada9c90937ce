"""The state of functions in a real JetStream: revisions, expiry, counters, locks, lists."""

import asyncio
from typing import Any

import pytest

from stead.control.app import ControlPlane
from stead.control.engines.nats_state import StateStream
from stead.control.functions import state
from stead.control.functions.state import FunctionState
from stead.control.functions.state_quota import StateQuota
from tests import teams
from tests.control.functions.keeping import Clock, Keeper
from tests.people import Person


async def test_a_value_is_read_as_it_was_written(keeper: Keeper) -> None:
    assert await keeper.get("kv.get", key="a") is None
    written = await keeper.get("kv.put", key="a", value="grün")
    assert await keeper.get("kv.get", key="a") == {"value": "grün", "revision": written["revision"]}
    await keeper.get("kv.put", key="a", value_base64="/wA=")
    assert (await keeper.get("kv.get", key="a"))["value_base64"] == "/wA="
    assert await keeper.get("kv.delete", key="a") is True
    assert await keeper.get("kv.delete", key="a") is False
    assert await keeper.get("kv.get", key="a") is None


async def test_a_change_with_a_revision_is_made_only_on_that_revision(keeper: Keeper) -> None:
    first = await keeper.get("kv.put", key="a", value="1", revision=0)
    assert await keeper.code("kv.put", key="a", value="2", revision=0) == "state.conflict"
    second = await keeper.get("kv.put", key="a", value="2", revision=first["revision"])
    assert await keeper.code("kv.put", key="a", value="3", revision=first["revision"]) == "state.conflict"
    assert await keeper.code("kv.delete", key="a", revision=first["revision"]) == "state.conflict"
    assert await keeper.get("kv.delete", key="a", revision=second["revision"]) is True
    assert (await keeper.get("kv.put", key="a", value="4", revision=0))["revision"] > second["revision"]


async def test_of_many_changes_on_one_revision_exactly_one_is_made(keeper: Keeper) -> None:
    for round_ in range(10):
        before = await keeper.get("kv.get", key="a")
        revision = before["revision"] if before else 0
        told = await asyncio.gather(
            *(
                keeper.ask("kv.put", key="a", value=f"{round_} {number}", revision=revision)
                for number in range(8)
            )
        )
        won = [number for number, each in enumerate(told) if "ok" in each]
        assert len(won) == 1
        assert (await keeper.get("kv.get", key="a"))["value"] == f"{round_} {won[0]}"


async def test_a_value_expires(keeper: Keeper, moving_clock: Clock) -> None:
    await keeper.get("kv.put", key="a", value="1", ttl=60)
    moving_clock.now += 59
    assert await keeper.get("kv.get", key="a") is not None
    moving_clock.now += 2
    assert await keeper.get("kv.get", key="a") is None
    assert (await keeper.get("kv.list"))["keys"] == []
    await keeper.get("kv.put", key="a", value="2", revision=0)


async def test_keys_are_listed_by_prefix_and_in_pages(keeper: Keeper) -> None:
    for key in ("b/1", "a/1", "a/2", "a/3", "c"):
        await keeper.get("kv.put", key=key, value="")
    await keeper.get("kv.delete", key="a/2")
    assert await keeper.get("kv.list", prefix="a/") == {"keys": ["a/1", "a/3"], "cursor": None}
    first = await keeper.get("kv.list", limit=2)
    assert first["keys"] == ["a/1", "a/3"]
    rest = await keeper.get("kv.list", limit=2, cursor=first["cursor"])
    assert rest == {"keys": ["b/1", "c"], "cursor": None}


async def test_environments_and_namespaces_are_apart(
    plane: ControlPlane, person: Person, keeper: Keeper
) -> None:
    await keeper.get("kv.put", key="a", value="mine")
    assert (await keeper.ask("kv.get", namespace="other", key="a"))["ok"] is None
    async with plane.database.transaction() as tx:
        other = await teams.environment_of(tx, await teams.insert_site(tx, account=person.id))
    stranger = Keeper(keeper.state, other)
    assert await stranger.get("kv.get", key="a") is None
    assert (await stranger.get("kv.list"))["keys"] == []


async def test_every_increment_counts_once(keeper: Keeper) -> None:
    """Linearizable: each value is returned to one caller, and no caller gets a value that is older than one
    that was returned before it asked."""
    finished = 0
    seen: list[int] = []

    async def count(times: int) -> None:
        nonlocal finished
        for _ in range(times):
            before = finished
            told = await keeper.ask("coord.increment", name="visits")
            if "error" in told:
                assert told["error"]["code"] == "state.busy"
                continue
            assert told["ok"] > before
            finished = max(finished, told["ok"])
            seen.append(told["ok"])

    await asyncio.gather(*(count(25) for _ in range(8)))
    assert sorted(seen) == list(range(1, len(seen) + 1))
    assert await keeper.get("coord.get", name="visits") == len(seen)
    assert await keeper.code("coord.increment", name="visits", by=1 << 60) == "state.overflow"


async def test_a_lock_has_one_owner_and_its_token_grows(keeper: Keeper, moving_clock: Clock) -> None:
    told = await asyncio.gather(*(keeper.get("coord.lock", name="book", ttl=10) for _ in range(10)))
    (first,) = [each for each in told if each is not None]
    assert await keeper.get("coord.lock", name="book") is None
    assert await keeper.get("coord.unlock", name="book", token=first["token"] - 1) is False
    assert await keeper.get("coord.unlock", name="book", token=first["token"]) is True
    second = await keeper.get("coord.lock", name="book", ttl=10)
    assert second["token"] > first["token"]
    moving_clock.now += 11
    third = await keeper.get("coord.lock", name="book", ttl=10)
    assert third["token"] > second["token"]
    assert await keeper.get("coord.unlock", name="book", token=second["token"]) is False


@pytest.mark.parametrize(
    ("op", "arg", "code"),
    [
        ("kv.put", {"key": "", "value": "x"}, "state.key_invalid"),
        ("kv.put", {"key": "k" * 513, "value": "x"}, "state.key_invalid"),
        ("kv.put", {"key": 7, "value": "x"}, "state.key_invalid"),
        ("kv.put", {"key": "a", "value": "x" * (256 << 10)}, "state.value_too_large"),
        ("kv.put", {"key": "a"}, "request.invalid"),
        ("kv.put", {"key": "a", "value": "x", "ttl": -1}, "request.invalid"),
        ("kv.get", {}, "request.invalid"),
        ("coord.lock", {"name": "a", "ttl": 1e9}, "request.invalid"),
        ("coord.unlock", {"name": "a", "token": "x"}, "request.invalid"),
    ],
)
async def test_what_cannot_be_kept_is_refused(
    op: str, arg: dict[str, Any], code: str, keeper: Keeper
) -> None:
    assert await keeper.code(op, **arg) == code


async def test_a_page_looks_at_a_limited_number_of_keys(
    keeper: Keeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keys that were deleted are found for a while. The limit of production would need hundreds of them."""
    monkeypatch.setattr(state, "MOST_READ", 3)
    for number in range(5):
        await keeper.get("kv.put", key=f"a/{number}", value="x")
    for number in range(4):
        await keeper.get("kv.delete", key=f"a/{number}")
    first = await keeper.get("kv.list")
    assert first == {"keys": [], "cursor": "a/2"}
    assert await keeper.get("kv.list", cursor=first["cursor"]) == {"keys": ["a/4"], "cursor": None}


async def test_pages_cost_what_they_make_nats_do(
    plane: ControlPlane, keeper: Keeper, stream: StateStream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit of production would need a hundred thousand keys."""
    monkeypatch.setattr(state, "LISTED_BURST", 5)
    monkeypatch.setattr(state, "LISTED_PER_SECOND", 0.001)
    limited = Keeper(FunctionState(stream, StateQuota(plane.database, stream)), keeper.environment)
    for number in range(4):
        await limited.get("kv.put", key=f"{number}", value="x")
    assert len((await limited.get("kv.list"))["keys"]) == 4
    assert await limited.code("kv.list") == "state.rate_limited"
    assert (await limited.get("kv.get", key="1"))["value"] == "x"


async def test_what_a_page_reads_and_long_keys_cost_more(
    plane: ControlPlane, keeper: Keeper, stream: StateStream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limits of production would need thousands of keys."""
    monkeypatch.setattr(state, "LISTED_BURST", 30)
    monkeypatch.setattr(state, "LISTED_PER_SECOND", 0.001)
    limited = Keeper(FunctionState(stream, StateQuota(plane.database, stream)), keeper.environment)
    for number in range(2):
        await limited.get("kv.put", key=f"{number}", value="x")
    assert len((await limited.get("kv.list"))["keys"]) == 2
    assert await limited.code("kv.list") == "state.rate_limited"
    long = Keeper(FunctionState(stream, StateQuota(plane.database, stream)), keeper.environment)
    for number in range(2):
        await long.ask("kv.put", namespace="long", key=f"{number}" * 512, value="x")
    assert (await long.ask("kv.list", namespace="long", prefix="none"))["ok"]["keys"] == []
    assert (await long.ask("kv.list", namespace="long", prefix="none"))["ok"]["keys"] == []
    assert (await long.ask("kv.list", namespace="long"))["error"]["code"] == "state.rate_limited"
