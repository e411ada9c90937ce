"""Rows of certificates and of the accounts at certificate authorities."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from stead.control.certificates.rules import (
    FIRST_CHECK_DELAY,
    ORDERS_PERIOD,
    ClaimedCertificate,
    Issued,
    Problem,
    State,
)
from stead.control.certificates.schema import TlsView
from stead.control.engines.postgres import Tx

_AT_ONCE = 4
"""Certificates of one owner that are processed at the same time, by all workers together."""
_OWNER = "coalesce(s.team_id, s.account_id)"
_BUSY = (
    f"with busy as (select {_OWNER} as owner, count(*) as leased"  # noqa: S608 - constants only
    " from certificates c join sites s on s.id = c.site_id where c.lease_until > $1 group by 1)"
)
_DUE = (
    f"from certificates c join sites s on s.id = c.site_id left join busy on busy.owner = {_OWNER}"
    " where c.next_attempt_at <= $1 and (c.lease_until is null or c.lease_until <= $1)"
    " and coalesce(busy.leased, 0) < $2"
)
"""Certificates that may be leased now, after `_BUSY`."""
_CLAIMED = (
    "c.host, c.site_id, c.region, c.state, c.error_code, c.chain, c.sealed_key, c.expires_at, c.stage,"
    " c.told_region, c.order_uri, c.order_key, c.challenge, c.forgotten, c.attempts"
)


async def request_certificate(tx: Tx, site: str, host: str, region: str) -> None:
    """Request a certificate, or request it again.

    A host that is requested again keeps its certificate, which is published again if the region changed. A
    failed issuance is retried at once, unless a rate limit of the authority was reached.
    """
    await tx.run(
        "insert into certificates as c (host, site_id, region, next_attempt_at, created_at)"
        " values ($1, $2, $3, $4, $4) on conflict (host) do update set site_id = $2, region = $3,"
        " forgotten = false,"
        " stage = case when (c.forgotten or c.region <> $3) and c.chain is not null then 'stored'"
        " else c.stage end,"
        " served_since = case when c.forgotten or c.region <> $3 then null else c.served_since end,"
        " next_attempt_at = case when c.forgotten or c.region <> $3"
        " or c.error_code is not null and c.error_code <> 'ca_rate_limited'"
        " then least(c.next_attempt_at, $4) else c.next_attempt_at end",
        host,
        site,
        region,
        tx.now,
    )


async def mark_for_removal(tx: Tx, host: str) -> None:
    """The row stays until the edges have deleted the certificate too."""
    await tx.run(
        "update certificates set forgotten = true, served_since = null, next_attempt_at = $2 where host = $1",
        host,
        tx.now,
    )


async def has_served_certificate(tx: Tx, host: str) -> bool:
    return bool(
        await tx.value(
            "select served_since is not null and expires_at > $2 from certificates where host = $1",
            host,
            tx.now,
        )
    )


async def list_views(tx: Tx, site: str, hosts: Sequence[str]) -> list[TlsView]:
    """A certificate past its end is shown as expired even before it is marked so."""
    return await tx.all(
        _build_view,
        "select host, case when state = 'valid' and expires_at <= $3 then 'expired' else state end,"
        " ca, issued_at, expires_at, error, error_code"
        " from certificates where host = any($2) and site_id = $1 and not forgotten",
        site,
        list(hosts),
        tx.now,
    )


def _build_view(host: str, state: State, ca: str | None, *rest: Any) -> TlsView:
    issued_at, expires_at, error, code = rest
    failure = {} if error is None else {"error": error, "error_code": code}
    return TlsView(host, state, ca, issued_at, expires_at, **failure)


@dataclass(frozen=True, slots=True)
class PublishedCertificate:
    host: str
    region: str
    chain: str
    sealed_key: bytes


async def list_published(tx: Tx, site: str) -> list[PublishedCertificate]:
    """The certificates of a site that the edges of its region have received."""
    return await tx.all(
        PublishedCertificate,
        "select host, region, chain, sealed_key from certificates where site_id = $1"
        " and told_region = region and chain is not null and not forgotten order by host",
        site,
    )


async def enroll(tx: Tx) -> int:
    """Queue the hosts that were requested while no certificate authority was configured."""
    return await tx.run("update certificates set state = 'not_registered' where state = 'unconfigured'")


async def list_expired(tx: Tx) -> list[tuple[str, str]]:
    """Hosts, with their sites, whose certificate has expired but is not marked so."""
    return await tx.all(
        lambda *row: row,
        "select host, site_id from certificates"
        " where state = 'valid' and expires_at <= $1 and not forgotten order by expires_at limit 100",
        tx.now,
    )


async def mark_expired(tx: Tx, host: str) -> bool:
    """Returns False if another worker has already marked it."""
    changed = await tx.run(
        "update certificates set state = 'expired'"
        " where host = $1 and state = 'valid' and expires_at <= $2 and not forgotten",
        host,
        tx.now,
    )
    return changed == 1


async def get_owner(tx: Tx, site: str) -> tuple[str | None, str | None]:
    """The account and the team of a site."""
    found = await tx.one(lambda *row: row, "select account_id, team_id from sites where id = $1", site)
    return found or (None, None)


async def claim(tx: Tx, holder: str, until: datetime) -> ClaimedCertificate | None:
    """Lease the certificate that has been due the longest, of an owner who does not have too many leases.

    One worker at a time chooses: two would not see each other's leases. They wait for each other only if
    there is something to lease.
    """
    if not await tx.value(f"{_BUSY} select exists (select {_DUE})", tx.now, _AT_ONCE):
        return None
    await tx.run("select pg_advisory_xact_lock(hashtext('certificates.claim'))")
    return await tx.one(
        ClaimedCertificate,
        f"{_BUSY}, chosen as (select c.host {_DUE}"  # noqa: S608
        " order by c.next_attempt_at limit 1 for update of c skip locked)"
        " update certificates c set lease_holder = $3, lease_until = $4,"
        " state = case when c.state in ('unconfigured', 'not_registered') then 'pending' else c.state end"
        f" from chosen where c.host = chosen.host returning {_CLAIMED}",
        *(tx.now, _AT_ONCE, holder, until),
    )


async def release(tx: Tx, host: str, holder: str) -> None:
    await tx.run(
        "update certificates set lease_holder = null, lease_until = null"
        " where host = $1 and lease_holder = $2",
        host,
        holder,
    )


async def count_orders(tx: Tx, owner: str) -> tuple[int, datetime | None]:
    """How many orders of the owner count toward the limit, and when the first of them was placed."""
    found = await tx.one(
        lambda *row: row,
        "select count(*), min(placed_at) from certificate_orders where owner = $1 and placed_at > $2",
        *(owner, tx.now - ORDERS_PERIOD),
    )
    return found or (0, None)


async def add_order(tx: Tx, owner: str) -> None:
    await tx.run("insert into certificate_orders (owner, placed_at) values ($1, $2)", owner, tx.now)


async def delete_old_orders(tx: Tx) -> int:
    return await tx.run("delete from certificate_orders where placed_at <= $1", tx.now - ORDERS_PERIOD)


async def record_order(tx: Tx, claimed: ClaimedCertificate, holder: str, uri: str, sealed_key: bytes) -> bool:
    return await _update(tx, claimed, holder, "order_uri = $6, order_key = $7", uri, sealed_key)


async def record_challenge(tx: Tx, claimed: ClaimedCertificate, holder: str, challenge: str | None) -> bool:
    return await _update(tx, claimed, holder, "challenge = $6", challenge)


async def record_issued(
    tx: Tx, claimed: ClaimedCertificate, holder: str, issued: Issued, sealed_key: bytes
) -> bool:
    """The certificate replaces the previous one; it is not published yet."""
    return await _update(
        tx,
        claimed,
        holder,
        "ca = $6, chain = $7, sealed_key = $8, issued_at = $9, expires_at = $10, state = 'valid',"
        " error_code = null, error = null, attempts = 0, stage = 'stored',"
        " order_uri = null, order_key = null, renewal_check_at = $11",
        *(issued.ca, issued.chain, sealed_key, issued.issued_at, issued.expires_at),
        tx.now + FIRST_CHECK_DELAY,
    )


async def record_publishing(tx: Tx, claimed: ClaimedCertificate, holder: str) -> bool:
    return await _update(tx, claimed, holder, "told_region = region")


async def record_published(tx: Tx, claimed: ClaimedCertificate, holder: str) -> bool:
    since = "served_since = coalesce(served_since, $6)"
    return await _update(tx, claimed, holder, f"stage = 'told', {since}", tx.now)


async def get_validity(tx: Tx, host: str) -> tuple[datetime, datetime]:
    """When the certificate was issued and when it expires."""
    found = await tx.one(
        lambda *row: row, "select issued_at, expires_at from certificates where host = $1", host
    )
    if found is None:
        raise LookupError("the certificate was deleted")
    return found


async def record_completed(
    tx: Tx, claimed: ClaimedCertificate, holder: str, next_attempt_at: datetime
) -> bool:
    return await _update(
        tx,
        claimed,
        holder,
        "stage = 'settled', next_attempt_at = $6, attempts = 0, error_code = null, error = null,"
        " lease_holder = null, lease_until = null",
        next_attempt_at,
    )


async def record_failure(
    tx: Tx,
    claimed: ClaimedCertificate,
    holder: str,
    problem: Problem,
    next_attempt_at: datetime,
    *,
    keep_order: bool,
    is_attempt: bool,
) -> bool:
    """A certificate that was issued before is not changed."""
    return await _update(
        tx,
        claimed,
        holder,
        "error_code = $6, error = $7, attempts = attempts + $10, next_attempt_at = $8,"
        " order_uri = case when $9 then order_uri end, order_key = case when $9 then order_key end,"
        " lease_holder = null, lease_until = null",
        *(problem.reason, problem.message, next_attempt_at, keep_order, int(is_attempt)),
    )


async def _update(tx: Tx, claimed: ClaimedCertificate, holder: str, changes: str, *values: object) -> bool:
    """Update only under the lease, and only if site, region and removal have not changed since the claim."""
    changed = await tx.run(
        f"update certificates set {changes} where host = $1 and lease_holder = $2"  # noqa: S608
        " and site_id = $3 and region = $4 and forgotten = $5",
        *(claimed.host, holder, claimed.site_id, claimed.region, claimed.removed),
        *values,
    )
    return changed == 1


async def delete(tx: Tx, host: str, holder: str) -> None:
    """If the certificate was requested again in the meantime, release it: it must be published again."""
    deleted = await tx.run(
        "delete from certificates where host = $1 and lease_holder = $2 and forgotten", host, holder
    )
    if not deleted:
        await release(tx, host, holder)


@dataclass(frozen=True, slots=True)
class RenewalCheck:
    """A certificate for which the authority is asked when to renew it. `planned` is when it is due so far."""

    host: str
    chain: str
    planned: datetime


_WAITS_FOR_RENEWAL = (
    "state = 'valid' and stage = 'settled' and error_code is null and not forgotten and next_attempt_at > $1"
)
"""A renewal that has failed is not included: it is retried when the authority's limits allow it."""


