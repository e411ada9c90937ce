"""Reading and changing configuration, inside the caller's transaction."""

import base64
from typing import Any

from stead.control.configuration import store
from stead.control.configuration.jobs import CONFIGURE_ENVIRONMENT, CONFIGURE_SITE, ConfigurationWork
from stead.control.configuration.rules import (
    SECRET,
    SECRET_DIGEST,
    Configuration,
    Settings,
    digest_partner_secret,
    merge,
    normalize_networks,
    resolve,
)
from stead.control.configuration.schema import (
    NOTHING_CHANGED,
    ConfigurationChange,
    ConfigurationView,
    EnvironmentConfigurationView,
    OverrideView,
    UnchangedView,
)
from stead.control.engines.postgres import Tx
from stead.control.environments.rules import VisibleEnvironment
from stead.control.jobs import service as jobs
from stead.control.jobs.schema import JobView
from stead.control.sealing import Sealer
from stead.control.sites.rules import VisibleSite, require_changeable


async def view_of_site(tx: Tx, site: str) -> ConfigurationView:
    return ConfigurationView.of(resolve(await store.get_settings(tx, site)))


async def view_of_environment(tx: Tx, site: str, env: str) -> EnvironmentConfigurationView:
    baseline, override = await store.get_settings(tx, site), await store.get_settings(tx, env)
    return EnvironmentConfigurationView(
        ConfigurationView.of(resolve(baseline)),
        OverrideView.of(override),
        ConfigurationView.of(resolve(baseline, override)),
    )


async def get_effective(tx: Tx, site: str, env: str) -> Configuration:
    return resolve(await store.get_settings(tx, site), await store.get_settings(tx, env))


async def get_effective_after(tx: Tx, site: str, env: str | None, work: ConfigurationWork) -> Configuration:
    """What will be effective after a change that is not stored yet; of the site itself without `env`."""
    layers = {subject: await store.get_settings(tx, subject) for subject in (site, env) if subject}
    layers[work.subject] = merge(layers.get(work.subject, {}), work.change)
    return resolve(*layers.values())


async def configure_site(
    tx: Tx, site: VisibleSite, change: ConfigurationChange, sealer: Sealer
) -> JobView | UnchangedView:
    require_changeable(site.status)
    if not names_a_setting(change):
        return NOTHING_CHANGED
    work = ConfigurationWork(site.id, prepare_settings(change, site.id, sealer))
    subject = jobs.Subject(site.id, site.owner)
    return await jobs.enqueue(tx, CONFIGURE_SITE, work, subject, scope="sites:write")


async def configure_environment(
    tx: Tx, env: VisibleEnvironment, change: ConfigurationChange, sealer: Sealer
) -> JobView | UnchangedView:
    require_changeable(env.site_status, env.status)
    if not names_a_setting(change):
        return NOTHING_CHANGED
    work = ConfigurationWork(env.id, prepare_settings(change, env.id, sealer))
    subject = jobs.Subject(env.site_id, env.owner, env_id=env.id)
    return await jobs.enqueue(tx, CONFIGURE_ENVIRONMENT, work, subject, scope="environments:write")


def names_a_setting(change: ConfigurationChange) -> bool:
    return any(change.settings.values())


def prepare_settings(change: ConfigurationChange, subject: str, sealer: Sealer) -> Settings:
    """Validate and normalize a change, and seal its secret, so that it can be stored in a job."""
    wanted = change.settings
    security: dict[str, Any] = wanted.get("security", {})
    if security.get("allowed_ips"):
        security["allowed_ips"] = normalize_networks(security["allowed_ips"])
    if SECRET in security:
        secret = security[SECRET]
        security[SECRET_DIGEST] = digest_partner_secret(secret) if secret else None
    if security.get(SECRET):
        sealed = sealer.seal(security[SECRET].encode(), context=secret_context(subject))
        security[SECRET] = base64.b64encode(sealed).decode()
    return wanted


def secret_context(subject: str) -> bytes:
    return f"waf partner of {subject}".encode()


async def get_settings(tx: Tx, subject: str) -> Settings:
    """What was set for a site, or for an environment itself; without the defaults."""
    return await store.get_settings(tx, subject)


async def apply_change(tx: Tx, subject: str, site: str, wanted: Settings, *, job: str) -> None:
    await store.apply_change(tx, subject, site, wanted, job=job)


async def revert_change(tx: Tx, subject: str, *, job: str) -> None:
    await store.revert_change(tx, subject, job=job)
