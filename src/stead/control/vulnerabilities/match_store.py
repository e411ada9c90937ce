"""Matches records that are new or changed with the components of all sites.

A plugin may be on every site, and a statement has a few seconds: each changes a limited number of findings.
"""

from collections import Counter
from dataclasses import dataclass
from itertools import accumulate, takewhile

from stead.control.engines.postgres import Tx
from stead.control.vulnerabilities.store import MATCHES

MAX_FINDINGS = 5000
"""What a statement changes at most."""

_OPEN = """
  insert into vulnerability_findings (env_id, vulnerability_id, version_id, site_id, opened_at)
  select c.env_id, p.vulnerability_id, p.version_id, c.site_id, $3::timestamptz
  from unnest($1::text[], $2::bigint[]) p (vulnerability_id, version_id)
  join site_components c on c.version_id = p.version_id
"""
_AGAIN = """
  on conflict (env_id, vulnerability_id, version_id) do update set fixed_at = null
    where vulnerability_findings.fixed_at is not null
"""
_IS_MISSING = """
  where not exists (select from vulnerability_findings f where f.env_id = c.env_id
    and f.vulnerability_id = p.vulnerability_id and f.version_id = p.version_id and f.fixed_at is null)
"""


@dataclass(frozen=True, slots=True)
class Affected:
    """A version of a component that a record is about."""

    vulnerability_id: str
    version_id: int


async def match_new(tx: Tx, *, limit: int) -> int:
    """Match at most so many records, or a part of one. Returns 0 when all are matched."""
    ids = await tx.all(
        str,
        "select id from vulnerabilities where not matched order by id limit $1 for update skip locked",
        limit,
    )
    if not ids:
        return 0
    affected = await tx.all(
        Affected,
        f"""
        select distinct r.vulnerability_id, v.id
        from vulnerability_ranges r join component_versions v on {MATCHES} where r.vulnerability_id = any($1)
        """,  # noqa: S608
        ids,
    )
    counts = await _count_components(tx, affected)
    totals = accumulate(counts[each] for each in ids)
    fitting = ids[: len(list(takewhile(lambda total: total <= MAX_FINDINGS, totals)))]
    chosen = fitting or ids[:1]
    if not fitting and await _open(tx, affected, chosen, f"{_IS_MISSING} limit {MAX_FINDINGS}"):
        return len(chosen)
    # Before findings are opened, because it reads all that are open.
    fixed = await _mark_fixed(tx, affected, chosen)
    if fitting:
        await _open(tx, affected, chosen)
    if fixed < MAX_FINDINGS:
        await tx.run("update vulnerabilities set matched = true where id = any($1)", chosen)
    return len(chosen)


async def _open(tx: Tx, affected: list[Affected], chosen: list[str], part: str = "") -> int:
    """Open the findings of these records, or a part of them."""
    wanted = set(chosen)
    of_chosen = [each for each in affected if each.vulnerability_id in wanted]
    return await tx.run(
        f"{_OPEN} {part} {_AGAIN}",
        [each.vulnerability_id for each in of_chosen],
        [each.version_id for each in of_chosen],
        tx.now,
    )


async def _mark_fixed(tx: Tx, affected: list[Affected], ids: list[str]) -> int:
    """Findings in versions that these records are no longer about. Most records have none, which is cheap to
    see. A finding may also be newer than `affected`, so the ranges decide."""
    found = await tx.all(
        Affected,
        "select distinct vulnerability_id, version_id from vulnerability_findings"
        " where vulnerability_id = any($1) and fixed_at is null",
        ids,
    )
    gone = set(found) - set(affected)
    if not gone:
        return 0
    return await tx.run(
        f"""
        update vulnerability_findings set fixed_at = $2
        where (env_id, vulnerability_id, version_id) in (
          select f.env_id, f.vulnerability_id, f.version_id from vulnerability_findings f
          where f.vulnerability_id = any($1) and f.version_id = any($3) and f.fixed_at is null
          and not exists (
            select from component_versions v join vulnerability_ranges r on {MATCHES}
            where v.id = f.version_id and r.vulnerability_id = f.vulnerability_id)
          limit {MAX_FINDINGS})
        """,  # noqa: S608
        list({each.vulnerability_id for each in gone}),
        tx.now,
        list({each.version_id for each in gone}),
    )


async def _count_components(tx: Tx, affected: list[Affected]) -> Counter[str]:
    """How many components of sites each record is about."""
    versions = dict(
        await tx.all(
            lambda version, count: (version, count),
            "select u.id, (select count(*) from site_components c where c.version_id = u.id)"
            " from unnest($1::bigint[]) u (id)",
            list({each.version_id for each in affected}),
        )
    )
    found: Counter[str] = Counter()
    for each in affected:
        found[each.vulnerability_id] += versions[each.version_id]
    return found