async def claim_renewal_checks(tx: Tx, limit: int, until: datetime) -> list[RenewalCheck]:
    """Lease certificates that are due for a check; other workers leave them alone until then."""
    return await tx.all(
        RenewalCheck,
        "update certificates set renewal_check_at = $3 where host in (select host from certificates"  # noqa: S608
        f" where renewal_check_at <= $1 and {_WAITS_FOR_RENEWAL}"
        " order by renewal_check_at limit $2 for update skip locked)"
        " returning host, chain, next_attempt_at",
        tx.now,
        limit,
        until,
    )


async def record_renewal_check(
    tx: Tx, check: RenewalCheck, renewal: datetime, next_check_at: datetime
) -> bool:
    """Returns False if the certificate was renewed, has become due or was removed in the meantime."""
    changed = await tx.run(
        "update certificates set next_attempt_at = least(next_attempt_at, $4), renewal_check_at = $5"  # noqa: S608
        f" where host = $2 and chain = $3 and {_WAITS_FOR_RENEWAL}",
        *(tx.now, check.host, check.chain, renewal, next_check_at),
    )
    return changed == 1


async def get_account(tx: Tx, directory: str) -> tuple[bytes, str | None] | None:
    """The sealed key of the account at this authority, and its URI if it is registered."""
    return await tx.one(
        lambda *row: row, "select sealed_key, uri from acme_accounts where directory = $1", directory
    )


async def add_account(tx: Tx, directory: str, sealed_key: bytes) -> None:
    """If two workers add one at the same time, the first is kept."""
    await tx.run(
        "insert into acme_accounts (directory, sealed_key, created_at) values ($1, $2, $3)"
        " on conflict (directory) do nothing",
        directory,
        sealed_key,
        tx.now,
    )


async def record_registration(tx: Tx, directory: str, uri: str) -> None:
    await tx.run("update acme_accounts set uri = $2 where directory = $1", directory, uri)
