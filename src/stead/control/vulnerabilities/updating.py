"""Fetches the feed for the whole installation, stores what has changed, and matches it with all sites."""

import asyncio
import time
from collections.abc import Iterator
from itertools import islice
from math import inf
from typing import IO, Any

import structlog

from stead.control import metrics
from stead.control.engines.postgres import Database, Tx
from stead.control.outbox.events import About, publish
from stead.control.vulnerabilities import feed, match_store, store
from stead.control.vulnerabilities.events import VULNERABILITY_MATCHED
from stead.control.vulnerabilities.rules import FETCH_EVERY, MOST_UNREADABLE, FeedBroken, Record, attribute

BATCH_SIZE = 500
LEAST_KEPT = 0.5
"""A feed with fewer records than this part of the last one is not believed."""

_Read = tuple[Record, str] | feed.Unreadable

log = structlog.get_logger()


async def update(database: Database, source: str, key: str) -> None:
    """Fetch the feed, if it is time to. A feed that cannot be used changes nothing."""
    async with database.transaction() as tx:
        if not await store.claim_feed(tx, tx.now - FETCH_EVERY):
            return
        state = await store.find_feed(tx)
    before = state.records if state else 0
    try:
        await _load(database, source, key, state.digest if state else "", before)
    except FeedBroken as broken:
        log.warning("vulnerabilities.feed_broken", reason=str(broken))
        async with database.transaction() as tx:
            await store.record_failure(tx, str(broken))
        return


async def _load(database: Database, source: str, key: str, known: str, before: int) -> None:
    opening = feed.opened(source, key)
    copy = await asyncio.to_thread(opening.__enter__)
    try:
        digest = await asyncio.to_thread(feed.digest_of, copy)
        # All of it is read before anything is stored.
        records, attribution = await asyncio.to_thread(_check, copy)
        if records < before * LEAST_KEPT or not records:
            raise FeedBroken(f"The feed has {records} records; the last one had {before}.")
        if digest != known:
            await _store(database, copy)
        async with database.transaction() as tx:
            await store.record_success(tx, digest, records, attribution)
    finally:
        await asyncio.to_thread(opening.__exit__, None, None, None)


def _check(copy: IO[bytes]) -> tuple[int, dict[str, Any]]:
    """The number of records, and the notices of their sources."""
    count = 0
    unreadable: list[feed.Unreadable] = []
    attribution: dict[str, Any] = {}
    for found in feed.read_records(copy):
        count += 1
        if isinstance(found, feed.Unreadable):
            unreadable.append(found)
        elif isinstance(found[0].copyrights, dict):
            for source, notice in found[0].copyrights.items():
                if isinstance(notice, dict) and len(attribution) < 20:
                    attribution.setdefault(source, notice)
    if len(unreadable) > count * MOST_UNREADABLE:
        raise FeedBroken(unreadable[0].reason)
    for each in unreadable[:20]:
        log.warning("vulnerabilities.record_unreadable", reason=each.reason)
    return count, attribution


async def _store(database: Database, copy: IO[bytes]) -> None:
    copy.seek(0)
    generation, records = time.time_ns(), feed.read_records(copy)
    while batch := await asyncio.to_thread(_take, records):
        async with database.transaction() as tx:
            await store.put_records(
                tx, [each for each in batch if not isinstance(each, feed.Unreadable)], generation
            )
            # What is known about them stays.
            await store.keep(tx, [each.id for each in batch if isinstance(each, feed.Unreadable)], generation)
    more = True
    while more:
        async with database.transaction() as tx:
            more = await store.withdraw_missing(tx, generation, limit=BATCH_SIZE) > 0


def _take(records: Iterator[_Read]) -> list[_Read]:
    return list(islice(records, BATCH_SIZE))


async def remove_unused(database: Database) -> None:
    """Forget the components of deleted environments, and versions that no site has."""
    last_environment: str | None = ""
    while last_environment is not None:
        async with database.transaction() as tx:
            last_environment = await store.remove_deleted(tx, last_environment, limit=BATCH_SIZE)
    last: int | None = 0
    while last is not None:
        async with database.transaction() as tx:
            last = await store.remove_unused_versions(tx, last, limit=BATCH_SIZE)


async def match(tx: Tx) -> int:
    return await match_store.match_new(tx, limit=BATCH_SIZE)


async def announce(tx: Tx) -> int:
    """Tell the owner of one environment about its new findings, once."""
    found = await store.lock_unannounced(tx)
    if found is None:
        return 0
    if found.is_deleted:
        return 1
    about = About(
        account_id=found.account_id, team_id=found.team_id, site_id=found.site_id, env_id=found.env_id
    )
    await publish(
        tx,
        VULNERABILITY_MATCHED,
        about,
        domain=found.domain,
        count=found.found,
        vuln_id=found.vulnerability_id,
        title=found.title,
        rating=found.rating,
        record_url=found.record_url,
        attribution=attribute(found.copyrights),
    )
    return 1


async def measure(tx: Tx) -> None:
    state = await store.find_feed(tx)
    if state is None:
        metrics.vulnerability_feed_age.set(0)
    else:
        fetched = state.fetched_at
        metrics.vulnerability_feed_age.set((tx.now - fetched).total_seconds() if fetched else inf)
