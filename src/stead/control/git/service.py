"""Reading and changing how a site is connected, and what whoever hears of pushes needs of it."""

import base64
import secrets
from datetime import timedelta

from stead.control.engines.postgres import Tx
from stead.control.git import store
from stead.control.git.deploy_keys import new_deploy_key
from stead.control.git.events import SITE_BRANCH_ROUTES_CHANGED, SITE_HOOK_SECRET_ROLLED
from stead.control.git.rules import Connection, Due, check
from stead.control.git.schema import BranchRoutesView, NewBranchRoutes
from stead.control.jobs.presigning import deploy_key_context
from stead.control.outbox.events import About, publish
from stead.control.sealing import Sealer
from stead.control.sites.rules import VisibleSite

HOOK_PATH = "/hooks/git"


async def view(tx: Tx, site: VisibleSite, sealer: Sealer, *, base_url: str) -> BranchRoutesView:
    found = await store.shown(tx, site.id)
    key = found.deploy_public
    if key is None and await store.repository(tx, site.id) is not None:
        key = await _make_deploy_key(tx, site.id, sealer)
    return BranchRoutesView(
        rules=found.rules,
        hook_url=f"{base_url.rstrip('/')}{HOOK_PATH}/{site.id}",
        hook_secret_set=found.hook_secret_set,
        deploy_key=key,
        last_hook_at=found.hook_heard_at,
        last_checked_at=found.checked_at,
        last_error=found.last_error,
    )


async def set_routes(
    tx: Tx, site: VisibleSite, wanted: NewBranchRoutes, sealer: Sealer, *, base_url: str
) -> BranchRoutesView:
    check(wanted.rules)
    await store.replace_rules(tx, site.id, wanted.rules)
    about = About(account_id=site.account_id, team_id=site.team_id, site_id=site.id)
    await publish(tx, SITE_BRANCH_ROUTES_CHANGED, about, domain=site.domain, rules=len(wanted.rules))
    secret = secrets.token_urlsafe(32) if wanted.roll_hook_secret else None
    if secret is not None:
        await store.set_secret(tx, site.id, sealer.seal(secret.encode(), context=_hook(site.id)))
        await publish(tx, SITE_HOOK_SECRET_ROLLED, about, domain=site.domain)
    answer = await view(tx, site, sealer, base_url=base_url)
    if secret is not None:
        answer.hook_secret = secret
    return answer


async def sealed_deploy_key(tx: Tx, site: str) -> str:
    """For the source of a build (`platform/addressing.py` opens it); empty if nobody has looked at it yet,
    for then no repository knows it."""
    return base64.b64encode(await store.deploy_private(tx, site) or b"").decode()


async def hook_secret(tx: Tx, site: str, sealer: Sealer) -> bytes | None:
    sealed = await store.secret(tx, site)
    return None if sealed is None else sealer.open(sealed, context=_hook(site))


async def hold(tx: Tx, site: str) -> Connection | None:
    return await store.hold(tx, site)


async def heard_hook(tx: Tx, site: str, quiet: timedelta) -> None:
    await store.heard_hook(tx, site, quiet)


async def remember(tx: Tx, site: str, branch: str, commit: str | None) -> None:
    await store.remember(tx, site, branch, commit)


async def remember_all(tx: Tx, site: str, refs: dict[str, str]) -> None:
    await store.remember_all(tx, site, refs)


async def due(tx: Tx, every: timedelta, most: int) -> list[Due]:
    await store.meet_new(tx, every)
    return await store.claim(tx, every, most)


async def checked(tx: Tx, site: str, error: str | None) -> int:
    return await store.checked(tx, site, error)


async def _make_deploy_key(tx: Tx, site: str, sealer: Sealer) -> str:
    private, public = new_deploy_key(f"stead-{site}")
    return await store.keep_deploy_key(
        tx, site, sealer.seal(private, context=deploy_key_context(site)), public
    )


def _hook(site: str) -> bytes:
    return f"git hook of {site}".encode()
