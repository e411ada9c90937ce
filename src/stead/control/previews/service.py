"""Lets people who can see a site see its protected previews."""

from stead.control.accounts import service as accounts
from stead.control.accounts.rules import Account
from stead.control.configuration import service as configuration
from stead.control.engines.postgres import Tx
from stead.control.outbox import audit
from stead.control.outbox.audit import Actor, AuditEntry
from stead.control.previews import store
from stead.control.previews.rules import Preview, build_token
from stead.control.sealing import Sealer

SIGNED_IN = "preview_sign_in"
"""The audit event of a sign-in."""


async def find_visible(tx: Tx, account: Account, host: str) -> Preview | None:
    """The preview with this host, if the account can see it."""
    return await store.find_by_host(tx, accounts.owner_principal(account), host)


async def sign_in(tx: Tx, sealer: Sealer, account: Account, preview: Preview) -> str | None:
    """A token that the edges accept, once; None if the preview is not protected by sign-in."""
    key = await configuration.find_sign_in_key(tx, preview.site_id, preview.env_id, sealer)
    if key is None:
        return None
    meta: dict[str, str | int | bool | None] = {"environment": preview.env_id, "host": preview.host}
    actor = Actor("member", account.id, account.email)
    entry = AuditEntry(actor, team_id=preview.team_id, site_id=preview.site_id, meta=meta)
    await audit.record(tx, SIGNED_IN, "success", entry)
    return build_token(key, preview, tx.now)
