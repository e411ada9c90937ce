"""What the edges have been told, as it stands in the bucket."""

from collections.abc import Iterable, Mapping
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
class Told:
    """A record, and when it was told: none when it was taken back or never was."""

    revision: int = 0
    record: bytes | None = None


async def told(harness: Harness, site: Mapping[str, Any], environment: Mapping[str, Any]) -> dict[str, Told]:
    """Everything about a site, by key."""
    region = site["region"]
    return await _read(
        harness,
        [
            *(host_key(region, host) for host in _hosts(site, environment)),
            environment_key(region, environment["id"]),
            redirects_key(region, site["id"], 0),
            purge_key(region, PurgeRecord(environment["id"])),
        ],
    )


async def announced_hosts(
    harness: Harness, site: Mapping[str, Any], environment: Mapping[str, Any]
) -> set[str]:
    """The hosts that lead to the environment."""
    names = {host_key(site["region"], host): host for host in _hosts(site, environment)}
    found = await _read(harness, names)
    return {names[key] for key, it in found.items() if environment["id"].encode() in (it.record or b"")}


def _hosts(site: Mapping[str, Any], environment: Mapping[str, Any]) -> tuple[str, ...]:
    subdomain = environment["subdomain"]
    return (site["domain"], subdomain) if environment["type"] == "production" else (subdomain,)


async def _read(harness: Harness, keys: Iterable[str]) -> dict[str, Told]:
    async with connected(harness.stack, Program.OPERATOR) as client:
        jetstream = client.jetstream()
        return {key: await _last(jetstream, key) for key in keys}


async def _last(jetstream: JetStreamContext, key: str) -> Told:
    try:
        found = await jetstream.get_last_msg(bucket_stream(BUCKET), bucket_subject(key))
    except nats.js.errors.NotFoundError:
        return Told()
    gone = (found.headers or {}).get("KV-Operation")
    return Told(found.seq or 0, None if gone else found.data or b"")
