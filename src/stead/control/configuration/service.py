"""Reading and changing configuration inside the caller's transaction."""

import base64
from typing import Any

from stead.control.configuration import store
from stead.control.configuration.jobs import CONFIGURE_ENVIRONMENT, CONFIGURE_SITE, ConfigurationWork
from stead.control.configuration.rules import SECRET, Configuration, Settings, effective, normal_networks
from stead.control.configuration.schema import (
    ConfigurationChange,
    ConfigurationView,
    EnvironmentConfigurationView,
    OverrideView,
)
from stead.control.engines.postgres import Tx
from stead.control.environments.rules import VisibleEnvironment
from stead.control.jobs import service as jobs
from stead.control.jobs.schema import JobView
from stead.control.sealing import Sealer
from stead.control.sites.rules import VisibleSite, require_changeable


async def view_of_site(tx: Tx, site: str) -> ConfigurationView:
    return ConfigurationView.of(effective(await store.settings(tx, site)))


async def view_of_environment(tx: Tx, site: str, env: str) -> EnvironmentConfigurationView:
    baseline, override = await store.settings(tx, site), await store.settings(tx, env)
    return EnvironmentConfigurationView(
        ConfigurationView.of(effective(baseline)),
        OverrideView.of(override),
        ConfigurationView.of(effective(baseline, override)),
    )


async def of_environment(tx: Tx, site: str, env: str) -> Configuration:
    return effective(await store.settings(tx, site), await store.settings(tx, env))


async def configure_site(tx: Tx, site: VisibleSite, change: ConfigurationChange, sealer: Sealer) -> JobView:
    require_changeable(site.status)
    work = ConfigurationWork(site.id, storable(change, site.id, sealer))
    subject = jobs.Subject(site.id, site.owner)
    return await jobs.enqueue(tx, CONFIGURE_SITE, work, subject, scope="sites:write")


async def configure_environment(
    tx: Tx, env: VisibleEnvironment, change: ConfigurationChange, sealer: Sealer
) -> JobView:
    require_changeable(env.site_status, env.status)
    work = ConfigurationWork(env.id, storable(change, env.id, sealer))
    subject = jobs.Subject(env.site_id, env.owner, env_id=env.id)
    return await jobs.enqueue(tx, CONFIGURE_ENVIRONMENT, work, subject, scope="environments:write")


def storable(change: ConfigurationChange, subject: str, sealer: Sealer) -> Settings:
    """Checked, in its normal form, its secret sealed: fit to wait in a job."""
    wanted = change.settings
    security: dict[str, Any] = wanted.get("security", {})
    if security.get("allowed_ips"):
        security["allowed_ips"] = normal_networks(security["allowed_ips"])
    if security.get(SECRET):
        sealed = sealer.seal(security[SECRET].encode(), context=f"waf partner of {subject}".encode())
        security[SECRET] = base64.b64encode(sealed).decode()
    return wanted


async def change(tx: Tx, subject: str, site: str, wanted: Settings, *, job: str) -> None:
    await store.change(tx, subject, site, wanted, job=job)


async def revert(tx: Tx, subject: str, *, job: str) -> None:
    await store.revert(tx, subject, job=job)
