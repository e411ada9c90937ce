"""The records about a site in the feed of the edges."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import nats.js.errors
from nats.js import JetStreamContext

from stead.protocol.edge_records import (
    BUCKET,
    PurgeRecord,
    bucket_subject,
    environment_key,
    host_key,
    purge_key,
    redirects_key,
)
from stead.protocol.subjects import Program, bucket_stream
from tests.faults.jobs.harness import Harness
from tests.node.harness import connected


@dataclass(frozen=True)
class FeedRecord:
    """A record and its revision. Without a value it was deleted, or was never written."""

    revision: int = 0
    value: bytes | None = None


@asynccontextmanager
async def feed_connected(harness: Harness) -> AsyncIterator[JetStreamContext]:
    async with connected(harness.stack, Program.OPERATOR) as client:
        yield client.jetstream()


async def feed_records(
    feed: JetStreamContext, site: Mapping[str, Any], environment: Mapping[str, Any]
) -> dict[str, FeedRecord]:
    """Every record about a site, by key."""
    region = site["region"]
    keys = [
        *(host_key(region, host) for host in _hosts(site, environment)),
        environment_key(region, environment["id"]),
        redirects_key(region, site["id"], 0),
        purge_key(region, PurgeRecord(environment["id"])),
    ]
    return {key: await _last_record(feed, key) for key in keys}


async def announced_hosts(
    harness: Harness, site: Mapping[str, Any], environment: Mapping[str, Any]
) -> set[str]:
    """The hosts that lead to the environment."""
    async with feed_connected(harness) as feed:
        records = {
            host: await _last_record(feed, host_key(site["region"], host))
            for host in _hosts(site, environment)
        }
    return {host for host, it in records.items() if environment["id"].encode() in (it.value or b"")}


def _hosts(site: Mapping[str, Any], environment: Mapping[str, Any]) -> tuple[str, ...]:
    subdomain = environment["subdomain"]
    return (site["domain"], subdomain) if environment["type"] == "production" else (subdomain,)


async def _last_record(feed: JetStreamContext, key: str) -> FeedRecord:
    try:
        message = await feed.get_last_msg(bucket_stream(BUCKET), bucket_subject(key))
    except nats.js.errors.NotFoundError:
        return FeedRecord()
    deleted = (message.headers or {}).get("KV-Operation")
    return FeedRecord(message.seq or 0, None if deleted else message.data or b"")
