"""What callers change about their edge, each inside the caller's transaction."""

from urllib.parse import urlsplit

from msgspec import UNSET

from stead.control.cache.schema import NewPurge
from stead.control.configuration import service as configuration
from stead.control.configuration.jobs import ConfigurationWork, PurgeWork, RedirectsWork
from stead.control.configuration.schema import ConfigurationChange
from stead.control.engines.postgres import Tx
from stead.control.environments import service as environments
from stead.control.environments.rules import VisibleEnvironment
from stead.control.jobs import service as jobs
from stead.control.jobs.declaration import JobKind
from stead.control.jobs.schema import JobView
from stead.control.redirects import rules
from stead.control.redirects.schema import NewRedirects
from stead.control.sealing import Sealer
from stead.control.sites.rules import SiteBusy, VisibleSite
from stead.shared.errors import FieldInvalid

_UNCHANGEABLE = ("deleting", "deleted")


async def configure_site(
    tx: Tx,
    site: VisibleSite,
    change: ConfigurationChange,
    sealer: Sealer,
    *,
    kind: JobKind[ConfigurationWork],
) -> JobView:
    _require_changeable(site.status)
    work = ConfigurationWork(site.id, configuration.storable(change, site.id, sealer))
    return await jobs.enqueue(tx, kind, work, jobs.Subject(site.id, site.owner), scope="sites:write")


async def configure_environment(
    tx: Tx,
    env: VisibleEnvironment,
    change: ConfigurationChange,
    sealer: Sealer,
    *,
    kind: JobKind[ConfigurationWork],
) -> JobView:
    _require_changeable(env.site_status, env.status)
    work = ConfigurationWork(env.id, configuration.storable(change, env.id, sealer))
    return await jobs.enqueue(tx, kind, work, _subject(env), scope="environments:write")


async def replace_redirects(
    tx: Tx, site: VisibleSite, wanted: NewRedirects, *, kind: JobKind[RedirectsWork]
) -> JobView:
    _require_changeable(site.status)
    production = await environments.production(tx, site.id)
    rules.check(wanted.redirects, frozenset({site.domain, production.subdomain}))
    subject = jobs.Subject(site.id, site.owner)
    return await jobs.enqueue(tx, kind, RedirectsWork(wanted.redirects), subject, scope="redirects:write")


async def purge(
    tx: Tx, env: VisibleEnvironment, wanted: NewPurge | None, *, kind: JobKind[PurgeWork]
) -> JobView:
    _require_changeable(env.site_status, env.status)
    work = PurgeWork(env.id, **_purged(wanted or NewPurge()))
    return await jobs.enqueue(tx, kind, work, _subject(env), scope="cache:write")


def _purged(wanted: NewPurge) -> dict[str, str]:
    given = {name for name in ("url", "tag") if getattr(wanted, name) is not UNSET}
    needed = {"all": set(), "url": {"url"}, "tag": {"tag"}}[wanted.type]
    if given != needed:
        param = next(iter(given ^ needed))
        verb = "is needed to purge" if param in needed else "has no place when you purge"
        raise FieldInvalid(param=param, reason=f"`{param}` {verb} by `{wanted.type}`.")
    if isinstance(wanted.url, str):
        return {"url": _as_asked(wanted.url)}
    return {"tag": wanted.tag} if isinstance(wanted.tag, str) else {}


def _as_asked(url: str) -> str:
    """Path and query, as a visitor's request has them."""
    try:
        parts = urlsplit(url)
    except ValueError:
        raise FieldInvalid(param="url", reason="It is no URL.") from None
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


def _require_changeable(*statuses: str) -> None:
    for status in statuses:
        if status in _UNCHANGEABLE:
            raise SiteBusy(status=status)


def _subject(env: VisibleEnvironment) -> jobs.Subject:
    return jobs.Subject(env.site_id, env.owner, env_id=env.id)
