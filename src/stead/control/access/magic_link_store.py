"""Queries of sign-in links."""

from dataclasses import dataclass
from datetime import datetime

from stead.control.access.rules import LIFETIME, SCOPE
from stead.control.engines.postgres import Tx
from stead.control.environments.rules import VisibleEnvironment
from stead.control.http.principal import Principal
from stead.protocol.sign_ins import SignInRequest
from stead.shared.roles import MASK, Role

_ROLES = [role.value for role in Role if SCOPE in MASK[role]]


@dataclass(frozen=True, slots=True)
class RedeemedLink:
    """A link that was just spent, and who created it."""

    user: str
    redirect_to: str
    account_id: str
    email: str
    key_id: str | None
    site_id: str
    team_id: str | None


async def count_latest(tx: Tx, env: VisibleEnvironment) -> int:
    """How many links of the environment were created in the last minute. No other transaction creates one
    before this one ends."""
    await tx.value("select pg_advisory_xact_lock(hashtext('magic links of ' || $1))", env.id)
    return int(
        await tx.value(
            "select count(*) from magic_links where environment_id = $1 and created_at > $2",
            *(env.id, tx.now - LIFETIME),
        )
    )


async def insert(
    tx: Tx,
    env: VisibleEnvironment,
    caller: Principal,
    token_hash: bytes,
    *,
    host: str,
    user: str,
    redirect_to: str,
    expires_at: datetime,
) -> None:
    await tx.run(
        "insert into magic_links (token_hash, environment_id, host, wordpress_user, redirect_to,"
        " account_id, key_id, created_at, expires_at) values ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        *(token_hash, env.id, host, user, redirect_to, caller.account_id),
        *(caller.id if caller.kind == "api_key" else None, tx.now, expires_at),
    )


async def spend(tx: Tx, wanted: SignInRequest) -> RedeemedLink | None:
    """Of two requests for the same link, one finds it unused. It must be of this environment and host, on the
    node that asks, and its creator must still be allowed to create it."""
    return await tx.one(
        RedeemedLink,
        "update magic_links l set used_at = $1"
        " from environments e join sites s on s.id = e.site_id, accounts a"
        " where l.token_hash = $2 and l.used_at is null and l.expires_at > $1"
        " and l.purpose = 'sign_in' and l.environment_id = $3 and l.host = $4"
        " and e.id = l.environment_id and e.node_id = $5 and e.status = 'running'"
        " and s.status not in ('deleting', 'deleted')"
        " and a.id = l.account_id"
        " and (s.account_id = a.id or exists (select from team_members m where m.team_id = s.team_id"
        "   and m.account_id = a.id and (m.expires_at is null or m.expires_at > $1) and m.role = any($6)))"
        " and (l.key_id is null or exists (select from api_keys k where k.id = l.key_id"
        "   and k.revoked_at is null and k.expires_at > $1 and $7 = any(k.scopes)))"
        " returning l.wordpress_user, l.redirect_to, l.account_id, a.email, l.key_id, s.id, s.team_id",
        *(tx.now, wanted.token_hash, wanted.environment, wanted.host, wanted.node, _ROLES, SCOPE),
    )


async def remove_expired(tx: Tx, limit: int) -> int:
    return await tx.run(
        "delete from magic_links where token_hash in"
        " (select token_hash from magic_links where expires_at < $1 limit $2 for update skip locked)",
        *(tx.now, limit),
    )
