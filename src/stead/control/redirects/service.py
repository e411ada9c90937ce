"""Reading and replacing redirects, inside the caller's transaction."""

from stead.control.domains import service as domains
from stead.control.engines.postgres import Tx
from stead.control.environments import service as environments
from stead.control.jobs import service as jobs
from stead.control.jobs.schema import JobView
from stead.control.redirects import store
from stead.control.redirects.jobs import REPLACE_REDIRECTS, RedirectsWork
from stead.control.redirects.rules import RedirectRule, split_into_parts, validate
from stead.control.redirects.schema import NewRedirects
from stead.control.sites.rules import VisibleSite, require_changeable
from stead.protocol.edge_records import RedirectSet, RedirectsRecord


async def list_rules(tx: Tx, site: str) -> list[RedirectRule]:
    return await store.list_rules(tx, site)


async def queue_replacement(tx: Tx, site: VisibleSite, wanted: NewRedirects) -> JobView:
    require_changeable(site.status)
    production = await environments.get_production(tx, site.id)
    hosts = {*await domains.list_hostnames(tx, site.id), production.subdomain}
    validate(wanted.redirects, frozenset(hosts))
    work, subject = RedirectsWork(wanted.redirects), jobs.Subject(site.id, site.owner)
    return await jobs.enqueue(tx, REPLACE_REDIRECTS, work, subject, scope="redirects:write")


async def get_active_set(tx: Tx, site: str) -> RedirectSet | None:
    return await store.get_active_set(tx, site)


async def replace(tx: Tx, site: str, wanted: list[RedirectRule], *, job: str) -> None:
    await store.replace(tx, site, wanted, job=job)


async def revert(tx: Tx, site: str, *, job: str) -> None:
    await store.revert(tx, site, job=job)


async def count_published_parts(tx: Tx, site: str) -> int:
    return await store.count_published_parts(tx, site)


async def build_edge_parts(tx: Tx, site: str) -> list[RedirectsRecord | None]:
    """The rules of a site as edge records. None removes a part that was published before and is not needed
    any more."""
    active = await store.get_active_set(tx, site)
    parts: list[RedirectsRecord | None] = []
    if active is not None:
        parts += split_into_parts(await store.list_rules(tx, site), active.version)
    return parts + [None] * (await store.count_published_parts(tx, site) - len(parts))
