"""What an operator does at the machine itself, without the API."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from msgspec import convert

from stead.control.accounts import service as accounts
from stead.control.accounts.schema import NewAccount
from stead.control.keys import service as keys
from stead.control.keys.schema import NewKey
from stead.control.nodes import service as nodes
from stead.control.platform.database import Database, Tx
from stead.control.platform.edge import Edges, FeedUnavailable
from stead.control.platform.nats import Nats
from stead.control.platform.streams import ensure_streams
from stead.control.routing import service as routing
from stead.control.settings import Settings, from_environment
from stead.protocol.subjects import Program
from stead.shared import scopes
from stead.shared.clock import wall_clock
from stead.shared.edge_keys import key_from_text, key_to_text, region_key

SITES_AT_ONCE = 200
NATS_SECONDS = 10.0
_MAY_ASK = (Program.WORKER, Program.OPERATOR)


@asynccontextmanager
async def _transaction() -> AsyncIterator[Tx]:
    database = Database(from_environment().database_url, clock=wall_clock)
    try:
        async with database.transaction() as tx:
            yield tx
    finally:
        await database.close()


@asynccontextmanager
async def _nats(settings: Settings) -> AsyncIterator[Nats]:
    nats_ = Nats(
        settings.nats_url,
        user=settings.nats_user,
        password=settings.nats_password,
        program=Program(settings.nats_user),
    )
    nats_.start()
    try:
        async with asyncio.timeout(NATS_SECONDS):
            await nats_.ready()
        yield nats_
    finally:
        await nats_.stop()


async def node_table(only: str | None = None) -> str:
    """All nodes, or one, as a table for a terminal."""
    async with _transaction() as tx:
        found = [node for node in await nodes.browse(tx) if only in (None, node.id)]
        lines = [f"{'node':24} {'region':12} {'carries':>12}  {'version':10} {'last seen':12} state"]
        for node in found:
            ago = f"{(tx.now - node.last_seen_at).total_seconds():.0f} s ago"
            state = "lost" if node.is_lost(tx.now) else "draining" if node.draining else "up"
            room = f"{node.carrying} of {node.capacity}"
            lines.append(f"{node.id:24} {node.region:12} {room:>12}  {node.version:10} {ago:12} {state}")
    return "\n".join(lines)


async def edge_progress(node: str) -> str:
    """How far a node's edge has come with what it was told, as a line for a terminal."""
    settings = from_environment()
    if settings.nats_user not in _MAY_ASK:
        return "edge: only the worker's NATS user may ask how far it is"
    try:
        async with _nats(settings) as nats_:
            edges = Edges(nats_)
            unread, said = await edges.unread(node), await edges.last_applied(node)
    except (TimeoutError, FeedUnavailable):
        return "edge: NATS does not answer"
    if unread is None:
        return "edge: the node was never heard"
    revision = "nothing yet" if said is None else f"everything up to revision {said.revision}"
    return f"edge: has applied {revision}; {unread} newer records wait to be fetched"


async def drain(node: str, *, draining: bool) -> None:
    async with _transaction() as tx:
        await nodes.drain(tx, node, draining=draining)


async def announce_everything(told: Callable[[int], None]) -> int:
    """Tells the edges all that the database knows of sites, as after a loss of NATS's; how many sites."""
    after, count = "", 0
    async with _nats(from_environment()) as nats_:
        await ensure_streams(nats_)
        edges = Edges(nats_)
        while True:
            async with _transaction() as tx:
                page = await routing.every_site(tx, after=after, most=SITES_AT_ONCE)
                announced = [await routing.serve_redirected(tx, site) for site in page]
            for announcement in announced:
                if announcement is not None:
                    await edges.put(announcement.records)
                    count += 1
            if len(page) < SITES_AT_ONCE:
                return count
            after = page[-1]
            told(count)


def edge_key(region: str) -> str:
    """What the nodes of the region open certificates with."""
    return key_to_text(region_key(key_from_text(from_environment().edge_master_key), region))


async def open_account(
    email: str, name: str, plan: str, password: str, *, with_key: bool
) -> dict[str, str | None]:
    wanted = convert({"email": email, "name": name, "password": password}, NewAccount)
    api_key = None
    async with _transaction() as tx:
        account = await accounts.sign_up(tx, wanted, plan=plan)
        if with_key:
            grants = [scopes.EVERYTHING, *sorted(scopes.ISOLATED)]
            new = NewKey(scopes=grants, name="first key", expires_in_days=365)
            _, secret = await keys.mint(tx, accounts.owner_principal(account), new)
            api_key = secret.text
    return {"account_id": account.id, "email": account.email, "password": password, "api_key": api_key}
