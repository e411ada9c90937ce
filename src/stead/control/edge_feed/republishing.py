"""Publishes all edge records of a region again: after NATS has lost its data, or when an operator wants it.

A bucket that holds every record of a region has a mark for it. A worker gives a node its consumer only once
the mark exists: a node that read half of the records would delete the other half from its edge.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping

from stead.control.edge_feed import announcements, store
from stead.control.edge_feed.feed import EdgeFeed
from stead.control.edge_feed.records import Records
from stead.control.engines.postgres import Database, Tx
from stead.protocol.edge_records import CompleteRecord, complete_key, host_of_name, kind_and_name

SITES_AT_ONCE = 200
KEYS_AT_ONCE = 1_000
FEW_UNKNOWN, LARGE_PART = 50, 0.1

BuildCertificates = Callable[[Tx, str], Awaitable[Records]]
"""Builds the records of the certificates of a site, in the transaction that reads them."""


class TooManyUnknown(Exception):
    def __init__(self, region: str, unknown: int, total: int) -> None:
        super().__init__(
            f"{unknown} of the {total} records of {region} belong to nothing in the database. If that is"
            " right, delete them with --delete-unknown."
        )


class Republisher:
    def __init__(self, database: Database, feed: EdgeFeed, build_certificates: BuildCertificates) -> None:
        self._database, self._feed, self._build_certificates = database, feed, build_certificates

    async def list_regions(self) -> list[str]:
        async with self._database.reading() as tx:
            return await store.list_regions(tx)

    async def list_incomplete(self) -> list[str]:
        """The regions with nodes for which the bucket does not hold every record."""
        async with self._database.reading() as tx:
            regions = await store.list_node_regions(tx)
        return [each for each in regions if not await self._feed.is_complete(each)]

    async def republish(self, region: str, report_progress: Callable[[int], None] = lambda _: None) -> int:
        """Publish the records of all sites of the region. Returns the number of sites.

        Can run several times at once: each record has a version, and the newest one stays.
        """
        after, count = "", 0
        while True:
            async with self._database.transaction() as tx:
                page = await store.list_served_sites(tx, region, after=after, limit=SITES_AT_ONCE)
            for site in page:
                count += await self._republish_site(site)
            if len(page) < SITES_AT_ONCE:
                break
            after = page[-1]
            report_progress(count)
        await self._feed.put({complete_key(region): CompleteRecord()})
        return count

    async def _republish_site(self, site: str) -> bool:
        async with self._database.transaction() as tx:
            announcement = await announcements.serve_site_with_redirects(tx, site)
            certificates = await self._build_certificates(tx, site)
        if announcement is None:
            return False
        # Certificates come first: a host must not send visitors to HTTPS before the edge can answer there.
        await self._feed.put({**certificates, **announcement.records}, announcement.version)
        return True

    async def remove_unknown(self, region: str, *, however_many: bool = False) -> int:
        """Delete the records of sites, hosts and certificates that the database does not know, as after a
        restore from a backup. Returns their number.

        Raises TooManyUnknown if it would be a large part of all records: the database may be the wrong one,
        or its restore may not be complete.

        A record is published only after the rows that it is built from have been committed. So rows that are
        looked up now are missing only for records of another past, or for those that are newer than now.
        """
        async with self._database.reading() as tx:
            now = await store.current_version(tx)
        keys = await self._feed.list_keys(region)
        unknown: list[str] = []
        for start in range(0, len(keys), KEYS_AT_ONCE):
            unknown += await self._list_unknown(keys[start : start + KEYS_AT_ONCE])
        if not however_many and len(unknown) > max(FEW_UNKNOWN, len(keys) * LARGE_PART):
            raise TooManyUnknown(region, len(unknown), len(keys))
        for start in range(0, len(unknown), KEYS_AT_ONCE):
            await self._feed.put(dict.fromkeys(unknown[start : start + KEYS_AT_ONCE]), now)
        return len(unknown)

    async def _list_unknown(self, keys: Collection[str]) -> list[str]:
        """Hosts come first: none may refer to an environment that is already deleted."""
        async with self._database.reading() as tx:
            known = await _list_known(tx, keys)
        unknown = [key for key in keys if kind_and_name(key)[0] in known and not _is_known(key, known)]
        # The bucket also lists keys that were deleted lately.
        present = [key for key in unknown if await self._feed.read_record(key) is not None]
        return sorted(present, key=lambda key: kind_and_name(key)[0] != "host")


async def _list_known(tx: Tx, keys: Collection[str]) -> dict[str, set[str]]:
    """By the kind of the record: those names that the database knows."""
    names = _group_names(keys)
    return {
        "host": set(await store.list_known_hosts(tx, names.get("host", []))),
        "environment": set(await store.list_known_environments(tx, names.get("environment", []))),
        "redirects": set(await store.list_known_sites(tx, names.get("redirects", []))),
        "certificate": set(await store.list_known_certificates(tx, names.get("certificate", []))),
    }


def _group_names(keys: Collection[str]) -> dict[str, list[str]]:
    names: dict[str, list[str]] = {}
    for key in keys:
        kind, name = _kind_and_owner(key)
        names.setdefault(kind, []).append(name)
    return names


def _is_known(key: str, known: Mapping[str, set[str]]) -> bool:
    kind, name = _kind_and_owner(key)
    return name in known[kind]


def _kind_and_owner(key: str) -> tuple[str, str]:
    """The name of a part of a site's redirects is the site and a number."""
    kind, name = kind_and_name(key)
    if kind in ("host", "certificate"):
        return kind, host_of_name(name)
    return kind, name.partition(".")[0] if kind == "redirects" else name
