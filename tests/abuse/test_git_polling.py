"""Repositories with thousands of branches that all move, and servers that never respond."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from stead.control.git.poll_changes import MAX_PUSHES
from stead.control.git.poller import CLAIM_SECONDS, Poller
from stead.control.webhooks.client import HttpsClient
from tests import teams
from tests.abuse.neighbour import Neighbour
from tests.control.git import conftest as git_fixtures
from tests.control.git.conftest import (  # noqa: F401 - fixtures
    PREVIEW_DOMAIN,
    ConnectedSite,
    commit,
    connect,
    forge,
    node,
)
from tests.git_server import GitServer
from tests.patience import slowdown, time_limit
from tests.receiver import http_response

BRANCHES = 10_000
SILENT = 40
MEGABYTE = 1 << 20

Figure = Callable[[str, str], None]

authority, client, server = git_fixtures.authority, git_fixtures.client, git_fixtures.server


def heads_of(number: int, branches: int = BRANCHES) -> dict[str, str]:
    """The heads of all branches after so many pushes to each."""
    return {f"branch-{n:05}": commit(number * BRANCHES + n) for n in range(branches)}


def advertise(number: int, branches: int = BRANCHES) -> bytes:
    """The response of a git server with these heads."""
    refs = [f"{head} refs/heads/{name}" for name, head in heads_of(number, branches).items()]
    lines = [f"{refs[0]}\0multi_ack\n", *(f"{ref}\n" for ref in refs[1:])]
    packets = "".join(f"{len(line) + 4:04x}{line}" for line in lines)
    return http_response(200, f"001e# service=git-upload-pack\n0000{packets}0000".encode())


async def make_due(site: ConnectedSite) -> None:
    await site.run(
        "update git_connections set check_due_at = now() - interval '1 second' where site_id = $1", site.id
    )


async def poll(site: ConnectedSite, server: GitServer, client: HttpsClient) -> float:
    """Poll this repository only. Returns the seconds it took."""
    await site.run("update git_connections set check_due_at = now() + interval '1 day'")
    await make_due(site)
    began = time.monotonic()
    assert await create_poller(site, server, client).poll() == 1
    return time.monotonic() - began


def create_poller(site: ConnectedSite, server: GitServer, client: HttpsClient) -> Poller:
    ports = frozenset({server.port})
    return Poller(site.plane.database, client, PREVIEW_DOMAIN, seconds=300, extra_ports=ports)


async def test_ten_thousand_moving_branches_cause_one_write(
    server: GitServer,
    client: HttpsClient,
    connect: Any,  # noqa: F811 - the fixture
    record_property: Figure,
):
    site = await connect(repository=server.create().url)
    server.response = advertise(1)
    await poll(site, server, client)
    position = await site.value("select pg_current_wal_insert_lsn()::text")
    server.response = advertise(2)
    seconds = await poll(site, server, client)
    written = await site.value(
        "select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), $1::text::pg_lsn)::bigint", position
    )
    heads = await site.value("select refs from git_connections where site_id = $1", site.id)
    record_property(
        "figure",
        f"a poll of {BRANCHES} branches that all moved: {seconds:.1f} s, {written / MEGABYTE:.1f} MiB of WAL",
    )
    assert heads == heads_of(2)
    assert written < 10 * MEGABYTE
    assert seconds < 10 * slowdown()


async def test_a_poll_acts_on_a_few_changes_and_the_next_one_on_the_rest(
    server: GitServer,
    client: HttpsClient,
    connect: Any,  # noqa: F811 - the fixture
):
    site = await connect(("branch-**", "preview"), repository=server.create().url)
    server.response = advertise(1, 1)
    await poll(site, server, client)
    server.response = advertise(2, MAX_PUSHES * 2)
    previews = "select count(*) from environments where site_id = $1 and type = 'branch'"
    for expected in (MAX_PUSHES, MAX_PUSHES * 2, MAX_PUSHES * 2):
        await poll(site, server, client)
        assert await site.value(previews, site.id) == expected
    heads = await site.value("select refs from git_connections where site_id = $1", site.id)
    assert len(heads) == MAX_PUSHES * 2


@asynccontextmanager
async def polling(poller: Poller) -> AsyncIterator[None]:
    """Poll as a worker does, but as often as it looks for due repositories while it polls others."""

    async def keep_polling() -> None:
        while True:
            await poller.poll()
            await asyncio.sleep(CLAIM_SECONDS)

    task = asyncio.create_task(keep_polling())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_silent_servers_delay_no_other_repository(
    server: GitServer,
    client: HttpsClient,
    connect: Any,  # noqa: F811 - the fixture
    record_property: Figure,
):
    repository = server.create()
    repository.commit("main")
    site = await connect(repository=repository.url)
    attacker = await connect(repository=None)
    silent = await asyncio.start_server(lambda *_: asyncio.sleep(600), "127.0.0.1", 0)

    async def be_polled() -> None:
        checked = await site.value("select checked_at from git_connections where site_id = $1", site.id)
        await make_due(site)
        async with time_limit(15):
            while checked == await site.value(  # noqa: ASYNC110 - polls the database
                "select checked_at from git_connections where site_id = $1", site.id
            ):
                await asyncio.sleep(0.01)

    neighbour = Neighbour(be_polled)
    await site.run("update git_connections set check_due_at = now() + interval '1 day'")
    async with silent:
        ports = frozenset({server.port, silent.sockets[0].getsockname()[1]})
        poller = Poller(site.plane.database, client, PREVIEW_DOMAIN, seconds=300, extra_ports=ports)
        async with polling(poller):
            await neighbour.live_alone(10)
            await _insert_sites(attacker, f"https://127.0.0.1:{silent.sockets[0].getsockname()[1]}/x.git")
            async with neighbour.living_beside():
                await neighbour.send_at_least(10)
                polled = [due.owner for due in poller._running.values()]
    record_property("figure", neighbour.figure(f"{SILENT} repositories on a silent server"))
    assert 0 < polled.count(attacker.person.id) <= 2


async def _insert_sites(attacker: ConnectedSite, url: str) -> None:
    async with attacker.plane.database.transaction() as tx:
        for _ in range(SILENT):
            site = await teams.insert_site(tx, account=attacker.person.id)
            await tx.run("update sites set git_repo = $2, git_branch = 'main' where id = $1", site, url)
            await tx.run(
                "insert into git_connections (site_id, check_due_at) values ($1, now() - interval '1 hour')",
                site,
            )
