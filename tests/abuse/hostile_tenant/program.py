"""The hostile tenant as a program of its own, so that its work does not slow down the neighbour's client.

Reads one JSON document from standard input, attacks until it is interrupted, and prints what it got."""

import asyncio
import contextlib
import json
import signal
import sys
from pathlib import Path

import httpx

from tests.abuse.hostile_tenant.attacks import HostileTenant
from tests.abuse.hostile_tenant.person import Person
from tests.git_server import Repository

ADDRESS = "127.0.0.66"
"""Limits per address must not be shared with the neighbour."""


async def _attack() -> None:
    given = json.load(sys.stdin)
    transport = httpx.AsyncHTTPTransport(local_address=ADDRESS, limits=httpx.Limits(max_connections=None))
    api = httpx.AsyncClient(base_url=given["url"], headers=given["headers"], timeout=60, transport=transport)
    person = Person(api, given["email"], password="")
    person.path = given["path"]
    repository = Repository(Path(given["bare"]), Path(given["work"]), given["repository"])
    hostile = HostileTenant(person, repository, given["victim"])
    attack = asyncio.create_task(hostile.attack())
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, attack.cancel)
    with contextlib.suppress(asyncio.CancelledError):
        await attack
    print(json.dumps(hostile.outcomes), flush=True)  # noqa: T201


if __name__ == "__main__":
    asyncio.run(_attack())
