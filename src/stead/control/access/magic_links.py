"""Sign-in links: created for a caller, and spent for the node that hosts the environment."""

import secrets
from hashlib import sha256

from stead.control.access import magic_link_store as store
from stead.control.access.rules import (
    LIFETIME,
    LINKS_PER_MINUTE,
    MagicLinksDisabled,
    MagicLinksExceeded,
    require_path,
)
from stead.control.access.schema import MagicLinkView, NewMagicLink
from stead.control.configuration import service as configuration
from stead.control.domains import service as domains
from stead.control.engines.postgres import Tx
from stead.control.environments import service as environments
from stead.control.environments.rules import EnvironmentBusy
from stead.control.http.principal import Principal
from stead.control.outbox import audit
from stead.control.outbox.audit import Actor, AuditEntry
from stead.control.sites.rules import VisibleSite, require_changeable
from stead.control.wordpress import service as wordpress
from stead.protocol.sign_ins import SignIn, SignInRequest
from stead.shared.ids import AccountId

PAGE = "/wp-login.php?action=stead-sign-in"
"""Never cached, also not by plugins, and watched by the edge for failed sign-ins."""
REDEEMED = "site_magic_link_redeem"
"""The audit event of a sign-in."""
TOKEN_BYTES = 32
BATCH_SIZE = 500


async def create(
    tx: Tx, caller: Principal, site: VisibleSite, wanted: NewMagicLink, entry: AuditEntry
) -> MagicLinkView:
    require_path(wanted.redirect_to)
    require_changeable(site.status)
    env = await environments.find_in_site(tx, caller, site.id, wanted.environment)
    if env.status != "running":
        raise EnvironmentBusy(status=env.status)
    if not await _are_enabled(tx, site.id, env.id):
        raise MagicLinksDisabled
    if await store.count_latest(tx, env) >= LINKS_PER_MINUTE:
        raise MagicLinksExceeded
    user = wanted.user or await wordpress.get_admin_user(tx, site.id)
    host = await domains.choose_host(tx, env.id, env.subdomain)
    token, expires_at = secrets.token_urlsafe(TOKEN_BYTES), tx.now + LIFETIME
    await store.insert(
        tx,
        env,
        caller,
        sha256(token.encode()).digest(),
        host=host,
        user=user,
        redirect_to=wanted.redirect_to,
        expires_at=expires_at,
    )
    entry.note(environment=env.id, host=host, user=user)
    # A browser sends no fragment to a server, so the token is in no log and in no Referer.
    return MagicLinkView(f"https://{host}{PAGE}#{token}", expires_at)


async def redeem(tx: Tx, wanted: SignInRequest) -> SignIn:
    """Spend a link. The audit trail names its creator."""
    link = await store.spend(tx, wanted)
    if link is None or not await _are_enabled(tx, link.site_id, wanted.environment):
        return SignIn()
    entry = AuditEntry(
        Actor(
            "member" if link.key_id is None else "api_key",
            AccountId(link.account_id),
            link.email,
            link.key_id,
        ),
        team_id=link.team_id,
        site_id=link.site_id,
        meta={"environment": wanted.environment, "host": wanted.host, "user": link.user},
    )
    await audit.record(tx, REDEEMED, "success", entry)
    return SignIn(link.user, link.redirect_to)


async def _are_enabled(tx: Tx, site: str, env: str) -> bool:
    return (await configuration.get_effective(tx, site, env)).security.magic_links_enabled


async def remove_expired(tx: Tx) -> int:
    """Remove a batch. Returns how many."""
    return await store.remove_expired(tx, BATCH_SIZE)
