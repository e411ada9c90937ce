"""Rows of certificates and of the accounts with certificate authorities."""

from datetime import datetime
from typing import Any

from stead.control.certificates.rules import Issued, Problem, State, Wish
from stead.control.certificates.schema import TlsView
from stead.control.engines.postgres import Tx

_WISH = ", ".join(f"c.{field}" for field in Wish.__slots__)


async def request_certificate(tx: Tx, site: str, host: str, region: str) -> None:
    """A host that is wanted again keeps its certificate, which edges elsewhere must be told of; one that
    failed is tried again at once, unless the authority asked for patience."""
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
    """The row stays until the edges have forgotten it too."""
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


async def view(tx: Tx, site: str, host: str) -> TlsView | None:
    """A certificate past its end is expired, whether or not anybody has noticed."""
    return await tx.one(
        _view,
        "select host, case when state = 'valid' and expires_at <= $3 then 'expired' else state end,"
        " ca, issued_at, expires_at, error, error_code"
        " from certificates where host = $2 and site_id = $1 and not forgotten",
        site,
        host,
        tx.now,
    )


def _view(host: str, state: State, ca: str | None, *rest: Any) -> TlsView:
    issued_at, expires_at, error, code = rest
    shown = {} if error is None else {"error": error, "error_code": code}
    return TlsView(host, state, ca, issued_at, expires_at, **shown)


async def enroll(tx: Tx) -> int:
    """Whatever was wanted while nobody issued certificates is in line now."""
    return await tx.run("update certificates set state = 'not_registered' where state = 'unconfigured'")


async def ended(tx: Tx) -> list[tuple[str, str]]:
    """Hosts, and their sites, whose certificate has ended and of which nobody was told."""
    return await tx.all(
        lambda *row: row,
        "select host, site_id from certificates"
        " where state = 'valid' and expires_at <= $1 and not forgotten order by expires_at limit 100",
        tx.now,
    )


async def expire(tx: Tx, host: str) -> bool:
    """Whether it was this caller who noticed."""
    changed = await tx.run(
        "update certificates set state = 'expired'"
        " where host = $1 and state = 'valid' and expires_at <= $2 and not forgotten",
        host,
        tx.now,
    )
    return changed == 1


async def owner_of(tx: Tx, site: str) -> tuple[str | None, str | None]:
    """Account and team."""
    found = await tx.one(lambda *row: row, "select account_id, team_id from sites where id = $1", site)
    return found or (None, None)


async def claim(tx: Tx, holder: str, until: datetime) -> Wish | None:
    """The one that has been due the longest and that nobody works on."""
    return await tx.one(
        Wish,
        "update certificates c set lease_holder = $1, lease_until = $2,"  # noqa: S608
        " state = case when state in ('unconfigured', 'not_registered') then 'pending' else state end"
        " where host = (select host from certificates where next_attempt_at <= $3"
        " and (lease_until is null or lease_until <= $3)"
        f" order by next_attempt_at limit 1 for update skip locked) returning {_WISH}",
        holder,
        until,
        tx.now,
    )


async def release(tx: Tx, host: str, holder: str) -> None:
    await tx.run(
        "update certificates set lease_holder = null, lease_until = null"
        " where host = $1 and lease_holder = $2",
        host,
        holder,
    )


async def note_order(tx: Tx, wish: Wish, holder: str, uri: str | None, sealed_key: bytes | None) -> bool:
    return await _noted(tx, wish, holder, "order_uri = $6, order_key = $7", uri, sealed_key)


async def note_challenge(tx: Tx, wish: Wish, holder: str, challenge: str | None) -> bool:
    return await _noted(tx, wish, holder, "challenge = $6", challenge)


async def note_issued(tx: Tx, wish: Wish, holder: str, issued: Issued, sealed_key: bytes) -> bool:
    """The certificate replaces the one before; the edges have to be told of it yet."""
    return await _noted(
        tx,
        wish,
        holder,
        "ca = $6, chain = $7, sealed_key = $8, issued_at = $9, expires_at = $10, state = 'valid',"
        " error_code = null, error = null, attempts = 0, stage = 'stored',"
        " order_uri = null, order_key = null",
        *(issued.ca, issued.chain, sealed_key, issued.issued_at, issued.expires_at),
    )


async def note_telling(tx: Tx, wish: Wish, holder: str) -> bool:
    return await _noted(tx, wish, holder, "told_region = region")


async def note_told(tx: Tx, wish: Wish, holder: str) -> bool:
    since = "served_since = coalesce(served_since, $6)"
    return await _noted(tx, wish, holder, f"stage = 'told', {since}", tx.now)


async def life_of(tx: Tx, host: str) -> tuple[datetime, datetime]:
    found = await tx.one(
        lambda *row: row, "select issued_at, expires_at from certificates where host = $1", host
    )
    if found is None:
        raise LookupError("the certificate is gone")
    return found


async def settle(tx: Tx, wish: Wish, holder: str, next_attempt_at: datetime) -> bool:
    return await _noted(
        tx,
        wish,
        holder,
        "stage = 'settled', next_attempt_at = $6, attempts = 0, error_code = null, error = null,"
        " lease_holder = null, lease_until = null",
        next_attempt_at,
    )


async def note_failure(
    tx: Tx, wish: Wish, holder: str, problem: Problem, next_attempt_at: datetime, *, order_goes_on: bool
) -> bool:
    """What was issued before stays as it is."""
    return await _noted(
        tx,
        wish,
        holder,
        "error_code = $6, error = $7, attempts = attempts + 1, next_attempt_at = $8,"
        " order_uri = case when $9 then order_uri end, order_key = case when $9 then order_key end,"
        " lease_holder = null, lease_until = null",
        *(problem.reason, problem.sentence, next_attempt_at, order_goes_on),
    )


async def _noted(tx: Tx, wish: Wish, holder: str, changes: str, *values: object) -> bool:
    """Only by who holds the lease, and only while the wish is what it was when it was claimed."""
    changed = await tx.run(
        f"update certificates set {changes} where host = $1 and lease_holder = $2"  # noqa: S608
        " and site_id = $3 and region = $4 and forgotten = $5",
        *(wish.host, holder, wish.site_id, wish.region, wish.forgotten),
        *values,
    )
    return changed == 1


async def remove(tx: Tx, host: str, holder: str) -> None:
    """Unless somebody wants it again meanwhile: then its certificate has to be told once more."""
    gone = await tx.run(
        "delete from certificates where host = $1 and lease_holder = $2 and forgotten", host, holder
    )
    if not gone:
        await release(tx, host, holder)


async def account(tx: Tx, directory: str) -> tuple[bytes, str | None] | None:
    """The sealed key of the account with this authority, and where it is registered."""
    return await tx.one(
        lambda *row: row, "select sealed_key, uri from acme_accounts where directory = $1", directory
    )


async def add_account(tx: Tx, directory: str, sealed_key: bytes) -> None:
    """Of two who bring a key at once, the second's is dropped."""
    await tx.run(
        "insert into acme_accounts (directory, sealed_key, created_at) values ($1, $2, $3)"
        " on conflict (directory) do nothing",
        directory,
        sealed_key,
        tx.now,
    )


async def note_registration(tx: Tx, directory: str, uri: str) -> None:
    await tx.run("update acme_accounts set uri = $2 where directory = $1", directory, uri)
