"""Use cases of a site's connection to its repository: branch routes, hook secret, deploy key."""

import base64
import secrets

from msgspec import UnsetType

from stead.control.engines.postgres import Tx
from stead.control.git import report_store, store
from stead.control.git.branch_rules import check_rules
from stead.control.git.deploy_keys import generate_deploy_key
from stead.control.git.events import SITE_BRANCH_ROUTES_CHANGED, SITE_HOOK_SECRET_ROLLED
from stead.control.git.forge_rules import NewForge
from stead.control.git.schema import BranchRoutesView, NewBranchRoutes
from stead.control.jobs.presigning import deploy_key_context
from stead.control.outbox.events import About, publish
from stead.control.sealing import Sealer
from stead.control.sites.rules import VisibleSite
from stead.shared.errors import FieldInvalid

HOOK_PATH = "/hooks/git"


async def get_branch_routes(tx: Tx, site: VisibleSite, sealer: Sealer, *, base_url: str) -> BranchRoutesView:
    """The deploy key is created when it is first shown."""
    status = await store.get_status(tx, site.id)
    key = status.deploy_public
    if key is None and await store.get_repository(tx, site.id) is not None:
        key = await _create_deploy_key(tx, site.id, sealer)
    return BranchRoutesView(
        rules=status.rules,
        hook_url=f"{base_url.rstrip('/')}{HOOK_PATH}/{site.id}",
        hook_secret_set=status.hook_secret_set,
        deploy_key=key,
        last_hook_at=status.last_hook_at,
        last_checked_at=status.last_checked_at,
        last_error=status.last_error,
        forge=status.forge,
        forge_error=status.forge_error,
    )


async def replace_branch_routes(
    tx: Tx, site: VisibleSite, wanted: NewBranchRoutes, sealer: Sealer, *, base_url: str
) -> BranchRoutesView:
    check_rules(wanted.rules)
    await store.replace_rules(tx, site.id, wanted.rules)
    about = About(account_id=site.account_id, team_id=site.team_id, site_id=site.id)
    await publish(tx, SITE_BRANCH_ROUTES_CHANGED, about, domain=site.domain, rules=len(wanted.rules))
    if not isinstance(wanted.forge, UnsetType):
        await _set_forge(tx, site, wanted.forge, sealer)
    secret = secrets.token_urlsafe(32) if wanted.roll_hook_secret else None
    if secret is not None:
        sealed = sealer.seal(secret.encode(), context=hook_secret_context(site.id))
        await store.set_hook_secret(tx, site.id, sealed)
        await publish(tx, SITE_HOOK_SECRET_ROLLED, about, domain=site.domain)
    view = await get_branch_routes(tx, site, sealer, base_url=base_url)
    if secret is not None:
        view.hook_secret = secret
    return view


async def _set_forge(tx: Tx, site: VisibleSite, wanted: NewForge | None, sealer: Sealer) -> None:
    if wanted is None:
        await store.set_forge(tx, site.id, None, None)
        return
    if await store.get_repository(tx, site.id) is None:
        raise FieldInvalid(param="forge", reason="The site has no repository.")
    sealed = sealer.seal(wanted.token.encode(), context=forge_token_context(site.id))
    await store.set_forge(tx, site.id, wanted.kind, sealed)


async def report_build(tx: Tx, site: str, owner: str, build: str) -> None:
    """Tell the forge about a build, if there is a token for it."""
    await report_store.insert(tx, site, owner, build)


async def get_sealed_deploy_key(tx: Tx, site: str) -> str:
    """The key for the source of a build; `jobs/presigning.py` opens it.

    Empty if the key was never shown, because then no repository can have it.
    """
    return base64.b64encode(await store.get_sealed_deploy_key(tx, site) or b"").decode()


async def get_hook_secret(tx: Tx, site: str, sealer: Sealer) -> bytes | None:
    sealed = await store.get_sealed_hook_secret(tx, site)
    return None if sealed is None else sealer.open(sealed, context=hook_secret_context(site))


async def _create_deploy_key(tx: Tx, site: str, sealer: Sealer) -> str:
    private, public = generate_deploy_key(f"stead-{site}")
    sealed = sealer.seal(private, context=deploy_key_context(site))
    return await store.save_deploy_key(tx, site, sealed, public)


def hook_secret_context(site: str) -> bytes:
    return f"git hook of {site}".encode()


def forge_token_context(site: str) -> bytes:
    return f"forge token of {site}".encode()
