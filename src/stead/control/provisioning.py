"""Commands that an operator runs on the machine, without the API."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO, cast

from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from msgspec import convert

from stead.artifacts import digests
from stead.artifacts.layout import write_layout
from stead.control.accounts import service as accounts
from stead.control.accounts.passwords import OPERATOR, hash_password
from stead.control.accounts.schema import NewAccount
from stead.control.artifacts import garbage_collection, signing_keys
from stead.control.artifacts import service as artifacts
from stead.control.artifacts.rules import blob_name
from stead.control.certificates.edge_records import CertificateRecords
from stead.control.edge_feed.feed import EdgeFeed, FeedUnavailable
from stead.control.edge_feed.republishing import Republisher
from stead.control.engines.clickhouse import ClickHouse, ClickHouseUnavailable, QueryTooExpensive
from stead.control.engines.nats import Nats
from stead.control.engines.nats_streams import ensure_streams
from stead.control.engines.postgres import Database, Tx
from stead.control.features import sealed_columns
from stead.control.insights import platform_store
from stead.control.insights import status as insights
from stead.control.insights.table_store import erase_sites, measure_tables
from stead.control.keys import service as keys
from stead.control.keys.schema import NewKey
from stead.control.nodes import service as nodes
from stead.control.sealed_columns import count_outdated, reseal
from stead.control.sealing import Sealer
from stead.control.settings import Settings, from_environment, object_store_of
from stead.protocol.sealed_work import key_from_text as node_key_from_text
from stead.protocol.subjects import Program
from stead.shared import scopes
from stead.shared.clock import wall_clock
from stead.shared.edge_keys import key_to_text, keys_from_text, region_key

NATS_SECONDS = 10.0
_CAN_READ_PROGRESS = (Program.WORKER, Program.OPERATOR)


@asynccontextmanager
async def _transaction() -> AsyncIterator[Tx]:
    database = Database(from_environment().database_url, clock=wall_clock)
    try:
        async with database.transaction() as tx:
            yield tx
    finally:
        await database.close()


@asynccontextmanager
async def connected_nats(settings: Settings) -> AsyncIterator[Nats]:
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
        lines = [f"{'node':24} {'region':12} {'hosts':>12}  {'version':10} {'last seen':12} state"]
        for node in found:
            seen = node.last_seen_at
            ago = "never" if seen is None else f"{(tx.now - seen).total_seconds():.0f} s ago"
            state = "lost" if node.is_lost(tx.now) else "draining" if node.draining else "up"
            state += ", short of disk space" if node.short_of_space else ""
            state += "" if node.has_key else ", no key"
            state += ", builds" if node.may_build else ""
            state += f", {node.deleted} deleted environments" if node.deleted else ""
            usage = f"{node.hosted} of {node.capacity}"
            lines.append(f"{node.id:24} {node.region:12} {usage:>12}  {node.version:10} {ago:12} {state}")
    return "\n".join(lines)


async def describe_enrolment(node: str) -> str:
    """What the operator has decided about a node, as a line for a terminal."""
    async with _transaction() as tx:
        found = await nodes.find(tx, node)
    if found is None:
        return "enrolment: none"
    address = found.edge_address or "as in its first heartbeat"
    return f"enrolment: at most {found.max_capacity} environments; address of its edge: {address}"


async def enrol_node(
    node: str,
    region: str,
    public_key: str,
    *,
    may_build: bool,
    max_capacity: int,
    edge_address: str | None,
) -> None:
    """Raises InvalidNodeKey."""
    key = node_key_from_text(public_key)
    async with _transaction() as tx:
        await nodes.enrol(
            tx,
            node,
            region=region,
            public_key=key,
            may_build=may_build,
            max_capacity=max_capacity,
            edge_address=edge_address,
        )


async def edge_progress(node: str) -> str:
    """Which edge records a node has applied, as a line for a terminal."""
    settings = from_environment()
    if settings.nats_user not in _CAN_READ_PROGRESS:
        return "edge: only the worker's NATS user can read the progress"
    try:
        async with connected_nats(settings) as nats_:
            feed = EdgeFeed(nats_)
            pending, applied = await feed.count_pending(node), await feed.last_applied(node)
    except (TimeoutError, FeedUnavailable):
        return "edge: NATS does not respond"
    if pending is None:
        return "edge: the node has never sent a heartbeat"
    revision = "nothing yet" if applied is None else f"everything up to revision {applied.revision}"
    skipped = applied.skipped if applied else 0
    full = f"; {skipped} records do not fit in its memory" if skipped else ""
    return f"edge: has applied {revision}; {pending} newer records are pending{full}"


async def insights_status() -> str:
    """What nodes have sent, and how much is stored."""
    clickhouse = ClickHouse(from_environment().clickhouse_url)
    async with _transaction() as tx:
        nodes_ = await insights.list_nodes(tx)
    try:
        stored = await measure_tables(clickhouse)
    except ClickHouseUnavailable:
        stored = None
    finally:
        clickhouse.close()
    return insights.render(nodes_, stored)


class InsightsUnavailable(Exception):
    """ClickHouse does not respond, or has not been used yet."""


async def platform_logs(hours: int, program: str, instance: str, level: str, event: str, limit: int) -> str:
    """Raises InsightsUnavailable."""
    wanted = platform_store.LineFilter(hours, program, instance, level, event, limit)
    async with _clickhouse() as clickhouse:
        return platform_store.render_lines(await platform_store.list_lines(clickhouse, wanted))


async def platform_metrics(name: str, hours: int) -> str:
    """Raises InsightsUnavailable."""
    async with _clickhouse() as clickhouse:
        return platform_store.render_series(await platform_store.list_series(clickhouse, name, hours))


@asynccontextmanager
async def _clickhouse() -> AsyncIterator[ClickHouse]:
    clickhouse = ClickHouse(from_environment().clickhouse_url)
    try:
        yield clickhouse
    except (ClickHouseUnavailable, QueryTooExpensive) as error:
        raise InsightsUnavailable(f"ClickHouse does not respond: {error}") from None
    finally:
        clickhouse.close()


class InsightsNotErased(Exception):
    """There is no such site, or ClickHouse does not respond."""


async def erase_insights(site: str) -> None:
    """Raises InsightsNotErased. Can be repeated."""
    clickhouse = ClickHouse(from_environment().clickhouse_url)
    async with _transaction() as tx:
        is_known = await insights.has_site(tx, site)
    try:
        if not is_known:
            raise InsightsNotErased(f"{site}: there is no such site")
        await erase_sites(clickhouse, [site])
    except ClickHouseUnavailable as error:
        raise InsightsNotErased(f"ClickHouse does not respond: {error}") from None
    except QueryTooExpensive as error:
        raise InsightsNotErased(f"ClickHouse is too busy, try again: {error}") from None
    finally:
        clickhouse.close()


async def set_draining(node: str, *, draining: bool) -> bool:
    async with _transaction() as tx:
        return await nodes.set_draining(tx, node, draining=draining)


async def announce_everything(
    report_progress: Callable[[int], None], *, delete_unknown: bool = False
) -> tuple[int, int]:
    """Publish the edge records of all sites again, and delete those of sites that the database does not know.

    Returns the number of sites, and of deleted records. Raises TooManyUnknown, unless `delete_unknown`.
    """
    settings = from_environment()
    certificates = CertificateRecords(Sealer.from_text(settings.sealing_key), settings.edge_master_key)
    database = Database(settings.database_url, clock=wall_clock)
    sites = removed = 0
    try:
        async with connected_nats(settings) as nats_:
            await ensure_streams(nats_, output_mb=settings.nats_output_mb, edge_mb=settings.nats_edge_mb)
            republisher = Republisher(database, EdgeFeed(nats_), certificates.build)
            for region in await republisher.list_regions():
                sites += await republisher.republish(region, report_progress)
                removed += await republisher.remove_unknown(region, however_many=delete_unknown)
    finally:
        await database.close()
    return sites, removed


async def artifact_table(limit: int) -> str:
    """The newest artifacts of this cell, as a table for a terminal."""
    async with _transaction() as tx:
        lines = [f"{'artifact':30} {'site':31} {'created':16} {'bytes':>12}  digest"]
        for each in await artifacts.list_newest(tx, limit=limit):
            created = f"{each.created_at:%Y-%m-%d %H:%M}"
            lines.append(f"{each.id:30} {each.site_id:31} {created} {each.layer_size:>12}  {each.digest}")
    return "\n".join(lines)


async def export_artifact(artifact: str, into: Path) -> str:
    """Write an artifact as an OCI layout, with its signed provenance and public key. Returns its digest."""
    async with _transaction() as tx:
        found = await artifacts.get(tx, artifact)
        key = await signing_keys.find_public_key(tx, found.key_id) if found else None
    if found is None or key is None:
        raise LookupError(f"there is no artifact {artifact}" if found is None else "its key was removed")
    objects, digest = object_store_of(from_environment()), digests.parse(found.digest)
    stored = {found.digest: found.manifest, str(digests.of(found.config)): found.config}

    @contextmanager
    def blob(wanted: digests.Digest) -> Iterator[BinaryIO]:
        with TemporaryFile() as file:
            for chunk in [stored[wanted]] if wanted in stored else objects.read_chunks(blob_name(wanted)):
                file.write(chunk)
            file.seek(0)
            yield cast("BinaryIO", file)

    await asyncio.to_thread(write_layout, into, digest, blob)
    (into / "envelope.json").write_bytes(found.envelope)
    (into / "key.pem").write_bytes(key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    return found.digest


async def reseal_all() -> AsyncIterator[str]:
    """Seal every stored secret with the first sealing key, and yield one line for each column."""
    settings = from_environment()
    sealer = Sealer.from_text(settings.sealing_key)
    database = Database(settings.database_url, clock=wall_clock)
    try:
        for column in sealed_columns():
            count = await reseal(database, sealer, column)
            yield f"{column.table}.{column.column}: {count} values sealed again"
        async with database.reading() as tx:
            if left := await count_outdated(tx, sealer, sealed_columns()):
                yield f"{left} values were written with an older key meanwhile: run the command again"
    finally:
        await database.close()


async def rotate_signing_key() -> str:
    """Create a new signing key and return its id. It signs all new artifacts."""
    sealer = Sealer.from_text(from_environment().sealing_key)
    async with _transaction() as tx:
        return (await signing_keys.rotate(tx, sealer)).id


async def remove_signing_key(key: str) -> bool:
    async with _transaction() as tx:
        return await signing_keys.remove(tx, key)


async def collect_artifacts() -> tuple[int, int]:
    """Remove unused artifacts and blobs. Returns how many of each were removed."""
    settings = from_environment()
    database = Database(settings.database_url, clock=wall_clock)
    try:
        return await garbage_collection.collect_garbage(database, object_store_of(settings))
    finally:
        await database.close()


def edge_key(region: str) -> str:
    """The keys with which the nodes of a region decrypt certificates: one for each master key."""
    masters = keys_from_text(from_environment().edge_master_key)
    return ",".join(key_to_text(region_key(master, region)) for master in masters)


async def create_account(
    email: str, name: str, plan: str, password: str, *, with_key: bool
) -> dict[str, str | None]:
    new_account = convert({"email": email, "name": name, "password": password}, NewAccount)
    api_key, password_hash = None, await hash_password(password, OPERATOR)
    async with _transaction() as tx:
        account = await accounts.sign_up(tx, new_account, password_hash, plan=plan, is_verified=True)
        if with_key:
            grants = [scopes.EVERYTHING, *sorted(scopes.ISOLATED)]
            new_key = NewKey(scopes=grants, name="first key", expires_in_days=365)
            _, secret = await keys.create(tx, accounts.owner_principal(account), new_key)
            api_key = secret.text
    return {"account_id": account.id, "email": account.email, "password": password, "api_key": api_key}
