"""The jobs that change what visitors meet: announced, then proved by a request."""

from datetime import timedelta
from typing import Any

from stead.control.configuration import service as configuration
from stead.control.configuration.jobs import ConfigurationWork, PurgeWork, RedirectsWork
from stead.control.edge_feed import announcements as routing
from stead.control.engines.postgres import Tx
from stead.control.environments import service as environments
from stead.control.jobs.declaration import Announcement, Errand, Job, JobKind, Results, ask, control, tell
from stead.control.redirects import service as redirects
from stead.control.sites import service as sites
from stead.protocol.edge import Purge
from stead.protocol.work import Probe

LIMIT = timedelta(minutes=5)


async def _configure(tx: Tx, job: Job[ConfigurationWork]) -> Announcement | None:
    await configuration.change(tx, job.params.subject, job.site_id, job.params.change, job=job.id)
    return await _announce(tx, job)


async def _configure_back(tx: Tx, job: Job[ConfigurationWork]) -> Announcement | None:
    await configuration.revert(tx, job.params.subject, job=job.id)
    return await _announce(tx, job)


async def _announce(tx: Tx, job: Job[ConfigurationWork]) -> Announcement | None:
    if job.env_id is not None:
        return await routing.serve(tx, job.env_id)
    return await routing.serve_site(tx, job.site_id)


async def _redirect(tx: Tx, job: Job[RedirectsWork]) -> Announcement | None:
    await redirects.replace(tx, job.site_id, job.params.rules, job=job.id)
    return await routing.serve_redirected(tx, job.site_id)


async def _redirect_back(tx: Tx, job: Job[RedirectsWork]) -> Announcement | None:
    await redirects.revert(tx, job.site_id, job=job.id)
    return await routing.serve_redirected(tx, job.site_id)


async def _purge(tx: Tx, job: Job[PurgeWork]) -> Announcement | None:
    return await routing.purge(tx, Purge(job.params.environment, url=job.params.url, tag=job.params.tag))


async def _probe(tx: Tx, job: Job[ConfigurationWork]) -> Errand | None:
    """It still answers, asked by the node itself, which no list of addresses keeps out. What is paused does
    not, and goes by it once it is resumed."""
    if job.env_id is None:
        env = await environments.production(tx, job.site_id)
    else:
        env = await environments.get(tx, job.env_id)
    if env.status == "suspended":
        return None
    return await sites.errand(tx, job.site_id, env, Probe(env.subdomain))


async def _probe_redirect(tx: Tx, job: Job[RedirectsWork]) -> Errand | None:
    """Whoever asks for the first of them is sent on."""
    env = await environments.production(tx, job.site_id)
    if not job.params.rules:
        return await sites.errand(tx, job.site_id, env, Probe(env.subdomain))
    first = job.params.rules[0]
    probe = Probe(env.subdomain, first.from_.removesuffix("*"), status=first.code)
    return await sites.errand(tx, job.site_id, env, probe)


async def _configured(tx: Tx, job: Job[ConfigurationWork]) -> Results | None:
    event = "site.config_changed" if job.env_id is None else "environment.config_changed"
    await sites.tell(tx, job, event)
    return None


async def _redirected(tx: Tx, job: Job[RedirectsWork]) -> Results | None:
    await sites.tell(tx, job, "site.redirects_changed", rules=len(job.params.rules))
    return None


async def _purged(tx: Tx, job: Job[PurgeWork]) -> Results | None:
    await sites.tell(tx, job, "environment.cache_purged")
    return None


async def _failed(_tx: Tx, _job: Job[Any], _reason: str) -> None:
    """What it had changed is undone; the job says why."""


_CONFIGURING = (
    tell("apply", _configure, undo=_configure_back),
    ask("probe", _probe),
    control("done", _configured),
)

CONFIGURE_SITE = JobKind(
    "site.config_apply",
    params=ConfigurationWork,
    resource="site",
    lock="site",
    limit=LIMIT,
    steps=_CONFIGURING,
    failed=_failed,
)

CONFIGURE_ENVIRONMENT = JobKind(
    "environment.config_apply",
    params=ConfigurationWork,
    resource="environment",
    lock="environment",
    limit=LIMIT,
    steps=_CONFIGURING,
    failed=_failed,
)

REPLACE_REDIRECTS = JobKind(
    "job.redirects_apply",
    params=RedirectsWork,
    resource="site",
    lock="site",
    limit=LIMIT,
    steps=[
        tell("apply", _redirect, undo=_redirect_back),
        ask("probe", _probe_redirect),
        control("done", _redirected),
    ],
    failed=_failed,
)

PURGE_CACHE = JobKind(
    "job.cache_purge",
    params=PurgeWork,
    resource="environment",
    lock="environment",
    limit=LIMIT,
    steps=[tell("purge", _purge), control("done", _purged)],
    failed=_failed,
)
