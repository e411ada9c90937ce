"""Reading and changing configuration, inside the caller's transaction."""

import base64
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from stead.control.configuration import preview_keys, store
from stead.control.configuration.jobs import CONFIGURE_ENVIRONMENT, CONFIGURE_SITE, ConfigurationWork
from stead.control.configuration.rules import (
    PASSWORD,
    PASSWORD_DIGEST,
    SECRET,
    SECRET_DIGEST,
    SIGN_IN_KEY,
    Configuration,
    Settings,
    compile_header_settings,
    digest_partner_secret,
    digest_password,
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
from stead.shared.errors import FieldInvalid


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
    tx: Tx, site: VisibleSite, change: ConfigurationChange, sealer: Sealer, base_url: str
) -> JobView | UnchangedView:
    require_changeable(site.status)
    if not names_a_setting(change):
        return NOTHING_CHANGED
    work = ConfigurationWork(site.id, prepare_settings(change, site.id, sealer, base_url))
    await _require_password(tx, site.id, None, work)
    subject = jobs.Subject(site.id, site.owner)
    return await jobs.enqueue(tx, CONFIGURE_SITE, work, subject, scope="sites:write")


async def configure_environment(
    tx: Tx, env: VisibleEnvironment, change: ConfigurationChange, sealer: Sealer, base_url: str
) -> JobView | UnchangedView:
    require_changeable(env.site_status, env.status)
    if not names_a_setting(change):
        return NOTHING_CHANGED
    work = ConfigurationWork(env.id, prepare_settings(change, env.id, sealer, base_url))
    await _require_password(tx, env.site_id, env.id, work)
    subject = jobs.Subject(env.site_id, env.owner, env_id=env.id)
    return await jobs.enqueue(tx, CONFIGURE_ENVIRONMENT, work, subject, scope="environments:write")


def names_a_setting(change: ConfigurationChange) -> bool:
    return any(change.settings.values())


async def _require_password(tx: Tx, site: str, env: str | None, work: ConfigurationWork) -> None:
    """Protected by a password, but without one, nobody could see a preview."""
    security = (await get_effective_after(tx, site, env, work)).security
    if security.preview_protection == "password" and not security.preview_password_digest:
        raise FieldInvalid(
            param=f"security.{PASSWORD}", reason="`preview_protection` needs a password. Send one with it."
        )


def prepare_settings(
    change: ConfigurationChange, subject: str, sealer: Sealer, base_url: str = ""
) -> Settings:
    """Validate and normalize a change, and seal its secrets, so that it can be stored in a job."""
    wanted = change.settings
    if change.serving and change.serving.headers:
        compile_header_settings(change.serving.headers)
    security: dict[str, Any] = wanted.get("security", {})
    if security.get("allowed_ips"):
        security["allowed_ips"] = normalize_networks(security["allowed_ips"])
    if SECRET in security:
        secret = security[SECRET]
        security[SECRET_DIGEST] = digest_partner_secret(secret) if secret else None
    if security.get(SECRET):
        sealed = sealer.seal(security[SECRET].encode(), context=secret_context(subject))
        security[SECRET] = base64.b64encode(sealed).decode()
    if PASSWORD in security:
        password = security.pop(PASSWORD)
        security[PASSWORD_DIGEST] = digest_password(password) if password else None
    if "preview_protection" in security:
        is_for_team = security["preview_protection"] == "team"
        security |= (
            preview_keys.make_settings(subject, sealer, base_url) if is_for_team else preview_keys.NONE
        )
    return wanted


def secret_context(subject: str) -> bytes:
    return f"waf partner of {subject}".encode()


async def get_settings(tx: Tx, subject: str) -> Settings:
    """What was set for a site, or for an environment itself; without the defaults."""
    return await store.get_settings(tx, subject)


async def find_sign_in_key(tx: Tx, site: str, env: str, sealer: Sealer) -> Ed25519PrivateKey | None:
    """The key that signs tokens for the previews of an environment, if its team protects them."""
    layers = {subject: await store.get_settings(tx, subject) for subject in (site, env)}
    if resolve(*layers.values()).security.preview_protection != "team":
        return None
    owners = [subject for subject, layer in layers.items() if SIGN_IN_KEY in layer.get("security", {})]
    return preview_keys.open_key(owners[-1], layers[owners[-1]], sealer) if owners else None


async def apply_change(tx: Tx, subject: str, site: str, wanted: Settings, *, job: str) -> None:
    await store.apply_change(tx, subject, site, wanted, job=job)


async def revert_change(tx: Tx, subject: str, *, job: str) -> None:
    await store.revert_change(tx, subject, job=job)
