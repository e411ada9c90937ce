"""Queries of the feed, of the components of sites, and of what matches."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from stead.control.engines.postgres import Tx
from stead.control.vulnerabilities.rules import FEED, Record, attribute, rating_of
from stead.protocol.work.cms import AffectedVersions
from stead.protocol.work.scanning import Component
from stead.shared.component_versions import version_key

MATCHES = """
  r.type = v.type and r.slug = v.slug and v.key is not null
  and (v.key > r.from_key or (r.from_inclusive and v.key = r.from_key))
  and (r.to_key is null or v.key < r.to_key or (r.to_inclusive and v.key = r.to_key))
"""
MAX_FINDINGS = 10_000
"""Of an environment that are opened at once: its node decides which components it has."""
MAX_SOURCE = 300
_RANGE_COLUMNS = (
    "vulnerability_id, type, slug, label, from_key, from_inclusive, to_key, to_inclusive, patched,"
    " fixed_version, remediation, name"
)


@dataclass(frozen=True, slots=True)
class FeedState:
    fetched_at: datetime | None
    digest: str
    records: int
    error: str | None
    attribution: dict[str, Any]


@dataclass(frozen=True, slots=True)
class FindingRow:
    id: str
    title: str
    type: str
    name: str
    slug: str
    version: str
    label: str
    fixed_version: str | None
    patched: bool
    score: float | None
    rating: str
    cve: str | None
    remediation: str | None
    record_url: str | None
    copyrights: dict[str, Any]
    opened_at: datetime


@dataclass(frozen=True, slots=True)
class Unannounced:
    site_id: str
    env_id: str
    is_deleted: bool
    account_id: str | None
    team_id: str | None
    domain: str
    found: int
    vulnerability_id: str
    title: str
    rating: str
    record_url: str | None
    copyrights: dict[str, Any]


async def claim_feed(tx: Tx, before: datetime) -> bool:
    """Whether this worker may fetch the feed now. Nobody else does before the interval is over."""
    await tx.run("insert into vulnerability_feeds (name) values ($1) on conflict do nothing", FEED)
    return bool(
        await tx.run(
            "update vulnerability_feeds set claimed_at = $2 where name = $1"
            " and (claimed_at is null or claimed_at <= $3)",
            *(FEED, tx.now, before),
        )
    )


async def find_feed(tx: Tx) -> FeedState | None:
    return await tx.one(
        FeedState,
        "select fetched_at, digest, records, error, attribution from vulnerability_feeds where name = $1",
        FEED,
    )


async def record_failure(tx: Tx, reason: str) -> None:
    await tx.run(
        "update vulnerability_feeds set attempted_at = $2, error = $3 where name = $1", FEED, tx.now, reason
    )


async def record_success(tx: Tx, digest: str, records: int, attribution: dict[str, Any]) -> None:
    await tx.run(
        "update vulnerability_feeds set attempted_at = $2, fetched_at = $2, error = null, digest = $3,"
        " records = $4, attribution = $5 where name = $1",
        *(FEED, tx.now, digest, records, attribution),
    )


async def put_records(tx: Tx, records: Sequence[tuple[Record, str]], generation: int) -> None:
    """Store a batch. A record that has not changed is only marked as seen."""
    known = dict(
        await tx.all(
            lambda id_, digest: (id_, digest),
            "select id, digest from vulnerabilities where id = any($1)",
            [record.id for record, _ in records],
        )
    )
    same = [record.id for record, digest in records if known.get(record.id) == digest]
    await tx.run("update vulnerabilities set generation = $2 where id = any($1)", same, generation)
    changed = {record.id: (record, digest) for record, digest in records if known.get(record.id) != digest}
    if not changed:
        return
    ids = list(changed)
    columns = [_columns_of(record, digest) for record, digest in changed.values()]
    await tx.run(
        "insert into vulnerabilities (id, digest, title, cvss_score, cvss_rating, cve, record_url,"
        " copyrights, generation, matched)"
        " select u.*, $9::bigint, false"
        " from unnest($1::text[], $2::text[], $3::text[], $4::double precision[],"
        " $5::text[], $6::text[], $7::text[], $8::jsonb[]) u"
        " on conflict (id) do update set digest = excluded.digest, title = excluded.title,"
        " cvss_score = excluded.cvss_score, cvss_rating = excluded.cvss_rating, cve = excluded.cve,"
        " record_url = excluded.record_url, copyrights = excluded.copyrights,"
        " generation = excluded.generation, matched = false",
        *([list(each) for each in zip(*columns, strict=True)]),
        generation,
    )
    await tx.run("delete from vulnerability_ranges where vulnerability_id = any($1)", ids)
    rows = [row for record, _ in changed.values() for row in _ranges_of(record)]
    if rows:
        await tx.run(
            f"insert into vulnerability_ranges ({_RANGE_COLUMNS})"  # noqa: S608
            " select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bytea[],"
            " $6::boolean[], $7::bytea[], $8::boolean[], $9::boolean[], $10::text[], $11::text[],"
            " $12::text[])",
            *([list(each) for each in zip(*rows, strict=True)]),
        )


def _columns_of(record: Record, digest: str) -> tuple[object, ...]:
    url = next((each for each in record.references if each.startswith("https://www.wordfence.com/")), None)
    copyrights = record.copyrights if isinstance(record.copyrights, dict) else {}
    score = record.cvss.score if record.cvss else None
    return (
        *(record.id, digest, record.title[:500], score, rating_of(record.cvss), record.cve),
        *(url or next(iter(record.references), None), copyrights),
    )


def _ranges_of(record: Record) -> list[tuple[object, ...]]:
    """A range whose end cannot be read is open there: no site is missed."""
    rows: list[tuple[object, ...]] = []
    for software in record.software:
        ranges = software.affected_versions if isinstance(software.affected_versions, dict) else {}
        for label, each in ranges.items():
            lowest = b"" if each.from_version == "*" else version_key(each.from_version) or b""
            highest = None if each.to_version == "*" else version_key(each.to_version)
            rows.append(
                (
                    *(record.id, software.type.lower(), software.slug.lower(), label[:200]),
                    *(lowest, each.from_inclusive or not lowest, highest, each.to_inclusive),
                    *(software.patched, _first_fixed(software.patched_versions, highest)),
                    *(software.remediation, software.name[:200]),
                )
            )
    return rows


def _first_fixed(versions: Sequence[str], highest: bytes | None) -> str | None:
    """The lowest version after the range that is not affected."""
    keyed = sorted((key, each) for each in versions if (key := version_key(each)) is not None)
    return next((each for key, each in keyed if highest is None or key >= highest), None) or (
        keyed[-1][1] if keyed else None
    )


async def keep(tx: Tx, ids: Sequence[str], generation: int) -> None:
    """Records that are in the feed, and cannot be read."""
    await tx.run("update vulnerabilities set generation = $2 where id = any($1)", list(ids), generation)


async def withdraw_missing(tx: Tx, generation: int, *, limit: int) -> int:
    """Records that are no longer in the feed, and what they have matched."""
    gone = await tx.all(
        str, "select id from vulnerabilities where generation < $1 limit $2", generation, limit
    )
    await tx.run("delete from vulnerability_findings where vulnerability_id = any($1)", gone)
    return await tx.run("delete from vulnerabilities where id = any($1)", gone)


async def replace_components(tx: Tx, site: str, env: str, components: Sequence[Component]) -> None:
    """The components of an environment are these from now on; what they had before is fixed."""
    rows = {(each.type, each.slug, each.version): each for each in components}
    given = list(rows.values())
    lists = [[each.type for each in given], [each.slug for each in given], [each.version for each in given]]
    keys = [version_key(each.version) for each in given]
    await tx.run(
        "insert into component_versions (type, slug, version, key)"
        " select * from unnest($1::text[], $2::text[], $3::text[], $4::bytea[]) order by 1, 2, 3"
        # One that is removed now violates the reference below, and the step is repeated. Locking the others
        # would let the sites of an installation wait for each other.
        " on conflict (type, slug, version) do nothing",
        *(*lists, keys),
    )
    names = [each.name for each in given]
    await tx.run(
        "insert into site_components (env_id, version_id, site_id, name)"
        " select $5, v.id, $6, u.name from unnest($1::text[], $2::text[], $3::text[], $4::text[])"
        " u (type, slug, version, name) join component_versions v using (type, slug, version)"
        " on conflict (env_id, version_id) do update set name = excluded.name",
        *(*lists, names, env, site),
    )
    await tx.run(
        "delete from site_components c using component_versions v where c.env_id = $4 and v.id = c.version_id"
        " and (v.type, v.slug, v.version) not in"
        " (select * from unnest($1::text[], $2::text[], $3::text[]))",
        *(*lists, env),
    )
    await tx.run(
        "insert into component_inventories (env_id, site_id, taken_at) values ($1, $2, $3)"
        " on conflict (env_id) do update set taken_at = $3",
        *(env, site, tx.now),
    )
    await tx.run(
        "update vulnerability_findings f set fixed_at = $2 where f.env_id = $1 and f.fixed_at is null"
        " and not exists (select from site_components c where c.env_id = f.env_id"
        " and c.version_id = f.version_id)",
        *(env, tx.now),
    )
    await tx.run(
        f"""
        insert into vulnerability_findings (env_id, vulnerability_id, version_id, site_id, opened_at,
          announced)
        select distinct c.env_id, r.vulnerability_id, v.id, c.site_id, $2::timestamptz,
          -- Its owner knows it from an earlier version.
          exists (select from vulnerability_findings o where o.env_id = c.env_id
            and o.vulnerability_id = r.vulnerability_id and o.announced)
        from site_components c join component_versions v on v.id = c.version_id
        join vulnerability_ranges r on {MATCHES} where c.env_id = $1 limit {MAX_FINDINGS}
        on conflict (env_id, vulnerability_id, version_id) do update set fixed_at = null
          where vulnerability_findings.fixed_at is not null
        """,  # noqa: S608
        *(env, tx.now),
    )


async def remove_fixed(tx: Tx, env: str, *, kept: int) -> None:
    """Keep the newest findings of the environment that are fixed: its owner decides which versions it names,
    and how often."""
    await tx.run(
        "delete from vulnerability_findings where env_id = $1 and fixed_at < (select fixed_at"
        " from vulnerability_findings where env_id = $1 and fixed_at is not null"
        " order by fixed_at desc offset $2 limit 1)",
        *(env, kept - 1),
    )


async def remove_unused_versions(tx: Tx, after: int, *, limit: int) -> int | None:
    """Look at versions after this one, and remove those that no site has. Returns the last one. Findings in a
    version that is removed are fixed, or will be when their environment is looked at again."""
    ids = await tx.all(
        int, "select id from component_versions where id > $1 order by id limit $2", after, limit
    )
    await tx.run(
        "delete from component_versions v where v.id = any($1)"
        " and not exists (select from site_components c where c.version_id = v.id)",
        ids,
    )
    return ids[-1] if ids else None


async def remove_deleted(tx: Tx, after: str, *, limit: int) -> str | None:
    """Look at environments after this one, and forget the components of those that were deleted and cannot be
    recovered. Returns the last one."""
    found = await tx.all(
        lambda env, is_gone: (env, is_gone),
        "select i.env_id, e.status = 'deleted' and (e.returns_to is null or s.recoverable_until <= $2)"
        " from component_inventories i join environments e on e.id = i.env_id"
        " join sites s on s.id = i.site_id where i.env_id > $1 order by i.env_id limit $3",
        *(after, tx.now, limit),
    )
    gone = [env for env, is_gone in found if is_gone]
    await tx.run("delete from vulnerability_findings where env_id = any($1)", gone)
    await tx.run("delete from site_components where env_id = any($1)", gone)
    await tx.run("delete from component_inventories where env_id = any($1)", gone)
    return found[-1][0] if found else None


async def list_findings(tx: Tx, env: str, *, limit: int) -> list[FindingRow]:
    return await tx.all(
        FindingRow,
        f"""
        select u.id, u.title, v.type, coalesce(nullif(c.name, ''), r.name), v.slug, v.version, r.label,
          r.fixed_version, r.patched, u.cvss_score, u.cvss_rating, u.cve, r.remediation, u.record_url,
          u.copyrights, f.opened_at
        from vulnerability_findings f join vulnerabilities u on u.id = f.vulnerability_id
        join component_versions v on v.id = f.version_id
        left join site_components c on c.env_id = f.env_id and c.version_id = f.version_id
        join lateral (select r.* from vulnerability_ranges r where r.vulnerability_id = u.id and {MATCHES}
          limit 1) r on true
        where f.env_id = $1 and f.fixed_at is null order by u.cvss_score desc nulls last, u.id limit $2
        """,  # noqa: S608
        *(env, limit),
    )


async def list_affected(tx: Tx, type_: str, slug: str, *, limit: int) -> list[AffectedVersions]:
    """The ranges that end last come first. Their titles name the source."""

    def build(title: str, url: str | None, copyrights: dict[str, Any], *rest: Any) -> AffectedVersions:
        source = " ".join(text for text in (url or "", attribute(copyrights, brief=True)) if text)
        return AffectedVersions(f"{title} ({source[:MAX_SOURCE]})" if source else title, *rest)

    return await tx.all(
        build,
        "select u.title, u.record_url, u.copyrights, r.from_key, r.from_inclusive, r.to_key, r.to_inclusive,"
        " coalesce(r.fixed_version, '')"
        " from vulnerability_ranges r join vulnerabilities u on u.id = r.vulnerability_id"
        " where r.type = $1 and r.slug = $2 order by r.to_key desc nulls first, u.id limit $3",
        *(type_, slug, limit),
    )


async def count_ratings(tx: Tx, env: str) -> dict[str, int]:
    return dict(
        await tx.all(
            lambda rating, count: (rating, count),
            "select u.cvss_rating, count(*) from vulnerability_findings f"
            " join vulnerabilities u on u.id = f.vulnerability_id where f.env_id = $1 and f.fixed_at is null"
            " group by u.cvss_rating",
            env,
        )
    )


async def get_inventory(tx: Tx, env: str) -> datetime | None:
    found: datetime | None = await tx.value(
        "select taken_at from component_inventories where env_id = $1", env
    )
    return found


async def list_unknown(tx: Tx, env: str, *, limit: int) -> list[tuple[str, str, str]]:
    """Components whose version is unknown."""
    return await tx.all(
        lambda kind, slug, name: (kind, slug, name),
        "select v.type, v.slug, c.name from site_components c"
        " join component_versions v on v.id = c.version_id where c.env_id = $1"
        " and v.key is null order by v.type, v.slug limit $2",
        *(env, limit),
    )


async def lock_unannounced(tx: Tx) -> Unannounced | None:
    """The findings of one environment that nobody was told about."""
    env: str | None = await tx.value(
        "select env_id from vulnerability_findings where fixed_at is null and not announced"
        " order by opened_at limit 1 for update skip locked"
    )
    if env is None:
        return None
    found = await tx.one(
        Unannounced,
        """
        select s.id, f.env_id, e.status = 'deleted', s.account_id, s.team_id, s.domain, count(*) over (),
          u.id, u.title, u.cvss_rating, u.record_url, u.copyrights
        from vulnerability_findings f join vulnerabilities u on u.id = f.vulnerability_id
        join environments e on e.id = f.env_id join sites s on s.id = f.site_id
        where f.env_id = $1 and f.fixed_at is null and not f.announced
        order by u.cvss_score desc nulls last, u.id limit 1
        """,
        env,
    )
    await tx.run(
        "update vulnerability_findings set announced = true where env_id = $1 and fixed_at is null"
        " and not announced",
        env,
    )
    return found
