"""A worker that was held up does not replace newer records with older ones."""

import asyncio
import random

import pytest

from stead.protocol.edge_records import EdgeRecord, HostRecord, encode
from tests.node.feed.feed_harness import FeedHarness


def _records(there: FeedHarness, count: int, version: int) -> dict[str, EdgeRecord | None]:
    return there.hosts(count, environment=f"env_{version}")


async def _read(there: FeedHarness, number: int = 0) -> bytes | None:
    return await there.edges.read_record(there.host(number))


async def test_an_older_record_does_not_replace_a_newer_one(there: FeedHarness) -> None:
    newer = await there.edges.put(_records(there, 3, 2), version=2)
    assert await there.edges.put(_records(there, 3, 1), version=1) == newer
    assert await _read(there) == encode(HostRecord("env_2"))
    assert await there.edges.put(_records(there, 3, 3), version=3) > newer
    assert await _read(there) == encode(HostRecord("env_3"))


async def test_an_older_record_does_not_come_back_after_a_newer_deletion(there: FeedHarness) -> None:
    await there.edges.put(_records(there, 1, 1), version=1)
    await there.edges.put({there.host(0): None}, version=3)
    await there.edges.put(_records(there, 1, 2), version=2)
    assert await _read(there) is None
    async with there.feeding():
        await there.applied(await there.edges.put(_records(there, 1, 4), version=4))
        assert there.missing_hosts(1) == []


@pytest.mark.parametrize("seed", range(3))
async def test_of_concurrent_workers_the_newest_version_stays(there: FeedHarness, seed: int) -> None:
    versions = list(range(1, 21))
    random.Random(seed).shuffle(versions)  # noqa: S311
    await asyncio.gather(*(there.edges.put(_records(there, 4, each), version=each) for each in versions))
    assert {await _read(there, number) for number in range(4)} == {encode(HostRecord("env_20"))}
