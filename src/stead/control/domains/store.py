"""Rows of domains. A row of a name that was given up stays for 30 days: it says who had the name."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from stead.control.domains.names import get_base, is_wildcard, list_wildcards_above
from stead.control.domains.rules import (
    LATELY,
    NOT_LOOKED_UP,
    Claim,
    DomainStatus,
    NewClaim,
    ServedName,
    VisibleDomain,
)
from stead.control.engines.postgres import Tx
from stead.control.environments.rules import VisibleEnvironment
from stead.control.http.pagination import PageRequest
from stead.control.http.principal import Mode

_OWNER = "coalesce(s.team_id, s.account_id)"
_CLAIM = (
    f"d.id, d.hostname, d.site_id, d.env_id, d.mode, s.region, coalesce(d.released_by, {_OWNER}), d.status,"
    " d.reason, d.challenge, d.pending_since, d.attempts, d.next_check_at, d.released_at is not null"
)
_CLAIMS = f"select {_CLAIM} from domains d join sites s on s.id = d.site_id"  # noqa: S608 - constants only
_IS_HELD = "(s.status <> 'deleted' or coalesce(s.recoverable_until > $1, false))"
"""A deleted site keeps its names while it can be recovered."""
_AT_ONCE = 2
"""Names of one owner that are looked up at the same time."""
_BUSY = (
    f"with busy as (select {_OWNER} as owner, count(*) as leased"  # noqa: S608 - constants only
    " from domains d join sites s on s.id = d.site_id where d.lease_until > $1 group by 1)"
)
_DUE = (
    f"from domains d join sites s on s.id = d.site_id left join busy on busy.owner = {_OWNER}"
    " where d.next_check_at <= $1 and (d.lease_until is null or d.lease_until <= $1)"
    " and (s.status <> 'deleted' or d.released_at is not null) and coalesce(busy.leased, 0) < $2"
)
"""Domains that may be leased now, after `_BUSY`."""


class DomainRow(NamedTuple):
    """A domain as it is shown, without its certificate."""

    id: str
    hostname: str
    site_id: str
    is_primary: bool
    redirect_to_primary: bool
    status: DomainStatus
    reason: str | None
    challenge: str
    proved_by_record: bool
    created_at: datetime


_ROW = ", ".join(f"d.{field}" for field in DomainRow._fields)


async def find(tx: Tx, env: VisibleEnvironment, domain: str) -> VisibleDomain | None:
    return await tx.one(
        VisibleDomain,
        "select id, hostname, is_primary, status, requested_at from domains"
        " where env_id = $1 and id = $2 and released_at is null",
        env.id,
        domain,
    )


async def get_row(tx: Tx, domain: str) -> DomainRow | None:
    return await tx.one(DomainRow, f"select {_ROW} from domains d where d.id = $1", domain)  # noqa: S608


async def page(tx: Tx, env: VisibleEnvironment, request: PageRequest) -> Any:
    return await request.fetch(
        tx,
        DomainRow,
        f"select {_ROW} from domains d where d.env_id = $1 and d.released_at is null"  # noqa: S608
        " and d.id < $2 order by d.id desc limit $3",
        env.id,
    )


async def lock_hostnames(tx: Tx, hostnames: Collection[str]) -> None:
    """Only one transaction at a time decides who has a name. Whoever decides about a wildcard waits for those
    who decide about names below it. The order is the same for all, so that no two wait for each other."""
    above = {each for hostname in hostnames for each in list_wildcards_above(hostname)} - set(hostnames)
    for name in sorted({*hostnames, *above}):
        lock = "pg_advisory_xact_lock_shared" if name in above else "pg_advisory_xact_lock"
        await tx.run(f"select {lock}(hashtextextended('domain:' || $1, 0))", name)


async def insert(tx: Tx, domain: str, claim: NewClaim, challenge: str, *, verified: bool) -> None:
    await tx.run(
        "insert into domains (id, hostname, site_id, env_id, mode, is_primary, redirect_to_primary, status,"
        " reason, challenge, verified_at, pending_since, next_check_at, created_at, proved_by_record)"
        " values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $12, $14)",
        *(domain, claim.hostname, claim.site_id, claim.env_id, claim.mode, claim.is_primary),
        *(claim.redirect_to_primary, "verified" if verified else "pending"),
        *(None if verified else NOT_LOOKED_UP, challenge, tx.now if verified else None, tx.now),
        *(None if verified else tx.now, verified),
    )


async def count_of_site(tx: Tx, site: str) -> int:
    return int(
        await tx.value("select count(*) from domains where site_id = $1 and released_at is null", site)
    )


async def release_expired(tx: Tx, hostname: str) -> None:
    """Release the name of a site that was deleted and can no longer be recovered."""
    await tx.run(
        f"update domains d set released_at = coalesce(s.recoverable_until, $1), released_by = {_OWNER},"  # noqa: S608
        " is_primary = false, next_check_at = null from sites s where s.id = d.site_id and d.hostname = $2"
        f" and d.status = 'verified' and d.released_at is null and not {_IS_HELD}",
        tx.now,
        hostname,
    )
    await tx.run(
        "delete from domains d using sites s where s.id = d.site_id and d.hostname = $2"  # noqa: S608
        f" and d.status <> 'verified' and not {_IS_HELD}",
        tx.now,
        hostname,
    )


class Rival(NamedTuple):
    """Another row of the same name."""

    id: str
    site_id: str
    owner: str
    is_verified: bool
    of_deleted_site: bool
    is_released: bool


async def list_rivals(tx: Tx, hostname: str, mode: Mode, *, besides: str = "") -> list[Rival]:
    """The claims of a name, and names that were given up and are still being withdrawn from the edges."""
    return await tx.all(
        Rival,
        f"select d.id, d.site_id, coalesce(d.released_by, {_OWNER}), d.status = 'verified',"  # noqa: S608
        " s.status = 'deleted', d.released_at is not null from domains d join sites s on s.id = d.site_id"
        " where d.hostname = $1 and d.mode = $2 and d.id <> $3"
        " and (d.released_at is null or d.next_check_at is not null) order by d.id",
        *(hostname, mode, besides),
    )


async def overlaps_another(tx: Tx, hostname: str, owner: str, mode: Mode, *, besides: str = "") -> bool:
    """Whether another owner has a wildcard that the name is below, or a name below this wildcard. The
    site `besides` is left out."""
    # Names are compared backwards, so that an index finds those that end with the base.
    below = f"{get_base(hostname)[::-1]}." if is_wildcard(hostname) else ""
    another = (
        "select from domains d join sites s on s.id = d.site_id where d.mode = $2 and d.status = 'verified'"
        f" and d.released_at is null and {_IS_HELD} and {_OWNER} <> $3 and d.site_id <> $4"
    )
    return bool(
        await tx.value(
            f"select exists ({another} and d.hostname = any($5)) or exists ({another} and d.hostname <> $6"
            ' and reverse(d.hostname) collate "C" >= $7 and reverse(d.hostname) collate "C" < $8)',
            *(tx.now, mode, owner, besides, list_wildcards_above(hostname), hostname),
            *(below, f"{below[:-1]}/" if below else ""),
        )
    )


async def find_challenge(tx: Tx, site: str, hostname: str) -> str | None:
    """The value of the TXT record of a domain of the site."""
    return await tx.one(
        str,
        "select challenge from domains where site_id = $1 and hostname = $2 and released_at is null",
        *(site, hostname),
    )


async def belonged_to_another(tx: Tx, hostnames: Sequence[str], owner: str) -> bool:
    """Whether another owner has one of these live names, or had it in the last 30 days."""
    return bool(
        await tx.value(
            "select exists (select from domains d join sites s on s.id = d.site_id"  # noqa: S608
            " where d.hostname = any($1) and d.mode = 'live' and d.status = 'verified'"
            f" and coalesce(d.released_by, {_OWNER}) <> $2"
            " and coalesce(d.released_at, case when s.status = 'deleted' then s.recoverable_until end, $3)"
            " > $3 - $4::interval)",
            *(list(hostnames), owner, tx.now, LATELY),
        )
    )


async def delete(tx: Tx, domain: str) -> None:
    await tx.run("delete from domains where id = $1", domain)


async def get_claim(tx: Tx, domain: str) -> Claim | None:
    return await tx.one(Claim, f"{_CLAIMS} where d.id = $1", domain)


async def list_claims(tx: Tx, domains: Sequence[str]) -> list[Claim]:
    return await tx.all(
        Claim, f"{_CLAIMS} where d.id = any($1) and d.released_at is null order by d.id", list(domains)
    )


async def list_claims_of_site(tx: Tx, site: str) -> list[Claim]:
    return await tx.all(
        Claim, f"{_CLAIMS} where d.site_id = $1 and d.released_at is null order by d.id", site
    )


async def list_claims_of_environment(tx: Tx, env: str) -> list[Claim]:
    return await tx.all(Claim, f"{_CLAIMS} where d.env_id = $1 and d.released_at is null order by d.id", env)


async def list_served(tx: Tx, env: str) -> list[ServedName]:
    """The verified names of an environment, the primary one first."""
    return await tx.all(
        ServedName,
        "select d.hostname, case when d.redirect_to_primary then coalesce(p.hostname, '') else '' end"
        " from domains d left join domains p on p.site_id = d.site_id and p.is_primary"
        " and p.status = 'verified' and p.released_at is null"
        " where d.env_id = $1 and d.status = 'verified' and d.released_at is null"
        " order by d.is_primary desc, d.id",
        env,
    )


async def list_hostnames(tx: Tx, site: str) -> list[str]:
    return await tx.all(
        str, "select hostname from domains where site_id = $1 and released_at is null order by id", site
    )


async def get_primary(tx: Tx, site: str) -> DomainRow | None:
    return await tx.one(
        DomainRow,
        f"select {_ROW} from domains d"  # noqa: S608
        " where d.site_id = $1 and d.is_primary and d.released_at is null",
        site,
    )


async def set_primary(tx: Tx, site: str, domain: str) -> str | None:
    """Make a domain the primary one. Returns its name; None if the site no longer has it."""
    hostname: str | None = await tx.value(
        "select hostname from domains where id = $1 and site_id = $2 and released_at is null for update",
        domain,
        site,
    )
    if hostname is not None:
        await tx.run(
            "update domains set is_primary = false where site_id = $1 and is_primary and id <> $2",
            site,
            domain,
        )
        await tx.run(
            "update domains set is_primary = true, redirect_to_primary = false where id = $1", domain
        )
        await tx.run("update sites set domain = $2 where id = $1", site, hostname)
    return hostname


async def release(tx: Tx, claim: Claim, *, withdraw: bool) -> None:
    """Give a verified name up. `withdraw` has a worker remove it from the edges."""
    await tx.run(
        "update domains set released_at = $2, released_by = $3, is_primary = false,"
        " next_check_at = $4 where id = $1 and released_at is null",
        *(claim.id, tx.now, claim.owner, tx.now if withdraw else None),
    )


async def remove_forgotten(tx: Tx) -> int:
    """Delete the rows of names that were given up so long ago that it no longer matters who had them."""
    return await tx.run(
        "delete from domains where released_at <= $1::timestamptz - $2::interval and next_check_at is null",
        tx.now,
        LATELY,
    )


async def request_check(tx: Tx, domain: str) -> None:
    """Look the name up as soon as possible. One that had failed is pending again."""
    await tx.run(
        "update domains set requested_at = $2, next_check_at = $2, attempts = 0,"
        " pending_since = case when status = 'failed' then $2 else pending_since end,"
        " status = 'pending' where id = $1 and status <> 'verified'",
        domain,
        tx.now,
    )


async def schedule_checks(tx: Tx, site: str, at: datetime | None) -> None:
    """Of the pending names of a site. None: they are not looked up."""
    await tx.run(
        "update domains set next_check_at = $2 where site_id = $1 and status = 'pending'"
        " and released_at is null",
        site,
        at,
    )


async def claim_due(tx: Tx, until: datetime) -> Claim | None:
    """Lease a domain that is due. Owners take turns, and none has more than two leases at a time.

    One worker at a time chooses: two would not see each other's leases. They ask every second, so they wait
    for each other only if there is something to lease.
    """
    if not await tx.value(f"{_BUSY} select exists (select {_DUE})", tx.now, _AT_ONCE):
        return None
    await tx.run("select pg_advisory_xact_lock(hashtext('domains.claim'))")
    domain = await tx.value(
        f"{_BUSY} select d.id {_DUE}"
        " order by coalesce(busy.leased, 0), d.next_check_at limit 1 for update of d skip locked",
        tx.now,
        _AT_ONCE,
    )
    if domain is None:
        return None
    await tx.run("update domains set lease_until = $2 where id = $1", domain, until)
    return await get_claim(tx, domain)


async def mark_verified(tx: Tx, domain: str, *, by_record: bool) -> None:
    await tx.run(
        "update domains set status = 'verified', verified_at = $2, reason = null, attempts = 0,"
        " next_check_at = $2, proved_by_record = $3 where id = $1",
        *(domain, tx.now, by_record),
    )


async def mark_proved(tx: Tx, domain: str) -> None:
    await tx.run("update domains set proved_by_record = true where id = $1 and status = 'verified'", domain)


async def record_attempt(tx: Tx, claim: Claim, reason: str, next_check_at: datetime) -> None:
    """A check that was requested during this one is not lost: it has changed the time."""
    await tx.run(
        "update domains set reason = $2, attempts = attempts + 1, lease_until = null,"
        " next_check_at = case when next_check_at = $4 then $3 else next_check_at end"
        " where id = $1 and status = 'pending'",
        *(claim.id, reason, next_check_at, claim.next_check_at),
    )


async def mark_failed(tx: Tx, domain: str, reason: str) -> None:
    await tx.run(
        "update domains set status = 'failed', reason = $2, next_check_at = null, lease_until = null"
        " where id = $1 and status = 'pending'",
        domain,
        reason,
    )


async def postpone(tx: Tx, claim: Claim, until: datetime | None) -> None:
    """End the lease. `until` is when to continue; None when nothing is left to do. A name that was given up
    since it was claimed stays due: it must be withdrawn."""
    await tx.run(
        "update domains set lease_until = null, next_check_at ="
        " case when (released_at is not null) = $3 then $2 else next_check_at end where id = $1",
        *(claim.id, until, claim.is_released),
    )
